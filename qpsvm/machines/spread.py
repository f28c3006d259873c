"""The spread of the samples in feature space, bounded from below.

Where nothing else sets a scale, a gap is relative to no less than the objective of weights as large
as the samples allow (``PrimalDualPair.objective_floor``). A spread that is only rounding would
make any machine optimal, so that it counts with its error taken off.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from qpsvm.kernels import RBF, Linear
from qpsvm.kernels.gram import Gram
from qpsvm.machines.score_errors import OfKernel, exact_kernel, expansion_errors, training_errors
from qpsvm.numerics.arrays import Vector, as_dense, is_sparse, row_blocks
from qpsvm.numerics.precision import EPS
from qpsvm.numerics.rows import row_squares
from qpsvm.numerics.single_precision import Stored
from qpsvm.qp.low_rank import LowRankQuadratic


def spread_lower(model: OfKernel, gram: Gram, products: Vector) -> float:
    """Lower bound of ``max_i |phi(x_i) - mean|^2``, 0 where nothing is known; 1 if it is zero.

    Computed from the kernel matrix of the samples; or, where that is mostly rounding, from their
    distances from the first of them: the samples are at least half as far from their mean.

    Parameters
    ----------
    model : OfKernel
    gram : LowRankQuadratic or KernelQuadratic
        Kernel matrix of the samples.
    products : array of shape (n,)
        Products of the samples with their mean, ``K 1 / n``.
    """
    samples = gram.samples if isinstance(gram, LowRankQuadratic) else gram.gram.X
    with np.errstate(all="ignore"):
        lower, upper = _of_matrix(model, gram, products)
        if lower >= 0.5 * upper > 0.0:
            return lower
        kernel = exact_kernel(model)
        squares = np.zeros(0)
        if isinstance(kernel, RBF):
            # |phi(x) - phi(z)|^2 = 2 - 2 k(x, z)
            squares = -2.0 * np.expm1(-float(kernel.gamma) * _from_the_first(samples))
        elif isinstance(kernel, Linear):
            squares = _from_the_first(samples)
        is_constant = kernel is None and upper == 0.0  # a matrix that is data
        if is_constant or (len(squares) and _all_equal(samples)):
            return 1.0
    found = 0.25 * (1.0 - 1e-9) * float(np.max(squares, initial=0.0))
    return found if np.isfinite(found) else 0.0


def _of_matrix(model: OfKernel, gram: Gram, products: Vector) -> tuple[float, float]:
    """Bounds of ``max_i (K_ii - 2 (K 1)_i / n) + 1'K 1 / n^2`` from below and above."""
    n, diagonal = gram.size, gram.diagonal()
    weights = np.full(n, 1.0 / n)
    norms = np.sqrt(np.abs(diagonal))
    sizes = norms * float(norms @ weights)
    errors = EPS * sizes
    kernel = exact_kernel(model)
    if isinstance(gram, LowRankQuadratic):
        errors = (n + gram.samples.shape[1] + 16.0) * EPS * sizes
    elif kernel is not None:
        errors = expansion_errors(
            training_errors(model), sizes, weights, norms * float(np.max(norms))
        )
    of_diagonal = 2.0 * float(np.max(errors)) if kernel is not None else 0.0
    size = float(np.max(diagonal - 2.0 * products)) + float(np.mean(products))
    error = of_diagonal + 3.0 * float(np.max(errors))
    error += 8.0 * EPS * float(np.max(np.abs(diagonal)) + np.max(sizes))
    if np.all(diagonal == diagonal[0]) and np.all(products == diagonal[0]) and kernel is None:
        return 0.0, 0.0
    return max(size - error, 0.0), max(size + error, 0.0)


def _all_equal(X: Stored) -> bool:
    """Return whether all samples are the same; squares of their distances may underflow."""
    first = as_dense(X[:1]) if sp.issparse(X) else np.asarray(X[:1], dtype=np.float64)
    return all(bool((as_dense(X[rows]) == first).all()) for rows in row_blocks(*X.shape))


def _from_the_first(X: Stored) -> Vector:
    """``|x_i - x_0|^2`` for every row, from differences."""
    first = as_dense(X[:1]) if sp.issparse(X) else np.asarray(X[:1], dtype=np.float64)
    squares = np.zeros(X.shape[0])
    for rows in row_blocks(*X.shape):
        block = as_dense(X[rows]) if is_sparse(X) else np.asarray(X[rows], dtype=np.float64)
        squares[rows] = row_squares(block - first)
    return squares
