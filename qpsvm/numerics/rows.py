"""Rows of dense or sparse matrices: selection, squared norms, and bounds as rows of ``Gx <= h``."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from qpsvm.numerics.arrays import IN_CACHE, Index, Matrix, Vector, is_sparse, row_blocks
from qpsvm.numerics.single_precision import Stored


class FoldedRows(NamedTuple):
    """Rows ``Gx <= h`` followed by the finite bounds, with the variables of the bounds' rows."""

    G: Matrix
    h: Vector
    lower: Index
    upper: Index


def take_rows(matrix: Matrix, rows: Index) -> Matrix:
    """``matrix[rows]``, whatever its storage."""
    return sp.csc_array(sp.csr_array(matrix)[rows]) if sp.issparse(matrix) else matrix[rows]


def row_squares(X: Stored) -> Vector:
    """``|x_i|^2`` for every row of a dense or sparse matrix, by blocks of rows."""
    if is_sparse(X):
        X = sp.csr_array(X)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        squared = sp.csr_array((X.data * X.data, X.indices, X.indptr), shape=X.shape)
        return np.asarray(squared @ np.ones(X.shape[1]))
    squares = np.empty(X.shape[0])
    for rows in row_blocks(X.shape[0], X.shape[1], IN_CACHE):
        block = X[rows]
        np.einsum("ij,ij->i", block, block, out=squares[rows])
    return squares


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


def terms_per_row(matrix: Matrix) -> Vector:
    """The number of entries of every row that are not zero, as floats, shape (m,)."""
    if sp.issparse(matrix):
        return np.asarray(np.diff(sp.csr_array(matrix).indptr), dtype=np.float64)
    return np.asarray(np.count_nonzero(matrix, axis=1), dtype=np.float64)
