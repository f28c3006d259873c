"""CSV files as samples and labels."""

from __future__ import annotations

import csv
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from qpsvm.exceptions import DataFileError, InvalidDataError, InvalidParameterError
from qpsvm.files import text
from qpsvm.files.text import Labels, is_number, narrowest

Table: TypeAlias = tuple[npt.NDArray[np.float64], Labels, tuple[str, ...] | None]
"""Samples, labels, and the names of the features if there is a header."""


def read(source: str, label: str | int | None) -> Table:
    """Read samples, labels, and the feature names if there is a header.

    Raises
    ------
    DataFileError, InvalidDataError, InvalidParameterError
        As ``qpsvm.datasets.load``.
    """
    rows, lines = _csv_rows(source)
    header = _header(rows, label)
    if header is not None:
        rows, lines = rows[1:], lines[1:]
    if not rows:
        raise DataFileError(f"{source!r} holds no samples, only a header.")
    width = len(header or rows[0])
    for row, line in zip(rows, lines, strict=True):
        if len(row) != width:
            raise DataFileError(
                f"{source!r} line {line} has {len(row)} columns, the file began with {width}; "
                "quote cells that contain the separator."
            )
    if width < 2:
        raise DataFileError(
            f"{source!r} has one column; a feature and a label at least are needed (columns are "
            "separated by a comma, a semicolon or a tab)."
        )
    at = _label_column(source, label, header, width)
    names = header or tuple(f"column {i}" for i in range(width))
    kept = [i for i in range(width) if i != at]
    X = np.array([[_number(row[i]) for i in kept] for row in rows])
    if not np.isfinite(X).all():
        i, j = (int(k) for k in np.argwhere(~np.isfinite(X))[0])
        raise _bad_cell(source, lines[i], names[kept[j]], rows[i][kept[j]])
    labels = [row[at].strip() for row in rows]
    if "" in labels:
        raise _bad_cell(source, lines[labels.index("")], names[at], "")
    y = narrowest(np.array(labels))
    return X, y, None if header is None else tuple(header[i] for i in kept)


def _csv_rows(source: str) -> tuple[list[list[str]], list[int]]:
    with text.lines(source) as stream:
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


def _header(rows: list[list[str]], label: str | int | None) -> tuple[str, ...] | None:
    """The first row if it is a header: without numbers, or with the label column's name."""
    first = [cell.strip() for cell in rows[0]]
    named = isinstance(label, str) and label in first and not is_number(label)
    return tuple(first) if named or not any(map(is_number, first)) else None


def _label_column(
    source: str, label: str | int | None, header: tuple[str, ...] | None, width: int
) -> int:
    if label is None:
        return width - 1
    if isinstance(label, str) and header is not None and label in header:
        if header.count(label) > 1:
            raise InvalidParameterError(
                f"{source!r} has {header.count(label)} columns named {label!r}; name the label "
                "column by its position, counted from 0."
            )
        return header.index(label)
    try:
        position = int(label)
    except ValueError:
        known = f"its columns are {', '.join(header)}" if header else "it has no header"
        raise InvalidParameterError(
            f"{source!r} has no column named {label!r}: {known}; name one, or give a position "
            "counted from 0."
        ) from None
    if not -width <= position < width:
        raise InvalidParameterError(
            f"{source!r} has no column {position}; it has {width}, counted from 0 to {width - 1}."
        )
    return position % width


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
        return float(cell)
    except ValueError:
        return float("nan")
