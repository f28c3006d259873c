"""Scorers see the samples of a fold; what is claimed of scores holds for the kernel function."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import metrics, svm
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from qpsvm.estimators import SVC
from qpsvm.exceptions import InvalidParameterError
from qpsvm.kernels import RBF, Polynomial
from qpsvm.selection import SVCSearch, SVRSearch
from qpsvm.selection.kernel_matrix import shared_kernels

RNG = np.random.default_rng(0)
X = np.round(RNG.normal(size=(42, 2)) * 1024.0) / 1024.0
Y = np.where(X[:, 0] + 0.7 * RNG.normal(size=42) > 0.0, 1, -1)
GRID = {"C": [0.1, 10.0], "gamma": [0.1, 1.0]}
SCORES = ("mean_test_score", "mean_test_score_lower", "mean_test_score_upper")


def in_container(name: str) -> Any:
    if name == "frame":
        return pytest.importorskip("pandas").DataFrame(X, columns=["a", "b"])
    return {"dense": np.asarray, "sparse": sp.csr_array, "list": np.ndarray.tolist}[name](X)


def as_rows(samples: Any) -> Any:
    return samples.toarray() if sp.issparse(samples) else np.asarray(samples)


@pytest.mark.parametrize("container", ["dense", "sparse", "frame", "list"])
def test_a_scorer_gets_what_it_gets_from_scikit_learns_search(container: str) -> None:
    seen = []

    def shifted(estimator: Any, samples: Any, y: Any) -> float:
        rows = as_rows(samples)
        seen.append((type(samples), rows, np.asarray(y), estimator))
        assert estimator.predict(samples).shape == (len(rows),)
        assert set(estimator.classes_) == {-1, 1}
        return float(np.mean(estimator.predict(rows + 0.3)[rows[:, 0] > -0.5] == 1))

    samples = in_container(container)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        ours = SVCSearch(**GRID, cv=3, scoring=shifted).fit(samples, Y)
        mine = seen.copy()
        seen.clear()
        theirs = GridSearchCV(SVC(), GRID, cv=3, scoring=shifted).fit(samples, Y)
        assert ours.score(samples, Y) == theirs.score(samples, Y)
    for own, other in zip(mine, seen, strict=False):
        assert own[0] is other[0]
        np.testing.assert_array_equal(own[1], other[1])
        np.testing.assert_array_equal(own[2], other[2])
        assert type(own[3]) is SVC
    for name in ("mean_test_score", "split0_test_score", "rank_test_score"):
        np.testing.assert_array_equal(ours.cv_results_[name], theirs.cv_results_[name])
    assert ours.best_params_ == theirs.best_params_
    assert not np.isfinite(ours.choice_.lower).any()
    assert not np.isfinite(ours.choice_.upper).any()
    assert not ours.choice_.is_proven


def test_a_frame_is_predicted_with_its_names() -> None:
    frame = in_container("frame")
    search = SVCSearch(**GRID, cv=3).fit(frame, Y)  # warnings are errors
    assert search.best_estimator_.feature_names_in_.tolist() == ["a", "b"]
    assert search.predict(frame).shape == search.decision_function(frame).shape == (42,)
    assert search.predict_certified(frame).labels.tolist() == search.predict(frame).tolist()


def test_weights_go_to_the_scorers_that_take_them() -> None:
    weights = np.linspace(0.5, 2.0, 42)

    def weighted(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        return float(np.average(estimator.predict(X) == y, weights=sample_weight))

    def plain(estimator: Any, X: Any, y: Any) -> float:
        return float(np.mean(estimator.predict(X) == y))

    grid = {"C": [1.0], "gamma": [0.1]}
    for scoring in ("accuracy", "f1", weighted, metrics.make_scorer(metrics.recall_score)):
        ours = SVCSearch(**grid, cv=3, scoring=scoring).fit(X, Y, weights)
        theirs = GridSearchCV(SVC(), grid, cv=3, scoring=scoring).fit(X, Y, sample_weight=weights)
        assert ours.best_score_ == pytest.approx(theirs.best_score_, abs=1e-12)
    for kind, scoring, y in ((SVCSearch, plain, Y), (SVRSearch, "neg_max_error", X[:, 0])):
        with pytest.warns(UserWarning, match="takes no sample weights"):
            kind(**grid, cv=3, scoring=scoring).fit(X, y, weights)


@pytest.mark.parametrize(
    ("scoring", "message"),
    [
        (lambda *_: {"a": 1.0}, r"scoring returned \{'a': 1.0\}"),
        (lambda *_: np.zeros(2), "must return one number"),
        (lambda *_: None, "scoring returned None"),
        ("neg_log_loss", "'neg_log_loss', which needs a method"),
        ({"a": "accuracy"}, r"scoring is \{'a': 'accuracy'\}"),
        (["accuracy", "f1"], r"scoring is \['accuracy', 'f1'\]"),
    ],
)
def test_a_scorer_that_gives_no_number_is_refused(scoring: Any, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        SVCSearch(C=[1.0], gamma=[0.1], cv=3, scoring=scoring).fit(X, Y)


def test_signs_shapes_and_scales_are_those_of_scikit_learn() -> None:
    three = np.digitize(X[:, 0], [-0.5, 0.5])
    cases = (
        ("top_k_accuracy", {}, three),
        ("top_k_accuracy", {"decision_function_shape": "ovo"}, three),
        (metrics.make_scorer(metrics.zero_one_loss, greater_is_better=False), {}, three),
        ("roc_auc", {}, Y),
    )
    for scoring, more, y in cases:
        grid = {"C": [1.0], "gamma": [0.1]}
        ours = SVCSearch(**grid, **more, cv=3, scoring=scoring).fit(X, y)
        theirs = GridSearchCV(svm.SVC(tol=1e-8, **more), grid, cv=3, scoring=scoring).fit(X, y)
        assert ours.best_score_ == pytest.approx(theirs.best_score_, abs=1e-12)


def test_the_scale_is_that_of_all_samples_however_machines_are_fitted() -> None:
    def gamma(estimator: Any, samples: Any, y: Any) -> float:
        del samples, y
        return float(estimator.gamma)

    search = SVCSearch(C=[1.0], gamma="scale", cv=3, scoring=gamma).fit(X, Y)
    expected = RBF("scale").resolve(X).gamma
    assert [search.cv_results_[f"split{k}_test_score"][0] for k in range(3)] == [expected] * 3


@pytest.mark.parametrize("kernel", [RBF("scale"), Polynomial("auto"), Polynomial("scale", 2)])
def test_the_scale_of_a_kernel_object_is_that_of_all_samples(kernel: Any) -> None:
    def gamma(estimator: Any, samples: Any, y: Any) -> float:
        del samples, y
        return float(estimator.problem_.kernel.gamma)

    search = SVCSearch(C=[1.0], kernel=kernel, cv=3, scoring=gamma).fit(X, Y)
    expected = kernel.resolve(X).gamma
    assert [search.cv_results_[f"split{k}_test_score"][0] for k in range(3)] == [expected] * 3
    assert search.kernel is kernel


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("kernel", "offset"), [("rbf", 1e3), ("rbf", 1e8), ("linear", 1e4)])
def test_an_offset_changes_no_score_beyond_its_interval(
    offset: float, container: Any, kernel: str
) -> None:
    """``X + offset`` is exact, and neither kernel's machine depends on it."""
    assert ((X + offset) - offset == X).all()
    grid = {"C": [1.0, 30.0]} | ({"gamma": [0.1, 3.0]} if kernel == "rbf" else {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the gap that kernel values leave is not the matter here
        moved = SVCSearch(**grid, kernel=kernel, cv=3).fit(container(X + offset), Y).choice_
    exact = SVCSearch(**grid, kernel=kernel, cv=3).fit(X, Y).choice_
    assert (moved.lower <= exact.upper + 1e-9).all()
    assert (exact.lower <= moved.upper + 1e-9).all()
    assert (exact.upper - exact.lower).max() < 0.1


def test_scores_of_samples_far_from_each_other_are_those_of_their_exact_kernel() -> None:
    """Two groups 1e9 apart have kernel values of zero, whatever rounding says."""
    far = X + 1e9 * np.where(np.arange(42) % 2, 1.0, -1.0)[:, None]
    assert (np.abs(far) % (1.0 / 1024.0) == 0.0).all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = SVCSearch(C=[1.0], gamma=[0.1, 1.0], cv=3).fit(far, Y)
    for k, candidate in enumerate(search.cv_results_["params"]):
        own = [[Fraction(v) for v in row] for row in far.tolist()]
        squares = [[float(_square(p, q)) for q in own] for p in own]
        K = np.exp(-candidate["gamma"] * np.array(squares))
        low, high = [], []
        for train, test in StratifiedKFold(3).split(far, Y):
            machine = SVC(C=candidate["C"], kernel="precomputed", eps=1e-10)
            proof = machine.fit(K[np.ix_(train, train)], Y[train]).certificate_
            found = proof.predict_certified(K[np.ix_(test, train)], squares=np.ones(len(test)))
            right = found.labels == Y[test]
            low.append(np.mean(right & found.decided))
            high.append(np.mean(right | ~found.decided))
        assert search.choice_.lower[k] <= np.mean(high) + 1e-9
        assert np.mean(low) <= search.choice_.upper[k] + 1e-9


@pytest.mark.parametrize("far", [0.0, 30.0, 1e6, 1e9])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_errors_of_shared_kernel_values_are_bounded_for_every_gamma(
    far: float, container: Any
) -> None:
    samples = X[:20] + far * (np.arange(20) % 3)[:, None]
    own = [[Fraction(v) for v in row] for row in samples.tolist()]
    gammas = [1e-9, 1e-4, 0.3, 50.0]
    for kernel in (RBF(1.0), Polynomial(1.0, degree=3, coef0=0.5)):
        shared = shared_kernels(kernel, container(samples), max(gammas))
        assert shared is not None
        for gamma in gammas:
            K = shared(gamma)
            for i, j in ((0, 0), (0, 1), (0, 3), (2, 5), (4, 9), (7, 10)):
                exact = _kernel_value(kernel, Fraction(gamma), own[i], own[j])
                e, value = K.errors, float(K.values[i, j])
                relative = (1.0 + e.rows[i]) * (1.0 + e.columns[j]) - 1.0
                if math.isinf(relative):
                    continue  # nothing is claimed
                bound = relative * abs(value) + e.left[i] * e.right[j] + 1e-300
                assert abs(Fraction(value) - exact) <= Fraction(min(bound, 1e300))
                if i == j:
                    assert not exact > Fraction(min(float(K.norms[i]), 1e150)) ** 2


def _kernel_value(kernel: Any, gamma: Fraction, x: Any, z: Any) -> Fraction:
    if isinstance(kernel, Polynomial):
        product = sum(a * b for a, b in zip(x, z, strict=True))
        return (gamma * product + Fraction(kernel.coef0)) ** kernel.degree
    exponent = -gamma * _square(x, z)
    if exponent <= -700:
        return Fraction(0)
    near = float(exponent)  # the rest to first order; exp() itself is accurate to an ulp
    return Fraction(math.exp(near)) * (1 + exponent - Fraction(near))


def _square(x: Any, z: Any) -> Fraction:
    return sum(((a - b) ** 2 for a, b in zip(x, z, strict=True)), Fraction(0))
