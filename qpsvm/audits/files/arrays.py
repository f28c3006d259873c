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
from typing import Literal

from qpsvm.audits.files import entries
from qpsvm.audits.files.entries import Formulation
from qpsvm.audits.files.text import read_bytes, require_file
from qpsvm.display import short_repr
from qpsvm.exceptions import ModelFileError
from qpsvm.files import json_text, npz
from qpsvm.files.npz import Arrays
from qpsvm.kernels import Kernel
from qpsvm.kernels.by_name import KERNELS
from qpsvm.numerics.arrays import Array, Dense, Vector
from qpsvm.numerics.wording import an

MAX_JSON_BYTES = 2**28
"""Largest JSON file that is read: as Python objects its numbers take some ten times as much."""

_MAX_BRACKETS = 10_000
"""More lists and objects than one per class are nested for nesting's sake."""


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
            raise ValueError(f"it is {an(data)}; a model must be an object")
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


def npz_arrays(path: str | os.PathLike[str]) -> Arrays:
    """Read the arrays of an uncompressed NPZ file; compressed files could expand without limit."""
    size = require_file(path)
    return npz.read(path, ModelFileError, limit_bytes=size, compressed=False)


def from_npz(path: str | os.PathLike[str], arrays: Arrays) -> ArrayModel:
    """Build the model from the arrays of an NPZ file; see ``read_npz``."""
    source = os.fspath(path)
    data: dict[str, object] = dict(arrays)
    for key in ("formulation", "kernel"):
        if key in data:
            data[key] = _json_entry(source, key, arrays[key])
    if "classes" in data:
        data["classes"] = arrays["classes"].tolist()
    return _model(source, "npz", data)


def _model(source: str, format: Literal["json", "npz"], data: Mapping[str, object]) -> ArrayModel:
    try:
        entries.require_keys(data)
        coef = entries.numbers(data, "coef", (1, 2))
        intercept = entries.numbers(data, "intercept", (0, 1))
        assert intercept is not None  # it is among the keys
        entries.require_one_intercept_each(coef, intercept)
        width = entries.numbers(data, "width", (0,))
        return ArrayModel(
            source=source,
            format=format,
            formulation=entries.built(data, "formulation", entries.FORMULATIONS),
            kernel=entries.built(data, "kernel", KERNELS),
            classes=entries.classes_of(data, 2 if coef is None or coef.ndim == 1 else len(coef)),
            alpha=entries.numbers(data, "alpha", (1,)),
            coef=coef,
            intercept=float(intercept) if intercept.ndim == 0 else intercept,
            width=None if width is None else float(width),
        )
    except entries.UnfitEntryError as problem:
        raise ModelFileError(f"{source!r} is not a usable model: {problem}.") from problem


def _json_entry(source: str, key: str, array: Array) -> object:
    try:
        if array.dtype.kind != "U" or array.ndim != 0:
            raise ValueError(f"it has dtype {array.dtype} and shape {array.shape}")
        return json_text.loads(str(array))
    except (ValueError, RecursionError) as error:
        raise ModelFileError(
            f"{source!r}: array {key!r} is not a single JSON text ({error}); store "
            "numpy.array(json.dumps(...))."
        ) from error
