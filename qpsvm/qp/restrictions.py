"""Linear rows and bounds as restrictions on a point.

So are the rows of a program, and those of stationarity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from qpsvm.numerics.arrays import Index, Mask, Matrix, Vector
from qpsvm.numerics.rows import SMALL_MATRIX
from qpsvm.qp.implied_bounds import stacked
from qpsvm.qp.program import QuadraticProgram


class Rows(Protocol):
    """Linear rows of any storage, of which some can be taken out."""

    @property
    def shape(self) -> tuple[int, int]: ...

    def estimate(self, x: Vector) -> tuple[Vector, Vector]:
        """``R x`` in plain arithmetic and ``|R| |x|``."""

    def take(self, index: Index) -> Matrix:
        """Some rows, dense or CSR."""


@dataclass(frozen=True, eq=False)
class MatrixRows:
    """Rows of a stored matrix."""

    matrix: Matrix

    @property
    def shape(self) -> tuple[int, int]:
        """(number of rows, number of variables)."""
        return (int(self.matrix.shape[0]), int(self.matrix.shape[1]))

    def estimate(self, x: Vector) -> tuple[Vector, Vector]:
        """``R x`` and ``|R| |x|``."""
        return np.asarray(self.matrix @ x), np.asarray(abs(self.matrix) @ np.abs(x))

    def take(self, index: Index) -> Matrix:
        """The rows with these numbers."""
        return self.matrix[index]

    @classmethod
    def of(cls, matrix: Any) -> MatrixRows:
        """Rows of a dense or sparse matrix of any format; small ones become dense."""
        if not sp.issparse(matrix):
            return cls(np.asarray(matrix))
        is_small = matrix.shape[0] * matrix.shape[1] <= SMALL_MATRIX
        return cls(matrix.toarray() if is_small else sp.csr_array(matrix))


@dataclass(frozen=True, eq=False)
class Restrictions:
    """``R x <= r``, with equality in some rows, and ``lower <= x <= upper``.

    Attributes
    ----------
    rows : Rows of shape (m, n)
    right : array of shape (m,)
        ``inf`` for a row that does not bind.
    is_equality : array of bool of shape (m,)
    lower, upper : arrays of shape (n,)
    """

    rows: Rows
    right: Vector
    is_equality: Mask
    lower: Vector
    upper: Vector


def primal_restrictions(program: QuadraticProgram) -> Restrictions:
    """Rows and bounds of a program as restrictions on x, equalities last."""
    rows = stacked(program.G, program.A)
    is_equality = np.arange(rows.shape[0]) >= program.n_inequalities
    return Restrictions(
        MatrixRows.of(rows),
        np.concatenate([program.h, program.b]),
        is_equality,
        program.lb,
        program.ub,
    )


def stationarity_rows(program: QuadraticProgram, rows: Index, movable: Index) -> Matrix:
    """The rows of ``[P, A', G']`` that belong to some variables, with some columns of P."""
    P = program.P
    if P.prefers_sparse:
        parts = [sp.csr_array(P.to_sparse())[rows][:, movable]]
    else:
        parts = [P.block(rows, movable)]
    for matrix in (program.A, program.G):
        columns = sp.csc_array(matrix)[:, rows].T if sp.issparse(matrix) else matrix[:, rows].T
        parts.append(columns)
    if any(sp.issparse(part) for part in parts):
        return sp.csr_array(sp.hstack([sp.csr_array(part) for part in parts]))
    return np.hstack(parts)


def row_name(program: QuadraticProgram, row: int) -> str:
    """The name of a row of ``primal_restrictions``."""
    m = program.n_inequalities
    return f"row {row} of Gx <= h" if row < m else f"row {row - m} of Ax = b"
