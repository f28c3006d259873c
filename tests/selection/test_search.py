"""A search finds what tight solves and scikit-learn's search find, and proves what it says."""

from __future__ import annotations

import functools
import itertools
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import datasets, metrics, svm
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import check_estimator

import qpsvm
from qpsvm.estimators import SVC, SVR
from qpsvm.exceptions import InvalidDataError, InvalidParameterError, UnknownParameterError
from qpsvm.kernels import RBF
from qpsvm.selection import SVCSearch, SVRSearch, base_search
from qpsvm.selection.folds import Classes, Fold, Tube, run_fold
from qpsvm.selection.kernel_matrix import KernelBlock
from qpsvm.selection.machine_bounds import HeldOut, feasible, held_out
from qpsvm.selection.settings import SearchSettings

GRID = {"C": [0.01, 0.3, 10.0, 300.0], "gamma": [0.005, 0.1]}


@functools.cache
def cancer() -> tuple[Any, Any]:
    X, y = datasets.load_breast_cancer(return_X_y=True)
    return scale(X)[:150], y[:150]


@functools.cache
def diabetes() -> tuple[Any, Any]:
    X, y = datasets.load_diabetes(return_X_y=True)
    return X[:120], (y[:120] - 150.0) / 75.0


def whole(X: Any, gamma: float) -> KernelBlock:
    """The RBF kernel matrix of all samples, with the errors of its entries."""
    return KernelBlock.of(RBF(gamma)(X, X), RBF(gamma), X)


def certified(K: KernelBlock, part: Any, test: Any, beta: Any, C: float) -> HeldOut:
    """Bounds for coefficients that are moved into their boxes, shape (1, n)."""
    loss = part.unit.scaled(C).of(None)
    beta = feasible(beta, loss)
    trained, others = (K.of_part(rows, part.train).sums(beta) for rows in (part.train, test))
    return held_out(loss, beta, trained, others)


@functools.cache
def searched() -> SVCSearch:
    return SVCSearch(**GRID, cv=3).fit(*cancer())


def same_results(one: Any, other: Any) -> None:
    """The results have the same numbers, bit by bit, but for times."""
    assert one.keys() == other.keys()
    for name in one:
        if not name.endswith("_time"):
            np.testing.assert_array_equal(one[name], other[name], err_msg=name)


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", [SVRSearch, SVCSearch])
def test_scikit_learns_own_checks_pass(kind: type) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        small = kind(C=(1.0,), gamma=("scale",), cv=2)
        results = check_estimator(small, on_fail=None, on_skip=None)
    assert not {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert len(results) > 40


def test_the_results_are_those_of_scikit_learns_search() -> None:
    ours = searched()
    theirs = GridSearchCV(svm.SVC(tol=1e-8), GRID, cv=3).fit(*cancer())
    assert ours.cv_results_["mean_proven"].min() == 1.0
    assert set(theirs.cv_results_) <= set(ours.cv_results_)
    for name in theirs.cv_results_:
        if "test_score" in name or name.startswith("param_"):
            np.testing.assert_allclose(ours.cv_results_[name], theirs.cv_results_[name])
    assert ours.cv_results_["params"] == theirs.cv_results_["params"]
    assert (ours.best_params_, ours.best_index_) == (theirs.best_params_, theirs.best_index_)
    assert (ours.best_score_, ours.n_splits_) == (theirs.best_score_, theirs.n_splits_)
    X = cancer()[0]
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)
    assert ours.score(*cancer()) == theirs.score(*cancer())


def test_several_classes_sparse_samples_weights_and_class_weights() -> None:
    X, y = datasets.load_iris(return_X_y=True)
    weights = np.linspace(0.5, 1.5, len(y))
    for samples, sample_weight, class_weight, kernel in (
        (X, None, None, "rbf"),
        (sp.csr_matrix(X), weights, None, "rbf"),
        (X, None, "balanced", "rbf"),
        (X, None, {0: 2.0, 1: 0.5}, "poly"),
    ):
        grid = {"C": [0.2, 5.0], "gamma": [0.05, 0.5]}
        ours = SVCSearch(**grid, cv=3, class_weight=class_weight, kernel=kernel)
        ours.fit(samples, y, sample_weight)
        model = svm.SVC(tol=1e-8, class_weight=class_weight, kernel=kernel)
        theirs = GridSearchCV(model, grid, cv=3).fit(samples, y, sample_weight=sample_weight)
        low, high = (ours.cv_results_[f"mean_test_score_{end}"] for end in ("lower", "upper"))
        scores = theirs.cv_results_["mean_test_score"]
        assert ((low <= scores + 1e-12) & (scores <= high + 1e-12)).all()
        assert ours.cv_results_["mean_proven"].mean() > 0.9


