"""Conversion of numbers to float64: integers stay exact or are refused, never rounded.

Beyond 2^53 float64 does not represent every integer. Two identifiers such as 9007199254740992 and
9007199254740993 would become the same number, and no error would say so. The rule covers integers
of every size and type (NumPy's, Python's, ``Decimal``, ``Fraction``, ``numpy.longdouble``), and
texts that write a whole number without an exponent. Numbers with a fractional part, and texts with
an exponent, are rounded to the nearest float64, as every reader of numbers does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

EXACT = 2.0**53
"""The largest number up to which float64 represents every integer exactly."""


@dataclass(frozen=True)
class Rounded:
    """First integer of an array that has no exact float64 value, with its position.

    Attributes
    ----------
    place : tuple of int
        Where the integer is.
    value : int
    count : int
        How many such integers there are.
    """

    place: tuple[int, ...]
    value: int
    count: int

    @property
    def problem(self) -> str:
        """Write the end of the error message: the rounded value, how many there are, the remedy."""
        return (
            f"an integer that float64 rounds to {int(float(self.value))} ({self.count} such "
            "entries): different values would become equal; subtract a common offset, encode "
            "identifiers as categories, or pass floats where the nearest one will do."
        )


def first_rounded(original: Any, converted: Any) -> Rounded | None:
    """Find the integers that have no exact float64 value.

    Parameters
    ----------
    original : array, sparse matrix, table of columns, list or other sequence
        As the caller has it.
    converted : array or sparse matrix of the same size
        The same numbers as float64, or float32.

    Returns
    -------
    Rounded or None
        None if no integer changes.

    Examples
    --------
    >>> ids = [[2**53], [2**53 + 1], [2**60]]
    >>> first_rounded(ids, np.array(ids, dtype=float))
    Rounded(place=(1, 0), value=9007199254740993, count=1)
    """
    dtype = getattr(original, "dtype", None)
    if getattr(dtype, "kind", "O") in "fb" and getattr(dtype, "itemsize", 8) <= 8:
        return None
    # entries of one place may cancel: their sum says nothing about them
    values = original.data if sp.issparse(original) else np.asarray(converted)
    if values.size == 0 or (np.max(values) < EXACT and np.min(values) > -EXACT):
        return None  # where there is a NaN the comparison is false
    found = list(_rounded(original, converted))
    if not found:
        return None
    place, value = min(found, key=lambda each: each[0])
    return Rounded(place, int(cast("Any", _number(value))), len({place for place, _ in found}))


def exact_array(values: object) -> npt.NDArray[Any]:
    """Convert to an array whose integers are exact, even beside floats."""
    if hasattr(values, "dtype") or hasattr(values, "__array__"):
        return np.asarray(values)
    return np.array(values, dtype=object)


def is_rounded(entry: object) -> bool:
    """Return whether a number, or a text that Python reads as a number, is an integer to refuse.

    Examples
    --------
    >>> [is_rounded(each) for each in (2**53 + 1, "9007199254740993", "0.1", "1e23")]
    [True, True, False, False]
    """
    try:
        exact: Any = _number(entry)
        rounded = float(exact)
        if not EXACT <= abs(rounded) < math.inf:
            return False
        whole = int(exact)
        return whole == exact and whole != int(rounded)
    except (TypeError, ValueError, OverflowError, InvalidOperation):
        return False  # no number: others refuse it


def _number(entry: object) -> object:
    """The number that a text stands for, as a float if it has an exponent; a number itself."""
    text = entry.decode(errors="replace") if isinstance(entry, bytes) else entry
    if not isinstance(text, str):
        return entry
    return float(text) if "e" in text.lower() else Decimal(text)


def _rounded(original: Any, converted: Any) -> Iterator[tuple[tuple[int, ...], object]]:
    """Yield position and value of every integer that has no exact float64 value."""
    columns = None if sp.issparse(original) else _columns_of(original)
    if sp.issparse(original):
        added = sp.csr_array(original, copy=True)
        added.sum_duplicates()
        for entries in (original.tocoo(), added.tocoo()):
            for (i,), value in _in_array(entries.data, np.asarray(entries.data, dtype=np.float64)):
                yield tuple(int(axis[i]) for axis in entries.coords), value
    elif columns is not None and np.ndim(converted) == 2:
        for j, column in enumerate(columns):
            for (i,), value in _in_array(column, converted[:, j]):
                yield (i, j), value
    else:
        yield from _in_array(original, np.asarray(converted))


def _columns_of(table: Any) -> list[Any] | None:
    """Split a pandas, Polars or PyArrow table into its columns, each with its own dtype."""
    if hasattr(table, "iloc") and hasattr(table, "columns"):
        return [table.iloc[:, j].to_numpy() for j in range(table.shape[1])]
    for method in ("get_columns", "itercolumns"):
        if hasattr(table, method):
            return [column.to_numpy() for column in getattr(table, method)()]
    return None


def _in_array(
    original: Any, converted: npt.NDArray[Any]
) -> Iterator[tuple[tuple[int, ...], object]]:
    exact = exact_array(original).reshape(converted.shape)
    if exact.dtype.kind in "iu":
        # the upper part is a multiple of 2^32 and a float64; so is what is left of a float64
        low = exact & exact.dtype.type(0xFFFFFFFF)
        rest = converted - (exact - low).astype(np.float64)
        changed = rest != low.astype(np.float64)
    elif exact.dtype.kind == "f" and exact.dtype.itemsize > 8:
        changed = (np.trunc(exact) == exact) & np.isfinite(converted) & (exact != converted)
    elif exact.dtype.kind in "OUS":
        changed = np.reshape([is_rounded(entry) for entry in exact.flat], exact.shape)
    else:
        return
    for place in np.argwhere(changed):
        where = tuple(int(k) for k in place)
        yield where, exact[where]
