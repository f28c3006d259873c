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
from collections.abc import Mapping, Sequence
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

_SCALARS = (bool, int, float, str)
_ARRAY_KINDS = "biufUO"
"""Truth values, integers, numbers and texts (also as Python objects)."""
_MAX_ITEM = 2**16


# --- objects -> plain data -------------------------------------------------------------------


def from_value(value: object, what: str) -> object:
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
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if value is None or type(value) in _SCALARS:
        return value
    name = type(value).__name__
    if KNOWN.get(name) is type(value):
        given: Any = value
        parameters = {f.name: getattr(given, f.name) for f in dataclasses.fields(given)}
        plain = {key: from_value(entry, f"{key} of {name}") for key, entry in parameters.items()}
        return {"name": name, "parameters": plain}
    return _from_collection(value, what)


def _from_collection(value: object, what: str) -> Any:
    """Convert a mapping, sequence, array or sparse matrix; refuse anything else."""
    if isinstance(value, Mapping):
        return {"dict": [[from_value(k, what), from_value(v, what)] for k, v in value.items()]}
    if isinstance(value, list | tuple):
        kind = "list" if isinstance(value, list) else "tuple"
        return {kind: [from_value(entry, what) for entry in value]}
    if sp.issparse(value):
        matrix = sp.csr_array(value)
        parts = (matrix.data, matrix.indices, matrix.indptr, matrix.shape)
        return {"csr": [np.asarray(part).tolist() for part in parts]}
    if isinstance(value, np.ndarray) and value.dtype.kind in _ARRAY_KINDS:
        entries = [from_value(entry, what) for entry in value.ravel().tolist()]
        return {"array": entries, "dtype": value.dtype.str, "shape": list(value.shape)}
    raise ModelFileError(_refusal(value, what))


def _refusal(value: object, what: str) -> str:
    if isinstance(value, kernels.Kernel) or callable(value):
        return (
            f"The {what} is {value!r}, which is code, and a model file holds none. Use one of "
            f"{', '.join(KERNELS)}: for your own kernel compute the matrix and train with "
            "kernel='precomputed'; for your own constraint pass LinearConstraints(G=..., h=...)."
        )
    return (
        f"The {what} is {value!r} ({type(value).__name__}), which a model file cannot hold; use "
        "numbers, texts, arrays of them, or objects of qpsvm made of these."
    )


# --- plain data -> objects -------------------------------------------------------------------


def to_value(data: object, what: str) -> object:
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
    if data is None or isinstance(data, _SCALARS):
        return data
    if isinstance(data, dict) and set(data) == {"name", "parameters"}:
        return to_object(data, KNOWN, what)
    try:
        return _to_collection(data, what)
    except (ValueError, TypeError, KeyError, OverflowError, SyntaxError) as error:
        raise ModelFileError(f"the {what} is not usable ({error}).") from error


def _to_collection(data: Any, what: str) -> object:
    """Rebuild a sequence, mapping, array, sparse matrix, or number that JSON does not have."""

    def entries(content: object) -> list[Any]:
        if not isinstance(content, list):
            raise ValueError(f"{str(content)[:60]!r} is no list")
        return [to_value(entry, what) for entry in content]

    kinds = list(data) if isinstance(data, dict) else []
    match kinds:
        case ["float"]:
            if data["float"] not in ("inf", "-inf", "nan"):
                raise ValueError(f"{data['float']!r} is not inf, -inf or nan")
            return float(data["float"])
        case ["list"]:
            return entries(data["list"])
        case ["tuple"]:
            return tuple(entries(data["tuple"]))
        case ["dict"]:
            pairs = data["dict"] if isinstance(data["dict"], list) else [data["dict"]]
            return dict(entries(pair) for pair in pairs)
        case ["csr"]:
            values, *places = map(entries, data["csr"])
            indices, indptr, shape = (np.array(part, dtype=np.int64) for part in places)
            try:
                return compressed_rows(np.array(values, dtype=np.float64), indices, indptr, shape)
            except IndexError as error:
                raise ValueError(str(error)) from error
    if set(kinds) == {"array", "dtype", "shape"}:
        return _to_array(entries(data["array"]), str(data["dtype"]), data["shape"])
    raise ValueError(f"{str(data)[:60]!r} is no plain value")


def _to_array(entries: list[Any], kind: str, sizes: Sequence[Any]) -> np.ndarray[Any, Any]:
    dtype, shape = np.dtype(kind), tuple(int(n) for n in sizes)
    if dtype.kind not in _ARRAY_KINDS:
        raise ValueError(f"no array has the dtype {dtype}")
    if dtype.itemsize > _MAX_ITEM or math.prod(shape) != len(entries) or min(shape, default=0) < 0:
        raise ValueError(f"{len(entries)} entries are no array of shape {shape} and {dtype}")
    array = np.array(entries, dtype=dtype).reshape(shape)
    if array.ravel().tolist() != entries and dtype.kind != "f":
        raise ValueError(f"the entries do not fit the dtype {dtype}")
    return array


def to_object(data: Mapping[str, object], known: Mapping[str, type[object]], what: str) -> Any:
    """Build an object of one of the known classes from its name and parameters.

    Raises
    ------
    ModelFileError
        Another class, or parameters that it refuses.
    """
    name, parameters = data.get("name"), data.get("parameters")
    kind = known.get(name) if isinstance(name, str) else None
    if kind is None or not isinstance(parameters, dict):
        raise ModelFileError(f"the {what} {name!r} is unknown; known are {', '.join(known)}.")
    values = {key: to_value(value, f"{key} of {name}") for key, value in parameters.items()}
    try:
        return kind(**values)
    except (QPSVMError, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise ModelFileError(f"the {what} {name!r} cannot be built ({error}).") from error