def test_a_search_for_a_regression_has_the_scores_of_scikit_learns_within_its_intervals() -> None:
    X, y = diabetes()
    grid = {"C": [0.1, 10.0], "epsilon": [0.0, 0.3], "gamma": [1.0, 20.0]}
    for scoring in (None, "neg_mean_absolute_error", "neg_root_mean_squared_error"):
        ours = SVRSearch(**grid, cv=3, scoring=scoring).fit(X, y)
        theirs = GridSearchCV(svm.SVR(tol=1e-9), grid, cv=3, scoring=scoring).fit(X, y)
        low, high = (ours.cv_results_[f"mean_test_score_{end}"] for end in ("lower", "upper"))
        scores = theirs.cv_results_["mean_test_score"]
        assert (low - 1e-7 <= scores).all()
        assert (scores <= high + 1e-7).all()
        assert np.median(high - low) < 1e-3
        assert (low <= ours.cv_results_["mean_test_score"]).all()
        assert ours.best_params_ == theirs.best_params_
        assert ours.cv_results_["params"] == theirs.cv_results_["params"]


def test_kernels_that_are_not_shared_give_the_same_results(monkeypatch: Any) -> None:
    X, y = cancer()
    K = RBF(gamma=0.1)(X, X)
    given = SVCSearch(C=[0.3, 10.0], kernel="precomputed", cv=3).fit(K, y)
    shared = SVCSearch(C=[0.3, 10.0], gamma=0.1, cv=3).fit(X, y)
    monkeypatch.setattr(base_search, "SEARCH", SearchSettings(largest_matrix=0))
    alone = SVCSearch(C=[0.3, 10.0], gamma=0.1, cv=3).fit(X, y)
    numbers = SVRSearch(C=[1.0], gamma=1.0, cv=3).fit(*diabetes())
    monkeypatch.undo()
    for name in ("mean_test_score", "mean_test_score_lower", "mean_test_score_upper"):
        np.testing.assert_allclose(alone.cv_results_[name], shared.cv_results_[name])
        np.testing.assert_allclose(given.cv_results_[name], shared.cv_results_[name])
    np.testing.assert_array_equal(given.predict(K), shared.predict(X))
    again = SVRSearch(C=[1.0], gamma=1.0, cv=3).fit(*diabetes())
    for name in ("mean_test_score_lower", "mean_test_score_upper"):
        np.testing.assert_allclose(numbers.cv_results_[name], again.cv_results_[name], atol=1e-3)


def test_results_are_the_same_for_any_number_of_jobs_and_any_order_of_the_grid() -> None:
    two = SVCSearch(**GRID, cv=3, n_jobs=2).fit(*cancer())
    same_results(two.cv_results_, searched().cv_results_)
    turned = {name: values[::-1] for name, values in GRID.items()}
    other = SVCSearch(**turned, cv=3).fit(*cancer())
    for k, candidate in enumerate(other.cv_results_["params"]):
        row = searched().cv_results_["params"].index(candidate)
        assert (
            other.cv_results_["mean_test_score"][k]
            == (searched().cv_results_["mean_test_score"][row])
        )


