"""A kernel Hessian evaluated by columns, with a cache of columns that are used often."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from qpsvm.numerics import compensated
from qpsvm.numerics.arrays import IN_CACHE, Dense, Index, Vector, row_blocks
from qpsvm.numerics.cholesky import Memory
from qpsvm.numerics.threads import BLOCK, for_each
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.solvers.active_set.settings import COLUMNS
from qpsvm.solvers.box.curvature import Curvature, DenseCurvature, symmetric_product

WORKING_SET = "working set"
"""Of its matrix: the name in memory."""


class KernelColumns(Curvature):
    """``P = R K R' + diag(d)`` by cached kernel columns, zero for the slack variables at the end.

    Kept are columns of K, one for a sample, whoever shares it: those that a product used, as many
    as the memory limit allows. The others are evaluated, multiplied, and forgotten.

    Parameters
    ----------
    P : KernelQuadratic
    n_slack : int
    memory_limit : int
        Bytes for the columns.
    memory : Memory, optional
        That of earlier columns, which nobody uses any more.
    """

    def __init__(
        self,
        P: KernelQuadratic,
        n_slack: int,
        memory_limit: int,
        memory: Memory | None = None,
    ) -> None:
        self.P, self.n_slack = P, n_slack
        n = P.gram.size
        self.capacity = min(n, max(1, memory_limit // (8 * max(n, 1))))
        self.memory = Memory() if memory is None else memory
        if memory is None:  # once and for all subsets, whose columns are shorter
            self.memory.matrix("columns", self.capacity, n)
        self._slot: Index = np.full(n, -1)
        self._used = 0

    # --- what is kept ----------------------------------------------------------------------------

    @property
    def kept_bytes(self) -> int:
        """Return how many bytes the cached columns of the kernel matrix take."""
        return 8 * self._used * len(self._slot)

    def _keep(self, samples: Index, others: Index) -> None:
        """Cache the columns of some samples, as many as the memory limit allows."""
        if self._used + len(samples) > self.capacity:
            self._forget_all_but(others)
        self._take(samples[: self.capacity - self._used])

    def _take(self, samples: Index) -> None:
        """Evaluate kernel columns into the cache."""
        columns = self._room()
        for block in row_blocks(len(samples), 1, 8 * COLUMNS.at_a_time):
            some = samples[block]
            at = slice(self._used, self._used + len(some))
            self.P.gram.rows(some, columns[at])
            self._used = at.stop
            self._slot[some] = np.arange(at.start, at.stop)

    def _room(self) -> Dense:
        return self.memory.matrix("columns", self.capacity, len(self._slot))

    def _passing(self, rows: int) -> Dense:
        return self.memory.matrix("passing", min(rows, COLUMNS.at_a_time), len(self._slot))

    def _forget_all_but(self, samples: Index) -> None:
        kept = samples[self._slot[samples] >= 0]
        kept = kept[np.argsort(self._slot[kept])]  # rows move forward, none over one still needed
        old = self._slot[kept]
        self._slot[:], self._used = -1, 0  # whoever is interrupted in between has none
        columns = self._room()
        for to, where in enumerate(old):
            columns[to] = columns[where]
        self._slot[kept] = np.arange(len(kept))
        self._used = len(kept)

    # --- what working sets ask for -------------------------------------------------------------

    def product(self, d: Vector) -> Vector:
        return self._product(d, self._of_samples)

    def matvec_compensated(self, x: Vector) -> Vector:
        return self._product(x, self._of_terms_that_cancel)

    def _product(self, d: Vector, of_samples: Callable[[Vector], Vector]) -> Vector:
        P = self.P
        own = d[: P.size]
        v = P.selection.gather(own)
        product = of_samples(v)
        if P.constant:
            product += P.constant * math.fsum(v)
        spread = np.asarray(P.selection.spread(product) + P.diag * own)
        return np.concatenate([spread, np.zeros(self.n_slack)]) if self.n_slack else spread

    def _of_samples(self, v: Vector) -> Vector:
        """Multiply the kernel matrix by a vector; the columns that it reads are cached."""
        if self.P.gram.is_kept:
            return symmetric_product(self.P.gram.dense, v)
        result, used = np.zeros(len(v)), np.flatnonzero(v)
        wanted = used[self._slot[used] < 0]
        if len(wanted):
            self._keep(wanted, used)
        slots = self._slot[used]
        kept = slots >= 0
        if kept.any():
            result += self._combined(slots[kept], v[used[kept]])
        for samples, columns in self._in_passing(used[~kept]):
            _add_combination(result, v[samples], columns)
        return result

    def _of_terms_that_cancel(self, v: Vector) -> Vector:
        """``K v`` with compensated sums; the cache stays as it is."""
        if self.P.gram.is_kept:
            return compensated.product(self.P.gram.dense, v[:, None])[:, 0]
        total, used = compensated.Total((len(v), 1)), np.flatnonzero(v)
        kept, columns, passing = used[self._slot[used] >= 0], self._room(), self._passing(len(used))
        for block in row_blocks(len(kept), 1, 8 * COLUMNS.at_a_time):
            samples = kept[block]
            some = passing[: len(samples)]  # no fresh memory
            np.take(columns, self._slot[samples], axis=0, out=some, mode="clip")
            total.add(some.T, v[samples, None])
        for samples, evaluated in self._in_passing(used[self._slot[used] < 0]):
            total.add(evaluated.T, v[samples, None])
        return total.value[:, 0]

    def _in_passing(self, samples: Index) -> Iterator[tuple[Index, Dense]]:
        """Yield blocks of columns that are not cached."""
        passing = self._passing(len(samples))
        for block in row_blocks(len(samples), 1, 8 * COLUMNS.at_a_time):
            some = samples[block]
            self.P.gram.rows(some, passing[: len(some)])
            yield some, passing[: len(some)]

    def _combined(self, slots: Index, weights: Vector) -> Vector:
        """The weighted sum of cached columns."""
        columns, passing = self._room(), self._passing(len(slots))
        result = np.zeros(columns.shape[1])
        for block in row_blocks(len(slots), 1, 8 * COLUMNS.at_a_time):
            some = passing[: len(slots[block])]  # no fresh memory
            np.take(columns, slots[block], axis=0, out=some, mode="clip")
            _add_combination(result, weights[block], some)
        return result

    def square(self, samples: Index) -> Dense:
        """Return the kernel matrix of some samples; valid until the next call."""
        m = len(samples)
        if m == self.P.gram.size and self.P.gram.is_kept:
            return self.P.gram.dense
        out = self.memory.matrix(WORKING_SET, m, m)
        self._evaluate(samples, out)
        return out

    def block(self, index: Index) -> Dense:
        return self._block(index, Memory())

    def restricted(self, index: Index) -> DenseCurvature:
        return DenseCurvature(self._block(index, self.memory), self.memory)

    def _block(self, index: Index, memory: Memory) -> Dense:
        P = self.P
        own = np.flatnonzero(index < P.size)
        rows = index[own]
        inner = memory.matrix(WORKING_SET, len(own), len(own))
        self._evaluate(np.asarray(P.selection.samples(rows)), inner)
        for block in row_blocks(len(own), len(own), IN_CACHE):
            P.weighted(inner[block], rows[block], rows)
        if len(own) == len(index):
            return inner
        whole = np.zeros((len(index), len(index)))
        whole[np.ix_(own, own)] = inner
        return whole

    def _evaluate(self, samples: Index, out: Dense) -> None:
        """Write the kernel matrix of some samples into an array, cached columns being reused."""
        gram, slots = self.P.gram, self._slot[samples]
        kept, new = np.flatnonzero(slots >= 0), np.flatnonzero(slots < 0)
        if gram.is_kept or len(kept) < len(new):  # beside ``out`` there is room for a quarter of it
            gram.write_square(samples, out)
            return
        columns = self._room()
        for row in kept.tolist():
            np.take(columns[slots[row]], samples, out=out[row], mode="clip")  # "raise" would buffer
        if len(new):
            for some in row_blocks(len(new), len(kept), IN_CACHE):
                out[np.ix_(new[some], kept)] = out[np.ix_(kept, new[some])].T
            square = self.memory.matrix("new", len(new), len(new))
            gram.write_square(samples[new], square)
            out[np.ix_(new, new)] = square


def _add_combination(result: Vector, weights: Vector, columns: Dense) -> None:
    """Add ``weights @ columns`` to the result, a piece of it in every thread."""

    def add(entries: slice) -> None:
        result[entries] += weights @ columns[:, entries]

    for_each(add, row_blocks(len(result), len(weights), BLOCK))
