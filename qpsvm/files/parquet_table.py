"""Parquet files as columns of cells. Only numbers and texts are read, nothing is unpickled."""

from __future__ import annotations

from functools import cached_property
from types import ModuleType
from typing import Any, Self

import numpy as np

from qpsvm.exceptions import DataFileError, MissingPackageError
from qpsvm.files.cells import Kind, Mask, Numbers, Rows
from qpsvm.files.table import Table
from qpsvm.files.text import Labels, narrowest, unreadable
from qpsvm.numerics.integers import Rounded, first_rounded


def read(source: str, *, limit_bytes: int) -> Table:
    """Read the cells of all columns, and their names.

    An index that pandas has stored beside the columns is left out.

    Parameters
    ----------
    source : str
    limit_bytes : int
        Largest size of all numbers together.

    Raises
    ------
    MissingPackageError
        pyarrow is not installed.
    DataFileError
        As ``qpsvm.datasets.load``.
    """
    pa, parquet = pyarrow_modules()
    try:
        table = _stored_table(parquet, source, limit_bytes)
        names = list(table.column_names)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise unreadable(source, error) from error  # pyarrow reports damage as any of these
    columns = table.columns
    if table.num_rows == 0:
        raise DataFileError(f"{source!r} holds no samples, only the names of columns.")
    cells = tuple(ArrowCells(column, pa.types) for column in columns)
    return Table(source, tuple(names), cells, range(table.num_rows), "row")


def pyarrow_modules() -> tuple[ModuleType, ModuleType]:
    """Import pyarrow and ``pyarrow.parquet``, which an extra installs.

    Raises
    ------
    MissingPackageError
        pyarrow is not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingPackageError(
            'Parquet files need pyarrow, not installed; run: pip install "qpsvm[exchange]".'
        ) from error
    return pyarrow, pyarrow.parquet


def _stored_table(parquet: ModuleType, source: str, limit_bytes: int) -> Any:
    with open(source, "rb") as stream:
        file = parquet.ParquetFile(stream, page_checksum_verification=True)
        _require_size(source, file.metadata, limit_bytes)
        file.scan_contents()  # raises on damage, on which reading the metadata would abort
        table = file.read()
    table.validate(full=True)  # texts that are no UTF-8 would otherwise raise where they are used
    index = (table.schema.pandas_metadata or {}).get("index_columns", [])
    return table.select([i for i, name in enumerate(table.column_names) if name not in index])


def _require_size(source: str, metadata: Any, limit_bytes: int) -> None:
    """Refuse sizes beyond the limit, since a few compressed bytes can mean many zeros."""
    values = metadata.num_rows * metadata.num_columns
    if 8 * values > limit_bytes:
        raise DataFileError(
            f"{source!r} declares {values:,} entries, more than fit into the limit of "
            f"{limit_bytes:,} bytes; it is damaged or made to fill the memory."
        )


class ArrowCells:
    """Cells of a typed column.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
    types : module
        ``pyarrow.types``.
    """

    def __init__(self, column: Any, types: ModuleType) -> None:
        # dictionaries are pandas' categoricals
        is_coded = types.is_dictionary(column.type)
        self._column = column.cast(column.type.value_type) if is_coded else column
        self._types = types

    @cached_property
    def kind(self) -> Kind:
        """The kind of the column."""
        types, stored = self._types, self._column.type
        if types.is_boolean(stored):
            return Kind.TRUTH_VALUES
        if types.is_integer(stored) or types.is_floating(stored):
            return Kind.EMPTY if self.missing(Kind.NUMBERS).all() else Kind.NUMBERS
        if types.is_string(stored) or types.is_large_string(stored):
            return Kind.TEXTS
        return Kind.DATES if types.is_temporal(stored) else Kind.OTHER

    @property
    def stored_as(self) -> str:
        """The type in the file."""
        return str(self._column.type)

    def missing(self, kind: Kind) -> Mask:
        """Mask of the cells that are null or NaN, shape (n,)."""
        del kind
        missing = np.asarray(self._column.is_null(), dtype=np.bool_)
        if self._types.is_floating(self._column.type):
            missing |= np.isnan(self.numbers(Kind.NUMBERS))
        return missing

    def numbers(self, kind: Kind) -> Numbers:
        """The cells as numbers, shape (n,); NaN where a cell is none, or is missing."""
        types, stored = self._types, self._column.type
        known = types.is_boolean(stored) or (
            kind is Kind.NUMBERS and (types.is_integer(stored) or types.is_floating(stored))
        )
        if not known:
            return np.full(len(self._column), np.nan)
        values = np.array(self._complete(), dtype=np.float64)
        values[np.asarray(self._column.is_null(), dtype=np.bool_)] = np.nan
        return values

    def rounded(self, numbers: Numbers) -> Rounded | None:
        """The first integer that float64 does not have."""
        return first_rounded(self._complete(), np.nan_to_num(numbers))

    def texts(self) -> list[str]:
        """The cells as texts; empty where they are missing."""
        missing = self.missing(Kind.TEXTS)
        values = self._column.to_pylist()
        return ["" if gone else str(value) for gone, value in zip(missing, values, strict=True)]

    def labels(self, source: str) -> Labels:
        """The cells as exact integers, truth values, numbers or texts."""
        types, stored = self._types, self._column.type
        if types.is_integer(stored) or types.is_boolean(stored):
            return np.asarray(self._column.to_numpy())
        if types.is_floating(stored):
            return narrowest(self.numbers(Kind.NUMBERS), source)
        return np.array(self.texts(), dtype=np.str_)

    def taken(self, rows: Rows) -> Self:
        """The cells of some rows."""
        return type(self)(self._column.take(rows), self._types)

    def _complete(self) -> Labels:
        """The stored numbers, with 0 or False in place of nulls: integers stay integers."""
        blank = False if self._types.is_boolean(self._column.type) else 0
        return np.asarray(self._column.fill_null(blank).to_numpy())