def test_machines_along_c_are_the_optima_of_independent_solves() -> None:
    X, y = cancer()
    train, test = next(StratifiedKFold(3).split(X, y))
    K = whole(X, 0.1)
    task = Classes(y, np.array([0, 1]), np.ones(len(y)), None)
    (part,) = task.parts(Fold(train, test))
    C = np.array([0.001, 0.05, 1.0, 50.0, 1e4])
    block = K.values[np.ix_(part.train, part.train)]
    beta = np.array([*part.unit.along(block, C, 1e-10)])
    run = run_fold(K, task, Fold(train, test), C, 1e-8)
    for k, value in enumerate(C):
        problem = qpsvm.SoftMargin(C=value).dual(X[train], y[train], kernel=RBF(gamma=0.1))
        tight = qpsvm.solve(problem, eps=1e-10)
        order = np.searchsorted(np.sort(train), part.train)
        objective = np.abs(beta[k]).sum() - 0.5 * beta[k] @ block @ beta[k]
        assert objective == pytest.approx(qpsvm.certify(problem, tight).dual_objective, rel=1e-8)
        assert len(order) == len(train)
        found, exact = run[k].predictions, tight.decision_function(X[test])
        bounds = qpsvm.certify(problem, tight).decision_bounds(X[test])
        # both intervals contain the exact values
        assert (
            np.minimum(found.upper, bounds.upper) >= np.maximum(found.lower, bounds.lower)
        ).all()
        assert ((exact > 0.0) == (found.labels == 1))[found.decided].all()
        assert found.gap <= 1e-8


