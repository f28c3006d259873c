"""Linear rows and bounds as restrictions on a point, and the point that satisfies them.

So are the rows of a program, and those of stationarity.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.numerics.arrays import Index, Mask, Matrix, Vector
from qpsvm.numerics.interrupts import interruptible
from qpsvm.numerics.rows import SMALL_MATRIX
from qpsvm.qp.program import QuadraticProgram


@dataclass(frozen=True, eq=False)
class Restrictions:
    """``R x <= r``, with equality in some rows, and ``lower <= x <= upper``.

    Attributes
    ----------
    rows : array or CSR array of shape (m, n)
    right : array of shape (m,)
        ``inf`` for a row that does not bind.
    is_equality : array of bool of shape (m,)
    lower, upper : arrays of shape (n,)
    """

    rows: Matrix
    right: Vector
    is_equality: Mask
    lower: Vector
    upper: Vector

    @property
    def binds(self) -> Mask:
        """Rows that bind, shape (m,)."""
        return ~np.isposinf(self.right)

    def terms(self, x: Vector) -> Vector:
        """Absolute terms ``|R| |x| + |r|`` of every row, without an infinite r."""
        return np.asarray(abs(self.rows) @ np.abs(x)) + np.where(
            self.binds, np.abs(self.right), 0.0
        )


@dataclass(frozen=True, eq=False)
class NearestPoint:
    """A point whose real neighbour ``point + change`` satisfies every restriction.

    Attributes
    ----------
    point : array of shape (n,)
        Within its bounds; rows are missed by the rounding of its entries.
    change : array of shape (n,)
        From the point to its real neighbour, which no doubles express. Mostly a rounding of the
        entry; at most a rounding of the terms of a row that the entry must make up for.
    left : array of shape (m,)
        Violation of the rows at the real neighbour: rounding of rows that contradict each other by
        no more.
    blocked : int or None
        A row whose violation is larger: nothing is known. None if there is none.
    worst : float
        The largest of ``left``, relative to the terms of its row.
    """

    point: Vector
    change: Vector
    left: Vector
    blocked: int | None = None
    worst: float = 0.0

    @property
    def is_exact(self) -> bool:
        """Return whether every row holds at the real neighbour."""
        return self.blocked is None and not self.left.any()


def fast_rows(matrix: Any) -> Matrix:
    """Store rows as they are multiplied fastest: CSR, or dense where they are dense or few."""
    if not sp.issparse(matrix):
        return np.asarray(matrix)
    is_small = matrix.shape[0] * matrix.shape[1] <= SMALL_MATRIX
    return np.asarray(matrix.toarray()) if is_small else sp.csr_array(matrix)


def stacked(upper: Matrix, lower: Matrix) -> Matrix:
    """Two matrices below each other, dense or CSR."""
    if sp.issparse(upper) or sp.issparse(lower):
        return sp.csr_array(sp.vstack([sp.csr_array(upper), sp.csr_array(lower)]))
    return np.vstack([upper, lower])


def primal_restrictions(program: QuadraticProgram) -> Restrictions:
    """Rows and bounds of a program as restrictions on x, equalities last."""
    rows = fast_rows(stacked(program.G, program.A))
    is_equality = np.arange(rows.shape[0]) >= program.n_inequalities
    right = np.concatenate([program.h, program.b])
    return Restrictions(rows, right, is_equality, program.lb, program.ub)


def stationarity_rows(program: QuadraticProgram, rows: Index, columns: Matrix) -> Matrix:
    """Coefficients of some stationarity equations: rows of ``[columns, A', G']``."""
    parts: list[Matrix] = [columns]
    for matrix in (program.A, program.G):
        own = sp.csc_array(matrix)[:, rows].T if sp.issparse(matrix) else matrix[:, rows].T
        parts.append(own)
    if any(sp.issparse(part) for part in parts):
        return sp.csr_array(sp.hstack([sp.csr_array(part) for part in parts]))
    return np.hstack(parts)


def row_name(program: QuadraticProgram, row: int) -> str:
    """The name of a row of ``primal_restrictions``."""
    m = program.n_inequalities
    return f"row {row} of Gx <= h" if row < m else f"row {row - m} of Ax = b"


def linear_program(
    cost: Vector, ends: tuple[Vector, Vector], seconds: float, dual_eps: float = 1e-7, **rows: Any
) -> Any:
    """Minimise a cost between two ends and over rows, with HiGHS; None if it finds no point.

    Parameters
    ----------
    cost : array of shape (n,)
    ends : pair of arrays of shape (n,)
    seconds : float
        At most.
    dual_eps : float
        Tolerance of reduced costs; the default is that of HiGHS.
    rows : dict
        ``A_ub``, ``b_ub``, ``A_eq`` and ``b_eq`` of SciPy's ``linprog``, whose result it is.
    """
    from scipy.optimize import linprog

    options = {
        "time_limit": seconds,
        "primal_feasibility_tolerance": 1e-10,
        "dual_feasibility_tolerance": dual_eps,
    }
    box = np.column_stack(ends)
    found = interruptible(
        partial(linprog, cost, bounds=box, method="highs", options=options, **rows)
    )
    return None if found.x is None else found
