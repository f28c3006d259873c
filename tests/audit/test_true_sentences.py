"""Sentences and counts of an audit are true, of models as fitted and as edited."""

from __future__ import annotations

import copy
import re
import warnings
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import SGDClassifier
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from sklearn.svm import SVC, SVR, LinearSVC, NuSVC, OneClassSVM

import qpsvm
from benchmarks.soundness import sweep_audits
from benchmarks.soundness.rational import exact, gram
from qpsvm import models
from qpsvm.audits.comparison import excess
from qpsvm.exceptions import AuditRefusedError
from tests.audit.writers import of_svc

RBF = partial(rbf_kernel, gamma=0.5)
ACCUSED = "fitted to other data, weights or parameters"
DIGITS = r"rounding of its own kernel values \(up to (\S+) of the largest\)"


def slowly(value):
    return pytest.param(value, marks=pytest.mark.exhaustive)


def data(offset, n=40, d=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return offset + X, np.where(X[:, 0] + rng.normal(size=n) > 0, 1, -1)


@pytest.mark.parametrize(
    ("first", "count"),
    [(0, 12), pytest.param(12, 400, marks=pytest.mark.exhaustive)],
)
def test_no_sentence_and_no_count_is_false(first, count):
    examined = 0
    for number in range(first, first + count):
        kind, what, outcome, false = sweep_audits.examine(20, number, optimum=number % 4 != 3)
        assert not false, (number, kind, what, false)
        examined += not outcome.startswith(("refused", "no "))
    assert examined > 0.5 * count


@pytest.mark.parametrize("kernel", ["rbf", "linear", slowly("poly")])
@pytest.mark.parametrize("offset", [slowly(0.0), slowly(1e3), 1e6, slowly(1e9)])
@pytest.mark.parametrize("as_sparse", [False, slowly(True)])
def test_no_untouched_model_is_accused_whatever_its_samples_lose(offset, kernel, as_sparse):
    X, y = data(offset)
    models = [SVC(C=C, kernel=kernel, degree=2) for C in (1.0, 1e3)]
    models += [NuSVC(nu=0.3, kernel=kernel), SVR(C=10.0, kernel=kernel), OneClassSVM(kernel=kernel)]
    for model in models:
        Z = sp.csr_array(X) if as_sparse else X
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # it may not end
                model.set_params(max_iter=20_000).fit(Z, y)
        except ValueError:  # LIBSVM's numbers are not finite
            continue
        try:
            said = qpsvm.audit(model, Z, y, optimum=False).verdict
        except AuditRefusedError as error:  # a margin below zero
            said = str(error)
        assert ACCUSED not in said, model
        assert "changed" not in said, model


def test_errors_of_the_librarys_kernel_values_are_named_and_bounded():
    X, y = data(1e6)
    model = SVC(C=100.0).fit(X, y)
    verdict = qpsvm.audit(model, X, y, optimum=False).verdict
    stated = float(re.search(DIGITS, verdict)[1])
    squares = (X * X).sum(axis=1)
    trained_on = np.exp(-model._gamma * (np.add.outer(squares, squares) - 2.0 * X @ X.T))
    true = gram("rbf", exact(X), exact(X), gamma=model._gamma)
    off = max(
        abs(exact(float(a)) - b)
        for row, other in zip(trained_on, true, strict=True)
        for a, b in zip(row, other, strict=True)
    )
    assert 1e-5 < off <= stated < 1e-2
    # and the remedy is one
    centred = SVC(C=100.0).fit(X - X.mean(axis=0), y)
    assert not re.search(DIGITS, qpsvm.audit(centred, X - X.mean(axis=0), y).verdict)


@pytest.mark.parametrize("offset", [0.0, 1e3])
@pytest.mark.parametrize("kind", [SVC, NuSVC, SVR, OneClassSVM])
def test_what_neither_tolerance_nor_rounding_explains_is_said_to_be_changed(kind, offset):
    X, y = data(offset)
    model = kind(tol=1e-8).fit(X, y)
    assert ACCUSED not in qpsvm.audit(model, X, y, optimum=False).verdict
    sign = -1.0 if kind in (SVC, NuSVC) else 1.0
    model.intercept_ = model.intercept_ + 0.3
    model._intercept_ = model._intercept_ + sign * 0.3
    assert ACCUSED in qpsvm.audit(model, X, y, optimum=False).verdict


def test_gamma_scale_of_sparse_samples_far_from_zero_is_that_of_the_fit():
    X, y = data(1e6)
    model = SVC().fit(sp.csr_array(X), y)
    assert abs(model._gamma * 2.0 * X.var() - 1.0) > 1e-5  # of E[x^2] - E[x]^2
    assert qpsvm.audit(model, sp.csr_array(X), y, optimum=False).machines
    X, y = data(0.0)
    model = SVC().fit(sp.csr_array(X), y)
    model._gamma = model._gamma * 1.001
    with pytest.raises(AuditRefusedError, match=r"predicts with gamma=.*'scale' is"):
        qpsvm.audit(model, sp.csr_array(X), y)


def test_a_kernel_function_is_called_as_the_model_calls_it():
    # far from the origin its values depend on the block of samples that it is called with
    X, y = data(1e4, n=300, d=5)
    model = SVC(C=1e3, kernel=partial(rbf_kernel, gamma=0.5), max_iter=10**5).fit(X, y)
    assert qpsvm.audit(model, X, y, optimum=False).own_predictions.passed


@pytest.mark.parametrize(
    "model",
    [
        SVC(kernel="linear"),
        LinearSVC(),
        LinearSVC(multi_class="crammer_singer"),
        LinearSVC(class_weight={2: 0.0}),
        SGDClassifier(class_weight={2: 0.0}),
    ],
    ids=repr,
)
def test_a_class_of_weight_zero_is_the_reason_given(model):
    X = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)], dtype=float)
    y = np.array([0, 0, 0, 1, 1, 1, 2, 2])
    weights = None if model.class_weight else np.where(y == 2, 0.0, 1.0)
    model.fit(X, y, weights)
    with pytest.raises(AuditRefusedError, match="Every sample of class 2 has weight 0"):
        qpsvm.audit(model, X, y, sample_weight=weights)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("optimum", [False, True])
