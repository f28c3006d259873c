"""Fitted models of scikit-learn, each held against what textbooks say of it (``peers``)."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier, SGDOneClassSVM
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

import qpsvm
from qpsvm.audits import Arrays
from tests.audit.peers import BY_NAME, PEERS, cancer, fitted, flowers, unequal
from tests.realdata.folder import loader, needs_data
from tests.tolerances import AUDITED, AUDITED_GAP

EVERY = pytest.mark.parametrize("name", BY_NAME)
EXACT = pytest.mark.parametrize("name", [peer.name for peer in PEERS if peer.stops[1]])


@cache
def audited(name, tight, **options):
    model, X, y, u = fitted(name, tight)
    return qpsvm.audit(model, X, y, sample_weight=u, eps=BY_NAME[name].eps, **options)


@cache
def truths(name, tight):
    return BY_NAME[name].truths(*fitted(name, tight))


@EVERY
def test_the_machine_that_is_audited_is_the_one_that_predicts(name):
    for machine, truth in zip(audited(name, False).machines, truths(name, False), strict=True):
        values = machine.factor * machine.solution.decision_function(machine.problem.data.X)
        size = np.abs(truth.values).max()
        np.testing.assert_allclose(values, truth.values, rtol=0, atol=AUDITED * size)


@EVERY
def test_its_objective_and_gap_are_those_of_the_textbook(name):
    for machine, truth in zip(audited(name, False).machines, truths(name, False), strict=True):
        proof = machine.certificate
        assert proof.primal_objective == pytest.approx(truth.objective, rel=AUDITED)
        size = abs(truth.optimum)
        # the independent optimum is between the bounds, and the excess is the distance to it
        assert proof.dual_objective <= truth.optimum + AUDITED_GAP * size
        excess = (truth.objective - truth.optimum) / size
        assert machine.optimum.excess == pytest.approx(excess, abs=BY_NAME[name].eps, rel=1e-6)
        assert proof.gap >= truth.objective - truth.optimum - AUDITED_GAP * size
        assert excess > 10 * BY_NAME[name].eps  # there was something to be found


@EVERY
def test_a_model_that_stopped_early_fails_and_the_verdict_says_so(name):
    found = audited(name, False)
    assert not found.passed
    assert found.verdict.startswith("Not optimal")
    assert ("float32" in found.verdict) == (found.library.name == "LIBSVM")
    assert found.library.stopped_at in found.verdict


@EXACT
def test_a_model_that_did_not_passes(name):
    found = audited(name, True)
    assert found.passed, str(found)
    assert found.verdict.startswith("Optimal")
    for machine, truth in zip(found.machines, truths(name, True), strict=True):
        assert truth.objective - truth.optimum <= BY_NAME[name].eps * abs(truth.objective)
        assert machine.optimum.excess <= BY_NAME[name].eps


@pytest.mark.parametrize(
    "name",
    [
        "LinearSVC squared hinge, primal",
        "LinearSVC with a scaled intercept, in a pipeline",
        "LinearSVC, all classes at once",
        "SGDClassifier",
        "SGDClassifier squared hinge without intercept",
    ],
)
def test_predictions_that_differ_are_those_a_better_fit_makes_otherwise(name):
    model, X, _, _ = fitted(name, False)
    found = audited(name, False)
    if BY_NAME[name].stops[1] is None:
        machine = found.machines[0]
        values = machine.optimum.solution.decision_function(machine.problem.data.X)
    else:
        values = fitted(name, True)[0].decision_function(X)
    if values.ndim == 1:
        values = np.column_stack([-values, values])
    first, second = np.sort(values, axis=1)[:, :-3:-1].T
    sure = first - second > 1e-3  # one of the optima has a sample on its boundary
    labels = model.classes_[np.argmax(values, axis=1)]
    differ = model.predict(X) != labels
    compared = found.predictions
    assert 0 < compared.n_different <= np.count_nonzero(differ)
    # what is not proven is undecided, and the comparison with the computed optimum says it
    shown = compared.n_different + compared.n_computed_differ
    assert np.count_nonzero(sure & differ) <= shown <= np.count_nonzero(differ | ~sure)


@EXACT
def test_bounds_alone_need_multipliers_and_no_solver(name):
    if "Linear" in name:
        with pytest.raises(qpsvm.exceptions.AuditRefusedError, match="no multipliers"):
            audited(name, False, optimum=False)
        return
    for tight in (False, True):
        whole, bounds = audited(name, tight), audited(name, tight, optimum=False)
        assert bounds.passed == whole.passed == tight
        assert bounds.relative_gap == pytest.approx(whole.relative_gap, rel=1e-9, abs=1e-14)
        assert all(machine.optimum is None for machine in bounds.machines)
        # with less knowledge less is proven, and nothing else
        if bounds.predictions is not None and bounds.predictions_differ is not None:
            assert bounds.predictions.n_same <= whole.predictions.n_same
            assert bounds.predictions_differ <= whole.predictions_differ


def test_the_same_model_refitted_exactly_passes():
    X, y = cancer(569)
    for C in (1.0, 1e4):
        model = SVC(C=C).fit(X, y)
        assert not qpsvm.audit(model, X, y).passed
        kernel = qpsvm.kernels.RBF(model._gamma)
        ours = qpsvm.solve(qpsvm.SoftMargin(C).dual(X, y, kernel=kernel))
        numbers = Arrays(
            qpsvm.SoftMargin(C), alpha=ours.alpha, intercept=ours.intercept, kernel=kernel
        )
        again = qpsvm.audit(numbers, X, y)
        assert again.passed
        assert again.predictions_differ == 0


def test_descent_converges_to_the_programs_it_is_held_against():
    # the scale of the samples decides how fast; at the optimum the two programs are the same
    X, u = flowers()[0] / 16.0, unequal(150)
    descents = {"tol": None, "max_iter": 3000, "average": 1000, "random_state": 0}
    outside = SGDOneClassSVM(nu=0.25, **descents).fit(X, sample_weight=u)
    found = qpsvm.audit(outside, X, sample_weight=u)
    assert found.machines[0].optimum.excess < 1e-3
    X, y = cancer()
    u = unequal(len(X))
    model = SGDClassifier(alpha=1e-2, class_weight="balanced", **descents)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y, sample_weight=u)
    found = qpsvm.audit(model, X, y, sample_weight=u)
    assert found.machines[0].optimum.excess < 2e-2


def test_several_classes_vote_as_the_model_does():
    # a model that is far off: then some of its labels differ from those of the exact machines
    X, y = BY_NAME["SVC of three classes, weighted"].data()[:2]
    model = SVC(C=100.0, gamma=5.0, tol=2.0).fit(X, y)
    found = qpsvm.audit(model, X, y)
    exact = SVC(C=100.0, gamma=5.0, tol=1e-10).fit(X, y)
    assert found.predictions_differ == np.count_nonzero(model.predict(X) != exact.predict(X))
    assert len(found.machines) == 3
    assert [machine.name for machine in found.machines] == [
        "0 against 1",
        "0 against 2",
        "1 against 2",
    ]


@needs_data
@pytest.mark.parametrize("name", ["heart_scale", "sonar_scale", "diabetes_scale"])
def test_stored_sets_and_the_optimum_of_another_solver(name):
    X, y = loader().binary(name)
    X = X.toarray()
    model = SVC(C=2.0, tol=0.01).fit(X, y)
    machine = qpsvm.audit(model, X, y).machines[0]
    other = qpsvm.solve(machine.problem, "qpsolvers:piqp", eps=1e-9)
    best = qpsvm.certify(machine.problem, other).primal_objective
    own = machine.certificate.primal_objective
    assert machine.optimum.excess == pytest.approx((own - best) / best, rel=1e-4)
    labels = model.classes_[(other.decision_function(X) > 0.0).astype(int)]
    assert qpsvm.audit(model, X, y).predictions_differ == np.sum(labels != model.predict(X))


@pytest.mark.parametrize(
    "model",
    [SVC(gamma=0.05), NuSVC(nu=0.3, gamma=0.05), SVR(), NuSVR(), OneClassSVM(gamma=0.05)],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_samples_of_weight_zero_may_be_anywhere(model, n_classes):
    X, _ = cancer(90)
    y = np.argsort(np.argsort(X[:, 0] + X[:, 1])) * n_classes // 90
    u = unequal(len(X))
    u[::4] = 0.0
    own = u > 0.0
    options = {"eps": 0.1, "optimum": False}
    found = qpsvm.audit(model.fit(X, y, u), X, y, sample_weight=u, **options)
    gamma = model._gamma
    alone = clone(model).set_params(gamma=gamma).fit(X[own], y[own], u[own])
    without = qpsvm.audit(alone, X[own], y[own], sample_weight=u[own], **options)
    for one, other in zip(found.machines, without.machines, strict=True):
        assert one.report.objective == pytest.approx(other.report.objective, rel=AUDITED)
        assert one.relative_gap == pytest.approx(other.relative_gap, rel=1e-6)


@pytest.mark.parametrize("model", [SVC(), SVR(), OneClassSVM()], ids=lambda m: type(m).__name__)
def test_a_machine_of_words_is_that_of_their_kernel_matrix(model):
    def letters(left, right):
        return np.array([[float(len(set(a) & set(b))) for b in right] for a in left])

    rng = np.random.default_rng(0)
    words = np.array(["".join(rng.choice(list("abcdef"), 5)) for _ in range(80)])
    y = np.array([word.count("a") for word in words]) > 0
    found = qpsvm.audit(clone(model).set_params(kernel=letters).fit(words, y), words, y)
    K = letters(words, words)
    of_matrix = qpsvm.audit(clone(model).set_params(kernel="precomputed").fit(K, y), K, y)
    assert found.relative_gap == pytest.approx(of_matrix.relative_gap, rel=1e-6)
    assert found.verdict == of_matrix.verdict
    table = words[:, None]
    fitted = clone(model).set_params(kernel=lambda a, b: letters(a[:, 0], b[:, 0])).fit(table, y)
    with pytest.raises(qpsvm.exceptions.AuditRefusedError, match="fitted on 1 columns"):
        qpsvm.audit(fitted, np.hstack([table, table]), y)


@pytest.mark.parametrize("value", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_constant_samples_have_the_gamma_of_the_fit(value, kernel):
    X, y = np.full((30, 4), value), np.arange(30) % 2
    found = qpsvm.audit(SVC(kernel=kernel).fit(X, y), X, y)
    assert found.relative_gap <= AUDITED_GAP
