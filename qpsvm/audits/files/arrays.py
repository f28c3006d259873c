"""Models as plain arrays in JSON or NPZ files; ``docs/model_files.md`` describes both.

::

    {"formulation": {"name": "SoftMargin", "C": 1.0, "intercept": "free"},
     "kernel": {"name": "rbf", "gamma": 0.5},
     "alpha": [0.5, 0.5], "intercept": 0.1}
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from qpsvm import formulations, kernels
from qpsvm.audits.files.opening import read_bytes, require_file
from qpsvm.display import short_repr
from qpsvm.exceptions import ModelFileError, QPSVMError
from qpsvm.files import json_text, npz
from qpsvm.kernels import Kernel
from qpsvm.numerics.arrays import Vector, freeze

KEYS = ("formulation", "kernel", "classes", "alpha", "coef", "intercept", "width")

FORMULATIONS: Mapping[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        formulations.HardMargin,
        formulations.SoftMargin,
        formulations.NuClassification,
        formulations.LeastSquares,
        formulations.L1Norm,
        formulations.EpsilonRegression,
        formulations.NuRegression,
        formulations.QuantileRegression,
        formulations.OneClass,
        formulations.DataDescription,
        formulations.Ranking,
        formulations.CrammerSinger,
    )
}
"""Those that are one machine."""

KERNELS: Mapping[str, type[Kernel]] = {
    kind.name: kind
    for kind in (
        kernels.Linear,
        kernels.Polynomial,
        kernels.RBF,
        kernels.Sigmoid,
        kernels.Precomputed,
    )
}

MAX_JSON_BYTES = 2**28
"""Largest JSON file that is read: as Python objects its numbers take some ten times as much."""

_MAX_BRACKETS = 10_000
"""More lists and objects than one per class are nested for nesting's sake."""

_LARGEST = float(np.finfo(np.float64).max)


@short_repr
@dataclass(frozen=True, eq=False)
class ArrayModel:
    """A model as plain arrays, in the scale of qpsvm's programs; arrays are read-only.

    ``f(x) = sum_i s_i alpha_i k(x_i, x) + intercept``, or ``f(x) = coef'x + intercept``

    Attributes
    ----------
    source : str
        The path as given.
    format : "json" or "npz"
    formulation : object or None
        The program it claims to solve, such as ``SoftMargin(C=1.0)``.
    kernel : Kernel or None
        None: the linear one.
    classes : tuple or None
        Labels: (negative, positive), or one per row of ``coef``.
    alpha : array of shape (N,) or None
        Dual variables. At least one of alpha and coef is there.
    coef : array of shape (d,), or (k, d) with one row per class, or None
    intercept : float, or array of shape (k,) beside such a coef
    width : float or None
        rho of ``NuClassification``, epsilon of ``NuRegression``.
    """

    source: str
    format: Literal["json", "npz"]
    formulation: Any
    kernel: Kernel | None
    classes: tuple[Any, ...] | None
    alpha: Vector | None
    coef: Any
    intercept: Any
    width: float | None


def read_json(path: str | os.PathLike[str]) -> ArrayModel:
    """Read a model from JSON.

    Raises
    ------
    ModelFileError
        Not UTF-8 or not JSON; nested; names given twice; unknown, missing or contradicting entries;
        numbers that are not finite, or texts in their place.
    """
    source = os.fspath(path)
    content = read_bytes(path, MAX_JSON_BYTES)
    brackets = content.count(b"[") + content.count(b"{")
    try:
        if brackets > _MAX_BRACKETS:
            raise ValueError(f"it has {brackets:,} lists and objects; a model has only a few")
        data = json_text.loads(content.decode("utf-8"))
        if not isinstance(data, dict):
            raise ValueError(f"it is a {type(data).__name__}; a model must be an object")
    except (ValueError, RecursionError) as error:
        raise ModelFileError(
            f"{source!r} is not a model in JSON ({error}); write one as docs/model_files.md "
            "describes."
        ) from error
    return _model(source, "json", data)


def read_npz(path: str | os.PathLike[str]) -> ArrayModel:
    """Read a model from NPZ; ``formulation`` and ``kernel`` are JSON texts.

    Raises
    ------
    ModelFileError
        As ``read_json``; not an uncompressed NPZ file, or one with Python objects.
    """
    return from_npz(path, npz_arrays(path))