def test_a_label_that_is_rounding_is_not_counted(kernel, optimum):
    X, y = data(1e3, n=12)
    model = SVC(kernel=kernel, C=1.0, tol=1e-10).fit(X, y)
    labels = model.predict(X)
    for step in model.decision_function(X)[:3]:
        moved = copy.deepcopy(model)
        moved.intercept_ = model.intercept_ - step
        moved._intercept_ = model._intercept_ + step
        compared = qpsvm.audit(moved, X, y, eps=1e-5, optimum=optimum).predictions
        assert compared.n_undecided >= 1
        assert compared.n_same <= np.count_nonzero(moved.predict(X) == labels)
        assert compared.n_different <= np.count_nonzero(moved.predict(X) != labels)
        assert optimum is False or compared.n_same > 0


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("optimum", [False, True])
def test_a_label_that_the_rounding_of_a_file_changes_is_not_counted(kernel, optimum, tmp_path):
    X, y = data(0.0, n=12)
    model = SVC(kernel=kernel, gamma=0.5, C=1.0, tol=1e-10).fit(X, y > 0)
    labels, stored = model.predict(X), copy.deepcopy(model)
    stored.support_vectors_ = np.array(
        [[float(f"{x:.8g}") for x in row] for row in model.support_vectors_]
    )
    by_rows, by_file = (
        (K @ one.dual_coef_.T)[:, 0] + model.intercept_
        for one in (model, stored)
        for K in [(linear_kernel if kernel == "linear" else RBF)(X, one.support_vectors_)]
    )
    for i in range(3):
        moved = copy.deepcopy(stored)
        moved.intercept_ = model.intercept_ - 0.5 * (by_rows + by_file)[i]
        predicted = by_file + moved.intercept_ - model.intercept_ > 0.0
        assert predicted[i] != (by_rows + moved.intercept_ - model.intercept_ > 0.0)[i]
        text = of_svc(moved, [f"kernel_type {kernel}", *["gamma 0.5"] * (kernel == "rbf")])
        (tmp_path / "model").write_text(text)
        found = qpsvm.audit(tmp_path / "model", X, y > 0, C=1.0, eps=1e-5, optimum=optimum)
        compared = found.predictions
        assert compared.n_undecided >= 1
        assert compared.n_same <= np.count_nonzero(predicted == labels)
        assert compared.n_different <= np.count_nonzero(predicted != labels)
        assert optimum is False or compared.n_same > 0


