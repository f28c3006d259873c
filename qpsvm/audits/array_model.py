"""Plain numbers in model files, as JSON or NPZ.

A file holds (``docs/model_files.md`` describes both formats)::

    {"formulation": {"name": "SoftMargin", "C": 1.0, "intercept": "free"},
     "kernel": {"name": "rbf", "gamma": 0.5},
     "alpha": [0.5, 0.5], "intercept": 0.1}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypeVar

import numpy as np

from qpsvm import formulations
from qpsvm.display import short_repr
from qpsvm.exceptions import ModelFileError, QPSVMError
from qpsvm.formulations import CrammerSinger
from qpsvm.formulations.family import Family
from qpsvm.io import json_text, npz
from qpsvm.kernels import Kernel
from qpsvm.kernels.gram import KERNELS
from qpsvm.numerics.arguments import an, is_finite_number, is_real_number
from qpsvm.numerics.arrays import Dense, Vector, freeze
from qpsvm.numerics.conversion import first_rounded

Formulation: TypeAlias = Family | CrammerSinger
Built = TypeVar("Built")

KEYS = ("formulation", "kernel", "classes", "alpha", "coef", "intercept", "width")

FORMULATIONS: Mapping[str, type[Formulation]] = {
    name: kind
    for name, kind in vars(formulations).items()
    if name in formulations.__all__ and issubclass(kind, Family | CrammerSinger)
}
"""Formulations with a single decision function, or all of them in one program."""


@short_repr
@dataclass(frozen=True, eq=False)
class ArrayModel:
    r"""A model as plain arrays, in the scale of qpsvm's programs; arrays are read-only.

    :math:`f(x) = \sum_i s_i \alpha_i k(x_i, x) + \mathrm{intercept}`, or :math:`f(x) =
    \mathrm{coef}^\top x + \mathrm{intercept}`

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
    formulation: Formulation | None
    kernel: Kernel | None
    classes: tuple[object, ...] | None
    alpha: Vector | None
    coef: Dense | None
    intercept: float | Vector
    width: float | None


def from_json(source: str, content: bytes) -> ArrayModel:
    """Read a model from JSON.

    Raises
    ------
    ModelFileError
        Not UTF-8 or not JSON; nested; names given twice; unknown, missing or contradicting entries;
        numbers that are not finite, or texts in their place.
    """
    brackets = content.count(b"[") + content.count(b"{")
    most = 10_000  # lists and objects; more than one per class are nested for nesting's sake
    try:
        if brackets > most:
            raise ValueError(f"it has {brackets:,} lists and objects; a model has only a few")
        data = json_text.loads(content.decode("utf-8"))
        if not isinstance(data, dict):
            raise ValueError(f"it is {an(data)}; a model must be an object")
    except (ValueError, RecursionError) as error:
        raise ModelFileError(
            f"{source!r} is not a model in JSON ({error}); write one as docs/model_files.md "
            "describes."
        ) from error
    return _model(source, "json", data)


def from_npz(source: str, arrays: npz.Arrays) -> ArrayModel:
    """Build a model from the arrays of an NPZ file; formulation and kernel are JSON texts.

    Raises
    ------
    ModelFileError
        As ``from_json``.
    """
    data = dict[str, object](arrays)
    for key in {"formulation", "kernel"} & set(data):
        array = arrays[key]
        try:
            if array.dtype.kind != "U" or array.ndim != 0:
                raise ValueError(f"it has dtype {array.dtype} and shape {array.shape}")
            data[key] = json_text.loads(str(array))
        except (ValueError, RecursionError) as error:
            raise ModelFileError(
                f"{source!r}: array {key!r} is not a single JSON text ({error}); store "
                "numpy.array(json.dumps(...))."
            ) from error
    if "classes" in data:
        data["classes"] = arrays["classes"].tolist()
    return _model(source, "npz", data)


