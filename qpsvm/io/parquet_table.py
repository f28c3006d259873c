"""Parquet files as columns of cells. Only numbers and texts are read, nothing is unpickled."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from qpsvm.exceptions import DataFileError, MissingPackageError
from qpsvm.io.cells import ArrowCells
from qpsvm.io.files import unreadable
from qpsvm.io.table import FileTable


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
    return FileTable(source, tuple(names), cells, range(table.num_rows), "row")


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
