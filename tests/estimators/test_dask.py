"""Estimators on Dask collections: fits in chunks, lazy predictions, joblib's Dask backend."""

import dask
import dask.array as da
import dask.dataframe as dd
import joblib
import numpy as np
import pandas as pd
import pytest
from distributed import Client
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from qpsvm.estimators import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM
from qpsvm.exceptions import InvalidParameterError
from qpsvm.selection import SVCSearch

N, CHUNK = 300, 70


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((N, 3))
    return X, X @ [1.0, -2.0, 0.5] + 0.5 * rng.standard_normal(N)


@pytest.fixture(autouse=True)
def _threads():
    with dask.config.set(scheduler="threads"):
        yield


def chunks(array):
    return da.from_array(array, chunks=(CHUNK, *array.shape[1:]))


@pytest.mark.parametrize("weight", [None, "balanced", {"no": 2.0}])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_classifier_fitted_in_chunks_is_the_one_fitted_in_memory(data, loss, weight):
    X, t = data
    y = np.where(t > 0.5, "yes", "no")
    machine = LinearSVC(loss=loss, class_weight=weight, eps=1e-11)
    ours, theirs = machine.fit(chunks(X), chunks(y)), LinearSVC(**machine.get_params()).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    assert ours.classes_.tolist() == ["no", "yes"]
    assert ours.n_features_in_ == 3
    assert ours.certificate_.relative_gap_upper <= 1e-11
    assert (ours.predict(X) == theirs.predict(X)).all()
    assert ours.score(X, y) == theirs.score(X, y)


def test_a_regression_in_chunks_keeps_the_names_of_columns(data):
    X, t = data
    frame = pd.DataFrame(X, columns=list("abc"))
    collection = dd.from_pandas(frame, npartitions=3)
    targets = dd.from_pandas(pd.Series(t), npartitions=3)
    machine = LinearSVR(epsilon=0.1).fit(collection, targets)
    assert machine.feature_names_in_.tolist() == ["a", "b", "c"]
    predicted = machine.predict(collection)
    assert isinstance(predicted, da.Array)
    assert np.array_equal(predicted.compute(), machine.predict(frame))


@pytest.mark.parametrize(
    "estimator",
    [
        SVC(),
        NuSVC(),
        SVC(decision_function_shape="ovo"),
        SVR(),
        NuSVR(),
        OneClassSVM(),
        LinearSVC(),
    ],
    ids=lambda e: type(e).__name__,
)
def test_predictions_of_a_collection_are_lazy_and_the_same(data, estimator):
    X, t = data
    y = t if isinstance(estimator, SVR | NuSVR) else np.digitize(t, [-1.0, 1.0])
    machine = estimator.fit(X[:90], y[:90])
    for name in ("predict", "decision_function"):
        if hasattr(machine, name):
            lazy = getattr(machine, name)(chunks(X))
            assert isinstance(lazy, da.Array)
            now = getattr(machine, name)(X)
            assert lazy.dtype == now.dtype
            # the values of a kernel round a little differently in blocks of other sizes
            np.testing.assert_allclose(lazy.compute(), now, rtol=1e-9, atol=1e-9)


def test_what_needs_all_samples_is_refused(data):
    X, t = data
    with pytest.raises(InvalidParameterError, match="penalty"):
        LinearSVC(penalty="l1", loss="hinge").fit(chunks(X), chunks(t > 0))
    with pytest.raises(ValueError, match="classes"):
        LinearSVC().fit(chunks(X), chunks(np.digitize(t, [-1.0, 1.0])))


@pytest.mark.parametrize(
    "processes",
    [False, pytest.param(True, marks=pytest.mark.exhaustive)],
    ids=["threads", "workers"],
)
def test_joblibs_dask_backend_runs_parts_folds_and_searches(data, processes):
    X, t = data
    y = np.digitize(t, [-1.0, 1.0])
    each = SVC(backend="active-set")  # small machines are solved together without one
    here = clone(each).set_params(n_jobs=2).fit(X, y), cross_val_score(SVC(), X, y, cv=3)
    found = SVCSearch(C=[0.1, 1.0], gamma=[0.1, 1.0], cv=3).fit(X, y)
    with (
        Client(
            n_workers=1 + processes,
            threads_per_worker=2 - processes,
            processes=processes,
            dashboard_address=":0",
        ) as client,
        joblib.parallel_config(backend="dask"),
    ):
        there = clone(each).fit(X, y), cross_val_score(SVC(), X, y, cv=3, n_jobs=2)
        again = SVCSearch(C=[0.1, 1.0], gamma=[0.1, 1.0], cv=3).fit(X, y)
        names = client.run_on_scheduler(lambda dask_scheduler: str([*dask_scheduler.task_prefixes]))
    assert "_solve_part" in names
    assert "run_fold" in names
    assert np.array_equal(here[0].dual_coef_, there[0].dual_coef_)
    assert np.array_equal(here[0].intercept_, there[0].intercept_)
    assert np.array_equal(here[1], there[1])
    assert found.best_params_ == again.best_params_
    assert np.array_equal(found.best_estimator_.dual_coef_, again.best_estimator_.dual_coef_)
    for name, values in found.cv_results_.items():
        if "time" not in name:
            assert np.array_equal(values, again.cv_results_[name]), name
