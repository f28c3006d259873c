"""Gram matrices of training samples, in the structure their kernel has."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.exceptions import IndefiniteKernelError, KernelError
from qpsvm.kernels.base import Kernel
from qpsvm.kernels.functions import Linear, PlusConstant, Precomputed
from qpsvm.qp._arrays import Vector, largest_magnitude
from qpsvm.qp.quadratic import DenseQuadratic, Quadratic
from qpsvm.qp.structured import KernelQuadratic, LowRankQuadratic

INDEFINITE_RTOL = 1e-10
"""A Gram matrix counts as indefinite below ``-INDEFINITE_RTOL * sqrt(n) * max|K|``."""


def gram_quadratic(kernel: Kernel, X: Any, signs: Vector, *, constant: float = 0.0) -> Quadratic:
    """``P_ij = s_i s_j (k(x_i, x_j) + constant)`` as a structured Hessian.

    Parameters
    ----------
    kernel : Kernel
        With every parameter a number.
    X : array or CSR matrix of shape (n, d); the Gram matrix itself when precomputed.
    signs : array of shape (n,)
        s; ones give the Gram matrix itself.
    constant : float
        1 for a penalised intercept, which is an extra feature of ones.

    Raises
    ------
    KernelError
        A kernel that does not guarantee it by its type returns an asymmetric matrix.
    IndefiniteKernelError
        ... or an indefinite one.
    """
    if isinstance(kernel, Linear):
        return LowRankQuadratic(_signed_features(X, signs, constant))
    if isinstance(kernel, Precomputed):
        K = np.array(X, dtype=np.float64)
        _require_gram_matrix(kernel, DenseQuadratic.own(K.view()))
        K += constant
        K *= signs[:, None]
        K *= signs
        return DenseQuadratic.own(K)
    if not kernel.is_positive_semidefinite:
        # K itself, without the constant: 1/2 beta'K beta is in the kernel primal
        _require_gram_matrix(kernel, KernelQuadratic(kernel, X, np.ones(len(signs))))
    return KernelQuadratic(
        PlusConstant(kernel, constant) if constant else kernel,
        X,
        signs,
        positive_semidefinite=kernel.is_positive_semidefinite,
    )


def _require_gram_matrix(kernel: Kernel, quadratic: Quadratic) -> None:
    """Check symmetry and semidefiniteness."""
    K = quadratic.to_dense()
    asymmetry = largest_magnitude(K - K.T)
    scale = largest_magnitude(K)
    if asymmetry > 1e-10 * scale:
        raise KernelError(
            f"The kernel matrix is not symmetric: max|K - K'| is {asymmetry:.6g} beside "
            f"entries up to {scale:.6g}; a kernel satisfies k(x, z) = k(z, x)."
        )
    smallest = quadratic.smallest_eigenvalue()
    if smallest < -INDEFINITE_RTOL * np.sqrt(len(K)) * max(scale, np.finfo(float).tiny):
        raise IndefiniteKernelError(
            f"The kernel matrix of {kernel} is indefinite: its smallest eigenvalue is "
            f"{smallest:.6g} beside entries up to {scale:.6g}, so the SVM is not a convex "
            "program and has no certified optimum; use a positive semidefinite kernel (linear, "
            "polynomial with coef0 >= 0, RBF), or repair the matrix (for instance add "
            f"{-smallest:.3g} to its diagonal) and pass it with kernel='precomputed'.",
            smallest,
        )


def _signed_features(X: Any, signs: Vector, constant: float) -> Any:
    """F with ``F F' = s_i s_j (x_i'x_j + constant)``."""
    if sp.issparse(X):
        rows = sp.dia_array((signs[None], [0]), shape=(signs.size, signs.size))
        factor = sp.csr_array(rows @ X)
        if constant:
            column = sp.csr_array((np.sqrt(constant) * signs)[:, None])
            factor = sp.csr_array(sp.hstack([factor, column]))
        return factor
    factor = X * signs[:, None]
    return np.column_stack([factor, np.sqrt(constant) * signs]) if constant else factor
