"""Rows of dense or sparse matrices: selection, norms, sums of rows, and products with samples.

With weights that all but cancel, ``sum v_i x_i`` of rows near a common point c loses the digits in
which c exceeds the result. Taking c off first loses none::

    X'v = (X - c)'v + c sum(v)

because ``X - c`` is exact for entries within a factor of two of c (Sterbenz), and ``sum(v)`` is
correctly rounded.

A machine that is measured needs its decision values ``X w`` and the weights ``X'v`` that its dual
variables imply. What rounding can have done to them is bounded by the sums of the absolute terms,
``|X| |w|`` and ``|X|' |v|``: where terms cancel these exceed the sums by any factor, so neither
follows from the other. The four products read X once, a block of rows at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp

from qpsvm.numerics.arrays import IN_CACHE, Index, Matrix, Sparse, Vector, is_sparse, row_blocks
from qpsvm.numerics.precision import exact_sum
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


# --- sums of rows --------------------------------------------------------------------------------


OFFSET_RATIO = 10.0
"""Offset of a column in units of its spread, from which the offset counts as large.

An offset of rho spreads costs a sum of rows the factor rho in accuracy, and it multiplies the
condition number of ``X X'`` by rho^2. Below ten that is less than two digits, which there are;
above ten a sparse column has non-zeros in at least 99 rows of 100, and centring it fills nothing.
"""


def common_offset(X: Stored) -> Vector | None:
    """The means of columns with a large offset, 0 for the others; None if there are none.

    Sparse rows count as without: an offset fills them.
    """
    if sp.issparse(X) or not len(X):
        return None
    # any c is correct, and near the mean is good enough: all rows would cost as much as a product
    some = np.asarray(X[:: max(1, len(X) // 1000)])
    with np.errstate(over="ignore", invalid="ignore"):
        means = np.mean(some, axis=0)
        is_large = np.isfinite(means) & (np.abs(means) > OFFSET_RATIO * np.std(some, axis=0))
    return np.where(is_large, means, 0.0) if is_large.any() else None


def sum_of_rows(X: Stored, v: Vector, offset: Vector | None) -> Vector:
    """``X'v``, shape (r,); ``offset`` is that of ``common_offset(X)``."""
    if sp.issparse(X):
        return np.asarray(X.T @ v)
    total = np.zeros(X.shape[1])
    for rows in row_blocks(X.shape[0], X.shape[1], IN_CACHE):
        block = X[rows] if offset is None else X[rows] - offset
        total += block.T @ v[rows]
    return total if offset is None else total + offset * exact_sum(v)


# --- all products that a linear machine needs ----------------------------------------------------


Vectors: TypeAlias = Sequence[Vector]
Found: TypeAlias = tuple[tuple[Vector | None, Vector | None], Vectors, Vectors, Vectors]
"""``X w`` and ``|X| |w|``, ``X'v``, and ``|X|'s`` and ``|X - c|'s`` of sizes s."""


@dataclass(frozen=True, eq=False)
class SampleProducts:
    """Products of X with weights, and of its transpose with vectors, and the sizes of their terms.

    Attributes
    ----------
    scores, score_sizes : arrays of shape (n,), or None without weights
        ``X w`` and ``|X| |w|``.
    sums : tuple of arrays of shape (d,)
        ``X'v`` of every vector v.
    column_sizes : tuple of arrays of shape (d,)
        ``|X|' |v|``.
    term_sizes, centred_sizes : tuples of arrays of shape (d,)
        ``|X|' t`` and ``|X - c|' t`` for the sizes t of the terms of which every v is a sum, with
        the common offset c of the rows; the same without one.
    """

    scores: Vector | None
    score_sizes: Vector | None
    sums: tuple[Vector, ...]
    column_sizes: tuple[Vector, ...]
    term_sizes: tuple[Vector, ...]
    centred_sizes: tuple[Vector, ...]


def sample_products(
    X: Stored, w: Vector | None, vectors: Vectors, terms: Vectors, offset: Vector | None
) -> SampleProducts:
    """Compute ``X w``, and ``X'v`` of every vector, with the sums of their absolute terms.

    The sums have the bits of ``sum_of_rows``.

    Parameters
    ----------
    X : array, CSR array or SinglePrecision of shape (n, d)
    w : array of shape (d,) or None
    vectors, terms : sequences of arrays of shape (n,)
        At least one vector; the sizes of the terms that its entries are sums of.
    offset : array of shape (d,) or None
        ``row_sums.common_offset(X)``: taken off the rows before these are added up.
    """
    asked, place = [np.abs(v) for v in vectors], list[int]()  # each size once
    for k, t in enumerate(terms):
        differs = not np.array_equal(t, asked[k])
        place.append(len(asked) if differs else k)
        asked += [t] if differs else []
    find = _of_sparse if is_sparse(X) else _of_dense
    of_weights, sums, columns, centred = find(X, w, vectors, asked, offset)
    return SampleProducts(
        *of_weights,
        sums=tuple(sums),
        column_sizes=tuple(columns[: len(sums)]),
        term_sizes=tuple(columns[k] for k in place),
        centred_sizes=tuple(centred[k] for k in place),
    )


def _of_dense(
    X: Stored, w: Vector | None, vectors: Vectors, sizes: Vectors, offset: Vector | None
) -> Found:
    n, d = X.shape
    scores, score_sizes = np.empty(n), np.empty(n)
    sums = [np.zeros(d) for _ in vectors]
    columns, centred = ([np.zeros(d) for _ in sizes] for _ in range(2))
    size_w = None if w is None else np.abs(w)
    blocks = row_blocks(n, d, IN_CACHE)
    room = np.empty((blocks[0].stop if blocks else 0, d))
    for rows in blocks:
        block = np.asarray(X[rows])
        magnitudes = np.abs(block, out=room[: len(block)])
        if w is not None and size_w is not None:
            np.matmul(block, w, out=scores[rows])
            np.matmul(magnitudes, size_w, out=score_sizes[rows])
        for k, size in enumerate(sizes):
            columns[k] += magnitudes.T @ size[rows]
        if offset is not None:
            block = np.subtract(block, offset, out=magnitudes)
        for k, v in enumerate(vectors):
            sums[k] += block.T @ v[rows]
        if offset is not None:
            magnitudes = np.abs(block, out=magnitudes)
            for k, size in enumerate(sizes):
                centred[k] += magnitudes.T @ size[rows]
    if offset is not None:
        for k, v in enumerate(vectors):
            sums[k] += offset * exact_sum(v)
    of_weights = (None, None) if w is None else (scores, score_sizes)
    return of_weights, sums, columns, columns if offset is None else centred


def _of_sparse(
    X: Sparse, w: Vector | None, vectors: Vectors, sizes: Vectors, offset: Vector | None
) -> Found:
    """The products of a CSR array, whose rows count as without a common offset."""
    del offset
    magnitudes = sp.csr_array((np.abs(X.data), X.indices, X.indptr), shape=X.shape)
    columns = list(np.ascontiguousarray((magnitudes.T @ np.column_stack(sizes)).T))
    sums = list(np.ascontiguousarray((X.T @ np.column_stack(vectors)).T))
    if w is None:
        return (None, None), sums, columns, columns
    return (np.asarray(X @ w), np.asarray(magnitudes @ np.abs(w))), sums, columns, columns