@pytest.mark.parametrize("family", ["OneClass", "DataDescription"])
@pytest.mark.parametrize("as_file", [False, True])
def test_labels_of_own_machines_on_the_boundary_are_counted_by_their_rule(
    family, as_file, tmp_path
):
    X, path = data(0.0, n=12)[0], tmp_path / "model.npz"
    problem = getattr(qpsvm, family)(0.4).dual(X, kernel=qpsvm.kernels.RBF(0.5))
    solution = qpsvm.solve(problem)
    labels, values = solution.predict(X), solution.decision_function(X)
    outside, sure = int(np.argmin(values)), np.abs(values) > 1e-6  # others are on the boundary
    for share in (0.5, -0.5, 1.5, -1.5):  # of the size that counts as zero
        moved = solution.replace(intercept=solution.intercept - values[outside])
        moved = moved.replace(intercept=moved.intercept + share * moved.zero_below)
        models.save(path, problem, moved)
        model = models.load(path)
        predicted = model.predict(X)
        assert predicted[outside] == (1 if share > -1.0 else -1)
        found = qpsvm.audit(path if as_file else model, X, eps=1e-5)
        assert as_file or found.own_predictions.passed
        compared = found.predictions
        assert compared.n_same <= np.count_nonzero(sure & (predicted == labels))
        assert compared.n_different <= np.count_nonzero(sure & (predicted != labels))


@pytest.mark.parametrize("floor", [0.0, 1e-3])
def test_the_excess_is_relative_to_the_optimum_and_not_to_the_scale_of_gaps(floor):
    def certificate(lower, upper):
        ends = SimpleNamespace(dual_lower=lower, primal_upper=upper)
        return SimpleNamespace(
            primal_objective=upper,
            objective_rounding=0.0,
            objective_scale=max(abs(upper), floor),
            floor=floor,
            enclosure=ends,
        )

    model = certificate(0.0, 1.51e-4)
    found = excess(model, certificate(1e-6 - 1e-12, 1e-6), 0.0)
    assert found["excess"] == pytest.approx(150.0)
    assert found["least_excess"] <= found["excess"] <= found["most_excess"]
    assert found["most_excess"] == pytest.approx(150.0, rel=1e-5)
    assert found["scaled_excess"] == pytest.approx(1.5e-4 / (floor or 1e-6))
    hidden = excess(model, certificate(1e-6 - 1e-12, 1e-6), 1e-4)
    assert hidden["least_excess"] == pytest.approx(50.0, rel=1e-4)
    assert hidden["most_excess"] == pytest.approx(250.0, rel=1e-4)
    negative = excess(certificate(0.0, -0.5), certificate(-1.1, -1.0), 0.0)
    assert (negative["least_excess"], negative["most_excess"]) == (
        pytest.approx(0.5),
        pytest.approx(0.6 / 1.1),
    )
    # of an optimum that may be zero no share is known
    assert excess(model, certificate(-1e-12, 1e-6), 0.0)["most_excess"] == np.inf


def test_regressors_of_sparse_samples_are_not_said_to_be_changed():
    X, y = data(0.0)
    for model in (SVR(tol=1e-8), OneClassSVM(nu=0.3, tol=1e-8)):
        assert qpsvm.audit(model.fit(sp.csr_array(X), y), sp.csr_array(X), y, eps=1e-4).passed
