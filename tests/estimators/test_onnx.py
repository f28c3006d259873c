"""ONNX models of our estimators predict what the estimators do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from qpsvm.estimators import SVC, SVR, onnx_converter
from qpsvm.exceptions import MissingPackageError, ModelFileError
from tests.estimators.saved_cases import ALL, CODES, IRIS, NAMED, TWO
from tests.strategies import grid

SAME = 1e-6
"""Difference of predictions relative to the largest, in double precision far below."""


def run(model: Any, X: Any) -> list[Any]:
    runtime = pytest.importorskip("onnxruntime", reason="pip install 'qpsvm[onnx]'")
    session = runtime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return list(session.run(None, {session.get_inputs()[0].name: X}))


@grid("kernel, name", list(ALL))
def test_predictions_are_equal(kernel: str, name: str) -> None:
    pytest.importorskip("skl2onnx", reason="pip install 'qpsvm[onnx]'")
    case = ALL[kernel, name]
    fitted = case.fitted()
    found = run(fitted.to_onnx(), case.new)
    expected = [fitted.predict(case.new)]
    if len(found) == 2:
        expected.append(fitted.decision_function(case.new))
        clear = np.abs(expected[1]) > 1e-9 if not hasattr(fitted, "classes_") else slice(None)
        assert np.array_equal(found[0].ravel()[clear], expected[0][clear])
    values = found[-1].reshape(expected[-1].shape)
    assert np.abs(values - expected[-1]).max() <= SAME * max(1.0, np.abs(expected[-1]).max())


@pytest.mark.parametrize("y", [NAMED, CODES, TWO > 0, TWO - 0.0], ids=["text", "int", "bool", "f"])
def test_labels_keep_their_values(y: Any) -> None:
    pytest.importorskip("skl2onnx", reason="pip install 'qpsvm[onnx]'")
    fitted = SVC().fit(IRIS, y)
    assert run(fitted.to_onnx(), IRIS)[0].tolist() == fitted.predict(IRIS).tolist()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_pipelines(dtype: Any) -> None:
    skl2onnx = pytest.importorskip("skl2onnx", reason="pip install 'qpsvm[onnx]'")
    onnx_converter.register(SVC)
    pipeline = make_pipeline(StandardScaler(), SVC()).fit(IRIS, NAMED)
    model = skl2onnx.to_onnx(pipeline, IRIS[:1].astype(dtype))
    assert np.array_equal(run(model, IRIS.astype(dtype))[0], pipeline.predict(IRIS))


def test_kernel_functions_are_refused() -> None:
    pytest.importorskip("skl2onnx", reason="pip install 'qpsvm[onnx]'")
    with pytest.raises(ModelFileError, match="is code, which has no ONNX graph"):
        SVR(kernel=lambda X, Z: X @ Z.T).fit(IRIS, CODES).to_onnx()


def test_without_the_package_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'qpsvm\[onnx\]'"):
        SVC().fit(IRIS, CODES).to_onnx()
