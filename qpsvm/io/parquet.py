"""Parquet files, opened with every check that pyarrow has; nothing in them is unpickled."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from qpsvm.exceptions import DataFileError, MissingPackageError, QPSVMError
from qpsvm.io.files import unreadable


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


@contextmanager
def opened(path: str | os.PathLike[str], limit_bytes: int) -> Iterator[Any]:
    """Open a Parquet file of which every page was checked: a ``pyarrow.parquet.ParquetFile``.

    Parameters
    ----------
    path : path
    limit_bytes : int
        Largest size of all numbers together.

    Raises
    ------
    MissingPackageError
        pyarrow is not installed.
    DataFileError
        The file is missing, damaged, or larger than the limit; or it turns out to be damaged while
        it is read.
    """
    pyarrow, parquet = pyarrow_modules()
    try:
        with open(path, "rb") as stream:
            file = parquet.ParquetFile(stream, page_checksum_verification=True)
            metadata = file.metadata
            _require_size(path, metadata.num_rows * metadata.num_columns, limit_bytes)
            file.scan_contents()  # raises on damage, on which reading the metadata would abort
            groups = map(metadata.row_group, range(metadata.num_row_groups))
            sizes = (g.column(i).num_values for g in groups for i in range(g.num_columns))
            _require_size(path, sum(sizes), limit_bytes)
            yield file
    except QPSVMError:
        raise
    except (OSError, ValueError, OverflowError, pyarrow.ArrowException) as error:
        # pyarrow reports damage as any of these, and dates that Python does not have
        raise unreadable(os.fspath(path), error) from error


def _require_size(path: str | os.PathLike[str], values: int, limit_bytes: int) -> None:
    """Refuse sizes beyond the limit, since a few compressed bytes can mean many zeros."""
    if 8 * values > limit_bytes:
        raise DataFileError(
            f"{os.fspath(path)!r} declares {values:,} numbers, more than fit into the limit of "
            f"{limit_bytes:,} bytes; it is damaged or made to fill the memory."
        )
