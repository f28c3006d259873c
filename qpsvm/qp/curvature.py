"""What a Newton step needs of a Hessian: products ``P d``, and solves with ``P_FF + sigma I``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from qpsvm.qp._arrays import IN_CACHE, Dense, Index, Vector, as_dense, row_blocks
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.qp.quadratic import Quadratic

Solve: TypeAlias = Callable[[Dense], Dense]
"""``r -> (P_FF + sigma I)^-1 r`` for r of shape (m,) or (m, p)."""


class Curvature(ABC):
    """P, positive semidefinite. The last variables may have none: slack variables."""

    @abstractmethod
    def product(self, d: Vector) -> Vector:
        """``P d``; entries of d that are zero cost nothing or little."""

    @abstractmethod
    def block(self, index: Index) -> Dense:
        """``P[index][:, index]`` as a fresh array."""

    def factor(self, free: Index, sigma: float) -> Solve:
        """Cholesky factorisation of ``P_FF + sigma I``.

        Raises
        ------
        LinAlgError
            It is indefinite, if only by rounding.
        """
        return cholesky(self.block(free), sigma)

    def work(self, size: int) -> float:
        """What a factorisation with so many free variables takes, see ``Effort``."""
        return float(size) ** 3


class HessianCurvature(Curvature):
    """Any Hessian, with ``n_slack`` variables behind its own."""

    def __init__(self, hessian: Quadratic, n_slack: int) -> None:
        self.hessian = hessian
        self.n_slack = n_slack

    def product(self, d: Vector) -> Vector:
        own = self.hessian.matvec(d[: self.hessian.size])
        return np.concatenate([own, np.zeros(self.n_slack)])

    def block(self, index: Index) -> Dense:
        own = np.flatnonzero(index < self.hessian.size)
        inner = self.hessian.block(index[own], index[own])
        if len(own) == len(index):
            return inner
        block = np.zeros((len(index), len(index)))
        block[np.ix_(own, own)] = inner
        return block


class DenseCurvature(Curvature):
    """A matrix.

    All factors are made in one place: the next one overwrites the last. To write into fresh memory
    takes longer than to factor a matrix of thousands.
    """

    def __init__(self, matrix: Dense) -> None:
        self.matrix = matrix
        self._room: Vector = np.empty(0)

    def product(self, d: Vector) -> Vector:
        used = np.flatnonzero(d)
        if 8 * len(used) > len(d):
            return np.asarray(self.matrix @ d)
        return np.asarray(d[used] @ self.matrix[used])  # symmetric, and rows are contiguous

    def block(self, index: Index) -> Dense:
        return self.matrix[np.ix_(index, index)]

    def factor(self, free: Index, sigma: float) -> Solve:
        m = len(free)
        if len(self._room) < m * m:
            self._room = np.empty(self.matrix.size)
        chosen = self._room[: m * m].reshape(m, m)
        for rows in row_blocks(m, m, IN_CACHE):  # the half that Cholesky reads
            chosen[rows, rows.start :] = self.matrix[np.ix_(free[rows], free[rows.start :])]
        return cholesky(chosen, sigma)


class FactorCurvature(HessianCurvature):
    """``P = F F' + diag(d)``: no factorisation is much larger than F has columns."""

    def __init__(self, hessian: LowRankQuadratic, n_slack: int) -> None:
        super().__init__(hessian, n_slack)
        self.low_rank = hessian

    def factor(self, free: Index, sigma: float) -> Solve:
        """For many free variables by the formula of Sherman, Morrison and Woodbury.

        ::

        (F F' + D)^-1 = D^-1 - D^-1 F (I + F' D^-1 F)^-1 F' D^-1,    D = diag(d) + sigma I
        """
        rows: Any = self.low_rank.factor
        if not self._is_long(len(free)):
            return super().factor(free, sigma)
        own = free < self.low_rank.size
        D = np.full(len(free), sigma)
        D[own] += self.low_rank.diag[free[own]]
        F = np.zeros((len(free), rows.shape[1]))
        F[own] = as_dense(rows[free[own]])
        scaled = F / D[:, None]
        inner = cholesky(F.T @ scaled, 1.0)
        return lambda r: (r.T / D).T - scaled @ inner(scaled.T @ r)

    def work(self, size: int) -> float:
        """That of the shorter side, and the products."""
        if not self._is_long(size):
            return super().work(size)
        columns = float(self.low_rank.factor.shape[1])
        return columns**3 + 3.0 * size * columns**2

    def _is_long(self, size: int) -> bool:
        return size > 2 * int(self.low_rank.factor.shape[1])


def cholesky(matrix: Dense, shift: float) -> Solve:
    """Solves with ``matrix + shift I``. The matrix is overwritten.

    Raises
    ------
    LinAlgError
        It is not positive definite.
    """
    from scipy.linalg.lapack import dpotrf, dpotrs

    n = len(matrix)
    if n == 0:
        return lambda r: r
    matrix[np.diag_indices(n)] += shift
    # in place: the transpose of a C-ordered array is what LAPACK calls a matrix
    factor, info = dpotrf(matrix.T, lower=1, clean=0, overwrite_a=1)
    if info != 0:
        raise np.linalg.LinAlgError("The matrix is not positive definite.")
    return lambda r: np.asarray(dpotrs(factor, r, lower=1)[0])
