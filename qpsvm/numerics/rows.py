"""Rows of dense or sparse matrices: selection, squared norms, and bounds as rows of ``Gx <= h``."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from qpsvm.numerics.arrays import IN_CACHE, Index, Matrix, Vector, is_sparse, row_blocks
from qpsvm.numerics.single_precision import Stored

SMALL_MATRIX = 2**12
"""Entries up to which a sparse matrix is made dense: choosing its rows and multiplying them then
takes microseconds, where a sparse one takes a tenth of a millisecond per operation."""


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


def fold(G: Matrix, h: Vector, lb: Vector, ub: Vector, *, may_be_dense: bool = False) -> FoldedRows:
    """Append ``-x_i <= -lb_i`` and then ``x_i <= ub_i`` for the finite bounds.

    Sparse, but with ``may_be_dense`` dense where G is, and no much larger with them.
    """
    lower, upper = np.flatnonzero(np.isfinite(lb)), np.flatnonzero(np.isfinite(ub))
    if lower.size + upper.size == 0:
        return FoldedRows(G, h, lower, upper)
    right = np.concatenate([h, 0.0 - lb[lower], ub[upper]])
    m, k, n = len(h), len(h) + lower.size, lb.size
    is_small = len(right) * n <= SMALL_MATRIX or len(right) <= 5 * m
    if may_be_dense and is_small and not sp.issparse(G):
        dense = np.zeros((len(right), n))
        dense[:m] = G
        dense[np.arange(m, k), lower], dense[np.arange(k, len(right)), upper] = -1.0, 1.0
        return FoldedRows(dense, right, lower, upper)
    rows = [sp.csc_array(G), -_unit_rows(lower, n), _unit_rows(upper, n)]
    return FoldedRows(sp.vstack(rows, format="csc"), right, lower, upper)


def largest_in_rows(matrix: Matrix) -> Vector:
    """The largest absolute entry of every row, 0 for an empty one, shape (m,)."""
    if not sp.issparse(matrix):
        return np.asarray(np.maximum.reduce(np.abs(matrix), axis=1, initial=0.0))
    entries, largest = sp.csc_array(matrix), np.zeros(matrix.shape[0])
    np.maximum.at(largest, entries.indices, np.abs(entries.data))
    return largest


def largest_in_columns(matrix: Matrix) -> Vector:
    """The largest absolute entry of every column, 0 for an empty one, shape (n,)."""
    return largest_in_rows(matrix.T)


def scaled_rows(factors: Vector, matrix: Matrix) -> Matrix:
    """``diag(factors) M``, dense or CSR."""
    if sp.issparse(matrix):
        return sp.csr_array(sp.diags_array(factors) @ matrix)
    return np.asarray(factors[:, None] * matrix)


def scaled_columns(matrix: Matrix, factors: Vector) -> Matrix:
    """``M diag(factors)``, dense or CSR."""
    if sp.issparse(matrix):
        return sp.csr_array(matrix @ sp.diags_array(factors))
    return np.asarray(matrix * factors)


def entries_of(matrix: Matrix) -> tuple[Index, Index, Vector]:
    """Rows, columns and values of the entries that are not zero."""
    if not sp.issparse(matrix):
        row, column = np.nonzero(matrix)
        return row, column, matrix[row, column]
    stored = sp.coo_array(matrix)
    used = stored.data != 0.0
    row, column = stored.coords
    return row[used], column[used], stored.data[used]


def _unit_rows(index: Index, columns: int) -> Matrix:
    ones, rows = np.ones(index.size), np.arange(index.size)
    return sp.csc_array((ones, (rows, index)), shape=(index.size, columns))


def terms_per_row(matrix: Matrix) -> Vector:
    """The number of entries of every row that are not zero, as floats, shape (m,)."""
    if sp.issparse(matrix):
        return np.asarray(np.diff(sp.csr_array(matrix).indptr), dtype=np.float64)
    return np.asarray(np.add.reduce(matrix != 0.0, axis=1, dtype=np.float64))
