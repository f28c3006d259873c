"""Parquet files as columns of cells. Only numbers and texts are read, nothing is unpickled."""

from __future__ import annotations

from qpsvm.exceptions import DataFileError
from qpsvm.io import parquet
from qpsvm.tables.cells import ArrowCells
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
    if table.num_rows == 0:
        raise DataFileError(f"{source!r} holds no samples, only the names of columns.")
    return FileTable(source, names, tuple(map(ArrowCells, columns)), range(table.num_rows), "row")
