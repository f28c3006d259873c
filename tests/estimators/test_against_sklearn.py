"""Estimators minimise what scikit-learn's minimise, and have their attributes and signs."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import datasets, metrics, svm
from sklearn.preprocessing import scale

from qpsvm import estimators

LAYOUT = ("decision_function", "support_", "support_vectors_", "n_support_", "dual_coef_")
CANCER = scale(datasets.load_breast_cancer().data[:200]), datasets.load_breast_cancer().target[:200]
IRIS = tuple(part[:120] for part in datasets.load_iris(return_X_y=True))  # unequal classes
DIABETES = tuple(part[:150] for part in datasets.load_diabetes(return_X_y=True))
WEIGHTS = np.random.default_rng(0).uniform(0.2, 3.0, 200)


def both(name: str, **parameters: Any) -> tuple[Any, Any]:
    exact = {"tol": 1e-10} | ({"max_iter": 10**6} if "Linear" in name else {})
    return getattr(estimators, name)(**parameters), getattr(svm, name)(**exact, **parameters)


def agree(ours: Any, theirs: Any, X: Any, names: tuple[str, ...], rtol: float = 2e-5) -> None:
    for name in names:
        mine, other = getattr(ours, name), getattr(theirs, name)
        if callable(mine):
            mine, other = mine(X), other(X)
        mine, other = (a.toarray() if sp.issparse(a) else np.asarray(a) for a in (mine, other))
        assert mine.shape == other.shape, name
        size = max(1e-300, float(np.max(np.abs(other), initial=0.0)))
        np.testing.assert_allclose(mine / size, other / size, atol=rtol, err_msg=name)


KERNELS = [
    {},
    {"gamma": 0.05},
    {"gamma": "auto"},
    {"kernel": "linear"},
    {"kernel": "poly", "degree": 2, "coef0": 1.0},
]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("data", [CANCER, IRIS], ids=["two", "three"])
@pytest.mark.parametrize("shape", ["ovr", "ovo"])
def test_svc(kernel: dict[str, Any], data: Any, shape: Any) -> None:
    parameters = kernel | {"C": 2.0, "decision_function_shape": shape}
    ours, theirs = (model.fit(*data) for model in both("SVC", **parameters))
    agree(ours, theirs, data[0], (*LAYOUT, "intercept_", "class_weight_"), rtol=5e-4)
    np.testing.assert_array_equal(ours.predict(data[0]), theirs.predict(data[0]))
    if kernel.get("kernel") == "linear":
        agree(ours, theirs, data[0], ("coef_",), rtol=5e-4)
    else:
        assert not hasattr(ours, "coef_")
    assert ours.certificate_.passed(1e-8)
    assert ours.fit_status_ == 0
    assert np.shape(ours.n_iter_) == (() if data is CANCER else (3,))


@pytest.mark.parametrize("class_weight", ["balanced", {0: 3.0, 1: 0.5, 2: 1.0}])
def test_class_weights(class_weight: Any) -> None:
    for name in ("SVC", "LinearSVC"):
        ours, theirs = (m.fit(*IRIS) for m in both(name, class_weight=class_weight))
        names = ("decision_function", "intercept_") + (("class_weight_",) if name == "SVC" else ())
        agree(ours, theirs, IRIS[0], names)


def test_sample_weights() -> None:
    X, y = CANCER
    for name in ("SVC", "LinearSVC"):
        more = {"gamma": 0.03} if name == "SVC" else {}
        ours, theirs = (m.fit(X, y, sample_weight=WEIGHTS) for m in both(name, **more))
        agree(ours, theirs, X, ("decision_function", "intercept_"))


@pytest.mark.parametrize("break_ties", [False, True])
def test_votes_and_ties_are_those_of_the_original(break_ties: bool) -> None:
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((120, 2)), rng.integers(0, 5, 120)  # noise: ties are frequent
    ours, theirs = (m.fit(X, y) for m in both("SVC", C=10.0, break_ties=break_ties))
    grid = rng.uniform(-2.0, 2.0, (2000, 2))
    np.testing.assert_array_equal(ours.predict(grid), theirs.predict(grid))
    agree(ours, theirs, grid, ("decision_function",), rtol=1e-3)


@pytest.mark.parametrize("nu", [0.1, 0.3])
@pytest.mark.parametrize("data", [CANCER, IRIS], ids=["two", "three"])
def test_nu_svc(nu: float, data: Any) -> None:
    ours, theirs = (m.fit(*data) for m in both("NuSVC", nu=nu))
    agree(ours, theirs, data[0], ("decision_function", "intercept_"), rtol=1e-2)
    np.testing.assert_array_equal(ours.predict(data[0]), theirs.predict(data[0]))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("data", [CANCER, IRIS], ids=["two", "three"])
def test_linear_svc(loss: Any, data: Any) -> None:
    ours, theirs = (m.fit(*data) for m in both("LinearSVC", loss=loss))
    agree(ours, theirs, data[0], ("decision_function", "coef_", "intercept_"), rtol=1e-4)


def test_crammer_singer() -> None:
    ours, theirs = (m.fit(*IRIS) for m in both("LinearSVC", multi_class="crammer_singer"))
    agree(ours, theirs, IRIS[0], ("decision_function", "coef_", "intercept_"), rtol=1e-4)
    kernel = estimators.SVC(multi_class="crammer_singer", C=10.0).fit(*IRIS)
    assert kernel.dual_coef_.shape == (3, len(kernel.support_))
    assert kernel.score(*IRIS) > 0.95


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_regression(kernel: dict[str, Any]) -> None:
    X, y = DIABETES
    for name in ("SVR", "NuSVR"):
        ours, theirs = (m.fit(X, y) for m in both(name, C=20.0, **kernel))
        names = ("predict", *(LAYOUT[1:] if ours.kernel != "linear" else ()), "intercept_")
        agree(ours, theirs, X, names, rtol=1e-4)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_linear_svr(loss: Any) -> None:
    X, y = DIABETES
    ours, theirs = (m.fit(X, y) for m in both("LinearSVR", C=5.0, epsilon=2.0, loss=loss))
    agree(ours, theirs, X, ("predict", "coef_", "intercept_"), rtol=1e-3)


@pytest.mark.parametrize(
    "kernel",
    [{"gamma": 0.05}, {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": 0.01}],
    ids=str,
)
def test_one_class(kernel: dict[str, Any]) -> None:
    X, _ = CANCER
    for weights in (None, WEIGHTS):
        ours, theirs = (
            m.fit(X, sample_weight=weights) for m in both("OneClassSVM", nu=0.2, **kernel)
        )
        agree(ours, theirs, X, (*LAYOUT, "score_samples", "intercept_"), rtol=1e-4)
        assert ours.offset_ == pytest.approx(float(theirs.offset_[0]), rel=1e-6)
        assert np.mean(ours.predict(X) == -1) <= 0.2 or weights is not None


def test_the_ball_of_an_rbf_kernel_finds_the_same_novelties() -> None:
    X, _ = CANCER
    ball, plane = (
        kind(nu=0.2, gamma=0.05).fit(X) for kind in (estimators.SVDD, estimators.OneClassSVM)
    )
    np.testing.assert_array_equal(ball.predict(X), plane.predict(X))
    distances = ball.radius_**2 - ball.decision_function(X)
    assert (distances >= 0.0).all()
    np.testing.assert_allclose(ball.score_samples(X), -distances, atol=1e-12)


def test_quantiles_are_met() -> None:
    X, y = DIABETES
    for quantile in (0.1, 0.5, 0.9):
        model = estimators.QuantileSVR(quantile=quantile, C=50.0).fit(X, y)
        residuals = y - model.predict(X)
        zero = 1e-7 * np.ptp(y)
        assert np.mean(residuals < -zero) <= quantile <= np.mean(residuals <= zero)


def test_sparse_single_and_given_kernels_are_the_same_machine() -> None:
    X, y = CANCER
    X = np.asarray(X, dtype=np.float32)  # a float32 sample is a float64 sample
    plain = estimators.SVC(gamma=0.05).fit(X.astype(np.float64), y)
    K = metrics.pairwise.rbf_kernel(X.astype(np.float64), gamma=0.05)
    for model, samples in (
        (estimators.SVC(gamma=0.05), X),
        (estimators.SVC(gamma=0.05), sp.csr_matrix(X)),
        (estimators.SVC(gamma=0.05), sp.coo_array(X)),
        (estimators.SVC(kernel="precomputed"), K),
        (estimators.SVC(kernel=lambda a, b: metrics.pairwise.rbf_kernel(a, b, gamma=0.05)), X),
    ):
        values = model.fit(samples, y).decision_function(samples)
        np.testing.assert_allclose(values, plain.decision_function(X), atol=1e-6)
        np.testing.assert_array_equal(model.support_, plain.support_)


def test_large_integers_as_labels_and_words_as_samples() -> None:
    def common(X: Any, Z: Any) -> Any:
        return [[len(set(x) & set(z)) for z in Z] for x in X]

    words, labels = ["ant", "tan", "bee", "web", "nat"], ["a", "a", "b", "b", "a"]
    model = estimators.SVC(kernel=common, C=10.0).fit(words, labels)
    assert model.predict(["natant", "ebb"]).tolist() == ["a", "b"]
    assert not hasattr(model, "n_features_in_")


def test_frames_of_polars() -> None:
    polars = pytest.importorskip("polars")
    X, y = IRIS
    frame = polars.DataFrame(X, schema=["a", "b", "c", "d"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = estimators.SVC().fit(frame, y)
    # scikit-learn reads these names, from 1.9 on
    names = getattr(svm.SVC().fit(frame, y), "feature_names_in_", None)
    assert np.array_equal(getattr(model, "feature_names_in_", None), names)
    np.testing.assert_array_equal(model.predict(frame), estimators.SVC().fit(X, y).predict(X))
