"""Parameters become plain data and come back the same; everything else is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import qpsvm
from qpsvm import kernels
from qpsvm.constraints import LinearConstraints, nonnegative, ordered, sum_of
from qpsvm.exceptions import ModelFileError
from qpsvm.io import json_text
from qpsvm.models.plain import from_value, to_value

VALUES = [
    None,
    True,
    3,
    2.5,
    0.1 + 0.2,
    -0.0,
    math.inf,
    -math.inf,
    "scale",
    np.float64(0.1),
    np.int32(4),
    (1, "a", None),
    [1.5, [2, {}]],
    {1: 2.0, "a": math.inf, False: None},
    kernels.Polynomial(gamma="scale", degree=2, coef0=1.0),
    kernels.Precomputed(),
    qpsvm.SoftMargin(2.0, class_weight={"a": 1.0, "b": 3.0}),
    qpsvm.OneVsOne(qpsvm.NuClassification(0.3), break_ties=False),
    nonnegative("age", "sex"),
    sum_of(0, 1, at_most=2.0),
    ordered("low", "high"),
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_come_back(value: Any) -> None:
    text = json_text.dumps(from_value(value, "value"))
    again = to_value(json_text.loads(text), "value")
    assert again == value
    assert repr(again) == repr(value.item() if isinstance(value, np.generic) else value)


@pytest.mark.parametrize(
    "array",
    [
        np.array([0.1, math.nan, -math.inf]),
        np.arange(6, dtype=np.int16).reshape(2, 3),
        np.array(["a", "bc"]),
        np.array(["a", 2], dtype=object),
        np.array([True, False]),
        np.zeros((0, 3)),
    ],
    ids=repr,
)
def test_arrays_come_back(array: Any) -> None:
    again = to_value(json_text.loads(json_text.dumps(from_value(array, "array"))), "array")
    assert again.dtype == array.dtype
    assert again.shape == array.shape
    assert repr(again) == repr(array)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_constraints_come_back(storage: Any) -> None:
    rows = LinearConstraints(G=storage([[1.0, 0.0, 0.5]]), h=[2.0], A=[[0.0, 1.0, 0.0]], b=1.0)
    again = to_value(json_text.loads(json_text.dumps(from_value(rows, "rows"))), "rows")
    assert sp.issparse(again.G) == sp.issparse(rows.G)
    assert np.array_equal((again.rows - rows.rows).max(), 0.0)
    assert np.array_equal(again.right, rows.right)
    assert again.names == rows.names


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (lambda X, Z: X @ Z.T, "is code.*precomputed"),
        (kernels.as_kernel(lambda X, Z: X @ Z.T), "is code"),
        (type("MyRBF", (kernels.RBF,), {})(0.5), "is code"),
        (np.array(["2020-01-01"], dtype="datetime64[D]"), "cannot hold"),
        (3j, "cannot hold"),
        (b"x", "cannot hold"),
    ],
    ids=["function", "custom", "subclass", "dates", "complex", "bytes"],
)
def test_code_and_odd_things_are_refused(value: Any, words: str) -> None:
    with pytest.raises(ModelFileError, match=f"kernel of SVC.*{words}"):
        from_value(value, "kernel of SVC")


@pytest.mark.parametrize(
    "data",
    [
        [1],
        {},
        {"float": "1.0"},
        {"float": "nan", "x": 1},
        {"list": 3},
        {"dict": [[1]]},
        {"dict": [[[], 1]]},
        {"name": "print", "parameters": {}},
        {"name": "SoftMargin", "parameters": {"C": -1.0}},
        {"name": "SoftMargin", "parameters": {"wrong": 1.0}},
        {"name": "SoftMargin", "parameters": 3},
        {"array": [1], "dtype": "<f8", "shape": [2]},
        {"array": [1], "dtype": "<f8", "shape": [-1]},
        {"array": [1.5], "dtype": "<i8", "shape": [1]},
        {"array": [1], "dtype": "i4,i4", "shape": [1]},
        {"array": [1], "dtype": "<f8"},
        {"csr": [[1.0], [5], [0, 1], [1, 2]]},
        {"csr": [[1.0], [0], [0, 1]]},
    ],
    ids=str,
)
def test_other_data_are_refused(data: Any) -> None:
    with pytest.raises(ModelFileError, match="value"):
        to_value({"list": [data]}, "value")
