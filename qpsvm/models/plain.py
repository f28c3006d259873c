"""Conversion of parameters to plain data for JSON, and back with strict checks.

Numbers, texts, booleans and None are themselves. Everything else is an object with its kind::

    {"name": "RBF", "parameters": {"gamma": 0.5}}   a formulation, kernel or constraint
    {"list": [...]}, {"tuple": [...]}               a sequence
    {"dict": [[key, value], ...]}                   a mapping, with keys of any plain kind
    {"float": "inf"}                                a number that JSON does not have
    {"array": [...], "dtype": "<f8", "shape": [2]}  an array of numbers, truth values or texts
    {"csr": [data, indices, indptr, shape]}         a sparse matrix

Only classes of ``KNOWN`` are built, by calling them, so that their own checks apply.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm import formulations, kernels
from qpsvm.constraints import LinearConstraints
from qpsvm.constraints.builders import WeightConstraint
from qpsvm.constraints.fairness import FairnessBand
from qpsvm.exceptions import ModelFileError, QPSVMError
from qpsvm.kernels.gram import KERNELS
from qpsvm.numerics.conversion import compressed_rows
from qpsvm.tables import CategoryColumn, NumberColumn, Preparation

FORMULATIONS: Mapping[str, type[object]] = {
    name: getattr(formulations, name) for name in formulations.__all__
}
"""Formulations that a file can name."""

KNOWN: Mapping[str, type[object]] = {
    kind.__name__: kind
    for kind in (
        *FORMULATIONS.values(),
        *KERNELS.values(),
        LinearConstraints,
        WeightConstraint,
        FairnessBand,
        Preparation,
        NumberColumn,
        CategoryColumn,
    )
}
"""Classes that a file can name: what they are made of are numbers and texts."""

_ARRAY_KINDS = "biufUO"
"""Truth values, integers, numbers and texts (also as Python objects)."""


# --- objects -> plain data -------------------------------------------------------------------


def from_value(value: Any, what: str) -> Any:
    """Convert a parameter to plain data.

    Parameters
    ----------
    value : object
    what : str
        The parameter, for the message: ``"kernel of SVC"``.

    Raises
    ------
    ModelFileError
        Code, or an object of a class that a file cannot name.

    Examples
    --------
    >>> from_value(kernels.RBF(gamma=0.5), "kernel")
    {'name': 'RBF', 'parameters': {'gamma': 0.5}}
    >>> from_value({1: 2.0, 2: math.inf}, "class_weight")
    {'dict': [[1, 2.0], [2, {'float': 'inf'}]]}
    """
    if isinstance(value, np.generic):
        value = value.item()
    name = type(value).__name__
    if KNOWN.get(name) is type(value):
        known: Any = value
        parameters = {f.name: getattr(known, f.name) for f in dataclasses.fields(known)}
        plain = {key: from_value(entry, f"{key} of {name}") for key, entry in parameters.items()}
        return {"name": name, "parameters": plain}
    match value:
        case float() if not math.isfinite(value):
            return {"float": repr(value)}
        case None | bool() | int() | float() | str():
            return value
        case Mapping():
            return {"dict": [_entries(pair, what) for pair in value.items()]}
        case list() | tuple():
            return {"list" if isinstance(value, list) else "tuple": _entries(value, what)}
    return _from_array(value, what)


def _entries(values: Iterable[object], what: str) -> list[Any]:
    return [from_value(entry, what) for entry in values]


def _from_array(value: object, what: str) -> dict[str, Any]:
    """Convert an array or a sparse matrix; refuse anything else."""
    match value:
        case sp.sparray() | sp.spmatrix():
            matrix = sp.csr_array(value)
            parts = (matrix.data, matrix.indices, matrix.indptr, matrix.shape)
            return {"csr": [np.asarray(part).tolist() for part in parts]}
        case np.ndarray() if value.dtype.kind in _ARRAY_KINDS:
            entries = _entries(value.ravel().tolist(), what)
            return {"array": entries, "dtype": value.dtype.str, "shape": list(value.shape)}
    if isinstance(value, kernels.Kernel) or callable(value):
        raise ModelFileError(
            f"The {what} is {value!r}, which is code, and a model file holds none. Use one of "
            f"{', '.join(KERNELS)}: for your own kernel compute the matrix and train with "
            "kernel='precomputed'; for your own constraint pass LinearConstraints(G=..., h=...)."
        )
    raise ModelFileError(
        f"The {what} is {value!r} ({type(value).__name__}), which a model file cannot hold; use "
        "numbers, texts, arrays of them, or objects of qpsvm made of these."
    )


# --- plain data -> objects -------------------------------------------------------------------


def to_value(data: Any, what: str) -> Any:
    """Rebuild a parameter from plain data.

    Raises
    ------
    ModelFileError
        Another kind of data than ``from_value`` returns, or parameters that the class refuses.

    Examples
    --------
    >>> to_value({"name": "RBF", "parameters": {"gamma": 0.5}}, "kernel")
    RBF(gamma=0.5)
    """
    match data:
        case None | bool() | int() | float() | str():
            return data
        case {"name": name, "parameters": parameters} if len(data) == 2:
            return _to_object(name, parameters, what)
    try:
        return _to_collection(data, what)
    except (ValueError, TypeError, KeyError, IndexError, OverflowError, SyntaxError) as error:
        raise ModelFileError(f"the {what} is not usable ({error}).") from error


def _to_object(name: object, parameters: object, what: str) -> Any:
    """Build an object of one of the known classes."""
    match name, parameters:
        case str(), dict() if name in KNOWN:
            kind = KNOWN[name]
        case _:
            raise ModelFileError(f"the {what} {name!r} is unknown; known are {', '.join(KNOWN)}.")
    values = {key: to_value(value, f"{key} of {name}") for key, value in parameters.items()}
    try:
        return kind(**values)
    except (QPSVMError, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise ModelFileError(f"the {what} {name!r} cannot be built ({error}).") from error


def _to_collection(data: Any, what: str) -> object:
    """Rebuild a sequence, mapping, array, sparse matrix, or number that JSON does not have."""

    def entries(content: object) -> list[Any]:
        if not isinstance(content, list):
            raise ValueError(f"{str(content)[:60]!r} is no list")
        return [to_value(entry, what) for entry in content]

    match sorted(data) if isinstance(data, dict) else []:
        case ["float"] if data["float"] in ("inf", "-inf", "nan"):
            return float(data["float"])
        case ["list"]:
            return entries(data["list"])
        case ["tuple"]:
            return tuple(entries(data["tuple"]))
        case ["dict"]:
            return dict(map(entries, data["dict"]))
        case ["csr"]:
            values, *places = map(entries, data["csr"])
            indices, indptr, shape = (np.array(part, dtype=np.int64) for part in places)
            return compressed_rows(np.array(values, dtype=np.float64), indices, indptr, shape)
        case ["array", "dtype", "shape"]:
            dtype = np.dtype(data["dtype"])
            # a dtype of long texts could fill the memory with few entries
            if dtype.kind in _ARRAY_KINDS and dtype.itemsize <= 2**16:
                array = np.array(entries(data["array"]), dtype=dtype).reshape(data["shape"])
                if from_value(array, what) == data:
                    return array
    raise ValueError(f"{str(data)[:60]!r} is no plain value")
