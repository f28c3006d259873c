"""The cells of one column: as texts, as numbers, and which of them are missing."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Sequence
from contextlib import suppress
from decimal import Decimal
from enum import StrEnum
from functools import cached_property
from typing import Self, TypeAlias

import numpy as np

from qpsvm.exceptions import InvalidDataError
from qpsvm.numerics.arguments import Labels
from qpsvm.numerics.arrays import Array, Index, Mask, Vector
from qpsvm.numerics.conversion import EXACT, Rounded, first_rounded

MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?"})
"""Cells that are missing in a column of numbers or truth values, in lower case.

In texts only an empty cell is: NA may be a country.
"""

TRUTH = {"true": 1.0, "false": 0.0}
"""Truth values in lower case, and the numbers that they are."""

_DATE = re.compile(
    r"(\d{4}([-/.])\d{1,2}\2\d{1,2}|\d{1,2}([-/.])\d{1,2}\3\d{4}|\d{1,2}/\d{1,2}/\d{2})"
    r"([ T]\d{1,2}:\d{2}.*)?"
)
"""A year of four digits at either end, or slashes; with a time or not."""


class CellKind(StrEnum):
    """Kinds of columns, found from all their cells that are not missing."""

    NUMBERS = "numbers"
    TRUTH_VALUES = "truth values"
    DECIMAL_COMMAS = "numbers with decimal commas"
    DATES = "dates"
    TEXTS = "texts"
    EMPTY = "empty"
    OTHER = "values of another type"


class TextCells:
    """Cells that are texts, of a file without types or of a column of another type than numbers.

    Parameters
    ----------
    cells : sequence of str
        Empty where they are missing.
    decimal : {".", ","}
        The decimal mark. With a comma, a cell with a point is no number.
    stored : CellKind, optional
        The kind of the column, in a file with types: then texts are no numbers.
    stored_as : str, optional
        The type of the column in words; by default the kind.
    """

    def __init__(
        self,
        cells: Sequence[str],
        decimal: str = ".",
        stored: CellKind | None = None,
        stored_as: str = "",
    ) -> None:
        self._cells, self._decimal, self._stored = list(cells), decimal, stored
        self._numbers: dict[CellKind, Vector] = {}
        self.stored_as = stored_as

    @cached_property
    def kind(self) -> CellKind:
        """The kind of the column."""
        if self.missing(CellKind.NUMBERS).all():
            return CellKind.EMPTY
        if self._stored is not None:
            return self._stored
        for kind in (CellKind.NUMBERS, CellKind.TRUTH_VALUES):
            if (self.missing(kind) | np.isfinite(self.numbers(kind))).all():
                return kind
        values = {cell for cell in self._cells if cell}
        numeric = {value for value in values if value.lower() not in MISSING}
        has_commas = any("," in value for value in numeric)
        if has_commas and all(is_number(_with_point(value, ",")) for value in numeric):
            return CellKind.DECIMAL_COMMAS
        return CellKind.DATES if all(map(_is_date, values)) else CellKind.TEXTS

    def missing(self, kind: CellKind) -> Mask:
        """Mask of the cells that are missing in a column of this kind, shape (n,)."""
        is_numeric = kind in (CellKind.NUMBERS, CellKind.TRUTH_VALUES) and self._stored is None
        words = MISSING if is_numeric else {""}
        return np.array([cell.lower() in words for cell in self._cells], dtype=np.bool_)

    def numbers(self, kind: CellKind) -> Vector:
        """The cells as numbers, shape (n,); NaN where a cell is none, or is missing."""
        if self._stored is not None:
            return np.full(len(self._cells), np.nan)
        if kind not in self._numbers:
            self._numbers[kind] = np.array(
                [TRUTH.get(cell.lower(), math.nan) for cell in self._cells]
                if kind is CellKind.TRUTH_VALUES
                else [_number(cell, self._decimal) for cell in self._cells]
            )
        return self._numbers[kind]

    def rounded(self, numbers: Vector) -> Rounded | None:
        """The first integer that float64 does not have."""
        written = [_with_point(cell, self._decimal) for cell in self._cells]
        return first_rounded(written, numbers)

    def texts(self) -> list[str]:
        """The cells as they are; empty where they are missing."""
        return self._cells

    def labels(self, source: str) -> Labels:
        """The cells as exact integers, numbers or texts.

        Raises
        ------
        InvalidDataError
            As ``narrowest``; a text that NumPy would cut.
        """
        cut = next((i for i, cell in enumerate(self._cells) if cell.endswith("\0")), None)
        if cut is not None:
            raise InvalidDataError(
                f"{source!r}: the label or group of sample {cut} (counted from 0) is "
                f"{self._cells[cut][:40]!r}, and NumPy's texts cannot end with NUL: different "
                "labels would become equal; leave the character out."
            )
        if self._stored is not None:
            return np.array(self._cells, dtype=np.str_)
        written = [_with_point(cell, self._decimal) for cell in self._cells]
        numeric = self._decimal != "." and all(map(is_number, written))
        return narrowest(np.array(written if numeric else self._cells), source)

    def taken(self, rows: Index) -> Self:
        """The cells of some rows."""
        cells = [self._cells[i] for i in rows.tolist()]
        return type(self)(cells, self._decimal, self._stored, self.stored_as)


class NumberCells:
    """Cells that are stored as integers, floats or truth values.

    Parameters
    ----------
    stored : array of shape (n,)
        Any number where a cell is missing.
    missing : array of bool of shape (n,)
        The cells without a number; NaN is missing, too.
    """

    stored_as = ""

    def __init__(self, stored: Array, missing: Mask) -> None:
        self._stored = stored
        self._missing = missing | np.isnan(stored)

    @property
    def kind(self) -> CellKind:
        """The kind of the column."""
        if self._stored.dtype == np.bool_:
            return CellKind.TRUTH_VALUES
        return CellKind.EMPTY if self._missing.all() else CellKind.NUMBERS

    def missing(self, kind: CellKind) -> Mask:
        """Mask of the cells that are missing, shape (n,)."""
        del kind
        return self._missing

    def numbers(self, kind: CellKind) -> Vector:
        """The cells as numbers, shape (n,); NaN where they are missing, or no truth values."""
        numbers = np.array(self._stored, dtype=np.float64)
        is_other = kind is CellKind.TRUTH_VALUES and self._stored.dtype != np.bool_
        numbers[self._missing | is_other] = np.nan
        return numbers

    def rounded(self, numbers: Vector) -> Rounded | None:
        """The first integer that float64 does not have."""
        return first_rounded(self._stored, np.nan_to_num(numbers))

    def texts(self) -> list[str]:
        """The cells as texts; empty where they are missing."""
        pairs = zip(self._missing, self._stored.tolist(), strict=True)
        return ["" if gone else str(value) for gone, value in pairs]

    def labels(self, source: str) -> Labels:
        """The cells as exact integers, truth values or numbers."""
        return narrowest(self._stored, source) if self._stored.dtype.kind == "f" else self._stored

    def taken(self, rows: Index) -> Self:
        """The cells of some rows."""
        return type(self)(self._stored[rows], self._missing[rows])


def _with_point(cell: str, decimal: str) -> str:
    """A cell with a point as its decimal mark; empty if it has a point beside another mark."""
    if decimal == ".":
        return cell
    return "" if "." in cell else cell.replace(decimal, ".")


def _number(cell: str, decimal: str) -> float:
    """Parse a number; NaN if the cell is not one."""
    try:
        return math.nan if "_" in cell else float(_with_point(cell, decimal))
    except ValueError:
        return math.nan


def _is_date(cell: str) -> bool:
    """Return whether a text looks like a date: 2024-02-29, 29.2.2024, 2/29/24, with a time or not.

    Examples
    --------
    >>> [_is_date(cell) for cell in ("2024-02-29", "29.2.2024", "2/29/24 12:00", "1.2.3")]
    [True, True, True, False]
    """
    if _DATE.fullmatch(cell):
        return True
    if cell.isdigit():
        return False
    try:
        datetime.datetime.fromisoformat(cell)
    except ValueError:
        return False
    return True


Cells: TypeAlias = TextCells | NumberCells
"""The cells of one column of a file, whatever its format."""


def read_cells(cells: Cells, kind: CellKind) -> Vector | list[str]:
    """The cells of a feature: texts of a category, else numbers."""
    return cells.texts() if kind is CellKind.TEXTS else cells.numbers(kind)


def label_kind(cells: Cells) -> CellKind:
    """The kind that says which labels are missing: beside numbers and truth values, NA is."""
    kind = cells.kind
    return kind if kind in (CellKind.NUMBERS, CellKind.TRUTH_VALUES) else CellKind.TEXTS


# --- labels ------------------------------------------------------------------------------------


def is_number(text: str) -> bool:
    """Return whether a text is a number: what Python reads as one, without underscores."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def narrowest(labels: Labels, source: str) -> Labels:
    """Convert labels to integers if all are integers, else to numbers, else leave them as text.

    Integers are exact, whatever their size: beyond 64 bits they are Python's.

    Raises
    ------
    InvalidDataError
        A number that is not finite; integers beside other numbers, as which they would be rounded.

    Examples
    --------
    >>> narrowest(np.array(["7", "9007199254740993"]), "ids.csv")
    array([               7, 9007199254740993])
    """
    are_texts = labels.dtype.kind == "U"
    if are_texts and not all(map(is_number, labels.tolist())):
        return labels
    numbers = np.array([float(label) for label in labels.tolist()])
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if len(wrong):
        raise InvalidDataError(
            f"{source!r}: the label or group of sample {wrong[0]} (counted from 0) is "
            f"{labels[wrong[0]]} ({len(wrong)} such samples); correct it, or leave the sample out."
        )
    if np.array_equal(numbers, np.round(numbers)):
        if np.abs(numbers).max() < EXACT:
            return numbers.astype(np.int64)
        integers = _integers(labels.tolist()) if are_texts else None
        if integers is not None:
            return integers
    rounded = first_rounded(labels, numbers)
    if rounded is not None:
        raise InvalidDataError(
            f"{source!r}: the label or group of sample {rounded.place[0]} (counted from 0) is "
            f"{rounded.value}, {rounded.problem}"
        )
    return numbers


def _integers(labels: list[str]) -> Labels | None:
    """The labels as exact integers, or None if one of them has a fraction or an exponent."""
    if any("e" in label.lower() for label in labels):
        return None
    values = [int(Decimal(label)) for label in labels]
    if any(Decimal(label) != value for label, value in zip(labels, values, strict=True)):
        return None
    for dtype in (np.int64, np.uint64):
        with suppress(OverflowError):
            return np.array(values, dtype=dtype)
    return np.array(values, dtype=object)
