"""Header of a CSV file: whether its first row names the columns, or is a row of the table.

A cell that *differs in kind* is a word above a column of numbers, or a number above one of words: a
row with such a cell is no row of the table. A row is no header where a cell is repeated, where a
word occurs again below it, and where numbers are neither whole (years) nor in order (wavelengths).
If neither can be said, or both, the row may be either, and the caller is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from qpsvm.exceptions import DataFileError
from qpsvm.files import text
from qpsvm.files.columns import Wanted

Row = Sequence[str]

MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?", "-"})
"""Cells, in lower case, that say nothing of the kind of a column."""

_WHOLE = re.compile(r"[+-]?\d+")


def header_of(
    source: str, rows: Sequence[Row], wanted: Wanted, given: bool | None, *, line: int = 1
) -> tuple[str, ...] | None:
    """Names of the columns, if the first row is a header.

    Parameters
    ----------
    source : str
        The file, for messages.
    rows : sequence of rows
        All of the file, of the same length.
    wanted : Wanted
        A column that the caller names is one of the header, if its name is in the first row.
    given : bool or None
        What the caller says.
    line : int
        Of the first row, for messages.

    Raises
    ------
    DataFileError
        The first row may be either.

    Examples
    --------
    >>> header_of("a.csv", [["0", "1", "y"], ["2.5", "3", "cat"]], Wanted(), None)
    ('0', '1', 'y')
    >>> header_of("a.csv", [["2.5", "3", "cat"], ["1", "2.5", "cat"]], Wanted(), None)
    """
    first = [cell.strip() for cell in rows[0]]
    found = _has_named_column(first, wanted) if given is None else given
    if found is None:
        found = _is_header(first, rows[1:])
    if found is None:
        shown = ",".join(rows[0])
        raise DataFileError(
            f"{source!r} line {line} ({shown[:60]}) may be a header or a sample; say which: "
            "header=True or False (--header or --no-header)."
        )
    return tuple(first) if found else None


def _has_named_column(first: Row, wanted: Wanted) -> bool | None:
    """True if the caller names a column by a cell of the first row; None says nothing."""
    for name in wanted.names:
        is_position = _WHOLE.fullmatch(name) and -len(first) <= int(name) < len(first)
        if name in first and not is_position:
            return True
    return None


class _Column:
    """The cells of a column below the first row, which are not copied."""

    def __init__(self, rows: Sequence[Row], position: int) -> None:
        self._rows, self._position = rows, position

    def __iter__(self) -> Iterator[str]:
        return (row[self._position].strip() for row in self._rows)


def _is_header(first: Row, rows: Sequence[Row]) -> bool | None:
    """Whether the first row can only be a header (True) or a row (False); None: either."""
    cells = [(cell, _Column(rows, j)) for j, cell in enumerate(first) if cell]
    numbers = [(cell, column) for cell, column in cells if is_number(cell)]
    words = [(cell, column) for cell, column in cells if not is_number(cell)]
    if not rows and not (numbers and words):
        return not numbers
    counted = [cell for cell, _ in numbers] == [str(i) for i in range(len(numbers))]
    is_counted = counted and len(numbers) > 1
    occurs_again = any(cell in column for cell, column in words)
    cannot_be_names = not _may_be_names([cell for cell, _ in numbers])
    if any(_differs_in_kind(*pair) for pair in cells):
        if not numbers or is_counted:
            return None if occurs_again else True
        looks_like_a_row = (
            occurs_again
            or cannot_be_names
            or len(set(first)) < len(first)
            or any(cell in column or not _WHOLE.fullmatch(cell) for cell, column in numbers)
        )
        return None if looks_like_a_row else True
    if occurs_again or cannot_be_names or len(set(first)) < len(first):
        return False
    return True if is_counted and words else None


def _differs_in_kind(cell: str, column: _Column) -> bool:
    """Whether a cell is a word above numbers only, or a number above words only."""
    kinds = (_kind(value) for value in column if value.lower() not in MISSING)
    own, first = _kind(cell), next(kinds, "")
    if "" in (own, first) or own == first or cell.lower() in MISSING:
        return False
    return all(kind == first for kind in kinds)


def _kind(cell: str) -> str:
    """Kind of a cell: a number, a word, or neither, such as ``1_0``, ``12 kg`` and ``--``."""
    if is_number(cell):
        return "number"
    return "word" if cell[0].isalpha() else ""


def _may_be_names(numbers: Sequence[str]) -> bool:
    """Whether numbers may be names of columns: whole ones (years), or in order (wavelengths)."""
    if any("e" in number.lower() for number in numbers):
        return False
    values = [float(number.replace(",", ".")) for number in numbers]
    return (
        all(map(_WHOLE.fullmatch, numbers))
        or all(a < b for a, b in pairwise(values))
        or all(a > b for a, b in pairwise(values))
    )


def is_number(cell: str) -> bool:
    """Whether a cell is written as a number, with a decimal point or comma."""
    return text.is_number(cell.replace(",", "."))
