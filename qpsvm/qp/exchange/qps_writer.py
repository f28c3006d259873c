"""Writer of QPS files (free MPS with a QUADOBJ section), exact and explicit.

====================  =============================================================================
line                  meaning
====================  =============================================================================
`` N obj``            the objective; q stands in its row
`` L g3``             row 3 of ``Gx <= h``; as ``N g3``, a free row, where ``h = +inf``
`` E a0``             row 0 of ``Ax = b``
`` LO BND x5 v``      ``x_5 >= v``; every variable has its bounds spelled out, even the default 0
`` x5 x2 v``          in QUADOBJ: ``P_52 = P_25 = v`` in ``1/2 x'Px``, lower triangle only
====================  =============================================================================

Numbers are the shortest decimals that read back to the same double. Zeros of P, G and A are left
out. Source: I. Maros and C. Meszaros, *A repository of convex quadratic programming problems*,
Optimization Methods and Software 11 (1999), 671-681, which introduced QPS.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path as FilePath
from typing import IO

import numpy as np

from qpsvm.exceptions import InvalidParameterError
from qpsvm.io.files import COMPRESSIONS
from qpsvm.numerics.arrays import Matrix, is_sparse
from qpsvm.qp.exchange._parts import Path, hessian, writing
from qpsvm.qp.program import QuadraticProgram


def write_qps(
    program: QuadraticProgram,
    path: Path,
    *,
    name: str = "QP",
    memory_limit: int | None = None,
) -> None:
    """Write ``1/2 x'Px + q'x, Gx <= h, Ax = b, lb <= x <= ub`` as QPS, every number exact.

    Variables are called x0, x1, ..., rows of G g0, g1, ..., rows of A a0, a1, ...; the names of
    the program stand in comments, for people.

    Parameters
    ----------
    program : QuadraticProgram
        Of n variables, m inequalities and p equalities; a structured P is evaluated.
    path : path
        Replaced if it exists, completely or not at all; ``.gz``, ``.bz2`` and ``.xz`` are
        compressed. Some solvers go by the suffix: HiGHS reads ``.mps`` and refuses ``.qps``.
    name : str
        Of the program: printable ASCII without spaces.
    memory_limit : int, optional
        Bytes an evaluated P may take (default: a quarter of the machine's memory).

    Raises
    ------
    InvalidParameterError
        A name that the format cannot hold.
    MemoryLimitError
        A structured P larger than the limit.
    DataFileError
        A path that cannot be written to.

    Notes
    -----
    Many solvers drop matrix entries below some threshold (HiGHS: 1e-9, with a warning) and take
    right-hand sides and bounds beyond 1e20 for infinite. The file has them; what a solver makes
    of them is its own.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from qpsvm.qp import QuadraticProgram
    >>> program = QuadraticProgram(P=[[2.0, 1.0], [1.0, 2.0]], q=[-3.0, 0.0], ub=[0.3, 1.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_qps(program, Path(folder) / "program.mps", name="example")
    ...     print((Path(folder) / "program.mps").read_text())
    NAME example
    ROWS
     N obj
    COLUMNS
     x0 obj -3.0
     x1 obj 0.0
    BOUNDS
     MI BND x0
     UP BND x0 0.3
     MI BND x1
     UP BND x1 1.0
    QUADOBJ
     x0 x0 2.0
     x1 x0 1.0
     x1 x1 2.0
    ENDATA
    <BLANKLINE>
    """
    if re.fullmatch(r"[!-~]{1,200}", name) is None:
        raise InvalidParameterError(
            f"name is {name!r}; QPS takes 1 to 200 printable ASCII characters without spaces."
        )
    P = hessian(program.P, memory_limit)
    with writing(path) as stream, _compressed(stream, path) as target:
        for lines in _sections(program, P, name):
            target.write("".join(f"{line}\n" for line in lines).encode("ascii"))


def _compressed(stream: IO[bytes], path: Path) -> AbstractContextManager[IO[bytes]]:
    opener = COMPRESSIONS.get(FilePath(path).suffix.lower())
    return nullcontext(stream) if opener is None else opener(stream, "wb")


def _sections(program: QuadraticProgram, P: Matrix, name: str) -> Iterator[list[str]]:
    """Yield the file in pieces of one column or section."""
    free = np.isinf(program.h)
    yield [f"NAME {name}"]
    # as JSON: a name with a line break must not become a line of the file
    yield [f"* {json.dumps(str(k))}: {json.dumps(str(v))}" for k, v in program.names.items()]
    yield ["ROWS", " N obj"]
    yield [f" {'N' if is_free else 'L'} g{i}" for i, is_free in enumerate(free.tolist())]
    yield [f" E a{i}" for i in range(program.n_equalities)]
    yield ["COLUMNS"]
    cost = program.q.tolist()
    for j, in_G, in_A in zip(
        range(len(cost)), _columns(program.G), _columns(program.A), strict=True
    ):
        yield [
            f" x{j} obj {cost[j]!r}",
            *(f" x{j} g{i} {value!r}" for i, value in in_G),
            *(f" x{j} a{i} {value!r}" for i, value in in_A),
        ]
    right = [(f"g{i}", side) for i, side in enumerate(program.h.tolist()) if not free[i]]
    right += [(f"a{i}", side) for i, side in enumerate(program.b.tolist())]
    yield ["RHS"] * bool(right)
    yield [f" RHS {row} {side!r}" for row, side in right]
    yield ["BOUNDS"]
    for j, (lower, upper) in enumerate(zip(program.lb.tolist(), program.ub.tolist(), strict=True)):
        yield _bounds(f"BND x{j}", lower, upper)
    if P.nnz if is_sparse(P) else P.any():
        yield ["QUADOBJ"]
        for j, column in enumerate(_columns(P)):
            yield [f" x{i} x{j} {value!r}" for i, value in column if i >= j]
    yield ["ENDATA"]


def _columns(matrix: Matrix) -> Iterator[Iterator[tuple[int, float]]]:
    """Yield row numbers and values of the nonzeros, column by column."""
    for j in range(matrix.shape[1]):
        if is_sparse(matrix):
            piece = slice(matrix.indptr[j], matrix.indptr[j + 1])
            rows, values = matrix.indices[piece], matrix.data[piece]
        else:
            rows, values = np.arange(matrix.shape[0]), matrix[:, j]
        given = values != 0.0
        yield zip(rows[given].tolist(), values[given].tolist(), strict=True)


def _bounds(variable: str, lower: float, upper: float) -> list[str]:
    if np.isinf(lower) and np.isinf(upper):
        return [f" FR {variable}"]
    if repr(lower) == repr(upper):  # not merely equal: -0.0 and 0.0 are two numbers
        return [f" FX {variable} {lower!r}"]
    below = f" MI {variable}" if np.isinf(lower) else f" LO {variable} {lower!r}"
    return [below] if np.isinf(upper) else [below, f" UP {variable} {upper!r}"]
