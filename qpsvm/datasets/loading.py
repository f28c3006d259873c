"""Reading of a data file: the format that its name or content has, and its parameters."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any, TypeGuard, cast

import numpy as np

from qpsvm.datasets import csv_table, libsvm_table, parquet_table
from qpsvm.datasets.samples import DataFile, Format, learnt_samples, prepared_samples
from qpsvm.exceptions import DataFileError, InvalidParameterError
from qpsvm.io import npz
from qpsvm.io.files import COMPRESSIONS, STANDARD_INPUT
from qpsvm.numerics.arguments import (
    explains_calls,
    require_choice,
    require_flag,
    require_kind,
    require_path,
    scalar,
)
from qpsvm.numerics.arrays import Matrix, default_memory_limit
from qpsvm.numerics.conversion import compressed_rows
from qpsvm.tables.preparation import Missing, Preparation, require_policies
from qpsvm.tables.table import Column, Columns, Wanted

FORMATS: tuple[Format, ...] = ("libsvm", "csv", "npz", "parquet")

SUFFIXES: Mapping[str, Format] = {
    ".libsvm": "libsvm",
    ".svmlight": "libsvm",
    ".svm": "libsvm",
    ".txt": "libsvm",
    ".csv": "csv",
    ".tsv": "csv",
    ".npz": "npz",
    ".parquet": "parquet",
    ".pq": "parquet",
}

_SHEET = "save the sheet as 'CSV UTF-8'"
_ARRAYS = "load it with its own library, and pass arrays, or store them: np.savez(path, X=X, y=y)"
_FRAME = "read it with pandas, and pass columns of the frame, or store it: frame.to_parquet(path)"
FOREIGN: Mapping[str, str] = (
    dict.fromkeys((".xlsx", ".xls", ".ods"), _SHEET)
    | dict.fromkeys((".npy", ".mat", ".h5", ".hdf5", ".pkl", ".pickle", ".joblib"), _ARRAYS)
    | dict.fromkeys((".json", ".feather", ".arff", ".dta", ".sav", ".sas7bdat"), _FRAME)
    | dict.fromkeys((".zip", ".7z", ".tar", ".tgz", ".rar", ".zst"), "unpack it")
)
"""Suffixes of formats that are not read, and what to do instead."""

ABOUT: Mapping[str, tuple[str, tuple[Format, ...]]] = {
    "header": ("the first row of a CSV file", ("csv",)),
    "zero_based": ("the indices of a LIBSVM file", ("libsvm",)),
    "n_features": ("the indices of a LIBSVM file", ("libsvm",)),
}
"""The subject of a parameter, and the formats that have it; all others are about columns."""


@explains_calls
def load(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    label: str | int | None = None,
    groups: str | int | None = None,
    labelled: bool = True,
    limit_bytes: int | None = None,
    features: Column | Sequence[Column] = (),
    drop: Column | Sequence[Column] = (),
    id: Column | Sequence[Column] = (),
    categorical: Column | Sequence[Column] = (),
    missing: Missing = "error",
    decimal: str | None = None,
    preparation: Preparation | None = None,
    zero_based: bool | None = None,
    n_features: int | None = None,
    header: bool | None = None,
) -> DataFile:
    r"""Read samples and labels from a LIBSVM, CSV, NPZ or Parquet file.

    Columns of a table that are no numbers need a decision, which nobody else can make: the error
    lists all columns with the trouble and the parameters that decide.

    Parameters
    ----------
    path : path
        LIBSVM and CSV files may be compressed (``.gz``, ``.bz2``, ``.xz``). ``-`` is standard
        input, read as CSV. The columns of a CSV file are separated by commas, semicolons, tabs,
        bars or spaces, or as its first line ``sep=;`` says; before its first row there may be
        comments with ``#``.
    format : {"libsvm", "csv", "npz", "parquet"}, optional
        By default from the suffix: ``.libsvm``, ``.svmlight``, ``.svm``, ``.txt``; ``.csv``,
        ``.tsv``; ``.npz``; ``.parquet``, ``.pq``.
    label : str or int, optional
        CSV and Parquet only: the label column's name, or its position from 0 (negative: from the
        end). By default the last.
    groups : str or int, optional
        CSV and Parquet only: the column of the groups. LIBSVM files have them as ``qid:``, NPZ
        files as an array ``groups``.
    labelled : bool
        Whether there are labels. Without, y is None for CSV and Parquet files, all columns are
        features (but ``label`` and ``groups``, if named), and an NPZ file needs no y.
    limit_bytes : int, optional
        Largest size of what a compressed text, an NPZ or a Parquet file expands to. By default a
        quarter of the machine's memory, for texts a sixteenth of that, since they take so much
        more memory while they are read. Plain text has no limit.
    features : column or sequence of columns
        CSV and Parquet only, as all that follow: the features, beside ``categorical`` ones. By
        default all columns that have no other role. A column is a name, or a position from 0.
    drop : column or sequence of columns
        Columns that are left out.
    id : column or sequence of columns
        Identifiers: no features, but kept in ``ids`` and in predictions.
    categorical : column or sequence of columns
        Columns of which every value becomes a feature, 1 in the rows that have it and 0 elsewhere.
    missing : {"error", "drop", "median"}
        What a missing value is: an error, a reason to leave the row out, or replaced by the median
        of the column (of categories the most frequent value). Missing are empty cells, and in
        columns of numbers, labels included, also NA, N/A, NaN, null, None and ?.
    decimal : {".", ","}
        The decimal mark of a CSV file, by default a point. With a comma, columns are separated by
        something else, or cells with a comma are quoted.
    preparation : Preparation, optional
        That of a file read before: the same columns, medians and categories. It says what is a
        feature, what is missing and what the label is called, so that ``features``, ``drop``,
        ``categorical`` and ``missing`` are left out. Only the columns that it uses are needed.
    zero_based : bool, optional
        LIBSVM only: whether the first feature has the index 0 rather than 1. By default it has
        where an index is 0. Test data need the numbering of the training data,
        ``zero_based=train.zero_based``, since a file without the first feature does not show it.
    n_features : int, optional
        LIBSVM only: the number of features, by default up to the largest index. With it,
        ``zero_based`` is needed, too, where the indices do not show the numbering.
    header : bool, optional
        CSV only: whether the first row names the columns. By default it does where it can be no row
        of the table, and does not where it can be no header; where it may be either, such as
        numbers above numbers, that is an error.

    Returns
    -------
    DataFile
        Samples, labels and groups, with names, kinds and preparation of the columns of a table.

    Raises
    ------
    DataFileError
        The file cannot be read: missing, damaged, not of this format, or with indices that
        contradict ``zero_based`` and ``n_features``; a first row that may be a header or a sample.
    UnreadyColumnsError
        Columns without a name of their own, with values that are no numbers, that are missing, or
        that are integers that float64 would round: all of them, each with what can be done. With a
        ``preparation`` also values of a category that the training rows do not have.
    InvalidDataError
        Columns that ``preparation`` uses are not there, or several have the name of one; labels
        that are not finite, or that float64 would round.
    InvalidParameterError
        An unknown format, a column that does not exist, a limit that is no integer above 0, or a
        parameter of other formats.
    MissingPackageError
        A Parquet file without pyarrow.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "cats.csv"
    ...     _ = path.write_text("weight,height,kind\n4.1,25,cat\n9.5,40,dog\n")
    ...     data = load(path, label="kind")
    >>> data.feature_names, data.y.tolist()
    (('weight', 'height'), ['cat', 'dog'])

    Categories and gaps of one file, and another file that is read in the same way:

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     train, new = Path(folder) / "train.csv", Path(folder) / "new.csv"
    ...     _ = train.write_text("city,age,churn\nParis,30,yes\nLima,,no\nLima,40,no\n")
    ...     _ = new.write_text("age,city\n,Paris\n")
    ...     data = load(train, categorical="city", missing="median")
    ...     others = load(new, preparation=data.preparation, labelled=False)
    >>> data.feature_names, others.X.tolist()
    (('city=Lima', 'city=Paris', 'age'), [[0.0, 1.0, 35.0]])
    """
    require_path(path)
    require_flag(labelled, "labelled")
    source = os.fspath(path)
    kind = format_of(source, format)
    limit = _limit(limit_bytes, kind)
    chosen = {"features": features, "drop": drop, "id": id, "categorical": categorical}
    lists = {name: _columns(name, given) for name, given in chosen.items()}
    require_policies(missing, "." if decimal is None else decimal)
    policies = {"missing": None if missing == "error" else missing, "decimal": decimal}
    label, groups = (
        None if column is None else _columns(name, (column,))[0]
        for name, column in (("label", label), ("groups", groups))
    )
    given: dict[str, object] = {"label": label, "groups": groups, **lists, **policies}
    given |= {"header": header, "zero_based": zero_based, "n_features": n_features}
    _require_fitting(source, kind, given)
    if kind == "libsvm":
        return libsvm_table.read(source, zero_based, n_features, limit_bytes=limit)
    if kind == "npz":
        return _read_npz(source, labelled, limit)
    require_kind(
        preparation,
        Preparation | None,
        "preparation",
        "that of a file read before, load(path).preparation",
    )
    wanted = Wanted(
        label, groups, labelled, lists["features"], lists["drop"], lists["id"], lists["categorical"]
    )
    if header is None and preparation is not None and preparation.width is None and kind == "csv":
        header = True  # its columns have names
    mark = decimal or ("." if preparation is None else preparation.decimal)
    if kind == "parquet":
        table = parquet_table.read(source, limit_bytes=limit)
    else:
        table = csv_table.read(source, wanted, limit_bytes=limit, header=header, decimal=mark)
    if preparation is None:
        return learnt_samples(table, wanted, missing, mark)
    for what in ("features", "drop", "categorical"):
        if lists[what] or missing != "error":
            raise InvalidParameterError(
                f"{what if lists[what] else 'missing'} is what the preparation says; leave it "
                "out, or leave out preparation."
            )
    return prepared_samples(table, wanted, preparation)


def _require_fitting(source: str, kind: Format, given: Mapping[str, object]) -> None:
    """Refuse parameters that are about something that a file of this format does not have.

    Raises
    ------
    InvalidParameterError
    """
    for what, value in given.items():
        about, kinds = ABOUT.get(what, ("columns of a CSV or Parquet file", ("csv", "parquet")))
        is_given = value is not None and not (isinstance(value, tuple) and not value)
        if is_given and kind not in kinds:
            raise InvalidParameterError(
                f"{what}={value!r} is about {about}, {source!r} is read as {kind}; leave it out."
            )
    for what in ("header", "zero_based"):
        if not isinstance(given[what], bool | None):
            raise InvalidParameterError(f"{what} is {given[what]!r}; pass True, False or None.")
    n_features = given["n_features"]
    if n_features is not None and not _is_count(n_features):
        raise InvalidParameterError(f"n_features is {n_features!r}; pass an integer above 0.")


def _columns(name: str, given: Any) -> Columns:
    """A parameter that names columns, as a tuple of names and positions."""
    given = scalar(given)
    is_list = isinstance(given, Iterable) and not isinstance(given, str)
    columns = tuple(given) if is_list else (given,)
    for column in columns:
        if not isinstance(column, str) and not _is_integer(column):
            raise InvalidParameterError(
                f"{name} has {column!r}; pass names of columns, or positions from 0."
            )
    return tuple(column if isinstance(column, str) else int(column) for column in columns)


def _is_integer(value: object) -> TypeGuard[int]:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_count(value: object) -> bool:
    return _is_integer(value) and value > 0


def _limit(limit_bytes: int | None, kind: Format) -> int:
    """Limit in bytes on the decompressed size of a file of this format."""
    if limit_bytes is None:
        # the words of a text take sixteen times as much memory once they are parsed
        return default_memory_limit() // (16 if kind in ("libsvm", "csv") else 1)
    if not _is_count(limit_bytes):
        raise InvalidParameterError(f"limit_bytes is {limit_bytes!r}; pass an integer above 0.")
    return limit_bytes


def format_of(source: str, format: str | None = None) -> Format:
    """Format of a data file: as named, or from the suffix.

    Raises
    ------
    InvalidParameterError
        An unknown name or suffix.

    Examples
    --------
    >>> format_of("a9a.txt.gz")
    'libsvm'
    """
    if source == STANDARD_INPUT:
        if format not in (None, "csv"):
            raise InvalidParameterError(
                f"Standard input ({source!r}) is read as CSV, not as {format}; save the data as a "
                "file."
            )
        return "csv"
    if format is not None:
        require_choice(format, FORMATS, "format")
        return cast(Format, format)
    suffixes = [suffix.lower() for suffix in Path(source).suffixes]
    if suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    kind = SUFFIXES.get(suffixes[-1]) if suffixes else None
    if kind is None:
        known = f"known: {', '.join(SUFFIXES)}; those of texts also with .gz, .bz2 or .xz"
        foreign = FOREIGN.get(suffixes[-1]) if suffixes else None
        if foreign is not None:
            raise InvalidParameterError(f"Files like {source!r} are not read ({known}); {foreign}.")
        raise InvalidParameterError(
            f"The name {source!r} does not say what the file holds ({known}); name the format: "
            f"{', '.join(FORMATS)}."
        )
    return kind


# --- NPZ -------------------------------------------------------------------------------------


def _read_npz(source: str, labelled: bool, limit_bytes: int) -> DataFile:
    arrays = npz.read(source, DataFileError, limit_bytes=limit_bytes)
    parts = ("X_data", "X_indices", "X_indptr", "X_shape")
    has_samples = "X" in arrays or all(part in arrays for part in parts)
    if not has_samples or (labelled and "y" not in arrays):
        raise DataFileError(
            f"{source!r} holds {', '.join(sorted(arrays)) or 'nothing'}; it must hold X"
            f"{' and y' * labelled} (X may be a CSR matrix as X_data, X_indices, X_indptr, "
            f"X_shape): np.savez(path, X=X{', y=y' * labelled})."
        )
    X: Matrix | None = arrays.get("X")
    if X is None:
        try:
            X = compressed_rows(*(np.array(arrays[part]) for part in parts))
        except (ValueError, TypeError, OverflowError, IndexError) as error:
            raise DataFileError(
                f"{source!r}: X_data, X_indices, X_indptr and X_shape are not a CSR matrix "
                f"({error})."
            ) from error
    return DataFile(X, arrays.get("y"), arrays.get("groups"), None, source, "npz")
