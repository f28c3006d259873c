"""A ``repr`` of dataclasses and named tuples that fits a screen, with vectors by their shapes."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

COLUMNS = 100
"""Largest width of a ``repr``, in characters."""

LINES = 24
"""Lines of a ``repr``: what a terminal shows at least."""

SHORT_VECTOR = 4
"""Vectors of up to so many numbers are printed in full."""

WAYS = ("to_frame", "to_dict")
"""Methods that show everything, named at the end of a ``repr`` that leaves something out."""

Class = TypeVar("Class", bound=type)


def short_repr(cls: Class) -> Class:
    """Class decorator for dataclasses and named tuples: a ``repr`` that fits a screen."""
    cls.__repr__ = describe  # type: ignore[assignment]
    return cls


def describe(thing: object) -> str:
    """Format ``Name(field=value, ...)`` on one line if it fits, else one line per field.

    Arrays are given by their shapes, other objects by their types where their own text is long.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @short_repr
    ... @dataclass
    ... class Point:
    ...     x: float
    ...     weights: np.ndarray
    >>> Point(1.0, np.zeros(1000))
    Point(x=1.0, weights=<array of shape (1000,)>)
    """
    names = _field_names(thing)
    values = [brief(getattr(thing, name), COLUMNS - 8 - len(name)) for name in names]
    line = _call(thing, values)
    if len(line) <= COLUMNS:
        return line
    entries = [f"{name}={value}" for name, value in zip(names, values, strict=True)]
    room = LINES - 3  # the first and the last line, and one for what is left out
    left_out = [f"... {len(entries) - room} further fields"] if len(entries) > room else []
    lines = [f"    {entry}," for entry in entries[:room]] + [f"    {word}" for word in left_out]
    return "\n".join([f"{type(thing).__name__}(", *lines, f"){_more(thing)}"])


def brief(value: object, width: int = COLUMNS) -> str:
    """Format a value on one line of limited width.

    Examples
    --------
    >>> brief(np.array([1.0, 2.5]))
    '[1.0, 2.5]'
    >>> brief(("a",) * 1000, 40)
    "<tuple of 1000: 'a', ...>"
    """
    text = _text(value, width)
    if len(text) <= width:
        return text
    return cut(text if isinstance(value, str | bytes) else f"<{type(value).__name__}>", width)


def one_line(value: object) -> str:
    """The ``repr`` of an object without line breaks."""
    return " ".join(repr(value).split())


def wrapped(text: str) -> str:
    """Break a long line between words, with further lines indented; at most one screen."""
    if len(text) <= COLUMNS and text.isprintable():
        return text
    return textwrap.fill(
        text,
        COLUMNS,
        subsequent_indent="    ",
        break_on_hyphens=False,
        max_lines=LINES,
        placeholder=" ...",
    )


def first_lines(lines: Sequence[str], room: int, more: str) -> list[str]:
    """The first lines, with a last line that says how many more there are and where.

    Parameters
    ----------
    lines : sequence of str
    room : int
        Below 1 it counts as 1, if there is any line.
    more : str
        How to see the others: ``"further machines: .reports"``.
    """
    if len(lines) <= max(room, 0):
        return list(lines)
    kept = max(room - 1, 0)
    return [*lines[:kept], f"  ... {len(lines) - kept} {more}"]


# --- small pieces -----------------------------------------------------------------------------


def _field_names(thing: object) -> tuple[str, ...]:
    if is_dataclass(thing):
        return tuple(field.name for field in fields(thing) if field.repr)
    return tuple(getattr(type(thing), "_fields", ()))


def _more(thing: object) -> str:
    ways = [f".{name}()" for name in WAYS if callable(getattr(thing, name, None))]
    return f"  # each field is an attribute{'; also ' + ', '.join(ways) if ways else ''}"


def _text(value: Any, width: int) -> str:
    """The ``repr`` of an object on one line, of any length."""
    match value:
        case np.ndarray():
            return _of_array(value)
        case tuple() | list() | set() | frozenset() | Mapping() if len(value) > SHORT_VECTOR:
            return _of_many(value, width)
        case list() | tuple() if type(value) in (list, tuple):
            inside = ", ".join(brief(each, width) for each in value)
            comma = "," if type(value) is tuple and len(value) == 1 else ""
            return f"[{inside}]" if type(value) is list else f"({inside}{comma})"
    if sp.issparse(value):
        return f"<{type(value).__name__} of shape {value.shape}, {value.nnz} stored>"
    if getattr(type(value), "__repr__", None) is describe:
        return _call(value, (brief(getattr(value, name), width) for name in _field_names(value)))
    return one_line(value)


def _of_array(array: npt.NDArray[np.generic]) -> str:
    if array.ndim == 1 and array.size <= SHORT_VECTOR and array.dtype.kind in "biuf":
        return repr(array.tolist())
    kind = "" if array.dtype == np.float64 else f" of {array.dtype}"
    return f"<array{kind} of shape {array.shape}>"


def _of_many(value: Collection[object], width: int) -> str:
    count = f"{type(value).__name__} of {len(value)}"
    text = f"<{count}: {brief(next(iter(value)), width)}, ...>"
    return text if len(text) <= width else f"<{count}>"


def _call(thing: object, values: Iterable[str]) -> str:
    pairs = zip(_field_names(thing), values, strict=True)
    return f"{type(thing).__name__}({', '.join(f'{name}={text}' for name, text in pairs)})"


def cut(text: str, width: int) -> str:
    """The beginning of a text, with three dots where it is longer than the width."""
    return text if len(text) <= width else text[: max(width - 3, 0)] + "..."
