"""What skops stores of an estimator has one type that it does not know: the estimator's class."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from qpsvm.estimators import SVC
from qpsvm.exceptions import ModelFileError
from tests.estimators.saved_cases import ALL, CODES, IRIS
from tests.estimators.test_persistence import require_same
from tests.strategies import grid


def skops_io() -> Any:
    return pytest.importorskip("skops.io", reason="skops is not installed")


@grid("kernel, name", list(ALL))
def test_round_trips(kernel: str, name: str) -> None:
    io, case = skops_io(), ALL[kernel, name]
    fitted = case.fitted()
    data = io.dumps(fitted)
    kind = type(fitted)
    unknown = io.get_untrusted_types(data=data)
    assert unknown == [f"{kind.__module__}.{kind.__name__}"]
    again = io.loads(data, trusted=unknown)
    require_same(fitted, again, case)
    with pytest.raises(AttributeError, match="restore"):
        _ = again.certificate_


def test_pipelines_and_unfitted_estimators() -> None:
    io = skops_io()
    trusted = ["qpsvm.estimators.classification.SVC"]
    pipeline = make_pipeline(StandardScaler(), SVC()).fit(IRIS, CODES)
    data = io.dumps(pipeline)
    assert io.get_untrusted_types(data=data) == trusted
    assert np.array_equal(io.loads(data, trusted=trusted).predict(IRIS), pipeline.predict(IRIS))
    assert repr(io.loads(io.dumps(SVC(C=3.0)), trusted=trusted)) == "SVC(C=3.0)"


def test_the_plain_state_is_that_of_a_file() -> None:
    state = SVC().fit(IRIS, CODES).__getstate__()
    assert set(state) == {"contents"}
    assert all(type(array) is np.ndarray for array in state["contents"].values())
    with pytest.raises(ModelFileError, match="is code"):
        SVC(kernel=lambda X, Z: np.asarray(X @ Z.T)).fit(IRIS, CODES).__getstate__()
