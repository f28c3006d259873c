"""Hessians for Newton steps: products ``P d`` and solves with ``P_FF + sigma I``.

A Hessian is stored as a matrix, or as factors, or evaluated when needed. That of a kernel machine
is evaluated by columns, of which those that products used stay in memory.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np

from qpsvm.numerics import compensated
from qpsvm.numerics.arrays import IN_CACHE, Dense, Index, Vector, as_dense, row_blocks
from qpsvm.numerics.cholesky import Bordered, Cholesky, Memory
from qpsvm.numerics.threads import BLOCK, for_each
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.solvers.box.settings import BOX

Solve: TypeAlias = Callable[[Dense], Dense]
"""``r -> (P_FF + sigma I)^-1 r`` for r of shape (m,) or (m, p)."""


class Curvature(ABC):
    """A positive semidefinite Hessian; its last variables may be slacks."""

    factors_all = False
    """Whether a factorisation of all variables takes little: working sets are of no use."""

    @abstractmethod
    def product(self, d: Vector) -> Vector:
        """``P d``; entries of d that are zero cost nothing or little."""

    def matvec_compensated(self, x: Vector) -> Vector:
        """``P x`` with compensated sums, where the Hessian has them."""
        return self.product(x)

    def block(self, index: Index) -> Dense:
        """``P[index][:, index]`` as a fresh array."""
        raise NotImplementedError

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


# --- matrices -------------------------------------------------------------------------------------


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
        m = len(index)
        if m == len(self.matrix):  # all, in their order: the last factor may serve again
            return self
        memory = self._of_parts
        for name in ("block", "factor"):  # the next part is often a little larger
            memory.reserve(name, m**2, room=m**2)
        block = memory.matrix("block", m, m)
        for row, i in zip(block, index.tolist(), strict=True):
            np.take(self.matrix[i], index, out=row, mode="clip")  # "raise" would buffer
        return DenseCurvature(block, memory)

    def factor(self, free: Index, sigma: float) -> Solve:
        # with less the update of a factor loses too many digits
        is_sound = sigma >= 1e-6 * float(np.max(np.diagonal(self.matrix), initial=0.0))
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


# --- Hessians of programs -------------------------------------------------------------------------


class HessianCurvature(Curvature):
    """The Hessian P of a quadratic program, followed by ``n_slack`` slack variables."""

    def __init__(self, P: Any, n_slack: int) -> None:
        self.P, self.n_slack = P, n_slack

    def product(self, d: Vector) -> Vector:
        return self._with_slack(self.P.matvec(d[: self.P.size]))

    def _with_slack(self, of_variables: Vector) -> Vector:
        none = np.zeros(self.n_slack)
        return np.concatenate([of_variables, none]) if self.n_slack else of_variables

    def block(self, index: Index) -> Dense:
        own = np.flatnonzero(index < self.P.size)
        inner = self._own_block(index[own])
        if len(own) == len(index):
            return inner
        block = np.zeros((len(index), len(index)))
        block[np.ix_(own, own)] = inner
        return block

    def _own_block(self, index: Index) -> Dense:
        return np.asarray(self.P.block(index, index))


class FactorCurvature(HessianCurvature):
    """``P = F F' + diag(d)``: no factorisation is much larger than F has columns."""

    factors_all = True

    def factor(self, free: Index, sigma: float) -> Solve:
        """Factor ``P_FF + sigma I``, by the Woodbury formula where many variables are free.

        ::

        (F F' + D)^-1 = D^-1 - D^-1 F (I + F' D^-1 F)^-1 F' D^-1,    D = diag(d) + sigma I
        """
        rows = self.P.factor
        if not self._is_long(len(free)):
            return super().factor(free, sigma)
        own = free < self.P.size
        D = np.full(len(free), sigma)
        D[own] += self.P.diag[free[own]]
        F = np.zeros((len(free), rows.shape[1]))
        F[own] = as_dense(rows[free[own]])
        scaled = F / D[:, None]
        inner = Cholesky(F.T @ scaled, 1.0)
        return lambda r: (r.T / D).T - scaled @ inner(scaled.T @ r)

    def work(self, size: int) -> float:
        """Work of one factorisation on the shorter side of F, with the products."""
        if not self._is_long(size):
            return super().work(size)
        columns = float(self.P.factor.shape[1])
        return columns**3 + 3.0 * size * columns**2

    def _is_long(self, size: int) -> bool:
        return size > 2 * int(self.P.factor.shape[1])


AT_A_TIME = 256
"""Kernel columns evaluated at a time: enough for a product of matrices, and no large array."""


