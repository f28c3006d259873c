"""Rows of ``Gx <= h``: choosing some, and writing bounds as rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from qpsvm.qp._arrays import Index, Matrix, Vector


class FoldedRows(NamedTuple):
    """``Gx <= h`` with the finite bounds below it, and which variables those rows belong to."""

    G: Matrix
    h: Vector
    lower: Index
    upper: Index


def take_rows(matrix: Matrix, rows: Index) -> Matrix:
    """``matrix[rows]``, whatever its storage."""
    return sp.csc_array(sp.csr_array(matrix)[rows]) if sp.issparse(matrix) else matrix[rows]


def fold(G: Matrix, h: Vector, lb: Vector, ub: Vector) -> FoldedRows:
    """Append ``-x_i <= -lb_i`` and then ``x_i <= ub_i`` for the finite bounds."""
    lower, upper = np.flatnonzero(np.isfinite(lb)), np.flatnonzero(np.isfinite(ub))
    if lower.size + upper.size == 0:
        return FoldedRows(G, h, lower, upper)
    rows = [sp.csc_array(G), -_unit_rows(lower, lb.size), _unit_rows(upper, lb.size)]
    right = np.concatenate([h, 0.0 - lb[lower], ub[upper]])
    return FoldedRows(sp.vstack(rows, format="csc"), right, lower, upper)


def _unit_rows(index: Index, columns: int) -> Matrix:
    ones, rows = np.ones(index.size), np.arange(index.size)
    return sp.csc_array((ones, (rows, index)), shape=(index.size, columns))
