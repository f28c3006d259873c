"""Kernel matrices and features of small machines, with bounds on errors of decision values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from qpsvm.direct.settings import DIRECT
from qpsvm.display import short_repr
from qpsvm.kernels.errors import EntryErrors
from qpsvm.machines.conditions import squared_spread
from qpsvm.native import ValueErrors
from qpsvm.numerics.arrays import Dense, Index, Vector
from qpsvm.numerics.balls import SUM_ROUNDING, gamma
from qpsvm.numerics.precision import EPS


def largest_norm(diagonal: Vector) -> float:
    """The largest norm of samples whose squares are the diagonal of a kernel matrix."""
    return math.sqrt(float(np.max(np.abs(diagonal), initial=0.0)))


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
        columns = SUM_ROUNDING * np.maximum(errors.columns / least, 1.0)
        relative = SUM_ROUNDING * (errors.rows + (1.0 + errors.rows) * least)
        return cls(K, ValueErrors(np.array([relative, columns, errors.left, errors.right])))

    def of_samples(self, samples: Index) -> KernelMatrix:
        """Return the kernel matrix of some of the samples."""
        return KernelMatrix(self.K[np.ix_(samples, samples)], self.errors.of(samples))

    def are_few(self, _size: int, _are_smooth: bool) -> bool:
        """Return False: Newton's method on explicit weights is not for kernels."""
        return False

    def work(self, _size: int) -> float:
        """Largest number of SMO steps before another method takes over, times the variables."""
        return np.inf

    @property
    def diagonal(self) -> Vector:
        """Squared norm of each sample in the kernel's feature space, shape (n,)."""
        return np.diagonal(self.K)

    @cached_property
    def largest_norm(self) -> float:
        """Largest norm ``sqrt(K_ii)`` of a sample in the kernel's feature space."""
        return largest_norm(self.diagonal)

    def squared_spread(self) -> float:
        """Squared distance of the farthest sample from the mean, in feature space."""
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

    def of_samples(self, samples: Index) -> Features:
        """Return the features of some of the samples."""
        return Features(self.X[samples])

    def are_few(self, size: int, are_smooth: bool) -> bool:
        """Return whether Newton's method on the weights is cheap for so many conditions.

        Losses with kinks take more steps, and steps of pairs on a small kernel matrix are their
        alternative.
        """
        d = self.X.shape[1]
        few = are_smooth or max(d, DIRECT.newton_least) <= DIRECT.newton_share * size
        return bool(few and d <= DIRECT.newton_features)

    def work(self, size: int) -> float:
        """Largest number of SMO steps before another method takes over, times the variables."""
        d = float(self.X.shape[1])
        return DIRECT.linear_work + DIRECT.linear_share * size * d * d

    @cached_property
    def diagonal(self) -> Vector:
        """Squared norm ``|x_i|^2`` of each sample, shape (n,)."""
        return np.asarray(np.einsum("ij,ij->i", self.X, self.X))

    @cached_property
    def largest_norm(self) -> float:
        """Largest Euclidean norm ``|x_i|`` of a sample."""
        return largest_norm(self.diagonal)

    def squared_spread(self) -> float:
        """Squared distance of the farthest sample from the mean."""
        return squared_spread(self.diagonal, self.X @ np.mean(self.X, axis=0))

    @property
    def weights_distance(self) -> float:
        """Bound on the error of computed weights ``X'beta``, relative to ``sum |beta| |x|``."""
        return gamma(len(self.X) + 8)

    @cached_property
    def errors(self) -> ValueErrors:
        """Bounds on the rounding errors of the decision values ``X w`` of given weights."""
        bounds = np.zeros((4, len(self.X)))
        bounds[1], bounds[3] = 1.0, SUM_ROUNDING * np.sqrt(self.diagonal)
        return ValueErrors(bounds)
