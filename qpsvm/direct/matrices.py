"""Kernel matrices of small machines: decision values, with bounds on their errors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from qpsvm.kernels.errors import EntryErrors
from qpsvm.native import expansion
from qpsvm.numerics.arrays import Dense, Index, Vector
from qpsvm.numerics.balls import gamma
from qpsvm.numerics.precision import TINY

SUMMED = 1.0 + 2.0**-30
"""Covers the rounding of sums of terms that are not negative."""


class Values(NamedTuple):
    """Decision values without intercept, with bounds on what rounding adds.

    Parameters
    ----------
    values, errors : arrays of shape (n,)
    apart : float
        Bound on the distance of the weights that predict from ``sum_i beta_i phi(x_i)``.
    """

    values: Vector
    errors: Vector
    apart: float


@dataclass(frozen=True, eq=False)
class KernelMatrix:
    """A kernel matrix in memory. The error of K_ij is at most ``relative_i |K_ij| + left_i right_j``.

    Attributes
    ----------
    K : array of shape (n, n)
    relative, left, right : arrays of shape (n,)
    """

    K: Dense
    relative: Vector
    left: Vector
    right: Vector

    @classmethod
    def of(cls, K: Dense, errors: EntryErrors) -> KernelMatrix:
        """A kernel matrix with errors of its entries."""
        of_columns = float(np.max(errors.columns, initial=0.0))
        relative = SUMMED * (errors.rows + (1.0 + errors.rows) * of_columns)
        return cls(K, relative, errors.left, errors.right)

    def block(self, block: Dense, samples: Index) -> KernelMatrix:
        """The matrix of some samples, whose values are given."""
        return KernelMatrix(
            block, self.relative[samples], self.left[samples], self.right[samples]
        )

    @property
    def diagonal(self) -> Vector:
        """``|phi(x_i)|^2``, shape (n,)."""
        return np.diagonal(self.K)

    def evaluated(self, beta: Vector) -> Values:
        """Evaluate ``K beta``, whose rows are read in place."""
        used, size = np.flatnonzero(beta), np.abs(beta)
        values, sizes = expansion(self.K, used, beta[used])
        errors = (gamma(len(used) + 2) + self.relative) * sizes
        errors += self.left * float(self.right @ size)
        return Values(values, SUMMED * errors + TINY * (1.0 + float(np.sum(size))), 0.0)


@dataclass(frozen=True, eq=False)
class Features:
    """Samples with explicit features, whose machines predict with weights ``w = X'beta``.

    Attributes
    ----------
    X : array of shape (n, d)
    products : array of shape (n, n), optional
        ``X X'``, where it is known.
    """

    X: Dense
    products: Dense | None = None

    @cached_property
    def K(self) -> Dense:
        """``X X'``, shape (n, n)."""
        return self.X @ self.X.T if self.products is None else self.products

    def block(self, block: Dense, samples: Index) -> Features:
        """Some of the samples, whose products are given."""
        return Features(self.X[samples], block)

    @cached_property
    def diagonal(self) -> Vector:
        """``|x_i|^2``, shape (n,)."""
        return np.einsum("ij,ij->i", self.X, self.X)

    def evaluated(self, beta: Vector) -> Values:
        """Evaluate ``X w`` for ``w = X'beta``, both sums bounded by Cauchy and Schwarz."""
        n, d = self.X.shape
        norms = SUMMED * np.sqrt(self.diagonal)
        reach = SUMMED * float(norms @ np.abs(beta))
        # |w^ - w| <= gamma_n sum |beta_j| |x_j|; then d products with x_i, and once more for w^
        apart = gamma(n + 8) * reach + TINY
        errors = SUMMED * (gamma(n + 8) + 2.0 * gamma(d + 4)) * reach * norms + TINY
        return Values(self.X @ (self.X.T @ beta), errors, apart)
