"""The rows of a program as restrictions on a point, and the rows of stationarity."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from qpsvm.numerics.arrays import Index, Matrix
from qpsvm.qp.implied_bounds import stacked
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.restrictions import MatrixRows, Restrictions


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
