"""CSV files as columns of cells.

The separator is that of Excel's first line ``sep=;`` if there is one. Otherwise it is what the
first two rows have: the most frequent of comma, semicolon and tab, else a bar, else spaces. Lines
before the first row that begin with ``#`` are comments if they have another number of cells: with
the same number they may be the names of the columns.
"""

from __future__ import annotations

import csv
import re
from itertools import islice
from typing import IO

from qpsvm.exceptions import DataFileError
from qpsvm.files import text
from qpsvm.files.cells import TextCells
from qpsvm.files.columns import Wanted
from qpsvm.files.csv_header import header_of
from qpsvm.files.table import Table

_EXCEL = re.compile(r'"?sep=([^"\r\n])"?\s*', re.IGNORECASE)
_DECIMAL_COMMAS = re.compile(r"(?:^|(?<=[;\t])) *[+-]?\d+,\d+ *(?=[;\t\r\n]|$)")
_LIBSVM = re.compile(r"[+-]?[\d.]+( qid:\d+)?( \d+:[-+.\deE]+)+ *")
_QUOTED = re.compile(r'"[^"]*"')
_SEVERAL_WORDS = re.compile(r"[^\s,] +[^\s,]")


def read(
    source: str,
    wanted: Wanted,
    *,
    limit_bytes: int,
    header: bool | None = None,
    decimal: str = ".",
) -> Table:
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
    cells = tuple(TextCells(column, decimal) for column in zip(*rows, strict=True))
    return Table(source, own, cells, lines, "line", None if own is None else first_line)


def _csv_rows(
    source: str, limit_bytes: int, decimal: str
) -> tuple[list[list[str]], list[int], str]:
    """The rows of a CSV file with their line numbers, and its column separator."""
    with text.lines(source, limit_bytes) as stream:
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
