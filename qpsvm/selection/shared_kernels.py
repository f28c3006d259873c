"""Kernel matrices of all samples for several gamma: distances and products are computed once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from qpsvm.display import short_repr
from qpsvm.kernels import RBF, Kernel, Linear, Polynomial
from qpsvm.numerics.arrays import Dense, freeze
from qpsvm.numerics.single_precision import Stored


@short_repr
@dataclass(frozen=True, eq=False)
class SharedKernels:
    """Kernel matrices of one set of samples that differ in gamma.

    Attributes
    ----------
    base : array of shape (n, n)
        ``-|x_i - x_j|^2``, ``x_i'x_j``, or the kernel matrix itself.
    finish : callable
        ``(base, gamma) -> K``, a fresh array or the base.
    """

    base: Dense
    finish: Callable[[Dense, Any], Dense]

    @classmethod
    def of(cls, kernel: Kernel, X: Stored) -> SharedKernels | None:
        """Evaluate what the kernels share.

        Parameters
        ----------
        kernel : Kernel
            With any gamma; all other parameters are those of every candidate.
        X : array or CSR matrix of shape (n, d)

        Returns
        -------
        SharedKernels or None
            None for kernels that are not positive semidefinite by their type.
        """
        if not kernel.is_positive_semidefinite:
            return None
        if isinstance(kernel, RBF):
            return cls(RBF(gamma=1.0).exponents(X), _exponential)
        if isinstance(kernel, Polynomial):
            degree, coef0 = kernel.degree, kernel.coef0
            return cls(Linear()(X, X), lambda base, gamma: (gamma * base + coef0) ** degree)
        return cls(kernel.resolve(X)(X, X), lambda base, _: base)

    def matrix(self, gamma: Any) -> Dense:
        """K for one gamma, read-only; not finite where features are too large."""
        with np.errstate(over="ignore"):
            return freeze(np.asarray(self.finish(self.base, gamma), dtype=np.float64))


def _exponential(exponents: Dense, gamma: float) -> Dense:
    K = np.multiply(exponents, gamma)
    return np.exp(K, out=K)
