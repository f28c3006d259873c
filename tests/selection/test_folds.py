"""Folds and weights as scikit-learn's searches take them, or an error that says what to do."""

from __future__ import annotations

import threading
import warnings
from typing import Any, Self

import numpy as np
import pytest
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.model_selection import KFold, LeaveOneOut, StratifiedKFold

import qpsvm
from qpsvm.estimators import SVC
from qpsvm.exceptions import InvalidDataError
from qpsvm.selection import SVCSearch, SVRSearch
from qpsvm.selection.base_search import run_separately
from qpsvm.selection.folds import Fold

RNG = np.random.default_rng(1)
X = RNG.normal(size=(30, 2))
Y = np.arange(30) % 3
X[:, 0] += Y


@pytest.mark.filterwarnings("ignore:F-score is ill-defined")
@pytest.mark.parametrize("scoring", ["accuracy", "balanced_accuracy", "f1_weighted"])
def test_a_class_without_weight_is_a_missing_class(scoring: str) -> None:
    weights = np.where(Y == 1, 0.0, RNG.choice([0.5, 1.0, 2.0], 30))
    kept, place = np.flatnonzero(weights), np.cumsum(weights > 0.0) - 1
    folds = [*StratifiedKFold(3).split(X, Y)]
    fewer = [tuple(place[part[weights[part] > 0.0]] for part in fold) for fold in folds]
    grid: Any = {"C": [0.1, 1.0, 10.0], "gamma": [0.5], "scoring": scoring}
    found = SVCSearch(**grid, cv=folds).fit(X, Y, weights)
    expected = SVCSearch(**grid, cv=fewer).fit(X[kept], Y[kept], weights[kept])
    assert found.classes_.tolist() == found.best_estimator_.classes_.tolist() == [0, 2]
    for name in ("mean_test_score", "mean_test_score_lower", "mean_test_score_upper"):
        np.testing.assert_allclose(found.cv_results_[name], expected.cv_results_[name], rtol=1e-12)


@pytest.mark.parametrize("scoring", [None, lambda machine, X, y: machine.score(X, y)])
@pytest.mark.parametrize("search", [SVCSearch, SVRSearch])
def test_a_split_may_be_a_mask(search: Any, scoring: Any) -> None:
    rows = [*KFold(3).split(X)]
    masks = [tuple(np.isin(np.arange(30), part) for part in fold) for fold in rows]
    lists = [tuple(mask.tolist() for mask in fold) for fold in masks]
    grid: Any = {"C": [0.1, 10.0], "gamma": [0.5], "scoring": scoring}
    expected, *others = (search(**grid, cv=cv).fit(X, Y) for cv in (rows, masks, lists))
    for found in others:
        for name in ("split0_test_score", "split2_test_score", "mean_test_score_lower"):
            np.testing.assert_array_equal(found.cv_results_[name], expected.cv_results_[name])


@pytest.mark.parametrize("search", [SVCSearch, SVRSearch])
def test_held_out_samples_without_weight_have_no_score(search: Any) -> None:
    weights = np.where(np.arange(30) < 10, 0.0, 1.0)
    with pytest.raises(InvalidDataError, match=r"held-out samples of fold 0 have weight 0.*fewer"):
        search(C=[1.0], gamma=[1.0], cv=KFold(3)).fit(X, Y, weights)
    unweighted = search(
        C=[1.0], gamma=[1.0], cv=KFold(3), scoring=lambda machine, X, y: machine.score(X, y)
    )
    with pytest.warns(UserWarning, match="takes no sample weights"):
        unweighted.fit(X, Y, weights)


@pytest.mark.parametrize("seed", range(5))
def test_equal_targets_have_no_spread_whatever_they_weigh(seed: int) -> None:
    rng = np.random.default_rng(seed)
    targets = np.where(np.arange(30) < 20, rng.normal(size=30), rng.normal())
    fold = (np.arange(20), np.arange(20, 30))
    for weights in (None, rng.choice([0.1, 0.2, 0.7, 1.0], 30)):
        search = SVRSearch(C=[1.0], gamma=[1.0], cv=[fold]).fit(X, targets, weights)
        assert search.best_score_ == 0.0
        assert abs(search.choice_.lower[0]) + abs(search.choice_.upper[0]) <= 1e-11
    problem = qpsvm.EpsilonRegression().dual(X, targets)
    assert qpsvm.solve(problem).score(X[20:], targets[20:]) == 0.0


def test_a_fold_with_one_held_out_sample_has_no_r2() -> None:
    with pytest.warns(UndefinedMetricWarning, match="scoring='neg_mean_squared_error'"):
        search = SVRSearch(C=[1.0], gamma=[1.0], cv=LeaveOneOut()).fit(X[:6], Y[:6])
    assert np.isnan(search.best_score_)
    assert search.choice_.verdicts == ("undecided",)


class Meets(SVC):
    """Fits in the thread "first" last until one in another thread has begun, and end before it."""

    begun, ended = threading.Event(), threading.Event()

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **others: Any) -> Self:
        if threading.current_thread().name == "first":
            assert self.begun.wait(10.0)
        else:
            self.begun.set()
            assert self.ended.wait(10.0)
        return super().fit(X, y, sample_weight, **others)


def test_folds_in_threads_leave_the_filters_of_warnings_alone() -> None:
    before, fold = list(warnings.filters), Fold(np.arange(20), np.arange(20, 30))
    arguments = Meets(), X, Y, None, fold, None
    first, second = (
        threading.Thread(target=run_separately, args=arguments, name=name)
        for name in ("first", "second")
    )
    first.start()
    second.start()
    first.join()
    Meets.ended.set()
    second.join()
    assert Meets.begun.is_set()
    assert list(warnings.filters) == before