@pytest.mark.parametrize("seed", range(4))
def test_bounds_hold_for_any_coefficients(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = cancer()
    train, test = next(StratifiedKFold(3, shuffle=True, random_state=seed).split(X, y))
    K = whole(X, 0.05)
    numbers = Tube(scale(X[:, 0]) + 0.1 * y, np.ones(len(y)), 0.2)
    for task in (Classes(y, np.array([0, 1]), np.ones(len(y)), None), numbers):
        (part,) = task.parts(Fold(train, test))
        block = K.values[np.ix_(part.train, part.train)]
        best = np.array([*part.unit.along(block, np.array([2.0]), 1e-12)])
        (exact,) = run_fold(K, task, Fold(train, test), np.array([2.0]), 1e-12)
        exact = exact.predictions
        for size in (0.0, 1e-6, 1e-3, 0.3):
            moved = best + size * rng.normal(size=best.shape)
            found = certified(K, part, test, moved, 2.0)
            bounds = found.bounds(0)
            assert (bounds.lower <= exact.upper).all()
            assert (exact.lower <= bounds.upper).all()
            assert (bounds.lower <= bounds.values).all()
            assert (bounds.values <= bounds.upper).all()
            assert size == 0.0 or found.gap[0] > exact.gap


def test_a_proven_difference_is_one_of_tight_solves() -> None:
    X, y = cancer()
    choice, found = searched().choice_, []
    for candidate in choice.candidates:
        scores = []
        for train, test in StratifiedKFold(3).split(X, y):
            machine = SVC(**candidate, eps=1e-11).fit(X[train], y[train])
            assert machine.predict_certified(X[test]).fraction_decided == 1.0
            scores.append(metrics.accuracy_score(y[test], machine.predict(X[test])))
        found.append(np.mean(scores))
    for i, j in itertools.combinations(range(len(found)), 2):
        verdict = choice.between(i, j)
        assert verdict == ("equal" if abs(found[i] - found[j]) < 1e-12 else "proven")
    assert choice.is_proven
    assert choice.verdicts[choice.best] == "equal"


def test_a_loose_search_leaves_the_choice_open_and_intervals_hold_the_exact_scores() -> None:
    X, y = cancer()
    K, task = whole(X, 0.1), Classes(y, np.array([0, 1]), np.ones(len(y)), None)
    train, test = next(StratifiedKFold(3).split(X, y))
    (part,) = task.parts(Fold(train, test))
    block = K.values[np.ix_(part.train, part.train)]
    beta = np.array([*part.unit.along(block, np.array([10.0]), 1e-12)])
    found = certified(K, part, test, beta.round(3), 10.0)
    predictions = task.predictions([found.bounds(0)], float(found.gap[0]))
    assert 0.0 < predictions.decided.mean() < 1.0
    interval = qpsvm.selection.scores.of_classes(y[test], predictions, None)
    exact = SVC(C=10.0, gamma=0.1, eps=1e-10).fit(X[train], y[train]).score(X[test], y[test])
    assert interval.lower < interval.upper
    assert interval.lower <= exact <= interval.upper


def test_an_intercept_that_is_not_unique_leaves_labels_open() -> None:
    X = np.array([[-2.0], [-1.5], [-1.0], [1.0], [1.5], [2.0]] * 2)
    y = np.array([0, 0, 0, 1, 1, 1] * 2)
    search = SVCSearch(C=[1e-4], kernel="linear", cv=2).fit(X, y)
    assert search.cv_results_["mean_proven"][0] < 1.0
    assert search.cv_results_["mean_test_score_lower"][0] < search.best_score_


def test_other_scores_are_known_only_where_they_are_proven() -> None:
    X, y = cancer()
    few = {"C": [1.0], "gamma": [0.1], "cv": 3}
    for scoring, is_known in (
        ("balanced_accuracy", True),
        ("f1", True),
        ("roc_auc", False),
        (metrics.make_scorer(metrics.fbeta_score, beta=2.0), True),
    ):
        ours = SVCSearch(**few, scoring=scoring).fit(X, y)
        theirs = GridSearchCV(
            svm.SVC(tol=1e-8), {"C": [1.0], "gamma": [0.1]}, cv=3, scoring=scoring
        )
        assert ours.best_score_ == pytest.approx(theirs.fit(X, y).best_score_)
        low, high = ours.choice_.lower[0], ours.choice_.upper[0]
        assert (low == high == ours.best_score_) if is_known else (low, high) == (-np.inf, np.inf)
    numbers = SVRSearch(C=[1.0], gamma=[1.0], scoring="explained_variance").fit(*diabetes())
    assert not np.isfinite(numbers.choice_.lower).any()


def test_the_choice_is_a_table() -> None:
    choice = searched().choice_
    frame = choice.to_frame()
    assert list(frame.columns) == ["C", "gamma", "score", "lower", "upper", "against_best"]
    assert len(frame) == 8
    assert "Choice of 8 rows" in repr(choice)
    assert choice.between({"C": 0.3, "gamma": 0.1}, 0) in ("proven", "equal")
    for wrong in (8, -1, {"C": 5.0, "gamma": 0.1}):
        with pytest.raises(InvalidParameterError, match="no candidate"):
            choice.between(wrong, 0)


def test_parameters_are_scikit_learns_to_copy() -> None:
    search = SVCSearch(C=(1.0, 2.0), cv=KFold(3))
    other = clone(search)
    assert other.get_params()["C"] == (1.0, 2.0)
    assert not hasattr(other, "best_params_")
    assert "refit" in SVRSearch(epsilon=[0.1, 0.2]).get_params()
    unfitted = SVCSearch(C=[1.0], gamma=0.1, refit=False, cv=3).fit(*cancer())
    assert not hasattr(unfitted, "predict")
    assert not hasattr(unfitted, "best_estimator_")
    assert isinstance(searched().best_estimator_, SVC)
    assert searched().refit_time_ > 0.0
    numbers = SVRSearch(C=[1.0], gamma=None, cv=3).fit(*diabetes())
    assert isinstance(numbers.best_estimator_, SVR)
    assert len(numbers.cv_results_["params"]) == 5


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": []}, "C is empty"),
        ({"C": [1.0, -1.0]}, "-1.0"),
        ({"C": [1.0, 0.0]}, "above 0"),
        ({"C": [np.nan]}, "nan"),
        ({"C": [1.0, 1.0]}, "twice"),
        ({"C": None}, "sequence of numbers"),
        ({"C": ["scale"]}, "'scale'"),
        ({"gamma": ["other"]}, "'other'"),
        ({"gamma": [np.inf]}, "inf"),
        ({"scoring": "nothing"}, "scoring is 'nothing'"),
        ({"eps": 0.0}, "eps is 0.0"),
        ({"refit": "accuracy"}, "refit"),
    ],
)
def test_a_grid_that_is_none_is_refused(parameters: Any, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        SVCSearch(**parameters).fit(*cancer())


def test_other_errors_say_what_to_do() -> None:
    X, y = cancer()
    with pytest.raises(UnknownParameterError, match="random numbers"):
        SVCSearch(random_state=0)
    with pytest.raises(InvalidParameterError, match=r"epsilon has the value -0\.1"):
        SVRSearch(epsilon=[-0.1]).fit(*diabetes())
    with pytest.raises(InvalidDataError, match="stratifies"):
        SVCSearch(C=[1.0], gamma=0.1, cv=KFold(2)).fit(X[:50], np.arange(50) >= 25)
    with pytest.raises(InvalidDataError, match="too large for this kernel"):
        SVCSearch(C=[1.0], kernel="poly", degree=5, gamma=1.0, cv=3).fit(1e100 * X, y)
