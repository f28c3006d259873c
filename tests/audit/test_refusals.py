"""A model that cannot be audited is refused, and the message says why and what to do."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.compose import TransformedTargetRegressor
from sklearn.linear_model import LogisticRegression, SGDClassifier, SGDOneClassSVM
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, NuSVC, OneClassSVM

import qpsvm
from qpsvm.audits import Arrays
from qpsvm.exceptions import AuditRefusedError, InvalidDataError, InvalidParameterError
from tests.audit.peers import cancer, diabetes, flowers, unequal, wine

X, Y = cancer(120)
Z, T = diabetes(60)


def refused(match, model, samples=X, y=Y, **options):
    with pytest.raises(AuditRefusedError, match=match):
        qpsvm.audit(model, samples, y, **options)


@pytest.mark.parametrize(
    "model",
    [SVC(), NuSVC(), SVR(), OneClassSVM(), LinearSVC(), SGDClassifier(), SGDOneClassSVM()],
    ids=lambda model: type(model).__name__,
)
def test_a_model_that_is_not_fitted(model):
    refused(f"{type(model).__name__} is not fitted; call fit", model)
    refused("is not fitted; call fit", make_pipeline(model))


def test_kinds_of_models_no_reader_knows():
    refused(r"cannot read a LogisticRegression.*reads.*SVC.*LIBSVM", LogisticRegression())
    refused(r"cannot read a int", 3)
    target = TransformedTargetRegressor(SVR(), transformer=StandardScaler()).fit(Z, T)
    refused("pass regressor_ with the transformed y", target, Z, T)


def test_a_subclass_is_read_as_what_it_is():
    class Own(SVC):
        pass

    assert qpsvm.audit(Own().fit(X, Y), X, Y).machines
    unrelated = type("SVC", (), {"__module__": "elsewhere"})()
    refused("cannot read a SVC", unrelated)


@pytest.mark.parametrize(
    ("model", "match"),
    [
        (SGDClassifier(loss="log_loss"), "loss='log_loss'"),
        (SGDClassifier(loss="perceptron"), "loss='perceptron'"),
        (SGDClassifier(penalty="l1"), "penalty='l1'"),
        (SGDClassifier(early_stopping=True), "early_stopping=True: it held out"),
        (SGDOneClassSVM(fit_intercept=False), "fit_intercept=False: its rho is not learned"),
    ],
    ids=str,
)
def test_programs_that_are_no_svm_here(model, match):
    refused(match, model.fit(X, Y))


def test_a_one_class_descent_without_an_optimum():
    weights = np.full(len(X), 0.2)
    model = SGDOneClassSVM(nu=0.5).fit(X, sample_weight=weights)
    refused("no optimum: rho is unbounded", model, X, None, sample_weight=weights)


def test_indefinite_kernels():
    model = SVC(kernel="sigmoid", gamma=0.1, coef0=-1.0).fit(X, Y)
    refused(r"sigmoid.*eigenvalue -.*not convex", model)


# --- other data -----------------------------------------------------------------------------------


def test_samples_that_are_not_those_of_the_fit():
    model = SVC(gamma=0.05).fit(X, Y)
    refused("fitted on 30 columns, X has 29; pass the training data", model, X[:, 1:])
    refused("fitted on 120 samples, X has 119", model, X[1:], Y[1:])
    refused(r"Row \d+ of X is not the support vector.*scaled and in the same order", model, X[::-1])
    nearly = X.copy()
    nearly[model.support_[0], 3] = np.nextafter(nearly[model.support_[0], 3], 9.0)
    refused(r"1 of \d+ rows do", model, nearly)
    scaled = make_pipeline(StandardScaler(), SVC()).fit(10.0 * X, Y)
    refused(r"Row \d+ of X is not the support vector", scaled, X[::-1])
    refused("the pipeline cannot transform|pipeline cannot transform X", scaled, X[:, 1:])


@pytest.mark.parametrize(
    "model", [SVC(), NuSVC(nu=0.3), LinearSVC(), SGDClassifier()], ids=lambda m: type(m).__name__
)
def test_another_number_of_labels(model):
    refused("X has 120 rows and y has 50 labels", model.fit(X, Y), y=Y[:50])
    with pytest.raises(InvalidDataError, match="y is missing"):
        qpsvm.audit(model, X)


def test_a_gamma_that_is_not_that_of_the_data():
    model = SVC(gamma="scale").fit(X, Y)
    other = X.copy()
    others = np.setdiff1d(np.arange(len(X)), model.support_)
    other[others] *= 3.0
    refused(r"predicts with gamma=.*; gamma='scale' is .* for these data", model, other)


def test_labels_that_are_not_those_of_the_fit():
    model = SVC().fit(X, Y)
    refused(
        r"classes 'benign', 'malignant', y has 'a', 'b'",
        model,
        y=np.where(X[:, 0] > 0, "a", "b"),
    )
    swapped = np.where(Y == "benign", "malignant", "benign")
    refused("wrong sign for its label", model, y=swapped)
    three, y = wine()
    refused("classes 0, 1, 2, y has 0, 1", SVC().fit(three, y), three, np.minimum(y, 1))
    mixed = Y.copy()
    mixed[model.support_[0]] = "malignant" if Y[model.support_[0]] == "benign" else "benign"
    refused("wrong sign for its label", model, y=mixed)


@pytest.mark.parametrize(
    ("kernel", "samples"),
    [("precomputed", X @ X.T), (lambda a, b: a @ b.T, X)],
    ids=["precomputed", "callable"],
)
def test_weights_of_zero_beside_a_kernel_matrix(kernel, samples):
    u = np.where(np.arange(len(X)) % 3, 1.0, 0.0)
    model = SVC(kernel=kernel).fit(samples, Y, sample_weight=u)
    refused("predicts from other columns", model, samples, sample_weight=u)
    last = np.sort(u)[::-1].copy()  # there the columns are the right ones
    model = SVC(kernel=kernel).fit(samples, Y, sample_weight=last)
    assert qpsvm.audit(model, samples, Y, sample_weight=last, eps=1e-1).passed


def test_sample_weights_that_are_not_those_of_the_fit():
    u = unequal(len(X), zeros=30)
    model = SVC().fit(X, Y)
    refused("90 samples have a positive weight; pass the sample_weight", model, sample_weight=u)
    with pytest.raises(InvalidDataError, match=r"sample_weight has shape \(3,\) for 120 rows"):
        qpsvm.audit(model, X, Y, sample_weight=[1.0, 2.0, 3.0])
    weighted = SVC().fit(X, Y, sample_weight=u)
    assert not qpsvm.audit(weighted, X, Y, eps=1e-2).passed  # another program
    assert qpsvm.audit(weighted, X, Y, sample_weight=u, eps=1e-2).passed


def test_numbers_that_predict_nothing_or_were_changed():
    model = SVC().fit(X, Y)
    broken = copy.deepcopy(model)
    broken.dual_coef_[0, 0] = np.nan
    refused("dual_coef_ of this SVC holds NaN", broken)
    changed = copy.deepcopy(model)
    changed.intercept_ = changed.intercept_ + 1.0  # sklearn predicts with a copy
    refused("predicts with other numbers than its dual_coef_", changed)
    linear = LinearSVC().fit(X, Y)
    linear.coef_[0, 3] = np.inf
    refused("holds NaN or infinite", linear)


def test_a_sparse_matrix_is_the_dense_one():
    model = SVC(gamma=0.05).fit(X, Y)
    dense, sparse = qpsvm.audit(model, X, Y), qpsvm.audit(model, sp.csr_array(X), Y)
    assert sparse.relative_gap == pytest.approx(dense.relative_gap, rel=1e-6)
    again = SVC(gamma=0.05).fit(sp.csr_matrix(X), Y)
    assert qpsvm.audit(again, X, Y).relative_gap == pytest.approx(dense.relative_gap, rel=1e-6)


def test_a_data_frame_in_a_pipeline():
    frame = pd.DataFrame(X, columns=[f"feature {i}" for i in range(30)])
    model = make_pipeline(StandardScaler(), SVC(tol=1e-10)).fit(frame, Y)
    assert qpsvm.audit(model, frame, Y, eps=1e-5).passed
    turned = frame[frame.columns[::-1]]
    refused("pipeline cannot transform X", model, turned)


# --- parameters -----------------------------------------------------------------------------------


def test_parameters_the_model_has_itself():
    model = SVC().fit(X, Y)
    refused("C was given, but the model .SVC. has its own", model, C=1.0)
    refused("nu was given", LinearSVC().fit(X, Y), nu=0.1)
    with pytest.raises(InvalidParameterError, match="eps is 2"):
        qpsvm.audit(model, X, Y, eps=2.0)


@pytest.mark.parametrize(
    ("model", "match"),
    [
        (Arrays(qpsvm.SoftMargin()), "neither alpha nor coef"),
        (Arrays(qpsvm.SoftMargin(), alpha=np.zeros(3)), r"alpha has shape \(3,\).*\(120,\)"),
        (Arrays(qpsvm.SoftMargin(), coef=np.zeros(3)), r"coef has shape \(3,\).*\(30,\)"),
        (Arrays(qpsvm.SoftMargin(), coef=np.full(30, np.nan)), "NaN"),
        (Arrays(qpsvm.SoftMargin(), intercept=[1.0], coef=np.zeros(30)), r"intercept has shape"),
        (Arrays(qpsvm.SoftMargin(), coef=np.zeros(30), kernel="rbf"), "no explicit weights"),
        (Arrays(qpsvm.L1Norm(), alpha=np.zeros(120)), "do not follow from alpha alone"),
        (Arrays(qpsvm.CrammerSinger(), alpha=np.zeros((120, 2))), "do not follow from alpha"),
        (Arrays(qpsvm.OneVsRest(qpsvm.SoftMargin()), alpha=np.zeros(120)), "several; audit each"),
    ],
    ids=lambda value: value[:12] if isinstance(value, str) else "",
)
def test_arrays_that_are_no_machine(model, match):
    refused(match, model)


def test_arrays_of_every_shape_are_read():
    machine = qpsvm.solve(qpsvm.EpsilonRegression(2.0, 0.3).dual(Z, T), eps=1e-10)
    formulation = qpsvm.EpsilonRegression(2.0, 0.3)
    n = len(T)
    for alpha in (machine.alpha, machine.alpha[:n] - machine.alpha[n:]):
        model = Arrays(formulation, alpha=alpha, intercept=machine.intercept)
        assert qpsvm.audit(model, Z, T).passed
    weights = Arrays(formulation, coef=machine.coef, intercept=machine.intercept)
    assert qpsvm.audit(weights, Z, T).passed
    samples = flowers()[0]
    ball = qpsvm.solve(qpsvm.DataDescription(0.05).dual(samples, kernel="rbf"), eps=1e-10)
    model = Arrays(qpsvm.DataDescription(0.05), ball.intercept, ball.alpha, kernel="rbf")
    assert qpsvm.audit(model, samples).passed
    joint = qpsvm.solve(qpsvm.CrammerSinger(0.1).dual(*wine()), eps=1e-10)
    model = Arrays(qpsvm.CrammerSinger(0.1), joint.intercept, coef=joint.coef)
    assert qpsvm.audit(model, *wine()).passed
    sparse = qpsvm.solve(qpsvm.L1Norm(1.0).primal(X, Y), eps=1e-10)
    model = Arrays(qpsvm.L1Norm(1.0), sparse.intercept, coef=sparse.coef)
    assert qpsvm.audit(model, X, Y).passed
    with pytest.raises(InvalidDataError):
        qpsvm.audit(model, X, Y[1:])


def test_without_an_optimum_the_bounds_stand():
    model = SVC(tol=0.1).fit(X, Y)
    with pytest.warns(qpsvm.exceptions.ToleranceNotReachedWarning):
        found = qpsvm.audit(model, X, Y, callback=lambda _: False)  # stop at once
    assert not found.passed
    assert found.machines[0].optimum is None
    assert found.predictions_differ == 0  # by the model's own bounds
    assert found.relative_gap < 0.5
    assert "the exact optimum was not found" in str(found)
    assert found.verdict.startswith("Not proven optimal to 1e-08")
    assert "exceeds" not in found.verdict


def test_the_exact_solve_tells_what_it_does():
    events = []
    qpsvm.audit(SVC(tol=0.1).fit(X, Y), X, Y, callback=events.append)
    assert {event.stage for event in events} == {"polish"}
    events.clear()
    qpsvm.audit(LinearSVC().fit(X, Y), X, Y, callback=events.append)
    assert "done" in {event.stage for event in events}
