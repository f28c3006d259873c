"""The JSON part of a model file: conversion to plain data, and back with strict checks.

Formulations and kernels are looked up by name among those of qpsvm and built from plain
parameters, so their own checks apply; anything else in the text is an error.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar, cast

import numpy as np

from qpsvm import formulations
from qpsvm.exceptions import ModelFileError, QPSVMError
from qpsvm.files import json_text
from qpsvm.formulations.family import Family
from qpsvm.kernels import Kernel
from qpsvm.kernels.functions import KERNELS
from qpsvm.machines.form import Form
from qpsvm.numerics.arguments import Labels
from qpsvm.numerics.arrays import Array
from qpsvm.qp.solution import QPSolution, SolveStatistics, Status

FORMAT = "qpsvm model"
FORMAT_VERSION = 1

FORMULATIONS: Mapping[str, type[Family]] = {
    kind.__name__: kind
    for kind in (formulations.HardMargin, formulations.SoftMargin, formulations.LeastSquares)
}
"""What a file can hold: two-class machines that are alpha, weights and an intercept."""

Built = TypeVar("Built")

_SCALARS = (bool, int, float, str)
_MAX_METADATA = 2**26
_MAX_LABEL = 2**16
_LABEL_KINDS = "biufUO"
"""Labels as booleans, integers, numbers and texts (also as Python objects)."""


# --- objects -> plain data -------------------------------------------------------------------


def from_formulation(formulation: Family) -> dict[str, object]:
    """Convert a formulation to its name and parameters.

    Raises
    ------
    ModelFileError
        One that qpsvm does not know, or with parameters that are no plain values.
    """
    name = type(formulation).__name__
    if FORMULATIONS.get(name) is not type(formulation):
        raise ModelFileError(
            f"A model of the formulation {name} cannot be saved; {', '.join(FORMULATIONS)} can."
        )
    parameters = {
        field.name: getattr(formulation, field.name) for field in dataclasses.fields(formulation)
    }
    return {"name": name, "parameters": _plain_parameters(name, parameters)}


def from_kernel(kernel: Kernel) -> dict[str, object]:
    """Convert a kernel to its name and parameters.

    Raises
    ------
    ModelFileError
        A kernel made of code.
    """
    if KERNELS.get(kernel.name) is not type(kernel):
        raise ModelFileError(
            f"A model with the kernel {kernel} cannot be saved: it is code, and a model file holds "
            f"none. Use one of {', '.join(KERNELS)}: for your own kernel compute the matrix and "
            "train with kernel='precomputed'."
        )
    return {"name": kernel.name, "parameters": _plain_parameters(kernel.name, kernel.parameters())}


def from_classes(classes: Labels) -> dict[str, object]:
    """Convert the two labels to plain values and their dtype.

    Raises
    ------
    ModelFileError
        Labels that are no booleans, numbers or texts.
    """
    values = classes.tolist()
    if classes.dtype.kind not in _LABEL_KINDS or not all(isinstance(v, _SCALARS) for v in values):
        raise ModelFileError(
            f"The labels {values[0]!r} and {values[1]!r} (dtype {classes.dtype}) cannot be saved; "
            "use texts, numbers or booleans."
        )
    return {"dtype": classes.dtype.str, "values": values}


def from_qp(qp: QPSolution) -> dict[str, object]:
    """Convert the solver's status and statistics, without vectors."""
    statistics = {
        field.name: getattr(qp.statistics, field.name)
        for field in dataclasses.fields(qp.statistics)
    }
    return {"status": qp.status.value, "native_status": qp.native_status, **statistics}


def _plain_parameters(owner: str, parameters: Mapping[str, object]) -> dict[str, object]:
    plain: dict[str, object] = {}
    for name, given in parameters.items():
        value = given.item() if isinstance(given, np.generic) else given
        if value is not None and not isinstance(value, _SCALARS):
            raise ModelFileError(
                f"The parameter {name} of {owner} is a {type(value).__name__}, which cannot be "
                "saved; only numbers and texts can."
            )
        plain[name] = value
    return plain


# --- plain data -> objects -------------------------------------------------------------------


def to_formulation(data: Mapping[str, object]) -> Family:
    """Rebuild a formulation from its name and parameters."""
    return _build(FORMULATIONS, "formulation", data)


def to_kernel(data: Mapping[str, object]) -> Kernel:
    """Rebuild a kernel from its name and parameters."""
    kernel = _build(KERNELS, "kernel", data)
    if any(isinstance(value, str) for value in kernel.parameters().values()):
        raise ModelFileError(f"the kernel {kernel} has a parameter that is not a number.")
    return kernel


def to_classes(data: Mapping[str, object]) -> Labels:
    """Rebuild the two labels with their dtype."""
    values = data.get("values")
    try:
        dtype = np.dtype(str(data.get("dtype")))
        if not isinstance(values, list) or len(values) != 2 or dtype.kind not in _LABEL_KINDS:
            raise ValueError("two labels are needed")
        if not all(isinstance(value, _SCALARS) for value in values):
            raise ValueError("labels must be texts, numbers or booleans")
        if dtype.itemsize > _MAX_LABEL:
            raise ValueError("the dtype is too wide")
        classes = np.array(values, dtype=dtype)
        if classes.tolist() != values or not classes[0] < classes[1]:
            raise ValueError(f"{values} do not fit the dtype {dtype}, or are not in order")
    except (ValueError, TypeError, OverflowError, SyntaxError) as error:
        raise ModelFileError(f"the metadata's classes are not usable ({error}).") from error
    return classes


