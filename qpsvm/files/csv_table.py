"""CSV files as samples and labels."""

from __future__ import annotations

import csv
import math

import numpy as np

from qpsvm.exceptions import DataFileError, InvalidDataError
from qpsvm.files import text
from qpsvm.files.columns import Wanted, roles
from qpsvm.files.csv_header import header_of
from qpsvm.files.table import Table
from qpsvm.files.text import Labels, is_number, narrowest
from qpsvm.numerics.integers import EXACT, first_rounded


def read(source: str, wanted: Wanted, *, limit_bytes: int, header: bool | None = None) -> Table:
    """Read samples, labels, and the feature names if there is a header.

    Raises
    ------
    DataFileError, InvalidDataError, InvalidParameterError
        As ``qpsvm.datasets.load``.
    """
    rows, lines = _csv_rows(source, limit_bytes)
    width, first_line = len(rows[0]), lines[0]
    for row, line in zip(rows, lines, strict=True):
        if len(row) != width:
            raise DataFileError(
                f"{source!r} line {line} has {len(row)} columns, the file began with {width}; "
                "quote cells that contain the separator."
            )
    own = header_of(source, rows, wanted, header, line=first_line)
    if own is not None:
        rows, lines = rows[1:], lines[1:]
    if not rows:
        raise DataFileError(
            f"{source!r} holds no samples, only a header (header=False or --no-header: a sample)."
        )
    found = roles(source, own, width, wanted, header_line=first_line)
    names = own or tuple(f"column {i}" for i in range(width))
    kept = found.features
    X = np.array([[_number(row[i]) for i in kept] for row in rows])
    if not np.isfinite(X).all():
        i, j = (int(k) for k in np.argwhere(~np.isfinite(X))[0])
        raise _bad_cell(source, lines[i], names[kept[j]], rows[i][kept[j]])
    if (np.abs(X) >= EXACT).any():
        rounded = first_rounded([[row[i] for i in kept] for row in rows], X)
        if rounded is not None:
            i, j = rounded.place
            raise InvalidDataError(
                f"{source!r} line {lines[i]}, column {names[kept[j]]!r} is {rounded.value}, "
                f"{rounded.problem}"
            )

    def labels(at: int) -> Labels:
        cells = [row[at].strip() for row in rows]
        if "" in cells:
            raise _bad_cell(source, lines[cells.index("")], names[at], "")
        return narrowest(np.array(cells), source)

    return Table(
        X,
        None if found.label is None or not wanted.labelled else labels(found.label),
        None if found.groups is None else labels(found.groups),
        None if own is None else tuple(own[i] for i in kept),
    )


def _csv_rows(source: str, limit_bytes: int) -> tuple[list[list[str]], list[int]]:
    with text.lines(source, limit_bytes) as stream:
        first = stream.readline()
        stream.seek(0)
        separator = max(",;\t", key=first.count)  # a comma when there is none
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


def _bad_cell(source: str, line: int, column: str, value: str) -> InvalidDataError:
    if not value.strip():
        what, remedy = "is empty", "impute missing values, or drop the row"
    elif is_number(value):
        what, remedy = f"is {value!r}", "impute missing values, or drop the row"
    else:
        what = f"is {value[:80]!r}, which is not a number"
        remedy = "encode the column as numbers or drop it, or choose it as the label"
    return InvalidDataError(f"{source!r} line {line}, column {column!r} {what}; {remedy}.")


def _number(cell: str) -> float:
    """Parse a number; NaN if the cell is not one."""
    try:
        return math.nan if "_" in cell else float(cell)
    except ValueError:
        return math.nan
