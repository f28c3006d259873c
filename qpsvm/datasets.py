"""Data files -> samples and labels: LIBSVM/svmlight, CSV and NPZ.

Nothing is guessed about values: a cell that is not a number is an error that names its line and
column, not a missing value. Nothing is ever unpickled.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import lzma
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias, cast

import numpy as np
import scipy.sparse as sp

from qpsvm import safe_npz
from qpsvm.exceptions import DataFileError, InvalidDataError, InvalidParameterError
from qpsvm.qp._arrays import default_memory_limit

Format: TypeAlias = Literal["libsvm", "csv", "npz"]

SUFFIXES: Mapping[str, Format] = {
    ".libsvm": "libsvm",
    ".svmlight": "libsvm",
    ".svm": "libsvm",
    ".txt": "libsvm",
    ".csv": "csv",
    ".tsv": "csv",
    ".npz": "npz",
}

_OPENERS: Mapping[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open}
_UNREADABLE = (OSError, EOFError, zlib.error, lzma.LZMAError)


@dataclass(frozen=True, eq=False)
class DataFile:
    """What a file holds.

    Attributes
    ----------
    X : array or CSR array of shape (n, d)
    y : array of shape (n,)
        Integers where every label is one, then numbers, otherwise text.
    feature_names : tuple of str or None
        From a CSV header.
    source : str
        The path as given.
    format : "libsvm", "csv" or "npz"
    """

    X: Any
    y: Any
    feature_names: tuple[str, ...] | None
    source: str
    format: Format


def load(
    path: str | os.PathLike[str], *, format: str | None = None, label: str | int | None = None
) -> DataFile:
    """Read a data file.

    Parameters
    ----------
    path : path
        LIBSVM and CSV files may be compressed (``.gz``, ``.bz2``).
    format : {"libsvm", "csv", "npz"}, optional
        By default from the suffix: ``.libsvm``, ``.svmlight``, ``.svm``, ``.txt``; ``.csv``,
        ``.tsv``; ``.npz``.
    label : str or int, optional
        CSV only: the label column's name, or its position from 0 (negative: from the end). By
        default the last.

    Returns
    -------
    DataFile

    Raises
    ------
    DataFileError
        The file cannot be read: missing, damaged, not of this format.
    InvalidDataError
        A value that is no number, or a missing one, with its line and column.
    InvalidParameterError
        An unknown format, or a label column that does not exist.
    """
    source = os.fspath(path)
    kind = _format(source, format)
    if label is not None and kind != "csv":
        raise InvalidParameterError(
            f"label={label!r} chooses a column of a CSV file, {source!r} is read as {kind}; "
            "leave it out."
        )
    if kind == "libsvm":
        X, y = _read_libsvm(source)
        return DataFile(X, y, None, source, kind)
    if kind == "npz":
        X, y = _read_npz(source)
        return DataFile(X, y, None, source, kind)
    X, y, names = _read_csv(source, label)
    return DataFile(X, y, names, source, kind)


def _format(source: str, format: str | None) -> Format:
    if format is not None:
        if format not in ("libsvm", "csv", "npz"):
            raise InvalidParameterError(f"format is {format!r}; choose 'libsvm', 'csv' or 'npz'.")
        return cast("Format", format)
    suffixes = [suffix.lower() for suffix in Path(source).suffixes]
    if suffixes and suffixes[-1] in _OPENERS:
        suffixes.pop()
    kind = SUFFIXES.get(suffixes[-1]) if suffixes else None
    if kind is None:
        raise InvalidParameterError(
            f"The name {source!r} does not say what the file holds (known: "
            f"{', '.join(SUFFIXES)}, each also with .gz or .bz2); name the format: libsvm, csv or "
            "npz."
        )
    return kind


@contextmanager
def _lines(source: str) -> Iterator[IO[str]]:
    """A text file, decompressed, with every way of being unreadable turned into one error."""
    opener = _OPENERS.get(Path(source).suffix.lower(), open)
    try:
        with opener(source, "rt", encoding="utf-8-sig", newline="") as stream:
            yield stream
    except UnicodeDecodeError as error:
        raise DataFileError(
            f"{source!r} is not UTF-8 text (byte {error.start}: {error.reason}); convert it, or "
            "name its format if it is not a text file."
        ) from error
    except _UNREADABLE as error:
        raise _unreadable(source, error) from error


def _unreadable(source: str, error: BaseException) -> DataFileError:
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return DataFileError(f"Cannot read {source!r}: {reason}; check the path and the file.")


# --- LIBSVM ----------------------------------------------------------------------------------


def _read_libsvm(source: str) -> tuple[Any, Any]:
    from sklearn.datasets import load_svmlight_file

    try:
        X, y = load_svmlight_file(source, dtype=np.float64)
    except _UNREADABLE as error:
        raise _unreadable(source, error) from error
    except (ValueError, OverflowError, IndexError) as error:
        raise DataFileError(
            f"{source!r} is not in LIBSVM format: {_first_bad_line(source) or error}. Each line is "
            "'label index:value index:value ...' with ascending indices."
        ) from error
    if X.shape[0] == 0:
        raise DataFileError(f"{source!r} holds no samples; each line is one.")
    if not np.isfinite(X.data).all():
        at = int(np.flatnonzero(~np.isfinite(X.data))[0])
        row = int(np.searchsorted(X.indptr, at, side="right")) - 1
        raise InvalidDataError(
            f"{source!r}: sample {row} has {X.data[at]} for feature {int(X.indices[at])} (both "
            "counted from 0); impute missing values, or drop the sample."
        )
    return sp.csr_array(X), _narrowest(y)


def _first_bad_line(source: str) -> str:
    """Scikit-learn does not say where; this does."""
    with _lines(source) as stream:
        for number, line in enumerate(stream, 1):
            tokens = line.partition("#")[0].split()
            if not tokens:
                continue
            if not _is_number(tokens[0]):
                return f"line {number} begins with {tokens[0]!r}, which is not a numeric label"
            last = -1
            for token in tokens[1:]:
                index, colon, value = token.partition(":")
                if index == "qid":
                    continue
                if not (colon and index.isdigit() and _is_number(value)):
                    return f"line {number} has {token!r}, which is not index:value"
                if int(index) <= last:
                    return f"line {number} has index {index} after {last}"
                last = int(index)
    return ""


# --- NPZ -------------------------------------------------------------------------------------


def _read_npz(source: str) -> tuple[Any, Any]:
    arrays = safe_npz.read(source, DataFileError, limit_bytes=default_memory_limit())
    parts = ("X_data", "X_indices", "X_indptr", "X_shape")
    if "y" not in arrays or not ("X" in arrays or all(part in arrays for part in parts)):
        raise DataFileError(
            f"{source!r} holds {', '.join(sorted(arrays)) or 'nothing'}; it must hold X and y (or "
            "y and a CSR matrix as X_data, X_indices, X_indptr, X_shape): "
            "np.savez(path, X=X, y=y)."
        )
    if "X" in arrays:
        return arrays["X"], arrays["y"]
    data, indices, indptr, shape = (np.array(arrays[part]) for part in parts)
    try:
        X = sp.csr_array((data, indices, indptr), shape=tuple(int(n) for n in shape))
        X.check_format(full_check=True)
    except (ValueError, TypeError, OverflowError) as error:
        raise DataFileError(
            f"{source!r}: X_data, X_indices, X_indptr and X_shape are not a CSR matrix ({error})."
        ) from error
    return X, arrays["y"]


# --- CSV -------------------------------------------------------------------------------------


def _read_csv(source: str, label: str | int | None) -> tuple[Any, Any, tuple[str, ...] | None]:
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
    y = _narrowest(np.array(labels))
    return X, y, None if header is None else tuple(header[i] for i in kept)


def _csv_rows(source: str) -> tuple[list[list[str]], list[int]]:
    with _lines(source) as stream:
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
    """The first row, when it holds no number at all (or the name of the label column)."""
    first = [cell.strip() for cell in rows[0]]
    named = isinstance(label, str) and label in first and not _is_number(label)
    return tuple(first) if named or not any(map(_is_number, first)) else None


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
    elif _is_number(value):
        what, remedy = f"is {value!r}", "impute missing values, or drop the row"
    else:
        what = f"is {value[:80]!r}, which is not a number"
        remedy = "encode the column as numbers or drop it, or choose it as the label"
    return InvalidDataError(f"{source!r} line {line}, column {column!r} {what}; {remedy}.")


# --- small pieces ----------------------------------------------------------------------------


def _number(cell: str) -> float:
    """NaN for anything else: its place is looked up afterwards."""
    try:
        return float(cell)
    except ValueError:
        return float("nan")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _narrowest(labels: Any) -> Any:
    """Labels as integers if they all are, else as numbers, else as they come."""
    try:
        numbers = labels.astype(np.float64)
    except ValueError:
        return labels
    if not np.isfinite(numbers).all():
        return numbers
    whole = np.array_equal(numbers, np.round(numbers)) and np.abs(numbers).max() < 2**53
    return numbers.astype(np.int64) if whole else numbers
