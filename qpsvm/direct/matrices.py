"""Kernel matrices of small machines, with bounds on the errors of decision values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from qpsvm.direct.settings import DIRECT
from qpsvm.display import short_repr
from qpsvm.kernels.errors import EntryErrors
from qpsvm.native import ValueErrors
from qpsvm.numerics.arrays import Dense, Index, Vector
from qpsvm.numerics.balls import gamma

SUMMED = 1.0 + 2.0**-30
"""Covers the rounding of sums of terms that are not negative."""


@short_repr
@dataclass(frozen=True, eq=False)
class KernelMatrix:
    """A kernel matrix in memory: the machine predicts with an expansion.

    Attributes
    ----------
    K : array of shape (n, n)
    errors : ValueErrors
        Of its entries: ``|K^_ij - K_ij|`` is at most ``relative_i |K_ij| + left_i right_j``.
    """

    K: Dense
    errors: ValueErrors
    weights_apart = 0.0

    @classmethod
    def of(cls, K: Dense, errors: EntryErrors) -> KernelMatrix:
        """A kernel matrix with errors of its entries."""
        of_columns = float(np.max(errors.columns, initial=0.0))
        relative = SUMMED * (errors.rows + (1.0 + errors.rows) * of_columns)
        return cls(K, ValueErrors(relative, errors.left, errors.right))

    def block(self, block: Dense, samples: Index) -> KernelMatrix:
        """The matrix of some samples, whose values are given."""
        relative, left, right = self.errors
        return KernelMatrix(block, ValueErrors(relative[samples], left[samples], right[samples]))

    @property
    def diagonal(self) -> Vector:
        """``|phi(x_i)|^2``, shape (n,)."""
        return np.diagonal(self.K)


@short_repr
@dataclass(frozen=True, eq=False)
class Features:
    """Samples with explicit features: the machine predicts with weights ``w = X'beta``.

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

    @property
    def are_few(self) -> bool:
        """Return whether Newton's method on the weights is cheap."""
        return bool(self.X.shape[1] <= DIRECT.newton_features)

    @cached_property
    def diagonal(self) -> Vector:
        """``|x_i|^2``, shape (n,)."""
        return np.asarray(np.einsum("ij,ij->i", self.X, self.X))

    @property
    def weights_apart(self) -> float:
        """Bound on the error of computed weights ``X'beta``, relative to ``sum |beta| |x|``."""
        return gamma(len(self.X) + 8)

    @cached_property
    def errors(self) -> ValueErrors:
        """Bounds for ``X w``: products are rounded, the samples and stored weights are exact."""
        zeros = np.zeros(len(self.X))
        return ValueErrors(zeros, zeros, SUMMED * np.sqrt(self.diagonal))
