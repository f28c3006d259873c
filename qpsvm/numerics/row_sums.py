"""Weighted sums of rows ``X'v`` that keep their digits where all rows share a large offset.

With weights that all but cancel, ``sum v_i x_i`` of rows near a common point c loses the digits in
which c exceeds the result. Taking c off first loses none::

    X'v = (X - c)'v + c sum(v)

because ``X - c`` is exact for entries within a factor of two of c (Sterbenz), and ``sum(v)`` is
correctly rounded.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from qpsvm.numerics.arrays import IN_CACHE, Vector, row_blocks
from qpsvm.numerics.exact_sums import exact_sum
from qpsvm.numerics.single_precision import Stored

OFFSET_RATIO = 10.0
"""Offset of a column in units of its spread, from which the offset counts as large.

An offset of rho spreads costs a sum of rows the factor rho in accuracy, and it multiplies the
condition number of ``X X'`` by rho^2. Below ten that is less than two digits, which there are;
above ten a sparse column has non-zeros in at least 99 rows of 100, and centring it fills nothing.
"""

ROWS_LOOKED_AT = 1000
"""Rows, evenly spaced, that tell whether there is an offset: any c is correct, and near the mean is
good enough. Looking at all rows would cost as much as a product."""


def common_offset(X: Stored) -> Vector | None:
    """The means of columns with a large offset, 0 for the others; None if there are none.

    Sparse rows count as without: an offset fills them.
    """
    if sp.issparse(X) or not len(X):
        return None
    some = np.asarray(X[:: max(1, len(X) // ROWS_LOOKED_AT)])
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
    return total if offset is None else total + offset * exact_sum(v.tolist())
