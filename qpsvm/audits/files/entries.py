"""Entries of a model given as plain numbers: checks, and the objects that they describe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, TypeGuard, TypeVar

import numpy as np

from qpsvm import formulations
from qpsvm.exceptions import QPSVMError
from qpsvm.formulations.family import Family
from qpsvm.numerics.arrays import Dense, freeze
from qpsvm.numerics.integers import first_rounded

Formulation: TypeAlias = Family | formulations.CrammerSinger

KEYS = ("formulation", "kernel", "classes", "alpha", "coef", "intercept", "width")

FORMULATIONS: Mapping[str, type[Formulation]] = {
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
"""Formulations with a single decision function, or all of them in one program."""

Built = TypeVar("Built")

_LARGEST = float(np.finfo(np.float64).max)


class UnfitEntryError(Exception):
    """An entry of the file is invalid; the message says what is wrong and how to correct it."""


def require_keys(data: Mapping[str, object]) -> None:
    """Raise UnfitEntryError for unknown entries, or without those that every model has."""
    unknown = [key for key in data if key not in KEYS]
    if unknown:
        raise UnfitEntryError(f"{unknown[0][:40]!r} is not one of {', '.join(KEYS)}; leave it out")
    if "intercept" not in data:
        raise UnfitEntryError("it has no intercept; add one, 0 if there is none")
    if "alpha" not in data and "coef" not in data:
        raise UnfitEntryError("it has neither alpha nor coef; add one of them, or both")


def numbers(data: Mapping[str, object], key: str, dimensions: tuple[int, ...]) -> Dense | None:
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
        raise UnfitEntryError(f"{key} is not {words}")
    if array.ndim and 0 in array.shape:
        raise UnfitEntryError(f"{key} is empty; write one number per sample, or per feature")
    rounded = first_rounded(value, array)
    if rounded is not None:
        where = list(rounded.place) or ""
        raise UnfitEntryError(f"{key}{where} is {rounded.value}, {rounded.problem.rstrip('.')}")
    if not np.isfinite(array).all():
        at = np.argwhere(~np.isfinite(array))[0].tolist()
        raise UnfitEntryError(
            f"{key}{at if at else ''} is {array[tuple(at)]}; every number must be finite"
        )
    return freeze(array)


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def require_one_intercept_each(coef: Dense | None, intercept: Dense) -> None:
    """Raise UnfitEntryError unless there is one intercept for every row of weights."""
    expected = () if coef is None or coef.ndim == 1 else (len(coef),)
    if intercept.shape != expected:
        raise UnfitEntryError(
            f"intercept has shape {intercept.shape}, but this coef needs {expected}; a single "
            "machine has a list of weights and one number as intercept"
        )


def classes_of(data: Mapping[str, object], count: int) -> tuple[object, ...] | None:
    """Return the labels of the classes, None if there are none."""
    if "classes" not in data:
        return None
    values = data["classes"]
    if not isinstance(values, list) or len(values) != count:
        raise UnfitEntryError(f"classes must be the {count} labels")
    kinds = {"number" if _is_number(value) else type(value).__name__ for value in values}
    good = len(kinds) == 1 and kinds < {"number", "str", "bool"} and len(set(values)) == count
    if not good or any(value != value for value in values):  # noqa: PLR0124 - NaN
        raise UnfitEntryError(
            f"classes are {repr(values)[:80]}; write different labels of one kind"
        )
    return tuple(values)


def built(data: Mapping[str, object], key: str, known: Mapping[str, type[Built]]) -> Built | None:
    """Build the qpsvm object that ``{"name": ..., parameter: value, ...}`` describes."""
    if key not in data:
        return None
    spec = data[key]
    if not isinstance(spec, dict) or not isinstance(spec.get("name"), str):
        raise UnfitEntryError(f"{key} is not an object with a name; write {{'name': ..., ...}}")
    name = spec["name"]
    if name not in known:
        raise UnfitEntryError(f"the {key} {name[:40]!r} is unknown; known are {', '.join(known)}")
    parameters = {k: v for k, v in spec.items() if k != "name"}
    if "class_weight" in parameters:
        parameters["class_weight"] = _class_weight(parameters["class_weight"])
    elif not all(value is None or _is_plain(value) for value in parameters.values()):
        raise UnfitEntryError(f"the parameters of {name} are not plain numbers and texts")
    try:
        return known[name](**parameters)
    except (QPSVMError, TypeError, ValueError, OverflowError) as error:
        raise UnfitEntryError(f"{name} does not accept these parameters ({error})") from error


def _class_weight(value: object) -> object:
    """Convert ``[[label, weight], ...]`` to a dict; return None and "balanced" unchanged."""
    if value is None or isinstance(value, str):
        return value
    if (
        not isinstance(value, list)
        or not all(isinstance(p, list) and len(p) == 2 and all(map(_is_plain, p)) for p in value)
        or len(dict(value)) < len(value)
    ):
        raise UnfitEntryError("class_weight is not a list of pairs [label, weight], one per label")
    return dict(value)


def _is_plain(value: object) -> bool:
    """Return whether a value is a boolean, a string, or a number in the range of float64."""
    return isinstance(value, bool | str) or (_is_number(value) and -_LARGEST <= value <= _LARGEST)