def _model(source: str, format: Literal["json", "npz"], data: Mapping[str, object]) -> ArrayModel:
    try:
        unknown = [key for key in data if key not in KEYS]
        if unknown:
            known = ", ".join(KEYS)
            raise ModelFileError(f"{unknown[0][:40]!r} is not one of {known}; leave it out")
        if "alpha" not in data and "coef" not in data:
            raise ModelFileError("it has neither alpha nor coef; add one of them, or both")
        intercept = _numbers(data, "intercept", (0, 1))
        if intercept is None:
            raise ModelFileError("it has no intercept; add one, 0 if there is none")
        coef, width = _numbers(data, "coef", (1, 2)), _numbers(data, "width", (0,))
        rows = () if coef is None or coef.ndim == 1 else (len(coef),)
        if intercept.shape != rows:
            raise ModelFileError(
                f"intercept has shape {intercept.shape}, but this coef needs {rows}; a single "
                "machine has a list of weights and one number as intercept"
            )
        return ArrayModel(
            source=source,
            format=format,
            formulation=_built(data, "formulation", FORMULATIONS),
            kernel=_built(data, "kernel", KERNELS),
            classes=_classes(data, *(rows or (2,))),
            alpha=_numbers(data, "alpha", (1,)),
            coef=coef,
            intercept=intercept if rows else float(intercept),
            width=None if width is None else float(width),
        )
    except ModelFileError as problem:
        raise ModelFileError(f"{source!r} is not a usable model: {problem}.") from problem


# --- entries ----------------------------------------------------------------------------------


def _numbers(data: Mapping[str, object], key: str, dimensions: tuple[int, ...]) -> Dense | None:
    """Return an array of numbers from the data of a model, by its key; None without the key."""
    if key not in data:
        return None
    value = data[key]
    entries = value if isinstance(value, np.ndarray) else np.array(value, dtype=object)
    is_numeric = entries.dtype.kind in "iuf" or all(map(is_real_number, entries.flat))
    if not is_numeric or entries.ndim not in dimensions:
        words = ("a number", "a list of numbers", "a table of numbers")
        raise ModelFileError(f"{key} is not {' or '.join(words[n] for n in dimensions)}")
    array = entries.astype(np.float64)
    if array.ndim and 0 in array.shape:
        raise ModelFileError(f"{key} is empty; write one number per sample, or per feature")
    rounded = first_rounded(value, array)
    if rounded is not None:
        where = list(rounded.place) or ""
        raise ModelFileError(f"{key}{where} is {rounded.value}, {rounded.problem.rstrip('.')}")
    if not np.isfinite(array).all():
        at = np.argwhere(~np.isfinite(array))[0].tolist()
        what = f"{key}{at or ''} is {array[tuple(at)]}"
        raise ModelFileError(f"{what}; every number must be finite")
    return freeze(array)


def _classes(data: Mapping[str, object], count: int) -> tuple[object, ...] | None:
    """Return the labels of the classes, None if there are none."""
    if "classes" not in data:
        return None
    values = data["classes"]
    if not isinstance(values, list) or len(values) != count:
        raise ModelFileError(f"classes must be the {count} labels")
    kinds = {"number" if is_real_number(value) else type(value).__name__ for value in values}
    good = len(kinds) == 1 and kinds < {"number", "str", "bool"} and len(set(values)) == count
    if not good or any(value != value for value in values):  # noqa: PLR0124 - NaN
        raise ModelFileError(f"classes are {repr(values)[:80]}; write different labels of one kind")
    return tuple(values)


def _built(data: Mapping[str, object], key: str, known: Mapping[str, type[Built]]) -> Built | None:
    """Build a kernel or formulation from its name and parameters in a model file."""
    if key not in data:
        return None
    spec = data[key]
    if not isinstance(spec, dict) or not isinstance(spec.get("name"), str):
        raise ModelFileError(f"{key} is not an object with a name; write {{'name': ..., ...}}")
    parameters = dict(spec)
    name, pairs = parameters.pop("name"), parameters.get("class_weight")
    if name not in known:
        raise ModelFileError(f"the {key} {name[:40]!r} is unknown; known are {', '.join(known)}")
    if not all(k == "class_weight" or v is None or _is_plain(v) for k, v in parameters.items()):
        raise ModelFileError(f"the parameters of {name} are not plain numbers and texts")
    if pairs is not None and not isinstance(pairs, str):
        good = isinstance(pairs, list) and all(map(_is_pair, pairs))
        if not good or len(dict(pairs)) < len(pairs):
            raise ModelFileError(
                "class_weight is not a list of pairs [label, weight], one per label"
            )
        parameters["class_weight"] = dict(pairs)
    try:
        return known[name](**parameters)
    except (QPSVMError, TypeError, ValueError, OverflowError) as error:
        raise ModelFileError(f"{name} does not accept these parameters ({error})") from error


def _is_plain(value: object) -> bool:
    """Return whether a model parameter is a boolean, a string, or a finite number."""
    return isinstance(value, bool | str) or is_finite_number(value)


def _is_pair(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_plain, value))
