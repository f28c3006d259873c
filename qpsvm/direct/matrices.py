"""Kernel matrices and features of small machines, with bounds on errors of decision values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from qpsvm.direct.settings import DIRECT
from qpsvm.display import short_repr
from qpsvm.kernels.errors import EntryErrors
from qpsvm.machines.conditions import squared_spread
from qpsvm.native import ValueErrors
from qpsvm.numerics.arrays import Dense, Index, Vector
from qpsvm.numerics.balls import gamma
from qpsvm.numerics.precision import EPS

SUMMED = 1.0 + 2.0**-30
"""Covers the rounding of sums of terms that are not negative."""


@short_repr
@dataclass(frozen=True, eq=False)
class KernelMatrix:
    """The kernel matrix of a machine that predicts with ``f(x) = sum_i beta_i k(x_i, x) + b``.

    Attributes
    ----------
    K : array of shape (n, n)
    errors : ValueErrors
        Of its entries: ``|K^_ij - K_ij|`` is at most ``relative_i u_j |K_ij| + left_i right_j``.
    """

    K: Dense
    errors: ValueErrors
    weights_distance = 0.0

    @classmethod
    def of(cls, K: Dense, errors: EntryErrors) -> KernelMatrix:
        """Put the kernel matrix of samples together with bounds on the errors of its entries.

        Those are relative ones, ``r_i + c_j + r_i c_j``, at most ``(r_i + (1 + r_i) f) c_j / f``
        for every f up to the smallest of c: one sample far out widens its own column only.
        """
        least = max(float(np.min(errors.columns, initial=np.inf)), EPS)
        columns = SUMMED * np.maximum(errors.columns / least, 1.0)
        relative = SUMMED * (errors.rows + (1.0 + errors.rows) * least)
        return cls(K, ValueErrors(np.array([relative, columns, errors.left, errors.right])))

    def block(self, block: Dense, samples: Index) -> KernelMatrix:
        """Take a kernel matrix that was evaluated before, for the samples that it belongs to."""
        return KernelMatrix(block, self.errors.of(samples))

    def are_few(self, _size: int, _are_smooth: bool) -> bool:
        """Return False: a kernel has many features, or infinitely many."""
        return False

    def work(self, _size: int) -> float:
        """Return how many steps of pairs are worth making, times the number of variables."""
        return np.inf

    @property
    def diagonal(self) -> Vector:
        """``|phi(x_i)|^2``, shape (n,)."""
        return np.diagonal(self.K)

    def squared_spread(self) -> float:
        """``max_i |phi(x_i) - mean|^2``, as for the unit of violations of a model."""
        return squared_spread(self.diagonal, np.mean(self.K, axis=1))


@short_repr
@dataclass(frozen=True, eq=False)
class Features:
    """The samples of a linear machine, which predicts with ``f(x) = w'x + b`` and ``w = X'beta``.

    Attributes
    ----------
    X : array of shape (n, d)
    """

    X: Dense

    @cached_property
    def K(self) -> Dense:
        """The kernel matrix ``X X'`` of a linear machine, shape (n, n)."""
        return self.X @ self.X.T

    def are_few(self, size: int, are_smooth: bool) -> bool:
        """Return whether Newton's method on the weights is cheap for so many conditions.

        Losses with kinks take more steps, and steps of pairs on a small kernel matrix are their
        alternative.
        """
        d = self.X.shape[1]
        few = are_smooth or max(d, DIRECT.newton_least) <= DIRECT.newton_share * size
        return bool(few and d <= DIRECT.newton_features)

    def work(self, size: int) -> float:
        """Return how many steps of pairs are worth making, times the number of variables."""
        d = float(self.X.shape[1])
        return DIRECT.linear_work + DIRECT.linear_share * size * d * d

    @cached_property
    def diagonal(self) -> Vector:
        """``|x_i|^2``, shape (n,)."""
        return np.asarray(np.einsum("ij,ij->i", self.X, self.X))

    def squared_spread(self) -> float:
        """``max_i |x_i - mean|^2``, as for the unit of violations of a model."""
        return squared_spread(self.diagonal, self.X @ np.mean(self.X, axis=0))

    @property
    def weights_distance(self) -> float:
        """Bound on the error of computed weights ``X'beta``, relative to ``sum |beta| |x|``."""
        return gamma(len(self.X) + 8)

    @cached_property
    def errors(self) -> ValueErrors:
        """Bounds for ``X w``: products are rounded, the samples and stored weights are exact."""
        bounds = np.zeros((4, len(self.X)))
        bounds[1], bounds[3] = 1.0, SUMMED * np.sqrt(self.diagonal)
        return ValueErrors(bounds)
