"""Parquet files as samples and labels. Only numbers and texts are read, nothing is unpickled."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from qpsvm.exceptions import DataFileError, InvalidDataError, MissingPackageError
from qpsvm.files.columns import Wanted, roles
from qpsvm.files.table import Table
from qpsvm.files.text import Labels, narrowest, unreadable
from qpsvm.numerics.integers import first_rounded


def read(source: str, wanted: Wanted, *, limit_bytes: int) -> Table:
    """Read samples, labels and names of the features.

    An index that pandas has stored beside the columns is left out.

    Parameters
    ----------
    source : str
    wanted : Wanted
    limit_bytes : int
        Largest size of all numbers together.

    Raises
    ------
    MissingPackageError
        pyarrow is not installed.
    DataFileError, InvalidDataError, InvalidParameterError
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
    found = roles(source, tuple(names), len(names), wanted)
    X = np.column_stack([_numbers(source, names[i], columns[i], pa.types) for i in found.features])
    with_labels = found.label if wanted.labelled else None
    y, groups = (
        None if at is None else _labels(source, names[at], columns[at], pa.types)
        for at in (with_labels, found.groups)
    )
    return Table(X, y, groups, tuple(names[i] for i in found.features))


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


def _require_complete(source: str, name: str, column: Any) -> None:
    if column.null_count:
        row = int(np.flatnonzero(np.asarray(column.is_null()))[0])
        raise InvalidDataError(
            f"{source!r} row {row} (counted from 0), column {name!r} is null; impute missing "
            "values, or drop the row."
        )


def _numbers(source: str, name: str, column: Any, types: ModuleType) -> Labels:
    kind = column.type
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
        raise InvalidDataError(
            f"{source!r}: column {name!r} holds {kind}, not numbers; encode it as numbers or drop "
            "it, or choose it as the label."
        )
    _require_complete(source, name, column)
    stored = column.to_numpy()
    values = np.asarray(stored, dtype=np.float64)
    rounded = first_rounded(stored, values)
    if rounded is not None:
        raise InvalidDataError(
            f"{source!r} row {rounded.place[0]} (counted from 0), column {name!r} is "
            f"{rounded.value}, {rounded.problem}"
        )
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        raise InvalidDataError(
            f"{source!r} row {row} (counted from 0), column {name!r} is {values[row]}; impute "
            "missing values, or drop the row."
        )
    return values


def _labels(source: str, name: str, column: Any, types: ModuleType) -> Labels:
    if types.is_dictionary(column.type):  # what pandas calls a categorical
        column = column.cast(column.type.value_type)
    _require_complete(source, name, column)
    kind = column.type
    if types.is_string(kind) or types.is_large_string(kind):
        return np.array(column.to_pylist(), dtype=np.str_)
    if types.is_integer(kind) or types.is_boolean(kind):
        return np.asarray(column.to_numpy())
    return narrowest(_numbers(source, name, column, types), source)
