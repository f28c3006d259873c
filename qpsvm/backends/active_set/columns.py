"""A kernel Hessian by its columns: those that are asked for often stay in memory."""

from __future__ import annotations

import numpy as np

from qpsvm.qp._arrays import Dense, Index, Vector, row_blocks
from qpsvm.qp.curvature import Curvature
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.qp.selection import add_diagonal

FEW = 8
"""Of so many columns one is used, at most: they are worth copying."""

AT_A_TIME = 64
"""Columns evaluated at a time: a product of matrices, and no large array."""


class KernelColumns(Curvature):
    """``P = R K R' + diag(d)``, and zeros for the slack variables behind.

    Kept are columns of K, one for a sample, whoever shares it. A column that is used once is
    evaluated, multiplied, and forgotten.

    Parameters
    ----------
    P : KernelQuadratic
    n_slack : int
    memory_limit : int
        Bytes for the columns.
    """

    def __init__(self, P: KernelQuadratic, n_slack: int, memory_limit: int) -> None:
        self.P, self.n_slack = P, n_slack
        n = P.gram.size
        self.capacity = min(n, max(1, memory_limit // (8 * max(n, 1))))
        self._columns: Dense | None = None
        self._slot: Index = np.full(n, -1)
        self._used = 0

    # --- what is kept ----------------------------------------------------------------------------

    def samples_of(self, index: Index) -> Index:
        """The samples of the variables that are not slack, each once."""
        own = index[index < self.P.size]
        return np.unique(np.asarray(self.P.selection.samples(own)))

    def keep(self, index: Index) -> bool:
        """Hold the columns of these variables; False if there is no room for so many."""
        if self.P.gram.is_kept:  # all of them
            return True
        samples = self.samples_of(index)
        if len(samples) > self.capacity:
            return False
        new = samples[self._slot[samples] < 0]
        if self._used + len(new) > self.capacity:
            self._forget_all_but(samples)
        columns = self._room()
        for block in row_blocks(len(new), 1, 8 * AT_A_TIME):
            at = slice(self._used, self._used + len(new[block]))
            self.P.gram.rows(new[block], columns[at])
            self._slot[new[block]] = np.arange(at.start, at.stop)
            self._used = at.stop
        return True

    def _room(self) -> Dense:
        if self._columns is None:  # memory that nobody writes to takes none
            self._columns = np.empty((self.capacity, len(self._slot)))
        return self._columns

    def _forget_all_but(self, samples: Index) -> None:
        kept = samples[self._slot[samples] >= 0]
        kept = kept[np.argsort(self._slot[kept])]  # rows move forward, none over one still needed
        columns = self._room()
        for new, old in enumerate(self._slot[kept]):
            columns[new] = columns[old]
        self._slot[:] = -1
        self._slot[kept] = np.arange(len(kept))
        self._used = len(kept)

    # --- what a Newton step asks for -------------------------------------------------------------

    def product(self, d: Vector) -> Vector:
        P = self.P
        own = d[: P.size]
        of_samples = P.selection.gather(own)
        product = self._product(of_samples)
        if P.constant:
            product += P.constant * float(np.sum(of_samples))
        spread = np.asarray(P.selection.spread(product) + P.diag * own)
        return np.concatenate([spread, np.zeros(self.n_slack)]) if self.n_slack else spread

    def _product(self, v: Vector) -> Vector:
        """``K v``."""
        result, used = np.zeros(len(v)), np.flatnonzero(v)
        if self.P.gram.is_kept:
            K = self.P.gram.dense
            return v[used] @ K[used] if FEW * len(used) < len(v) else K @ v
        slots = self._slot[used]
        kept = slots >= 0
        if kept.any():
            first, last = int(slots[kept].min()), int(slots[kept].max()) + 1
            weights = np.zeros(last - first)
            weights[slots[kept] - first] = v[used[kept]]
            result += weights @ self._room()[first:last]
        others = used[~kept]
        passing = np.empty((min(len(others), AT_A_TIME), len(v)))
        for block in row_blocks(len(others), 1, 8 * AT_A_TIME):
            samples = others[block]
            self.P.gram.rows(samples, passing[: len(samples)])
            result += v[samples] @ passing[: len(samples)]
        return result

    def block(self, index: Index) -> Dense:
        P = self.P
        own = np.flatnonzero(index < P.size)
        rows = index[own]
        samples = np.asarray(P.selection.samples(rows))
        slots = self._slot[samples]
        if (slots >= 0).all() and len(slots):
            inner: Dense = self._room()[np.ix_(slots, samples)]
        else:
            inner = np.array(P.gram.block(samples, samples))
        signs = P.selection.signs[rows]
        inner += P.constant
        inner *= signs[:, None]
        inner *= signs
        add_diagonal(inner, rows, rows, P.diag)
        if len(own) == len(index):
            return inner
        block = np.zeros((len(index), len(index)))
        block[np.ix_(own, own)] = inner
        return block
