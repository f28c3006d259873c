"""CSV files as columns of cells."""

from __future__ import annotations

import csv

from qpsvm.exceptions import DataFileError
from qpsvm.files import text
from qpsvm.files.cells import TextCells
from qpsvm.files.columns import Wanted
from qpsvm.files.csv_header import header_of
from qpsvm.files.table import Table


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
    rows, lines = _csv_rows(source, limit_bytes, decimal)
    width, first_line = len(rows[0]), lines[0]
    for row, line in zip(rows, lines, strict=True):
        if len(row) != width:
            raise DataFileError(
                f"{source!r} line {line} has {len(row)} columns, the file began with {width}; "
                "quote cells that contain the separator, and name every column."
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


def _csv_rows(source: str, limit_bytes: int, decimal: str) -> tuple[list[list[str]], list[int]]:
    with text.lines(source, limit_bytes) as stream:
        first = stream.readline()
        stream.seek(0)
        # with decimal commas a comma separates only where nothing else does, and numbers are quoted
        marks = [mark for mark in ",;\t" if mark in first and mark != decimal]
        separator = max(marks or ",", key=first.count)  # a comma when there is none
        reader = csv.reader(stream, delimiter=separator, skipinitialspace=True)
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
    if not rows:
        raise DataFileError(f"{source!r} is empty.")
    return rows, lines
