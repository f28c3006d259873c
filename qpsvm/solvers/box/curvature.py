"""Hessians for Newton steps: products ``P d`` and solves with ``P_FF + sigma I``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from qpsvm.numerics.arrays import IN_CACHE, Dense, Index, Vector, as_dense, row_blocks
from qpsvm.numerics.cholesky import Bordered, Cholesky, Memory
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.qp.quadratic import Quadratic
from qpsvm.solvers.box.settings import BOX

Solve: TypeAlias = Callable[[Dense], Dense]
"""``r -> (P_FF + sigma I)^-1 r`` for r of shape (m,) or (m, p)."""


class Curvature(ABC):
    """A positive semidefinite Hessian; its last variables may be slacks."""

    @abstractmethod
    def product(self, d: Vector) -> Vector:
        """``P d``; entries of d that are zero cost nothing or little."""

    def matvec_compensated(self, x: Vector) -> Vector:
        """``P x`` with compensated sums, where the Hessian has them."""
        return self.product(x)

    @abstractmethod
    def block(self, index: Index) -> Dense:
        """``P[index][:, index]`` as a fresh array."""

    def restricted(self, index: Index) -> DenseCurvature:
        """The Hessian restricted to some variables; valid until the next call."""
        return DenseCurvature(self.block(index))

    def factor(self, free: Index, sigma: float) -> Solve:
        """Cholesky factorisation of ``P_FF + sigma I``.

        Raises
        ------
        LinAlgError
            It is indefinite, if only by rounding.
        """
        return Cholesky(self.block(free), sigma)

    def work(self, size: int) -> float:
        """Work of one factorisation with that many free variables, as ``WorkBudget`` counts it."""
        return float(size) ** 3


class HessianCurvature(Curvature):
    """A Hessian, followed by ``n_slack`` slack variables."""

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
    """A Hessian stored as a dense matrix.

    All factors are made in one place: the next one overwrites the last. Where few variables change
    no new one is made.
    """

    def __init__(self, matrix: Dense, memory: Memory | None = None) -> None:
        self.matrix = matrix
        self._memory = Memory() if memory is None else memory
        self._memory.reserve("factor", matrix.size)
        self._of_parts = Memory()
        self._last: tuple[Index, float, Cholesky] | None = None

    def product(self, d: Vector) -> Vector:
        return symmetric_product(self.matrix, d)

    def block(self, index: Index) -> Dense:
        return self.matrix[np.ix_(index, index)]

    def restricted(self, index: Index) -> DenseCurvature:
        if len(index) == len(self.matrix):  # all, in their order: the last factor may serve again
            return self
        return part_of(self.matrix, index, self._of_parts)

    def factor(self, free: Index, sigma: float) -> Solve:
        is_sound = sigma >= BOX.smallest_updated_sigma * float(
            np.max(np.diagonal(self.matrix), initial=0.0)
        )
        if self._last is not None and self._last[1] == sigma and is_sound:
            bordered = self._bordered(free, *self._last)
            if bordered is not None:
                return bordered
        m = len(free)
        chosen, self._last = self._memory.matrix("factor", m, m), None
        for rows in row_blocks(m, m, IN_CACHE):  # the half that Cholesky reads
            chosen[rows, rows.start :] = self.matrix[np.ix_(free[rows], free[rows.start :])]
        self._last = free, sigma, Cholesky(chosen, sigma)
        return self._last[2]

    def _bordered(
        self, free: Index, factored: Index, sigma: float, factor: Cholesky
    ) -> Solve | None:
        """Reuse the last factor by a bordered system; None if too many variables changed."""
        positions = np.flatnonzero(np.isin(free, factored, assume_unique=True))
        added = np.setdiff1d(np.arange(len(free)), positions, assume_unique=True)
        is_kept = np.isin(factored, free, assume_unique=True)
        removed = np.flatnonzero(~is_kept)
        changes = len(added) + len(removed)
        if BOX.changes_per_update * changes > len(factored):
            return None
        if changes == 0:
            return factor
        self._memory.reserve("border", self.matrix.size // BOX.changes_per_update)
        border = self._memory.matrix("border", changes, len(factored))
        border[: len(added)] = self.matrix[np.ix_(free[added], factored)]
        corner = self.block(free[added])
        corner[np.diag_indices(len(added))] += sigma

        def product(u: Dense) -> Dense:
            whole = np.zeros((len(self.matrix), *u.shape[1:]))
            whole[free] = u
            return np.asarray((self.matrix @ whole)[free] + sigma * u)

        kept = np.flatnonzero(is_kept)
        try:
            return Bordered(factor, (kept, removed), (positions, added), border, corner, product)
        except np.linalg.LinAlgError:
            return None


def symmetric_product(K: Dense, d: Vector) -> Vector:
    """Compute ``K d`` for a symmetric K from its rows at the non-zero entries of d."""
    used = np.flatnonzero(d)
    if BOX.all_rows_share * len(used) > len(d):
        return np.asarray(K @ d)
    total = np.zeros(len(d))
    for some in row_blocks(len(used), len(d), IN_CACHE):  # copies that stay in the cache
        rows = used[some]
        total += d[rows] @ K[rows]
    return total


def part_of(K: Dense, index: Index, memory: Memory) -> DenseCurvature:
    """Copy the submatrix ``K[index][:, index]`` into shared memory, as a Hessian."""
    for name in ("block", "factor"):  # the next part is often a little larger
        memory.reserve(name, len(index) ** 2, room=len(index) ** 2)
    block = memory.matrix("block", len(index), len(index))
    for row, i in zip(block, index.tolist(), strict=True):
        np.take(K[i], index, out=row, mode="clip")  # "raise" would buffer
    return DenseCurvature(block, memory)


class FactorCurvature(HessianCurvature):
    """``P = F F' + diag(d)``: no factorisation is much larger than F has columns."""

    def __init__(self, hessian: LowRankQuadratic, n_slack: int) -> None:
        super().__init__(hessian, n_slack)
        self.low_rank = hessian

    def factor(self, free: Index, sigma: float) -> Solve:
        """Factor ``P_FF + sigma I``, by the Woodbury formula where many variables are free.

        ::

        (F F' + D)^-1 = D^-1 - D^-1 F (I + F' D^-1 F)^-1 F' D^-1,    D = diag(d) + sigma I
        """
        rows = self.low_rank.factor
        if not self._is_long(len(free)):
            return super().factor(free, sigma)
        own = free < self.low_rank.size
        D = np.full(len(free), sigma)
        D[own] += self.low_rank.diag[free[own]]
        F = np.zeros((len(free), rows.shape[1]))
        F[own] = as_dense(rows[free[own]])
        scaled = F / D[:, None]
        inner = Cholesky(F.T @ scaled, 1.0)
        return lambda r: (r.T / D).T - scaled @ inner(scaled.T @ r)

    def work(self, size: int) -> float:
        """Work of one factorisation on the shorter side of F, with the products."""
        if not self._is_long(size):
            return super().work(size)
        columns = float(self.low_rank.factor.shape[1])
        return columns**3 + 3.0 * size * columns**2

    def _is_long(self, size: int) -> bool:
        return size > 2 * int(self.low_rank.factor.shape[1])
