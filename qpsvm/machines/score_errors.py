"""Bounds on the errors of computed decision values: kernel values, and the sums of their terms.

A verdict is about the kernel function on the float64 samples as they are given. Where computed
kernel values are not the exact ones (``kernels.errors``), the error of ``(K beta)_i`` is at most::

    sum_j |k^_ij - k_ij| |beta_j|  <=  (h_i + (1 + h_i) max_j h_j) (|K| |beta|)_i  +  l_i q'|beta|

with the relative errors h and the parts l, q of the absolute ones, j over the coefficients that are
not zero. Compensated sums add a rounding of their result, and of the digits that are not exact.

The spread of the samples in feature space is bounded from below here, too. Where nothing else sets
a scale, a gap is relative to no less than the objective of weights as large as the samples allow
(``PrimalDualPair.objective_floor``). A spread that is only rounding would make any machine optimal,
so that it counts with its error taken off.
"""

from __future__ import annotations

import numpy as np

from qpsvm.kernels import RBF, Kernel, Linear
from qpsvm.kernels.errors import EntryErrors
from qpsvm.kernels.gram import Gram
from qpsvm.numerics.arrays import Dense, Vector, as_dense, is_sparse, row_blocks
from qpsvm.numerics.balls import gamma, n_terms
from qpsvm.numerics.compensated import summation_errors
from qpsvm.numerics.precision import EPS, TINY
from qpsvm.numerics.rows import row_squares
from qpsvm.numerics.single_precision import Stored
from qpsvm.qp.low_rank import LowRankQuadratic


def largest_values(norms: Vector, others: Vector) -> Vector:
    """Bound the largest magnitude of each row of kernel values, by norms of both samples."""
    return np.asarray((1.0 + 1e-6) * norms * np.max(others))


def expansion_errors(
    errors: EntryErrors | None, sizes: Dense, weights: Dense, largest: Vector
) -> Dense:
    """Bound the errors of compensated sums ``K B``, shape (n, m), or (n,) for one vector.

    Parameters
    ----------
    errors : EntryErrors or None
        Of K; None where K is data.
    sizes : array of shape (n, m) or (n,)
        At least ``|K| |B|``.
    weights : array of shape (n, m) or (n,)
        ``|B|``.
    largest : array of shape (n,)
        At least the largest magnitude of each row of K.
    """
    rounding = summation_errors(sizes, weights, largest)
    rounding += TINY * np.sum(weights, axis=0)  # kernel values that underflow
    if errors is None:
        return np.asarray(EPS * sizes + rounding)
    used = weights.any(axis=1) if weights.ndim > 1 else weights != 0.0  # NaN counts
    of_columns = float(np.max(errors.columns[used], initial=0.0))
    relative = errors.rows + (1.0 + errors.rows) * of_columns + EPS
    absolute = errors.right @ weights + TINY * np.sum(weights, axis=0)
    if weights.ndim > 1:
        return np.asarray(relative[:, None] * sizes + np.outer(errors.left, absolute) + rounding)
    return np.asarray(relative * sizes + errors.left * absolute + rounding)


def product_errors(X: Stored, sizes: Dense) -> Dense:
    """Bound the errors of ``X W`` with the sums of absolute terms ``|X| |W|``."""
    return np.asarray(gamma(n_terms(X) + 4) * sizes + TINY)


def sums_of_rows_errors(X: Stored, sizes: Dense) -> Dense:
    """Bound the errors of ``X'v`` with the sums of absolute terms ``|X|'|v|``."""
    n = X.shape[0]
    if is_sparse(X):
        n = int(np.max(np.bincount(X.indices, minlength=1), initial=0))
    return np.asarray(gamma(n + 8) * sizes + TINY)


def spread_lower(
    kernel: Kernel | None, entries: EntryErrors | None, gram: Gram, products: Vector
) -> float:
    """Lower bound of ``max_i |phi(x_i) - mean|^2``, 0 where nothing is known; 1 if it is zero.

    Computed from the kernel matrix of the samples; or, where that is mostly rounding, from their
    distances from the first of them: the samples are at least half as far from their mean.

    Parameters
    ----------
    kernel : Kernel or None
        The kernel function that defines the matrix; None where the matrix itself is the data.
    entries : EntryErrors or None
        Bounds on the errors of its entries.
    gram : LowRankQuadratic or KernelQuadratic
        Kernel matrix of the samples.
    products : array of shape (n,)
        Products of the samples with their mean, ``K 1 / n``.
    """
    samples = gram.samples if isinstance(gram, LowRankQuadratic) else gram.gram.X
    with np.errstate(all="ignore"):
        lower, upper = _of_matrix(kernel, entries, gram, products)
        if lower >= 0.5 * upper > 0.0:
            return lower
        squares, all_equal = np.zeros(0), kernel is None and upper == 0.0  # a matrix that is data
        if isinstance(kernel, RBF | Linear):
            squares, all_equal = _from_the_first(samples)
        if isinstance(kernel, RBF):
            # |phi(x) - phi(z)|^2 = 2 - 2 k(x, z)
            squares = -2.0 * np.expm1(-float(kernel.gamma) * squares)
        if all_equal:
            return 1.0
    found = 0.25 * (1.0 - 1e-9) * float(np.max(squares, initial=0.0))
    return found if np.isfinite(found) else 0.0


def _of_matrix(
    kernel: Kernel | None, entries: EntryErrors | None, gram: Gram, products: Vector
) -> tuple[float, float]:
    """Bounds of ``max_i (K_ii - 2 (K 1)_i / n) + 1'K 1 / n^2`` from below and above."""
    n, diagonal = gram.size, gram.diagonal()
    weights = np.full(n, 1.0 / n)
    norms = np.sqrt(np.abs(diagonal))
    sizes = norms * float(norms @ weights)
    errors = EPS * sizes
    if isinstance(gram, LowRankQuadratic):
        errors = (n + gram.samples.shape[1] + 16.0) * EPS * sizes
    elif kernel is not None:
        errors = expansion_errors(entries, sizes, weights, norms * float(np.max(norms)))
    of_diagonal = 2.0 * float(np.max(errors)) if kernel is not None else 0.0
    size = float(np.max(diagonal - 2.0 * products)) + float(np.mean(products))
    error = of_diagonal + 3.0 * float(np.max(errors))
    error += 8.0 * EPS * float(np.max(np.abs(diagonal)) + np.max(sizes))
    if np.all(diagonal == diagonal[0]) and np.all(products == diagonal[0]) and kernel is None:
        return 0.0, 0.0
    return max(size - error, 0.0), max(size + error, 0.0)


def _from_the_first(X: Stored) -> tuple[Vector, bool]:
    """``|x_i - x_0|^2`` for every row, from differences; whether all rows are the same.

    Squares of differences may underflow.
    """
    squares, all_equal = np.zeros(X.shape[0]), True
    first = as_dense(X[:1])
    for rows in row_blocks(*X.shape):
        difference = as_dense(X[rows]) - first
        squares[rows] = row_squares(difference)
        all_equal &= not difference.any()
    return squares, all_equal
