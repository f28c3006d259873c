"""NPZ files of programs: every number exact, without pickle; parts that all formats share.

=====================================  ============================================================
member                                 content
=====================================  ============================================================
``metadata``                           JSON as bytes: format, version, names
``q h b lb ub``                        float64 vectors; their lengths are n, m, p, n, n
``P G A``                              float64 matrices (n, n), (m, n), (p, n) - or, where sparse:
``P_data P_indices P_indptr P_shape``  the compressed columns (float64, integers), likewise G, A
``F`` (or its columns) and ``d``       instead of P, where ``P = F F' + diag(d)``
=====================================  ============================================================
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, TypeAlias

import scipy.sparse as sp

from qpsvm.exceptions import DataFileError, InvalidProgramError
from qpsvm.io.members import METADATA, FileKind, Members, matrix_members
from qpsvm.io.npz import Arrays
from qpsvm.numerics.arrays import Matrix, is_sparse
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.quadratic import DenseQuadratic, Quadratic, SparseQuadratic

# --- parts shared by the formats ----------------------------------------------------------------

Path: TypeAlias = str | os.PathLike[str]


def hessian(P: Quadratic, memory_limit: int | None) -> Matrix:
    """P as an exactly symmetric matrix, stored or evaluated.

    Raises
    ------
    MemoryLimitError
        A structured P that would be larger than the limit.
    """
    if isinstance(P, DenseQuadratic | SparseQuadratic):
        return P.matrix
    # a kernel may differ from its transpose by rounding; the file must not
    if P.prefers_sparse:
        return SparseQuadratic(P.to_sparse(memory_limit)).matrix
    return DenseQuadratic(P.to_dense(memory_limit)).matrix


PROGRAM = FileKind("program", 1, "qpsvm.qp.exchange.write_npz", DataFileError)


def unusable(path: Path, kind: str, reason: object) -> DataFileError:
    """Build the error for a readable file that is not a program."""
    return DataFileError(f"{os.fspath(path)!r} is not a usable {kind} file: {reason}")


# --- writing -------------------------------------------------------------------------------------


def write_npz(program: QuadraticProgram, path: Path, *, memory_limit: int | None = None) -> None:
    """Write ``1/2 x'Px + q'x, Gx <= h, Ax = b, lb <= x <= ub`` exactly.

    Parameters
    ----------
    program : QuadraticProgram
        Of n variables, m inequalities and p equalities. Sparse matrices stay sparse, bounds stay
        bounds, names are kept. A kernel is evaluated; a low-rank P is stored as F and d.
    path : path
        Replaced if it exists, completely or not at all. No suffix is added.
    memory_limit : int, optional
        Bytes an evaluated P may take (default: a quarter of the machine's memory).

    Raises
    ------
    MemoryLimitError
        A kernel matrix larger than that.
    DataFileError
        A path that cannot be written to.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from qpsvm.qp import QuadraticProgram
    >>> program = QuadraticProgram(P=[[1.0]], q=[-3.0], ub=[0.1 + 0.2])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_npz(program, Path(folder) / "program.npz")
    ...     read_npz(Path(folder) / "program.npz").ub.item()
    0.30000000000000004
    """
    names = {str(key): str(name) for key, name in program.names.items()}
    arrays: Arrays = {METADATA: PROGRAM.metadata({"names": names})}
    arrays |= {name: getattr(program, name) for name in ("q", "h", "b", "lb", "ub")}
    if isinstance(program.P, LowRankQuadratic):
        arrays |= _stored("F", program.P.factor) | {"d": program.P.diag}
    else:
        arrays |= _stored("P", hessian(program.P, memory_limit))
    PROGRAM.write(path, arrays | _stored("G", program.G) | _stored("A", program.A))


def _stored(name: str, matrix: Matrix) -> Arrays:
    return matrix_members(name, sp.csc_array(matrix) if is_sparse(matrix) else matrix)


# --- reading -------------------------------------------------------------------------------------


def read_npz(path: Path) -> QuadraticProgram:
    """Read a program that ``write_npz`` wrote, with strict checks.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    QuadraticProgram
        The same numbers in the same storage (an evaluated kernel is a dense P).

    Raises
    ------
    DataFileError
        Missing or damaged; of another format or a newer version; arrays missing, unknown, of the
        wrong kind or of shapes that disagree; numbers that make no program.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from qpsvm.qp import QuadraticProgram
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "program.npz"
    ...     write_npz(QuadraticProgram([[1.0]], [-3.0], ub=[2.0]), path)
    ...     program = read_npz(path)
    >>> program.ub
    array([2.])
    """
    arrays = PROGRAM.read(path)
    try:
        return _program(PROGRAM.entries_of(arrays), Members(arrays, DataFileError))
    except (DataFileError, InvalidProgramError) as error:
        raise unusable(path, "program", error) from error


def _program(header: Mapping[str, Any], members: Members) -> QuadraticProgram:
    names = header.get("names")
    if not isinstance(names, dict) or not all(isinstance(name, str) for name in names.values()):
        raise DataFileError("its names are not texts.")
    q, h, b, lb, ub = (members.take(name, None) for name in ("q", "h", "b", "lb", "ub"))
    n = q.size
    if "F" in members or "F_data" in members:
        d = members.take("d", None)
        F = members.take_matrix("F", d.size, None, by_columns=True)
        P: Quadratic | Matrix = LowRankQuadratic(F, d)
    else:
        P = members.take_matrix("P", n, n, by_columns=True)
    G, A = (
        members.take_matrix(name, rows, n, by_columns=True)
        for name, rows in (("G", h.size), ("A", b.size))
    )
    members.require_empty()
    return QuadraticProgram(P, q, G, h, A, b, lb, ub, names=names)
