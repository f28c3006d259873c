"""Estimators pass every check that scikit-learn has for estimators, and take part in its tools."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn import datasets, svm
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.utils.estimator_checks import check_estimator

from qpsvm import estimators
from qpsvm.estimators import SVC, SVR, LinearSVC, NuSVC, OneClassSVM, SVMRanker
from qpsvm.exceptions import InvalidParameterError, UnknownParameterError
from qpsvm.selection import SVCSearch
from tests.strategies import listed

ALL = [getattr(estimators, name) for name in estimators.__all__]
CANCER = datasets.load_breast_cancer(return_X_y=True)
IRIS = datasets.load_iris(return_X_y=True)
DIABETES = datasets.load_diabetes(return_X_y=True)


@listed("kind", ALL, quick=3)
def test_scikit_learns_own_checks_pass(kind: type) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what scikit-learn warns of in its own checks
        results = check_estimator(kind(), on_fail=None, on_skip=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert not failed
    assert len(results) > 40
    skipped = [r["check_name"] for r in results if r["status"] == "skipped"]
    assert all("array_api" in name for name in skipped)


def test_the_checks_pass_with_a_linear_kernel() -> None:
    """Of the one estimator that has no linear twin in the test above."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(OneClassSVM(kernel="linear"), on_fail=None, on_skip=None)
    assert not [r for r in results if r["status"] == "failed"]


def test_a_pipeline_in_a_grid_search_finds_what_the_original_finds() -> None:
    X, y = CANCER[0][:200], CANCER[1][:200]
    grid = {"svc__C": [0.1, 1.0, 10.0], "svc__gamma": [0.01, 0.1]}
    ours = GridSearchCV(make_pipeline(StandardScaler(), SVC()), grid, cv=3).fit(X, y)
    theirs = GridSearchCV(make_pipeline(StandardScaler(), svm.SVC()), grid, cv=3).fit(X, y)
    assert ours.best_params_ == theirs.best_params_
    for name in ("mean_test_score", "rank_test_score"):
        np.testing.assert_allclose(ours.cv_results_[name], theirs.cv_results_[name])


def test_cross_validation_gives_the_scores_of_the_original() -> None:
    for ours, theirs, (X, y) in (
        (SVC(C=5.0), svm.SVC(C=5.0), IRIS),
        (SVR(C=50.0), svm.SVR(C=50.0, tol=1e-6), DIABETES),
        (LinearSVC(), svm.LinearSVC(tol=1e-8, max_iter=10**5), IRIS),
    ):
        np.testing.assert_allclose(
            cross_val_score(ours, X, y, cv=3), cross_val_score(theirs, X, y, cv=3), atol=1e-6
        )


def test_calibration_gives_probabilities() -> None:
    X, y = IRIS
    ours = SVC(C=5.0).calibrated(cv=3).fit(X, y)
    assert isinstance(ours, CalibratedClassifierCV)
    theirs = CalibratedClassifierCV(svm.SVC(C=5.0, tol=1e-8), cv=3).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)


def test_importance_of_features_by_permutation() -> None:
    X, y = scale(CANCER[0][:150, :6]), CANCER[1][:150]
    ours, theirs = SVC().fit(X, y), svm.SVC(tol=1e-8).fit(X, y)
    mine, other = (permutation_importance(m, X, y, random_state=0) for m in (ours, theirs))
    np.testing.assert_allclose(mine.importances, other.importances)


def test_weights_are_routed_to_fit_and_score() -> None:
    X, y = IRIS
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    with sklearn.config_context(enable_metadata_routing=True):
        model = SVC().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        other = svm.SVC(tol=1e-8, gamma=0.1)
        other.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        scores = [
            cross_val_score(m, X, y, cv=3, params={"sample_weight": weights})
            for m in (model.set_params(gamma=0.1), other)
        ]
    np.testing.assert_allclose(*scores)


def test_frames_keep_their_columns() -> None:
    pandas = pytest.importorskip("pandas")
    X, y = datasets.load_iris(return_X_y=True, as_frame=True)
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), SVC())
    pipeline.fit(X, y)
    assert list(pipeline[-1].feature_names_in_) == list(X.columns)
    with pytest.raises(ValueError, match="feature names"):
        pipeline[-1].predict(X[X.columns[::-1]])
    assert isinstance(X, pandas.DataFrame)


def test_a_clone_has_the_parameters_and_nothing_else() -> None:
    model = SVC(C=3.0, kernel="poly", coef0=1.0).fit(*IRIS)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        copy.predict(IRIS[0])


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_pickling_keeps_every_bit(kind: type) -> None:
    X, y = scale(CANCER[0][:60]), CANCER[1][:60]
    model = kind().set_params(**({"nu": 0.3} if "nu" in kind().get_params() else {})).fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))
    assert copy.certificate_.relative_gap == model.certificate_.relative_gap <= 1e-8


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("probability", "calibrated"),
        ("gama", "Its parameters: C, kernel"),
    ],
)
def test_a_parameter_that_there_is_not_is_refused_with_the_remedy(name: str, remedy: str) -> None:
    with pytest.raises(UnknownParameterError, match=remedy):
        SVC(**{name: 1})
    assert issubclass(UnknownParameterError, TypeError)


@pytest.mark.parametrize("y", [IRIS[1], IRIS[1] > 0, IRIS[1].astype(float)])
@pytest.mark.parametrize("kind", [SVC, NuSVC, LinearSVC, SVCSearch])
def test_a_class_weight_for_a_label_that_does_not_exist_is_refused(kind: type, y: Any) -> None:
    """As by the builders: a misspelt label would change nothing without a word."""
    for wrong in ({"1": 10.0}, {1: 0.5, 7: 3.0}):
        with pytest.raises(InvalidParameterError, match=r"class_weight names the class .*have \["):
            kind(class_weight=wrong).fit(IRIS[0], y)
    assert kind(class_weight={1: 0.5}).fit(IRIS[0], y).predict(IRIS[0][:1]) == y[0]


def test_sparse_samples_are_cross_validated() -> None:
    X, y = IRIS
    labels = cross_val_predict(SVC(), sp.csr_matrix(X), y, cv=3)
    np.testing.assert_array_equal(labels, cross_val_predict(svm.SVC(), X, y, cv=3))


def test_a_ranker_orders_within_groups() -> None:
    rng = np.random.default_rng(0)
    X, groups = rng.standard_normal((40, 3)), np.repeat(np.arange(8), 5)
    y = X @ [1.0, -2.0, 0.0] + 100.0 * groups  # between groups the order says nothing
    model: Any = SVMRanker(C=100.0).fit(X, y, groups=groups)
    assert model.score(X, y, groups=groups) == 1.0
    assert model.score(X, y) < 1.0
    assert model.coef_[0, 0] > 0.0 > model.coef_[0, 1]
    assert model.score(X[:1], y[:1]) == 1.0
