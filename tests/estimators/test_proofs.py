"""An estimator says what is proven of it, and warns exactly when nothing is."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from joblib import parallel_config
from sklearn import datasets, svm
from sklearn.ensemble import BaggingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

import qpsvm
from qpsvm import constraints, estimators
from qpsvm.estimators import SVC, SVR, LinearSVC, NuSVC, OneClassSVM
from qpsvm.exceptions import NuReducedWarning

X, Y = scale(datasets.load_breast_cancer().data[:150]), datasets.load_breast_cancer().target[:150]
IRIS = datasets.load_iris(return_X_y=True)
DIABETES = tuple(part[:100] for part in datasets.load_diabetes(return_X_y=True))


@pytest.mark.parametrize("max_iter", [1, 2, 3, 5, 8, -1])
@pytest.mark.parametrize("backend", ["ipm", "osqp", "cvxopt"])
def test_it_warns_exactly_when_it_is_not_certified(max_iter: int, backend: str) -> None:
    model = SVC(kernel="linear", C=10.0, max_iter=max_iter, backend=backend, eps=1e-6)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, Y)
    warned = [w for w in caught if issubclass(w.category, ConvergenceWarning)]
    certified = model.certificate_.passed(1e-6)
    assert bool(warned) != certified
    assert model.fit_status_ == int(not certified)
    if warned:
        assert "not certified to eps=1e-06" in str(warned[0].message)
        assert warned[0].filename == __file__


def test_what_is_fitted_is_the_problem_and_its_solution() -> None:
    model = SVC(C=3.0, gamma=0.02).fit(X, Y)
    problem = qpsvm.SoftMargin(C=3.0).dual(X, Y, kernel=qpsvm.kernels.RBF(gamma=0.02))
    assert qpsvm.verify(problem, model.solution_).passed
    assert model.problem_.qp.n_variables == problem.qp.n_variables
    assert "OPTIMAL" in str(model.report()) or model.report().passed


@pytest.mark.parametrize(
    "model",
    [
        SVC(C=10.0, gamma=0.1),
        SVC(C=10.0, gamma=0.1, break_ties=True),
        SVC(C=10.0, gamma=0.1, multi_class="ovr"),
        SVC(C=10.0, gamma=0.1, multi_class="crammer_singer"),
        NuSVC(nu=0.2),
        LinearSVC(),
    ],
    ids=str,
)
def test_proven_labels_are_those_of_every_more_accurate_machine(model: Any) -> None:
    rng = np.random.default_rng(0)
    new = rng.uniform(IRIS[0].min(axis=0), IRIS[0].max(axis=0), (300, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        rough = model.set_params(eps=1e-3, backend="osqp").fit(*IRIS)
    known = rough.predict_certified(new)
    np.testing.assert_array_equal(known.labels, rough.predict(new))
    exact = model.set_params(eps=1e-10, backend="auto").fit(*IRIS).predict(new)
    np.testing.assert_array_equal(known.labels[known.decided], exact[known.decided])


def test_intervals_of_a_regression_contain_the_exact_prediction() -> None:
    rough = SVR(C=10.0, eps=1e-4, backend="osqp").fit(*DIABETES)
    exact = SVR(C=10.0, eps=1e-10).fit(*DIABETES).predict(DIABETES[0])
    bounds = rough.predict_certified(DIABETES[0])
    np.testing.assert_allclose(bounds.values, rough.predict(DIABETES[0]), rtol=1e-12)
    assert (bounds.lower <= exact + 1e-9).all()
    assert (exact - 1e-9 <= bounds.upper).all()


def test_novelties_are_proven() -> None:
    model = OneClassSVM(nu=0.2).fit(X)
    known = model.predict_certified(X)
    assert known.fraction_decided > 0.7
    np.testing.assert_array_equal(known.labels[known.decided], model.predict(X)[known.decided])


def test_constraints_are_met() -> None:
    rules = [constraints.nonnegative([0, 3]), constraints.bounded(1, -0.1, 0.1)]
    for model in (SVC(kernel="linear", constraints=rules), LinearSVC(constraints=rules)):
        coef = np.ravel(model.fit(X, Y).coef_)
        assert coef[0] >= 0.0 <= coef[3]
        assert abs(coef[1]) <= 0.1 + 1e-9
    with pytest.raises(ValueError, match="no explicit w"):
        SVC(constraints=rules).fit(X, Y)


def test_constraints_know_columns_by_name() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X[:, :4], columns=list("abcd"))
    model = LinearSVC(constraints=constraints.nonpositive("b")).fit(frame, Y)
    assert model.coef_[0, 1] <= 0.0
    np.testing.assert_array_equal(model.predict(frame), model.predict(frame))


def test_a_warm_start_reaches_the_same_optimum_in_fewer_iterations() -> None:
    model = SVC(C=50.0, gamma=0.02, warm_start=True).fit(X, Y)
    first, coefficients = model.n_iter_, model.dual_coef_
    model.fit(X, Y)
    assert model.n_iter_ <= first
    np.testing.assert_allclose(model.dual_coef_, coefficients, atol=1e-5)
    model.set_params(C=60.0).fit(X[:100], Y[:100])  # other prices, and fewer samples
    model.fit(*IRIS)  # another problem altogether
    assert model.fit_status_ == 0


@pytest.mark.exhaustive
def test_as_many_workers_as_there_are_give_the_same_bits() -> None:
    data = datasets.load_iris(return_X_y=True)
    serial = SVC(C=5.0).fit(*data)
    for backend in ("threading", "loky"):
        with parallel_config(backend=backend, n_jobs=2):
            parallel = SVC(C=5.0).fit(*data)
        np.testing.assert_array_equal(parallel.dual_coef_, serial.dual_coef_)
        np.testing.assert_array_equal(parallel.intercept_, serial.intercept_)
    assert SVC(C=5.0, n_jobs=2).fit(*data).certificate_.passed(1e-8)


def test_fits_in_threads_give_the_same_bits() -> None:
    def fitted(C: float) -> Any:
        return SVC(C=C, gamma=0.02).fit(X, Y).decision_function(X)

    prices = [0.1, 1.0, 10.0, 100.0] * 4
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(fitted, prices))
    for C, values in zip(prices, together, strict=True):
        np.testing.assert_array_equal(values, fitted(C))


def test_a_weight_is_as_many_rows_for_every_estimator() -> None:
    rng = np.random.default_rng(2)
    counts = rng.integers(0, 4, len(Y))
    for name in estimators.__all__:
        if name in ("SVMRanker", "LinearSVR"):  # pairs multiply; several optima
            continue
        kind = getattr(estimators, name)
        model = kind(**({"nu": 0.1} if "nu" in kind().get_params() else {}))
        repeated = model.fit(np.repeat(X, counts, axis=0), np.repeat(Y, counts))
        values = repeated.predict(X) if "SVR" in name else repeated.decision_function(X)
        model = model.fit(X, Y, sample_weight=counts.astype(float))
        own = model.predict(X) if "SVR" in name else model.decision_function(X)
        np.testing.assert_allclose(own, values, atol=2e-4 * np.max(np.abs(values)), err_msg=name)


def test_a_nu_that_is_too_large_is_reduced_with_a_warning() -> None:
    few = np.concatenate([np.flatnonzero(Y == 0), np.flatnonzero(Y == 1)[:10]])
    with pytest.warns(NuReducedWarning, match="allow at most"):
        model = NuSVC(nu=0.9).fit(X[few], Y[few])
    largest = 2.0 * min(np.mean(Y[few] == label) for label in (0, 1))
    assert model.problem_.formulation.nu == pytest.approx(largest)
    with pytest.raises(ValueError, match="infeasible"):
        svm.NuSVC(nu=0.9).fit(X[few], Y[few])


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (SVC(C=-1.0), "C is -1.0"),
        (SVC(kernel="rfb"), "kernel is 'rfb'"),
        (SVC(gamma=0.0), "gamma is 0.0"),
        (SVC(multi_class="ova"), "multi_class"),
        (SVC(decision_function_shape="x"), "decision_function_shape"),
        (SVC(break_ties=True, decision_function_shape="ovo"), "break_ties must be False"),
        (SVC(eps=0.0), "eps"),
        (SVC(backend="simplex"), "simplex"),
        (SVC(max_iter=0), "max_iter"),
        (SVC(warm_start="yes"), "warm_start"),
        (LinearSVC(intercept_scaling=2.0), "append a column"),
        (LinearSVC(multi_class="crammer_singer", intercept_scaling=np.inf), "free intercepts"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_parameters_outside_their_domain_are_refused(model: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model.fit(*IRIS)


def test_a_notebook_shows_the_certificate() -> None:
    model = SVC()
    assert "qpsvm-certificate" not in model._repr_html_()
    html = model.fit(X, Y)._repr_html_()
    assert "Certified optimal to eps = 1e-08" in html
    assert "qpsvm-certificate" in model._repr_mimebundle_()["text/html"]


@pytest.mark.parametrize(("weights", "nu"), [((1.5, 0.2), 0.2), ((10.0, 2.0), 0.5)])
def test_the_largest_nu_is_that_of_the_program_with_its_class_weights(weights, nu) -> None:
    samples, labels = [[1.0, 2.0, 3.0], [0.0, 5.0, 2.0]], [-1, 1]
    class_weight = dict(zip(labels, weights, strict=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NuReducedWarning)
        model = NuSVC(nu=0.5, class_weight=class_weight).fit(samples, labels)
    assert model.problem_.formulation.nu == pytest.approx(nu, rel=1e-9)
    # it is the largest: the formulation refuses a little more
    if nu < 0.5:
        formulation = qpsvm.NuClassification(nu=nu * 1.001, class_weight=class_weight)
        with pytest.raises(qpsvm.exceptions.InvalidParameterError, match="at most"):
            formulation.dual(samples, labels)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 2.0, 1: 0.5, 2: 3.0}])
def test_a_reduced_nu_is_feasible_for_every_machine(multi_class, class_weight) -> None:
    samples, labels = IRIS[0][:110], IRIS[1][:110]
    with pytest.warns(NuReducedWarning, match="allow at most"):
        model = NuSVC(nu=0.99, class_weight=class_weight, multi_class=multi_class).fit(
            samples, labels
        )
    nus = {problem.formulation.nu for problem in model.problem_.problems}
    assert len(nus) == 1
    largest = [p.formulation.largest_nu(p.data) for p in model.problem_.problems]
    assert nus.pop() == pytest.approx(min(largest), rel=1e-9)


@pytest.mark.parametrize("kind", [SVC, LinearSVC, NuSVC])
def test_a_class_whose_samples_all_have_weight_zero_is_a_missing_class(kind) -> None:
    samples, labels = IRIS
    weights = np.where(labels == 1, 0.0, 1.0)
    kept = labels != 1
    model, expected = kind().fit(samples, labels, weights), kind().fit(samples[kept], labels[kept])
    assert model.classes_.tolist() == [0, 2]
    np.testing.assert_array_equal(model.predict(samples), expected.predict(samples))
    np.testing.assert_allclose(
        model.decision_function(samples), expected.decision_function(samples), atol=1e-5
    )


def test_bagging_meets_bootstraps_without_a_class() -> None:
    corners = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)], dtype=float)
    labels = np.array([0, 0, 0, 1, 1, 1, 2, 2])
    bagged = BaggingClassifier(SVC(kernel="linear"), random_state=0).fit(corners, labels)
    assert {len(each.classes_) for each in bagged.estimators_} == {2, 3}
    assert set(bagged.predict(corners)) <= {0, 1, 2}
