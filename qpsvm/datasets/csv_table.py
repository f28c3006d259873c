"""CSV files as columns of cells.

The separator is that of Excel's first line ``sep=;`` if there is one. Otherwise it is what the
first two rows have: the most frequent of comma, semicolon and tab, else a bar, else spaces. Lines
before the first row that begin with ``#`` are comments if they have another number of cells: with
the same number they may be the names of the columns.

The first row names the columns, or is a row of the table. A cell that *differs in kind* is a word
above a column of numbers, or a number above one of words: a row with such a cell is no row of the
table. A row is no header where a cell is repeated, where a word occurs again below it, and where
numbers are neither whole (years) nor in order (wavelengths). If neither can be said, or both, the
row may be either, and the caller is asked.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from itertools import islice, pairwise
from typing import IO

from qpsvm.exceptions import DataFileError
from qpsvm.io import files
from qpsvm.tables.cells import MISSING, TextCells, is_number
from qpsvm.tables.table import FileTable, Wanted

_EXCEL = re.compile(r'"?sep=([^"\r\n])"?\s*', re.IGNORECASE)
_DECIMAL_COMMAS = re.compile(r"(?:^|(?<=[;\t])) *[+-]?\d+,\d+ *(?=[;\t\r\n]|$)")
_LIBSVM = re.compile(r"[+-]?[\d.]+( qid:\d+)?( \d+:[-+.\deE]+)+ *")
_QUOTED = re.compile(r'"[^"]*"')
_SEVERAL_WORDS = re.compile(r"[^\s,] +[^\s,]")

_SAYS_NOTHING = MISSING | {"-"}
"""Cells, in lower case, that say nothing of the kind of a column."""

_WHOLE = re.compile(r"[+-]?\d+")


def read(
    source: str,
    wanted: Wanted,
    *,
    limit_bytes: int,
    header: bool | None = None,
    decimal: str = ".",
) -> FileTable:
    """Read the cells of all columns, and the names of the columns if there is a header.

    Raises
    ------
    DataFileError, InvalidDataError, InvalidParameterError
        As ``qpsvm.datasets.load``.
    """
    rows, lines, separator = _csv_rows(source, limit_bytes, decimal)
    width, first_line = len(rows[0]), lines[0]
    if _LIBSVM.fullmatch(" ".join(rows[0])):
        raise DataFileError(
            f"{source!r} line {first_line} is in LIBSVM format, label index:value ...; read the "
            "file with format='libsvm' (--format libsvm)."
        )
    for row, line in zip(rows, lines, strict=True):
        if len(row) != width:
            if any("\n" in cell or "\r" in cell for cell in row):
                raise DataFileError(
                    f"{source!r} has a cell with a line break that ends in line {line}, and "
                    f"{len(row)} columns there, and the file began with {width}: "
                    "close the quotation mark."
                )
            raise DataFileError(
                f"{source!r} line {line} has {len(row)} columns, the file began with {width} "
                f"(separated by {separator!r}); quote cells that contain the "
                "separator, and name every column."
            )
    own = header_of(source, rows, wanted, header, line=first_line)
    if own is not None:
        rows, lines = rows[1:], lines[1:]
    if not rows:
        raise DataFileError(
            f"{source!r} holds no samples, only a header (header=False or --no-header: a sample)."
        )
    columns = ([cell.strip() for cell in column] for column in zip(*rows, strict=True))
    cells = tuple(TextCells(column, decimal) for column in columns)
    return FileTable(source, own, cells, lines, "line", None if own is None else first_line)


def _csv_rows(
    source: str, limit_bytes: int, decimal: str
) -> tuple[list[list[str]], list[int], str]:
    """The rows of a CSV file with their line numbers, and its column separator."""
    with files.lines(source, limit_bytes) as stream:
        separator, is_named = _separator(stream, decimal)
        stream.seek(0)
        written = stream if separator != " " else (line.rstrip() for line in stream)
        reader = csv.reader(written, delimiter=separator, skipinitialspace=True)
        rows, lines = [], []
        try:
            for row in reader:
                if any(cell.strip() for cell in row):
                    rows.append(row)
                    lines.append(reader.line_num)
        except csv.Error as error:
            raise DataFileError(
                f"{source!r} line {reader.line_num} is not CSV: {error}."
            ) from error
    rows, lines = rows[is_named:], lines[is_named:]
    if not rows:
        raise DataFileError(f"{source!r} is empty; pass a file with a row for every sample.")
    begin = next((i for i, row in enumerate(rows) if not _is_comment(row[0])), 0)
    while begin > 0 and len(rows[begin - 1]) == len(rows[begin]):
        begin -= 1
    return rows[begin:], lines[begin:], separator


def _separator(stream: IO[str], decimal: str) -> tuple[str, bool]:
    """Return the column separator of a CSV file, and whether its first line is Excel's ``sep=``."""
    top = list(islice(filter(str.strip, stream), 2))
    named = _EXCEL.fullmatch(top[0]) if top else None
    if named is not None:
        return named[1], True
    stream.seek(0)
    content = (line for line in stream if line.strip() and not _is_comment(line))
    # if every row begins with #, none is a comment
    head = [_QUOTED.sub('""', line) for line in list(islice(content, 2)) or top]
    found = (
        _in_all(",;\t", head, decimal),
        _in_all("|", head, decimal),
        _in_all(",;\t", head[:1], decimal),
        # the name of an only column may have spaces, the numbers below it have none
        [" "] if head and all(map(_SEVERAL_WORDS.search, head)) else [],
        [","],
    )
    marks = next(filter(None, found))
    return max(marks, key=_DECIMAL_COMMAS.sub("", "".join(head[:1])).count), False


def _in_all(marks: str, head: list[str], decimal: str) -> list[str]:
    """Return the possible column separators of a CSV file: those in each of its first rows."""
    return [mark for mark in marks if mark != decimal and all(mark in line for line in head)]


def _is_comment(text: str) -> bool:
    return text.lstrip().startswith("#")


# --- the header ----------------------------------------------------------------------------------

Row = Sequence[str]


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
    """Return True if a wanted column is named by a cell of the first row; None if none is."""
    for name in wanted.names:
        is_position = _WHOLE.fullmatch(name) and -len(first) <= int(name) < len(first)
        if name in first and not is_position:
            return True
    return None


def _is_header(first: Row, rows: Sequence[Row]) -> bool | None:
    """Whether the first row can only be a header (True) or a row (False); None: either."""
    below = zip(*rows, strict=True) if rows else ((),) * len(first)
    stripped = ([cell.strip() for cell in column] for column in below)
    cells = [pair for pair in zip(first, stripped, strict=True) if pair[0]]
    numbers = [(cell, column) for cell, column in cells if _is_number(cell)]
    words = [(cell, column) for cell, column in cells if not _is_number(cell)]
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


def _differs_in_kind(cell: str, column: Row) -> bool:
    """Whether a cell is a word above numbers only, or a number above words only."""
    kinds = (_kind(value) for value in column if value.lower() not in _SAYS_NOTHING)
    own, first = _kind(cell), next(kinds, "")
    if "" in (own, first) or own == first or cell.lower() in _SAYS_NOTHING:
        return False
    return all(kind == first for kind in kinds)


def _kind(cell: str) -> str:
    """Kind of a cell: a number, a word, or neither, such as ``1_0``, ``12 kg`` and ``--``."""
    if _is_number(cell):
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


def _is_number(cell: str) -> bool:
    """Whether a cell is written as a number, with a decimal point or comma."""
    return is_number(cell.replace(",", "."))
