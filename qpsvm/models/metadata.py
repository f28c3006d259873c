"""The JSON part of a model file: its format, its version, and a checked accessor per type."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from qpsvm.exceptions import ModelFileError
from qpsvm.files import json_text
from qpsvm.machines.form import Form
from qpsvm.numerics.arrays import Array
from qpsvm.qp.solution import QPSolution, SolveStatistics, Status

FORMAT = "qpsvm model"
FORMAT_VERSION = 2
"""Version 1 had two-class machines only, and no checksums."""

_MAX_METADATA = 2**26


def written(entries: Mapping[str, object]) -> Array:
    """The metadata as an array of bytes.

    Raises
    ------
    ModelFileError
        They are larger than ``read`` accepts.
    """
    text = json_text.dumps({"format": FORMAT, "format_version": FORMAT_VERSION} | dict(entries))
    array = np.frombuffer(text.encode(), dtype=np.uint8)
    if array.size > _MAX_METADATA:
        raise ModelFileError(
            f"The metadata of the model take {array.size:,} bytes, more than {_MAX_METADATA:,}: "
            "its constraints or parameters are too large; pass them as fewer rows."
        )
    return array


def read(array: Array) -> Fields:
    """Parse the metadata from its bytes.

    Raises
    ------
    ModelFileError
        Not JSON, not of this format, or of another version.
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
        older = type(version) is int and version < FORMAT_VERSION
        remedy = "save the model again" if older else "upgrade qpsvm"
        raise ModelFileError(
            f"it has version {version!r} of the format, this qpsvm reads {FORMAT_VERSION}; "
            f"{remedy}."
        )
    return Fields(data)


def from_qp(qp: QPSolution) -> dict[str, object]:
    """Convert the solver's status and statistics, without vectors."""
    statistics = {
        field.name: getattr(qp.statistics, field.name)
        for field in dataclasses.fields(qp.statistics)
    }
    return {"status": qp.status.value, "native_status": qp.native_status, **statistics}


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
    """Seconds by step."""
    items = given.items() if isinstance(given, dict) else ()
    return {name: float(value) for name, value in items if isinstance(value, int | float)}


def _names(given: object) -> tuple[str, ...]:
    items = given if isinstance(given, list | tuple) else ()
    return tuple(name for name in items if isinstance(name, str))


class Fields:
    """A JSON object with a checked accessor per type."""

    def __init__(self, data: Mapping[str, object]) -> None:
        self._data = data

    @property
    def entries(self) -> dict[str, object]:
        """All entries."""
        return dict(self._data)

    def get(self, name: str) -> object:
        """Return an entry as it is; None without it."""
        return self._data.get(name)

    def mapping(self, name: str) -> dict[str, object]:
        """Return an entry that must be an object."""
        return cast("dict[str, object]", self._of(name, dict, "an object"))

    def mappings(self, name: str) -> list[dict[str, object]]:
        """Return an entry that must be a list of one or more objects."""
        entries = self._of(name, list, "a list")
        if not entries or not all(isinstance(entry, dict) for entry in entries):
            raise ModelFileError(f"the metadata's {name} must be a list of objects.")
        return cast("list[dict[str, object]]", entries)

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

    def truth(self, name: str) -> bool | None:
        """Return an entry that must be true, false or absent."""
        value = self._data.get(name)
        if value is not None and not isinstance(value, bool):
            raise ModelFileError(f"the metadata's {name} is {value!r}; it is true or false.")
        return value

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
