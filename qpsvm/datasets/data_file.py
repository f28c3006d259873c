"""Content of a data file: samples, labels, and how they follow from the columns of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from qpsvm.display import short_repr
from qpsvm.numerics.arguments import Labels
from qpsvm.numerics.arrays import Index, Matrix
from qpsvm.tables.preparation import Preparation, TableColumn

Format: TypeAlias = Literal["libsvm", "csv", "npz", "parquet"]


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
        From a CSV header, or of the columns of a Parquet file; ``city=Paris`` for the value of a
        category. None without a header.
    source : str
        The path as given.
    format : "libsvm", "csv", "npz" or "parquet"
    columns : tuple of TableColumn or None
        Name, kind and role of every column of a CSV or Parquet file.
    preparation : Preparation or None
        The way from the columns of a CSV or Parquet file to the features: ``load(other,
        preparation=...)`` reads another file in the same way.
    ids : mapping of str to list of str
        The columns named as ``id``, of all rows of the file.
    rows : array of shape (n,) or None
        The rows of a CSV or Parquet file that are samples, counted from 0; fewer than the file has
        where a value is missing and ``missing="drop"``.
    n_rows : int or None
        Number of rows of a CSV or Parquet file.
    zero_based : bool or None
        LIBSVM: whether column j has the index j in the file, and not j + 1.
    """

    X: Matrix
    y: Labels | None
    groups: Labels | None
    feature_names: tuple[str, ...] | None
    source: str
    format: Format
    columns: tuple[TableColumn, ...] | None = None
    preparation: Preparation | None = None
    ids: Mapping[str, list[str]] = field(default_factory=dict)
    rows: Index | None = None
    n_rows: int | None = None
    zero_based: bool | None = None
