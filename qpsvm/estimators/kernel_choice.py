"""Conversion of scikit-learn's kernel parameters to a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.kernels import RBF, Kernel, Polynomial, Sigmoid, as_kernel
from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.single_precision import Stored


def kernel_of(estimator: Any, X: Stored, weights: Vector | None) -> Kernel:
    """Build the kernel from an estimator's ``kernel``, ``gamma``, ``degree`` and ``coef0``.

    ``gamma="scale"`` is ``1 / (d v)`` with v the variance of all entries of X, in which a sample
    counts by its weight: a weight of 2 and a repeated row give the same machine.

    Parameters
    ----------
    estimator : QPEstimator
    X : array or CSR matrix of shape (n, d), or objects
    weights : array of shape (n,) or None

    Raises
    ------
    InvalidParameterError
        A kernel or parameter that is none.
    """
    kernel, gamma = estimator.kernel, estimator.gamma
    if isinstance(gamma, str) and gamma == "scale" and weights is not None:
        gamma = 1.0 / (X.shape[1] * (_variance(X, weights) or 1.0))
    if isinstance(kernel, str):
        if kernel in ("poly", "polynomial"):
            return Polynomial(gamma=gamma, degree=estimator.degree, coef0=estimator.coef0)
        if kernel == "rbf":
            return RBF(gamma=gamma)
        if kernel == "sigmoid":
            return Sigmoid(gamma=gamma, coef0=estimator.coef0)
    return as_kernel(kernel)


def _variance(X: Any, weights: Vector) -> float:
    """The variance of all entries of X, each with the weight of its row."""
    share = weights / (np.sum(weights) * X.shape[1])
    if sp.issparse(X):
        mean = float(share @ np.asarray(X.sum(axis=1), dtype=np.float64).ravel())
        square = float(share @ np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel())
        return square - mean**2
    X = np.asarray(X, dtype=np.float64)
    mean = float(share @ X.sum(axis=1))
    return float(share @ np.square(X - mean).sum(axis=1))
