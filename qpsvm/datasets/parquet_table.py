"""Parquet files as columns of cells. Only numbers and texts are read, nothing is unpickled."""

from __future__ import annotations

from typing import Any

import numpy as np

from qpsvm.exceptions import DataFileError
from qpsvm.io import parquet
from qpsvm.tables.cells import CellKind, Cells, NumberCells, TextCells
from qpsvm.tables.table import FileTable


def read(source: str, *, limit_bytes: int) -> FileTable:
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
    with parquet.opened(source, limit_bytes) as file:
        table = file.read()
        table.validate(full=True)  # texts that are no UTF-8 would otherwise raise where used
        index = (table.schema.pandas_metadata or {}).get("index_columns", [])
        names = tuple(name for name in table.column_names if name not in index)
        columns = [
            column
            for name, column in zip(table.column_names, table.columns, strict=True)
            if name not in index
        ]
        cells = tuple(map(_cells, columns))
    if table.num_rows == 0:
        raise DataFileError(f"{source!r} holds no samples, only the names of columns.")
    return FileTable(source, names, cells, range(table.num_rows), "row")


def _cells(column: Any) -> Cells:
    """The cells of a ``pyarrow.ChunkedArray``."""
    pyarrow = parquet.pyarrow_modules()[0]
    types = pyarrow.types
    if types.is_dictionary(column.type):  # pandas' categoricals
        column = column.cast(column.type.value_type)
    kind = column.type
    is_truth = types.is_boolean(kind)
    if is_truth or types.is_integer(kind) or types.is_floating(kind):
        # integers stay integers where no cell is null
        stored = column.fill_null(False if is_truth else 0).to_numpy()
        return NumberCells(np.asarray(stored), np.asarray(column.is_null(), dtype=np.bool_))
    stored_kind = CellKind.DATES if types.is_temporal(kind) else CellKind.OTHER
    if types.is_string(kind) or types.is_large_string(kind):
        stored_kind = CellKind.TEXTS
    if kind == pyarrow.time64("ns"):
        column = column.cast(pyarrow.string())  # Python's times have no nanoseconds
    texts = ["" if value is None else str(value) for value in column.to_pylist()]
    return TextCells(texts, stored=stored_kind, stored_as=str(kind))
