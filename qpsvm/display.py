"""Printing of objects within one screen, with a hint on how to see the rest.

``@short_repr`` gives a dataclass or named tuple a ``repr`` with a line per field, where vectors are
their shapes. ``ColumnTable`` does the same for whatever has columns of one length, and makes a
pandas DataFrame of it.
"""

from __future__ import annotations

import textwrap
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, TypeAlias, TypeGuard, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from qpsvm.exceptions import MissingPackageError

if TYPE_CHECKING:
    import pandas as pd

Column: TypeAlias = Sequence[object] | npt.NDArray[np.generic]
"""A column of a table: a list or an array of shape (N,)."""

COLUMNS = 100
"""Largest width of a ``repr``, in characters."""

LINES = 24
"""Lines of a ``repr``: what a terminal shows at least."""

SHORT_VECTOR = 4
"""Vectors of up to so many numbers are printed in full."""

ROWS = 12
"""Rows of a table that are printed: half a screen."""

CELL = 14
"""Characters in a cell of a table."""

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
    return _cut(text if isinstance(value, str | bytes) else f"<{type(value).__name__}>", width)


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


class ColumnTable(ABC):
    """Base class of tables: columns of equal length, with a short ``repr`` and a DataFrame."""

    @abstractmethod
    def columns(self) -> Mapping[str, Column]:
        """Every column by name: arrays of shape (N,) or lists of length N."""

    def order(self) -> npt.NDArray[np.intp] | None:
        """Indices of rows in the order to print them; None for stored order."""
        return None

    def to_frame(self) -> pd.DataFrame:
        """All rows as a pandas DataFrame, in stored order.

        Raises
        ------
        MissingPackageError
            pandas, the extra ``qpsvm[pandas]``, is not installed.
        """
        return data_frame(self.columns(), f"{type(self).__name__}.to_frame()")

    def __repr__(self) -> str:
        columns = self.columns()
        total, order = len(next(iter(columns.values()))), self.order()
        rows = [int(i) for i in (np.arange(total) if order is None else order)[:ROWS]]
        cells = [[name, *(_cell(column[i]) for i in rows)] for name, column in columns.items()]
        widths = [2 + max(map(len, column)) for column in cells]
        fitting = int(np.searchsorted(np.cumsum(widths), COLUMNS, side="right"))
        padded = [
            [cell.rjust(width) for cell in column]
            for column, width in zip(cells[:fitting], widths, strict=False)
        ]
        what = f"{type(self).__name__} of {total} rows"
        if total > ROWS:
            first = "first" if self.order() is None else "worst"
            what += f", the {first} {ROWS} of them; .to_frame() has all"
        missing = ", ".join(column[0] for column in cells[fitting:])
        rest = [_cut(f"  further columns: {missing}", COLUMNS)] if missing else []
        return "\n".join([what, *map("".join, zip(*padded, strict=True)), *rest])


def data_frame(columns: Mapping[str, Column], what: str) -> pd.DataFrame:
    """Build a pandas DataFrame; raise MissingPackageError without pandas.

    Parameters
    ----------
    columns : mapping of str to arrays of shape (N,) or lists
    what : str
        Who needs pandas, for the message.

    Raises
    ------
    MissingPackageError
        pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingPackageError(
            f'{what} needs pandas, which is not installed; run: pip install "qpsvm[pandas]".'
        ) from error
    return pd.DataFrame(dict(columns))


# --- small pieces -----------------------------------------------------------------------------


def _field_names(thing: object) -> tuple[str, ...]:
    if is_dataclass(thing):
        return tuple(field.name for field in fields(thing) if field.repr)
    return tuple(getattr(type(thing), "_fields", ()))


def _more(thing: object) -> str:
    ways = [f".{name}()" for name in WAYS if callable(getattr(thing, name, None))]
    return f"  # each field is an attribute{'; also ' + ', '.join(ways) if ways else ''}"


def _text(value: object, width: int) -> str:
    """The ``repr`` of an object on one line, of any length."""
    if isinstance(value, np.ndarray):
        return _of_array(value)
    if _is_sparse(value):
        return f"<{type(value).__name__} of shape {value.shape}, {value.nnz} stored>"
    if isinstance(value, tuple | list | set | frozenset | Mapping) and len(value) > SHORT_VECTOR:
        return _of_many(value, width)
    if isinstance(value, tuple | list) and type(value) in (tuple, list):
        inside = ", ".join(brief(each, width) for each in value)
        comma = "," if type(value) is tuple and len(value) == 1 else ""
        return f"[{inside}]" if type(value) is list else f"({inside}{comma})"
    if getattr(type(value), "__repr__", None) is describe:
        return _call(value, (brief(getattr(value, name), width) for name in _field_names(value)))
    return one_line(value)


def _is_sparse(value: object) -> TypeGuard[sp.sparray]:
    return bool(sp.issparse(value))


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


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(width - 3, 0)] + "..."


def _cell(value: object) -> str:
    text = f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)
    return _cut(" ".join(text.split()), CELL)