def to_qp(data: Mapping[str, object]) -> QPSolution:
    """Rebuild a QPSolution without vectors; its status is only a claim."""
    fields = Fields(data)
    iterations, settings = data.get("iterations"), data.get("settings")
    try:
        status = Status(data.get("status"))
    except ValueError as error:
        raise ModelFileError(f"the metadata's status is unknown ({error}).") from error
    return QPSolution(
        status,
        native_status=fields.text("native_status"),
        statistics=SolveStatistics(
            backend=fields.text("backend"),
            version=fields.text("version"),
            iterations=iterations if isinstance(iterations, int) else None,
            setup_seconds=fields.number("setup_seconds"),
            solve_seconds=fields.number("solve_seconds"),
            seconds=_seconds(data.get("seconds")),
            asked=_names(data.get("asked")),
            polished=data.get("polished") is True,
            escalated=data.get("escalated") is True,
            settings=settings if isinstance(settings, dict) else {},
            note=fields.text("note"),
        ),
    )


def _seconds(given: object) -> dict[str, float]:
    """Seconds by step; empty where they are missing, as in files of older versions."""
    items = given.items() if isinstance(given, dict) else ()
    return {name: float(value) for name, value in items if isinstance(value, int | float)}


def _names(given: object) -> tuple[str, ...]:
    items = given if isinstance(given, list | tuple) else ()
    return tuple(name for name in items if isinstance(name, str))


def _build(known: Mapping[str, type[Built]], what: str, data: Mapping[str, object]) -> Built:
    name, parameters = data.get("name"), data.get("parameters")
    kind = known.get(name) if isinstance(name, str) else None
    if kind is None or not isinstance(parameters, dict):
        raise ModelFileError(f"the {what} {name!r} is unknown; known are {', '.join(known)}.")
    if not all(value is None or isinstance(value, _SCALARS) for value in parameters.values()):
        raise ModelFileError(f"the parameters of the {what} {name!r} are no plain values.")
    try:
        return kind(**parameters)
    except (QPSVMError, TypeError, ValueError, OverflowError) as error:
        raise ModelFileError(f"the {what} {name!r} cannot be built ({error}).") from error


def read(array: Array) -> Fields:
    """Parse the metadata from its bytes.

    Raises
    ------
    ModelFileError
        Not JSON, not of this format, or of a newer version.
    """
    if array.dtype != np.uint8 or array.ndim != 1 or array.size > _MAX_METADATA:
        raise ModelFileError("its metadata are not a JSON text.")
    try:
        data = json_text.loads(array.tobytes().decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"its metadata are not a JSON text ({error}).") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ModelFileError("its metadata are those of something else.")
    version = data.get("format_version")
    if version != FORMAT_VERSION:
        raise ModelFileError(
            f"it has version {version!r} of the format, this qpsvm reads {FORMAT_VERSION}; "
            "upgrade qpsvm."
        )
    return Fields(data)


class Fields:
    """A JSON object with a checked accessor per type."""

    def __init__(self, data: Mapping[str, object]) -> None:
        self._data = data

    def mapping(self, name: str) -> dict[str, object]:
        """Return an entry that must be an object."""
        return cast("dict[str, object]", self._of(name, dict, "an object"))

    def text(self, name: str) -> str:
        """Return an entry that must be a string."""
        return cast("str", self._of(name, str, "a text"))

    def number(self, name: str) -> float:
        """Return an entry that must be a number."""
        return float(self._of(name, (int, float), "a number"))

    def count(self, name: str) -> int:
        """Return an entry that must be a positive integer."""
        value = self._of(name, int, "a whole number")
        if isinstance(value, bool) or not 1 <= value < 2**62:
            raise ModelFileError(f"the metadata's {name} is {value!r}; it must be at least 1.")
        return int(value)

    def form(self) -> Form:
        """Return an entry that must be ``"primal"`` or ``"dual"``."""
        value = self.text("form")
        if value not in ("primal", "dual"):
            raise ModelFileError(f"the metadata's form is {value!r}; it is 'primal' or 'dual'.")
        return cast("Form", value)

    def texts(self, name: str, length: int) -> tuple[str, ...] | None:
        """Return an entry that must be a list of strings of the given length, or None."""
        value = self._data.get(name)
        if value is None:
            return None
        if (
            not isinstance(value, list)
            or len(value) != length
            or not all(isinstance(entry, str) for entry in value)
        ):
            raise ModelFileError(f"the metadata's {name} must be {length} texts.")
        return tuple(value)

    def _of(self, name: str, kind: type | tuple[type, ...], words: str) -> Any:
        value = self._data.get(name)
        if not isinstance(value, kind):
            raise ModelFileError(f"the metadata's {name} is {type(value).__name__}, not {words}.")
        return value
