"""Parquet test sets of the qpbenchmark project: many programs in one file.

One row per program, nine columns (its ``ProblemList.KEYS``)::

    P  q  G  h  A  b  lb  ub     lists of doubles; matrices row by row; null where there is none
    name                         text

The shapes follow from the lengths: n of q, m of h, p of b. The format is dense. Source: S. Caron
et al., *qpbenchmark: Benchmark for quadratic programming solvers available in Python*, classes
``ParquetTestSet`` and ``ProblemList``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from qpsvm.exceptions import DataFileError, InvalidProgramError
from qpsvm.io import files, parquet
from qpsvm.numerics.arrays import (
    Vector,
    as_vector,
    default_memory_limit,
)
from qpsvm.qp.exchange.npz import Path, hessian, unusable
from qpsvm.qp.program import QuadraticProgram, dense_matrix
from qpsvm.qp.transforms import drop_infinite_rows

if TYPE_CHECKING:
    import pyarrow

REMEDY = "Parquet test sets are dense; write_npz and write_qps keep it sparse."
NUMBER_COLUMNS = ("P", "q", "G", "h", "A", "b", "lb", "ub")


def write_parquet(
    programs: Mapping[str, QuadraticProgram], path: Path, *, memory_limit: int | None = None
) -> None:
    """Write ``1/2 x'Px + q'x, Gx <= h, Ax = b, lb <= x <= ub``, one row per program.

    Parameters
    ----------
    programs : mapping of name to QuadraticProgram
        Every matrix becomes dense. Rows of G with ``h = +inf``, which never bind, are left out:
        the benchmark's duality gap has no use for them. So are bounds that are all infinite.
    path : path
        Replaced if it exists, completely or not at all.
    memory_limit : int, optional
        Bytes any one dense matrix may take (default: a quarter of the machine's memory).

    Raises
    ------
    MissingPackageError
        pyarrow is not installed.
    MemoryLimitError
        A matrix larger than the limit.
    DataFileError
        A path that cannot be written to.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from qpsvm.qp import QuadraticProgram
    >>> program = QuadraticProgram(P=[[1.0]], q=[-3.0], ub=[2.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_parquet({"small": program}, Path(folder) / "set.parquet")
    ...     read_parquet(Path(folder) / "set.parquet")
    {'small': QuadraticProgram(1 variable, 0 inequalities, 0 equalities, 1 finite bound, P dense)}
    """
    pa, pq = parquet.pyarrow_modules()
    numbers = pa.list_(pa.float64())
    schema = pa.schema([(key, numbers) for key in NUMBER_COLUMNS] + [("name", pa.string())])
    # a row group per program: only one of them is dense at a time
    with (
        files.writing(path, "program", DataFileError) as stream,
        pq.ParquetWriter(stream, schema, write_page_checksum=True) as writer,
    ):
        for name, program in programs.items():
            row = {**_flat(program, memory_limit), "name": name}
            table = pa.table({key: [value] for key, value in row.items()}, schema=schema)
            writer.write_table(table)


def _flat(program: QuadraticProgram, memory_limit: int | None) -> dict[str, Vector | None]:
    binding, _ = drop_infinite_rows(program)
    P = hessian(binding.P, memory_limit)
    flat: dict[str, Vector | None] = {
        "P": dense_matrix(P, "P", REMEDY, memory_limit).ravel(),
        "q": binding.q,
    }
    for name, side in (("G", "h"), ("A", "b")):
        matrix, vector = getattr(binding, name), getattr(binding, side)
        exists = vector.size > 0
        flat[name] = dense_matrix(matrix, name, REMEDY, memory_limit).ravel() if exists else None
        flat[side] = vector if exists else None
    for name in ("lb", "ub"):
        bound = getattr(binding, name)
        flat[name] = None if np.isinf(bound).all() else bound
    return flat


def read_parquet(path: Path) -> dict[str, QuadraticProgram]:
    """Read a test set of the qpbenchmark project, written by any program.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    dict of str to QuadraticProgram
        In the order of the file, every matrix dense; columns beside the nine are ignored.

    Raises
    ------
    MissingPackageError
        pyarrow is not installed.
    DataFileError
        Missing or damaged; columns missing or of the wrong type, names missing or repeated,
        lengths that disagree, numbers that make no program, more numbers than fit into memory.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from qpsvm.qp import QuadraticProgram
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "set.parquet"
    ...     write_parquet({"small": QuadraticProgram(P=[[1.0]], q=[-3.0])}, path)
    ...     programs = read_parquet(path)
    >>> list(programs), programs["small"].q
    (['small'], array([-3.]))
    """
    programs: dict[str, QuadraticProgram] = {}
    try:
        with parquet.opened(path, default_memory_limit()) as file:
            _require_columns(file.schema_arrow)
            for group in range(file.num_row_groups):
                table = file.read_row_group(group, columns=[*NUMBER_COLUMNS, "name"])
                for row in range(table.num_rows):
                    _add(programs, {key: table.column(key)[row] for key in table.column_names})
    except InvalidProgramError as error:
        raise unusable(path, "Parquet", error) from error
    return programs


def _require_columns(schema: pyarrow.Schema) -> None:
    """Check the columns: lists of numbers or null, and a text."""
    types = parquet.pyarrow_modules()[0].types
    for key in (*NUMBER_COLUMNS, "name"):
        fields = schema.get_all_field_indices(key)
        if len(fields) != 1:
            raise InvalidProgramError(f"it has {len(fields)} columns {key!r} instead of one.")
        kind = schema.field(fields[0]).type
        if key == "name":
            fits = types.is_string(kind) or types.is_large_string(kind)
        elif types.is_list(kind) or types.is_large_list(kind):
            fits = types.is_floating(kind.value_type) or types.is_integer(kind.value_type)
        else:
            fits = types.is_null(kind)
        if not fits:
            wanted = "text" if key == "name" else "lists of numbers"
            raise InvalidProgramError(f"column {key!r} holds {kind} instead of {wanted}.")


def _add(programs: dict[str, QuadraticProgram], row: Mapping[str, pyarrow.Scalar]) -> None:
    name = row["name"].as_py()
    if name is None or name in programs:
        raise InvalidProgramError(f"the name {name!r} is missing or comes twice.")
    try:
        programs[name] = _program({key: _vector(row[key], key) for key in NUMBER_COLUMNS})
    except InvalidProgramError as error:
        raise InvalidProgramError(f"program {name!r}: {error}") from error


def _vector(entry: pyarrow.Scalar, name: str) -> Vector | None:
    if not entry.is_valid:
        return None
    if entry.values.null_count:
        raise InvalidProgramError("a list has entries that are null.")
    return as_vector(entry.values.to_numpy(zero_copy_only=False), name)


def _program(numbers: dict[str, Vector | None]) -> QuadraticProgram:
    fields, q = dict(numbers), numbers["q"]
    if q is None:
        raise InvalidProgramError("q is null.")
    n = q.size
    for name, side in (("P", "q"), ("G", "h"), ("A", "b")):
        matrix, vector = fields[name], fields[side]
        if matrix is None or vector is None:
            continue  # no quadratic term, no rows, or a half that QuadraticProgram names
        if matrix.size != vector.size * n:
            raise InvalidProgramError(
                f"{name} has {matrix.size} entries instead of {vector.size} x {n}, the lengths of "
                f"{side} and q."
            )
        fields[name] = matrix.reshape(vector.size, n)
    P, G, A = (fields[name] for name in ("P", "G", "A"))
    h, b, lb, ub = (fields[name] for name in ("h", "b", "lb", "ub"))
    return QuadraticProgram(P, q, G, h, A, b, lb, ub)