class KernelColumns(HessianCurvature):
    """``P = R K R' + diag(d)`` by cached kernel columns.

    Kept are columns of K, one for a sample, whoever shares it: those that a product used, as many
    as the memory limit allows. The others are evaluated, multiplied, and forgotten.

    Parameters
    ----------
    P : KernelQuadratic
    n_slack : int
    memory_limit : int
        Bytes for the columns.
    """

    def __init__(self, P: KernelQuadratic, n_slack: int, memory_limit: int) -> None:
        super().__init__(P, n_slack)
        n = P.gram.size
        self.capacity = min(n, max(1, memory_limit // (8 * max(n, 1))))
        self._memory = Memory()
        self._columns = np.empty((self.capacity, n))  # what is never written takes no memory
        self._slot: Index = np.full(n, -1)
        self._used = 0

    # --- columns ----------------------------------------------------------------------------------

    def _keep(self, samples: Index, others: Index) -> None:
        """Cache the columns of some samples, as many as the memory limit allows."""
        if self._used + len(samples) > self.capacity:
            self._forget_all_but(others)
        samples = samples[: self.capacity - self._used]
        for block in row_blocks(len(samples), 1, 8 * AT_A_TIME):
            some = samples[block]
            at = slice(self._used, self._used + len(some))
            self.P.gram.rows(some, self._columns[at])
            self._used = at.stop
            self._slot[some] = np.arange(at.start, at.stop)

    def _forget_all_but(self, samples: Index) -> None:
        kept = samples[self._slot[samples] >= 0]
        kept = kept[np.argsort(self._slot[kept])]  # rows move forward, none over one still needed
        old = self._slot[kept]
        self._slot[:], self._used = -1, 0  # whoever is interrupted in between has none
        for to, where in enumerate(old):
            self._columns[to] = self._columns[where]
        self._slot[kept] = np.arange(len(kept))
        self._used = len(kept)

    def _blocks(self, samples: Index) -> Iterator[tuple[Index, Dense]]:
        """Yield some samples at a time, with their columns: first those that are kept."""
        passing = self._memory.matrix("passing", min(len(samples), AT_A_TIME), len(self._slot))
        is_kept = self._slot[samples] >= 0
        for own, from_cache in ((samples[is_kept], True), (samples[~is_kept], False)):
            for block in row_blocks(len(own), 1, 8 * AT_A_TIME):
                some, columns = own[block], passing[: len(own[block])]  # no fresh memory
                if from_cache:
                    np.take(self._columns, self._slot[some], axis=0, out=columns, mode="clip")
                else:
                    self.P.gram.rows(some, columns)
                yield some, columns

    # --- products ---------------------------------------------------------------------------------

    def product(self, d: Vector) -> Vector:
        return self._product(d, self._of_samples)

    def matvec_compensated(self, x: Vector) -> Vector:
        return self._product(x, self._compensated)

    def _product(self, d: Vector, of_samples: Callable[[Vector], Vector]) -> Vector:
        P = self.P
        own = d[: P.size]
        v = P.selection.gather(own)
        product = of_samples(v)
        if P.constant:
            product += P.constant * math.fsum(v)
        return self._with_slack(np.asarray(P.selection.spread(product) + P.diag * own))

    def _of_samples(self, v: Vector) -> Vector:
        """Multiply the kernel matrix by a vector; the columns that it reads are cached."""
        if self.P.gram.is_kept:
            return symmetric_product(self.P.gram.dense, v)
        result, used = np.zeros(len(v)), np.flatnonzero(v)
        wanted = used[self._slot[used] < 0]
        if len(wanted):
            self._keep(wanted, used)
        for samples, columns in self._blocks(used):
            _add_combination(result, v[samples], columns)
        return result

    def _compensated(self, v: Vector) -> Vector:
        """``K v`` with compensated sums; the cache stays as it is."""
        if self.P.gram.is_kept:
            return compensated.product(self.P.gram.dense, v[:, None])[:, 0]
        total = compensated.Total((len(v), 1))
        for samples, columns in self._blocks(np.flatnonzero(v)):
            total.add(columns.T, v[samples, None])
        return total.value[:, 0]

    # --- squares ----------------------------------------------------------------------------------

    def square(self, samples: Index) -> Dense:
        """Return the kernel matrix of some samples; valid until the next call."""
        if len(samples) == self.P.gram.size and self.P.gram.is_kept:
            return np.asarray(self.P.gram.dense)
        return self._square(samples)

    def block(self, index: Index) -> Dense:
        return np.array(super().block(index))

    def restricted(self, index: Index) -> DenseCurvature:
        return DenseCurvature(super().block(index), self._memory)

    def _own_block(self, index: Index) -> Dense:
        inner = self._square(np.asarray(self.P.selection.samples(index)))
        for block in row_blocks(len(index), len(index), IN_CACHE):
            self.P.weighted(inner[block], index[block], index)
        return inner

    def _square(self, samples: Index) -> Dense:
        """The kernel matrix of some samples in shared memory, cached columns being reused."""
        out = self._memory.matrix("working set", len(samples), len(samples))
        gram, slots = self.P.gram, self._slot[samples]
        kept, new = np.flatnonzero(slots >= 0), np.flatnonzero(slots < 0)
        if gram.is_kept or len(kept) < len(new):  # beside ``out`` there is room for a quarter of it
            gram.write_square(samples, out)
            return out
        for row in kept.tolist():  # "raise" would buffer
            np.take(self._columns[slots[row]], samples, out=out[row], mode="clip")
        if len(new):
            for some in row_blocks(len(new), len(kept), IN_CACHE):
                out[np.ix_(new[some], kept)] = out[np.ix_(kept, new[some])].T
            square = self._memory.matrix("new", len(new), len(new))
            gram.write_square(samples[new], square)
            out[np.ix_(new, new)] = square
        return out


def _add_combination(result: Vector, weights: Vector, columns: Dense) -> None:
    """Add ``weights @ columns`` to the result, a piece of it in every thread."""

    def add(entries: slice) -> None:
        result[entries] += weights @ columns[:, entries]

    for_each(add, row_blocks(len(result), len(weights), BLOCK))
