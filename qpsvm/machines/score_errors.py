"""Bounds on the errors of computed decision values: kernel values, and the sums of their terms.

A verdict is about the kernel function on the float64 samples as they are given. Where computed
kernel values are not the exact ones (``kernels.errors``), the error of ``(K beta)_i`` is at most::

    sum_j |k^_ij - k_ij| |beta_j|  <=  (h_i + (1 + h_i) max_j h_j) (|K| |beta|)_i  +  l_i q'|beta|

with the relative errors h and the parts l, q of the absolute ones, j over the coefficients that are
not zero. Compensated sums add a rounding of their result, and of the digits that are not exact.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from qpsvm.kernels import RBF, Kernel, Linear, Polynomial
from qpsvm.kernels.errors import EntryErrors, entry_errors, gram_errors
from qpsvm.kernels.gram import Gram
from qpsvm.kernels.kernel_repair import KernelRepair
from qpsvm.numerics.arrays import Dense, Vector, is_sparse
from qpsvm.numerics.balls import gamma, n_terms
from qpsvm.numerics.compensated import summation_errors
from qpsvm.numerics.precision import EPS, TINY
from qpsvm.numerics.single_precision import Stored
from qpsvm.qp.kernel_quadratic import KernelQuadratic


class OfKernel(Protocol):
    """Protocol of models for ``exact_kernel``: the kernel, and the repair of its matrix."""

    @property
    def kernel(self) -> Kernel: ...
    @property
    def repair(self) -> KernelRepair | None: ...
    @property
    def gram(self) -> Gram: ...


def exact_kernel(model: OfKernel) -> Kernel | None:
    """The kernel function that defines K; None where the stored matrix itself is the data."""
    kernel = model.kernel
    known = type(kernel) in (Linear, Polynomial, RBF) and kernel.is_positive_semidefinite
    return kernel if known and model.repair is None else None


def training_errors(model: OfKernel) -> EntryErrors | None:
    """Bound the errors of the kernel matrix of the training samples; None where K is data."""
    kernel, gram = exact_kernel(model), model.gram
    if kernel is None:
        return None
    with np.errstate(all="ignore"):
        if isinstance(gram, KernelQuadratic):
            return gram_errors(kernel, gram.gram)
        return entry_errors(kernel, gram.samples, gram.samples)


def largest_values(gram: Gram) -> Vector:
    """Bound the largest magnitude of each row of K, by ``sqrt(K_ii) max_j sqrt(K_jj)``."""
    delta = 2.0 * gram.gram.negative_bound if isinstance(gram, KernelQuadratic) else 0.0
    norms = np.sqrt(np.abs(gram.diagonal()) + delta)
    return np.asarray((1.0 + 1e-6) * norms * np.max(norms))


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
    lost = summation_errors(sizes, weights, largest)
    lost += TINY * np.sum(weights, axis=0)  # kernel values that underflow
    if errors is None:
        return np.asarray(EPS * sizes + lost)
    used = weights.any(axis=1) if weights.ndim > 1 else weights != 0.0  # NaN counts
    of_columns = float(np.max(errors.columns[used], initial=0.0))
    relative = errors.rows + (1.0 + errors.rows) * of_columns + EPS
    absolute = errors.right @ weights + TINY * np.sum(weights, axis=0)
    if weights.ndim > 1:
        return np.asarray(relative[:, None] * sizes + np.outer(errors.left, absolute) + lost)
    return np.asarray(relative * sizes + errors.left * absolute + lost)


def product_errors(X: Stored, sizes: Dense) -> Dense:
    """Bound the errors of ``X W`` with the sums of absolute terms ``|X| |W|``."""
    return np.asarray(gamma(n_terms(X) + 4) * sizes + TINY)


def sums_of_rows_errors(X: Stored, sizes: Dense) -> Dense:
    """Bound the errors of ``X'v`` with the sums of absolute terms ``|X|'|v|``."""
    n = X.shape[0]
    if is_sparse(X):
        n = int(np.max(np.bincount(X.indices, minlength=1), initial=0))
    return np.asarray(gamma(n + 8) * sizes + TINY)
