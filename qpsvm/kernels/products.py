"""Products and statistics of samples, dense or CSR."""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from qpsvm.kernels.settings import EVALUATION
from qpsvm.numerics.arrays import IN_CACHE, Dense, Matrix, Vector, as_dense, is_sparse, row_blocks
from qpsvm.numerics.precision import EPS
from qpsvm.numerics.rows import row_squares
from qpsvm.numerics.single_precision import Stored


def exponent_roundings(n_terms: int) -> int:
    """Number of roundings in a computed exponent ``-gamma |x - z|^2``, for samples of n terms.

    The computed exponent is within ``gamma_k (|u|^2 + |v|^2)`` of the exact one, see lemma 5 of
    ``docs/rounding.md``.
    """
    return n_terms + n_terms // 2**19 + 19


def factors(X: Stored, Z: Stored) -> tuple[Matrix, Matrix]:
    """Convert two sets of samples to double precision.

    Where both are the same object, so are the results: kernel matrices are then symmetric.
    """
    left = X if is_sparse(X) else np.asarray(X, dtype=np.float64)
    if X is Z:
        return left, left
    return left, Z if is_sparse(Z) else np.asarray(Z, dtype=np.float64)


def write_inner_products(X: Stored, Z: Stored, out: Dense) -> None:
    """Write ``X Z'``, the inner products of two sets of samples, into an array.

    The array may be a part of a larger one.
    """
    if is_sparse(Z) and Z.shape[1] <= Z.shape[0]:  # a dense X is no larger than the result
        right = np.ascontiguousarray((as_dense(X) if is_sparse(X) else np.asarray(X)).T)
        products = Z @ right
        for rows in row_blocks(len(products), products.shape[1], IN_CACHE):
            out[:, rows] = products[rows].T
    elif sp.issparse(X) or sp.issparse(Z):
        out[:] = as_dense(X @ Z.T)
    else:
        np.matmul(X, Z.T, out=out)


def restore_near(
    exponents: Dense, X: Stored, Z: Stored, half_x: Vector, half_z: Vector, gamma: float
) -> None:
    """Recompute ``-gamma |x - z|^2`` from differences where subtracting norms lost its digits.

    These are the pairs whose norms are large and whose values may be more than negligible, given
    the error of the computed exponent. ``half_x`` and ``half_z`` are the squared norms times gamma.
    In place.
    """
    columns = np.flatnonzero(~(half_z + np.max(half_x, initial=0.0) <= EVALUATION.far))
    rows = np.flatnonzero(~(half_x + np.max(half_z, initial=0.0) <= EVALUATION.far))
    if not (len(rows) and len(columns)):
        return
    sums = np.add.outer(half_x[rows], half_z[columns])
    error = 2.0 * EPS * exponent_roundings(X.shape[1])
    # norms and exponents that overflowed are infinite or NaN, and count as near
    is_negligible = exponents[np.ix_(rows, columns)] <= -EVALUATION.negligible - error * sums
    row, column = np.nonzero(~(sums <= EVALUATION.far) & ~is_negligible)
    i, j, root = rows[row], columns[column], math.sqrt(gamma)
    X, Z = (M if hasattr(M, "shape") else np.asarray(M, dtype=np.float64) for M in (X, Z))
    for some in row_blocks(len(i), X.shape[1]) if len(i) else ():
        steps = as_dense(Z[j[some]]).astype(np.float64) - as_dense(X[i[some]])
        exponents[i[some], j[some]] = -row_squares(root * steps)


def variance(X: Stored) -> float:
    """Variance of all entries of X, including implicit zeros; zero if it is only rounding."""
    size = X.shape[0] * X.shape[1]
    values = X.data if is_sparse(X) else np.asarray(X)
    mean = float(np.sum(values)) / size
    # deviations, not E[x^2] - mean^2: that difference can be all rounding, even negative
    squares = float(np.sum((values - mean) ** 2)) + (size - values.size) * mean**2
    value = squares / size
    return value if value > (4.0 * EPS * mean) ** 2 else 0.0