def npz_arrays(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the arrays of an uncompressed NPZ file; compressed files could expand without limit."""
    size = require_file(path)
    return npz.read(path, ModelFileError, limit_bytes=size, compressed=False)


def from_npz(path: str | os.PathLike[str], arrays: Mapping[str, Any]) -> ArrayModel:
    """Build the model from the arrays of an NPZ file; see ``read_npz``."""
    source = os.fspath(path)
    data: dict[str, Any] = dict(arrays)
    for key in ("formulation", "kernel"):
        if key in data:
            data[key] = _json_entry(source, key, data[key])
    if "classes" in data:
        data["classes"] = data["classes"].tolist()
    return _model(source, "npz", data)


# --- both -------------------------------------------------------------------------------------


def _model(source: str, format: Literal["json", "npz"], data: Mapping[str, Any]) -> ArrayModel:
    try:
        _require_keys(data)
        coef = _numbers(data, "coef", (1, 2))
        intercept = _numbers(data, "intercept", (0, 1))
        _require_one_intercept_each(coef, intercept)
        width = _numbers(data, "width", (0,))
        return ArrayModel(
            source=source,
            format=format,
            formulation=_built(data, "formulation", FORMULATIONS),
            kernel=_built(data, "kernel", KERNELS),
            classes=_classes(data, 2 if coef is None or coef.ndim == 1 else len(coef)),
            alpha=_numbers(data, "alpha", (1,)),
            coef=coef,
            intercept=float(intercept) if intercept.ndim == 0 else intercept,
            width=None if width is None else float(width),
        )
    except _UnfitError as problem:
        raise ModelFileError(f"{source!r} is not a usable model: {problem}.") from problem


class _UnfitError(Exception):
    """An entry of the file is invalid; the message says what is wrong and how to correct it."""


def _require_keys(data: Mapping[str, Any]) -> None:
    unknown = [key for key in data if key not in KEYS]
    if unknown:
        raise _UnfitError(f"{unknown[0][:40]!r} is not one of {', '.join(KEYS)}; leave it out")
    if "intercept" not in data:
        raise _UnfitError("it has no intercept; add one, 0 if there is none")
    if "alpha" not in data and "coef" not in data:
        raise _UnfitError("it has neither alpha nor coef; add one of them, or both")


def _numbers(data: Mapping[str, Any], key: str, dimensions: tuple[int, ...]) -> Any:
    """A read-only float64 array from an entry; None if there is no such entry."""
    if key not in data:
        return None
    value = data[key]
    if isinstance(value, np.ndarray):
        good = value.dtype.kind in "iuf"
    else:
        rows = value if isinstance(value, list) else [value]
        good = all(_is_number(v) or (isinstance(v, list) and all(map(_is_number, v))) for v in rows)
    try:
        array = np.array(value, dtype=np.float64) if good else None
    except (ValueError, OverflowError):  # lists of different lengths; integers beyond float64
        array = None
    if array is None or array.ndim not in dimensions:
        words = " or ".join(
            ("a number", "a list of numbers", "a table of numbers")[n] for n in dimensions
        )
        raise _UnfitError(f"{key} is not {words}")
    if array.ndim and 0 in array.shape:
        raise _UnfitError(f"{key} is empty; write one number per sample, or per feature")
    if not np.isfinite(array).all():
        at = np.argwhere(~np.isfinite(array))[0].tolist()
        raise _UnfitError(
            f"{key}{at if at else ''} is {array[tuple(at)]}; every number must be finite"
        )
    return freeze(array)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _require_one_intercept_each(coef: Any, intercept: Any) -> None:
    expected = () if coef is None or coef.ndim == 1 else (len(coef),)
    if intercept.shape != expected:
        raise _UnfitError(
            f"intercept has shape {intercept.shape}, but this coef needs {expected}; a single "
            "machine has a list of weights and one number as intercept"
        )


def _classes(data: Mapping[str, Any], count: int) -> tuple[Any, ...] | None:
    if "classes" not in data:
        return None
    values = data["classes"]
    if not isinstance(values, list) or len(values) != count:
        raise _UnfitError(f"classes must be the {count} labels")
    kinds = {"number" if _is_number(value) else type(value).__name__ for value in values}
    good = len(kinds) == 1 and kinds < {"number", "str", "bool"} and len(set(values)) == count
    if not good or any(value != value for value in values):  # noqa: PLR0124 - NaN
        raise _UnfitError(f"classes are {repr(values)[:80]}; write different labels of one kind")
    return tuple(values)


def _built(data: Mapping[str, Any], key: str, known: Mapping[str, type[Any]]) -> Any:
    """Build the qpsvm object that ``{"name": ..., parameter: value, ...}`` describes."""
    if key not in data:
        return None
    spec = data[key]
    if not isinstance(spec, dict) or not isinstance(spec.get("name"), str):
        raise _UnfitError(f"{key} is not an object with a name; write {{'name': ..., ...}}")
    name = spec["name"]
    if name not in known:
        raise _UnfitError(f"the {key} {name[:40]!r} is unknown; known are {', '.join(known)}")
    parameters = {k: v for k, v in spec.items() if k != "name"}
    if "class_weight" in parameters:
        parameters["class_weight"] = _class_weight(parameters["class_weight"])
    elif not all(value is None or _is_plain(value) for value in parameters.values()):
        raise _UnfitError(f"the parameters of {name} are not plain numbers and texts")
    try:
        return known[name](**parameters)
    except (QPSVMError, TypeError, ValueError, OverflowError) as error:
        raise _UnfitError(f"{name} does not accept these parameters ({error})") from error


def _class_weight(value: Any) -> Any:
    """Convert ``[[label, weight], ...]`` to a dict; return None and "balanced" unchanged."""
    if value is None or isinstance(value, str):
        return value
    good = isinstance(value, list) and all(
        isinstance(pair, list) and len(pair) == 2 and all(map(_is_plain, pair)) for pair in value
    )
    if not good or len(dict(value)) < len(value):
        raise _UnfitError("class_weight is not a list of pairs [label, weight], one per label")
    return dict(value)


def _is_plain(value: Any) -> bool:
    """Return whether a value is a boolean, a string, or a number in the range of float64."""
    return isinstance(value, bool | str) or (_is_number(value) and -_LARGEST <= value <= _LARGEST)


def _json_entry(source: str, key: str, array: Any) -> Any:
    try:
        if array.dtype.kind != "U" or array.ndim != 0:
            raise ValueError(f"it has dtype {array.dtype} and shape {array.shape}")
        return json_text.loads(str(array))
    except (ValueError, RecursionError) as error:
        raise ModelFileError(
            f"{source!r}: array {key!r} is not a single JSON text ({error}); store "
            "numpy.array(json.dumps(...))."
        ) from error
