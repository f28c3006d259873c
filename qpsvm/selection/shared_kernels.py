"""Kernel matrices of all samples for several gamma: distances and products are computed once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from qpsvm.display import short_repr
from qpsvm.kernels import RBF, Kernel, Linear, Polynomial
from qpsvm.kernels.widths import SharedDistances
from qpsvm.numerics.arrays import Dense, freeze
from qpsvm.numerics.single_precision import Stored


@short_repr
@dataclass(frozen=True, eq=False)
class SharedKernels:
    """Kernel matrices of one set of samples that differ in gamma.

    Attributes
    ----------
    matrix : callable
        ``gamma -> K`` of shape (n, n), read-only; not finite where features are too large.
    """

    matrix: Callable[[Any], Dense]

    @classmethod
    def of(cls, kernel: Kernel, X: Stored, largest_gamma: float) -> SharedKernels | None:
        """Compute the distances or products that the kernels share.

        Parameters
        ----------
        kernel : Kernel
            With any gamma; all other parameters are those of every candidate.
        X : array or CSR matrix of shape (n, d)
        largest_gamma : float
            No matrix is asked for with a larger one.

        Returns
        -------
        SharedKernels or None
            None for kernels that are not positive semidefinite by their type.
        """
        if not kernel.is_positive_semidefinite:
            return None
        if isinstance(kernel, RBF):
            distances = SharedDistances(X, largest_gamma)
            return cls(lambda gamma: distances.gram(gamma).gram.dense)
        if isinstance(kernel, Polynomial):
            return cls(_Powers(Linear()(X, X), kernel.degree, kernel.coef0))
        K = freeze(kernel.resolve(X)(X, X))
        return cls(lambda _: K)


@dataclass(frozen=True, eq=False)
class _Powers:
    """``(gamma x'z + coef0)^degree``."""

    products: Dense
    degree: float
    coef0: float

    def __call__(self, gamma: float) -> Dense:
        with np.errstate(over="ignore"):
            return freeze((gamma * self.products + self.coef0) ** self.degree)
