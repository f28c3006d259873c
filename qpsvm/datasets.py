"""Reading of data files (LIBSVM/svmlight, CSV, NPZ, Parquet) as samples and labels.

Nothing is guessed about values: a cell that is not a number is an error that names its line and
column, not a missing value. So is an integer that float64 does not have (some beyond 2^53); decimal
fractions, and numbers with an exponent, are rounded to the nearest float64. Nothing is ever
unpickled.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from qpsvm.display import short_repr
from qpsvm.exceptions import DataFileError, InvalidParameterError
from qpsvm.files import csv_table, libsvm_table, npz, parquet_table, text
from qpsvm.files.columns import Wanted
from qpsvm.files.libsvm_table import Numbering
from qpsvm.numerics.arguments import Labels
from qpsvm.numerics.arrays import Matrix, default_memory_limit
from qpsvm.numerics.calls import explains_calls
from qpsvm.numerics.layout import compressed_rows

Format: TypeAlias = Literal["libsvm", "csv", "npz", "parquet"]

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

TEXT_SHARE = 16
"""Memory of the parsed words of a text, in multiples of the size of the text."""


@short_repr
@dataclass(frozen=True, eq=False)
class DataFile:
    """The content of a data file: samples, labels and feature names.

    Attributes
    ----------
    X : array or CSR array of shape (n, d)
    y : array of shape (n,) or None
        Integers where every label is one, exact whatever their size, then numbers, otherwise text.
    groups : array of shape (n,) or None
        The group of every sample, such as the query of a ranking.
    feature_names : tuple of str or None
        From a CSV header, or of the columns of a Parquet file.
    source : str
        The path as given.
    format : "libsvm", "csv", "npz" or "parquet"
    zero_based : bool or None
        LIBSVM: whether column j has the index j in the file, and not j + 1.
    """

    X: Matrix
    y: Labels | None
    groups: Labels | None
    feature_names: tuple[str, ...] | None
    source: str
    format: Format
    zero_based: bool | None = None


@explains_calls
def load(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    label: str | int | None = None,
    groups: str | int | None = None,
    labelled: bool = True,
    limit_bytes: int | None = None,
    zero_based: bool | None = None,
    n_features: int | None = None,
    header: bool | None = None,
) -> DataFile:
    r"""Read samples and labels from a LIBSVM, CSV, NPZ or Parquet file.

    Parameters
    ----------
    path : path
        LIBSVM and CSV files may be compressed (``.gz``, ``.bz2``).
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

    Raises
    ------
    DataFileError
        The file cannot be read: missing, damaged, not of this format, or with indices that
        contradict ``zero_based`` and ``n_features``; a first row that may be a header or a sample,
        features without a name of their own.
    InvalidDataError
        A value that is no number, a missing one, or an integer that float64 would round, with its
        line and column.
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
    """
    source = os.fspath(path)
    kind = format_of(source, format)
    limit = _limit(limit_bytes, kind)
    for what, column in (("label", label), ("groups", groups)):
        if column is not None and kind not in ("csv", "parquet"):
            raise InvalidParameterError(
                f"{what}={column!r} chooses a column of a CSV or Parquet file, {source!r} is read "
                f"as {kind}; leave it out."
            )
    if header is not None and kind != "csv":
        raise InvalidParameterError(
            f"header={header!r} is about the first row of a CSV file, {source!r} is read as "
            f"{kind}; leave it out."
        )
    if header is not None and not isinstance(header, bool):
        raise InvalidParameterError(f"header is {header!r}; pass True, False or None.")
    numbering = _numbering(zero_based, n_features, source, kind)
    if kind == "libsvm":
        found = libsvm_table.read(source, numbering, limit_bytes=limit)
        return DataFile(found.X, found.y, found.groups, None, source, kind, found.zero_based)
    if kind == "npz":
        return DataFile(*_read_npz(source, labelled, limit), None, source, kind)
    wanted = Wanted(label, groups, labelled)
    if kind == "parquet":
        table = parquet_table.read(source, wanted, limit_bytes=limit)
    else:
        table = csv_table.read(source, wanted, limit_bytes=limit, header=header)
    return DataFile(table.X, table.y, table.groups, table.feature_names, source, kind)


def _limit(limit_bytes: int | None, kind: Format) -> int:
    """Limit in bytes on the decompressed size of a file of this format."""
    if limit_bytes is None:
        return default_memory_limit() // (TEXT_SHARE if kind in ("libsvm", "csv") else 1)
    if not isinstance(limit_bytes, int) or isinstance(limit_bytes, bool) or limit_bytes < 1:
        raise InvalidParameterError(f"limit_bytes is {limit_bytes!r}; pass an integer above 0.")
    return limit_bytes


def _numbering(
    zero_based: bool | None, n_features: int | None, source: str, kind: Format
) -> Numbering:
    """Numbering of the features of a LIBSVM file; for other formats there is none."""
    for what, value in (("zero_based", zero_based), ("n_features", n_features)):
        if value is not None and kind != "libsvm":
            raise InvalidParameterError(
                f"{what}={value!r} is about the indices of a LIBSVM file, {source!r} is read as "
                f"{kind}; leave it out."
            )
    if zero_based is not None and not isinstance(zero_based, bool):
        raise InvalidParameterError(f"zero_based is {zero_based!r}; pass True, False or None.")
    if n_features is not None and (
        not isinstance(n_features, int) or isinstance(n_features, bool) or n_features < 1
    ):
        raise InvalidParameterError(f"n_features is {n_features!r}; pass an integer above 0.")
    return Numbering(zero_based, n_features)


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
    if format is not None:
        if format not in FORMATS:
            known = " or ".join(map(repr, FORMATS))
            raise InvalidParameterError(f"format is {format!r}; choose {known}.")
        return format
    suffixes = [suffix.lower() for suffix in Path(source).suffixes]
    if suffixes and suffixes[-1] in text.COMPRESSIONS:
        suffixes.pop()
    kind = SUFFIXES.get(suffixes[-1]) if suffixes else None
    if kind is None:
        raise InvalidParameterError(
            f"The name {source!r} does not say what the file holds (known: "
            f"{', '.join(SUFFIXES)}; those of texts also with .gz or .bz2); name the format: "
            f"{', '.join(FORMATS)}."
        )
    return kind


# --- NPZ -------------------------------------------------------------------------------------


def _read_npz(
    source: str, labelled: bool, limit_bytes: int
) -> tuple[Matrix, Labels | None, Labels | None]:
    arrays = npz.read(source, DataFileError, limit_bytes=limit_bytes)
    parts = ("X_data", "X_indices", "X_indptr", "X_shape")
    has_samples = "X" in arrays or all(part in arrays for part in parts)
    if not has_samples or (labelled and "y" not in arrays):
        raise DataFileError(
            f"{source!r} holds {', '.join(sorted(arrays)) or 'nothing'}; it must hold X"
            f"{' and y' * labelled} (X may be a CSR matrix as X_data, X_indices, X_indptr, "
            f"X_shape): np.savez(path, X=X{', y=y' * labelled})."
        )
    others = arrays.get("y"), arrays.get("groups")
    if "X" in arrays:
        return arrays["X"], *others
    try:
        X = compressed_rows(*(np.array(arrays[part]) for part in parts))
    except (ValueError, TypeError, OverflowError, IndexError) as error:
        raise DataFileError(
            f"{source!r}: X_data, X_indices, X_indptr and X_shape are not a CSR matrix ({error})."
        ) from error
    return X, *others
