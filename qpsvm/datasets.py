"""Reading of data files (LIBSVM/svmlight, CSV, NPZ) as samples and labels.

Nothing is guessed about values: a cell that is not a number is an error that names its line and
column, not a missing value. Nothing is ever unpickled.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, cast

import numpy as np
import scipy.sparse as sp

from qpsvm.display import short_repr
from qpsvm.exceptions import DataFileError, InvalidDataError, InvalidParameterError
from qpsvm.files import csv_table, npz, text
from qpsvm.files.text import is_number, narrowest
from qpsvm.numerics.arguments import Labels
from qpsvm.numerics.arrays import Matrix, default_memory_limit
from qpsvm.numerics.layout import compressed_rows

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


@short_repr
@dataclass(frozen=True, eq=False)
class DataFile:
    """The content of a data file: samples, labels and feature names.

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

    X: Matrix
    y: Labels
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
    X, y, names = csv_table.read(source, label)
    return DataFile(X, y, names, source, kind)


def _format(source: str, format: str | None) -> Format:
    if format is not None:
        if format not in ("libsvm", "csv", "npz"):
            raise InvalidParameterError(f"format is {format!r}; choose 'libsvm', 'csv' or 'npz'.")
        return cast("Format", format)
    suffixes = [suffix.lower() for suffix in Path(source).suffixes]
    if suffixes and suffixes[-1] in text.COMPRESSIONS:
        suffixes.pop()
    kind = SUFFIXES.get(suffixes[-1]) if suffixes else None
    if kind is None:
        raise InvalidParameterError(
            f"The name {source!r} does not say what the file holds (known: "
            f"{', '.join(SUFFIXES)}, each also with .gz or .bz2); name the format: libsvm, csv or "
            "npz."
        )
    return kind


# --- LIBSVM ----------------------------------------------------------------------------------


def _read_libsvm(source: str) -> tuple[Matrix, Labels]:
    from sklearn.datasets import load_svmlight_file

    try:
        X, y = load_svmlight_file(source, dtype=np.float64)
    except text.UNREADABLE as error:
        raise text.unreadable(source, error) from error
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
    return sp.csr_array(X), narrowest(y)


def _first_bad_line(source: str) -> str:
    """Describe the first malformed line of a LIBSVM file; scikit-learn does not name it."""
    with text.lines(source) as stream:
        for number, line in enumerate(stream, 1):
            tokens = line.partition("#")[0].split()
            if not tokens:
                continue
            if not is_number(tokens[0]):
                return f"line {number} begins with {tokens[0]!r}, which is not a numeric label"
            last = -1
            for token in tokens[1:]:
                index, colon, value = token.partition(":")
                if index == "qid":
                    continue
                if not (colon and index.isdigit() and is_number(value)):
                    return f"line {number} has {token!r}, which is not index:value"
                if int(index) <= last:
                    return f"line {number} has index {index} after {last}"
                last = int(index)
    return ""


# --- NPZ -------------------------------------------------------------------------------------


def _read_npz(source: str) -> tuple[Matrix, Labels]:
    arrays = npz.read(source, DataFileError, limit_bytes=default_memory_limit())
    parts = ("X_data", "X_indices", "X_indptr", "X_shape")
    if "y" not in arrays or not ("X" in arrays or all(part in arrays for part in parts)):
        raise DataFileError(
            f"{source!r} holds {', '.join(sorted(arrays)) or 'nothing'}; it must hold X and y (or "
            "y and a CSR matrix as X_data, X_indices, X_indptr, X_shape): "
            "np.savez(path, X=X, y=y)."
        )
    if "X" in arrays:
        return arrays["X"], arrays["y"]
    try:
        X = compressed_rows(*(np.array(arrays[part]) for part in parts))
    except (ValueError, TypeError, OverflowError, IndexError) as error:
        raise DataFileError(
            f"{source!r}: X_data, X_indices, X_indptr and X_shape are not a CSR matrix ({error})."
        ) from error
    return X, arrays["y"]
