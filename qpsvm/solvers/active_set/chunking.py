"""Initial guesses for kernel duals with few support vectors, by chunking.

Where few samples are support vectors, most columns of the kernel matrix are never needed. Chunking
solves the program of a few samples, all others at zero; keeps the support vectors; adds samples
that violate their conditions; and solves again, until few samples do. It evaluates the columns of
support vectors and of no other sample. Where the first chunk shows that many samples are support
vectors, the parts of ``parts`` take less time.

Source: Vapnik, *Estimation of Dependences Based on Empirical Data* (1982), addendum 1; Osuna,
Freund and Girosi, "An improved training algorithm for support vector machines", *NNSP* 1997,
section 3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.numerics.arrays import Index, Mask, Vector
from qpsvm.solvers.active_set import decomposition
from qpsvm.solvers.active_set.columns import KernelColumns
from qpsvm.solvers.active_set.restriction import InitialGuess, Restriction
from qpsvm.solvers.active_set.settings import COLUMNS, ActiveSetSettings
from qpsvm.solvers.box.program import BoxProgram
from qpsvm.solvers.box.row_multipliers import row_multipliers
from qpsvm.solvers.point import Point
from qpsvm.solvers.work_budget import WorkBudget


@dataclass(frozen=True, eq=False)
class Chunking:
    """Chunks of the samples of one program, each solved by LIBSVM's decomposition.

    Attributes
    ----------
    program : BoxProgram
    columns : KernelColumns
        Its P.
    for_columns : int
        Bytes for the matrix of a chunk.
    budget : WorkBudget
    settings : ActiveSetSettings
    """

    program: BoxProgram
    columns: KernelColumns
    for_columns: int
    budget: WorkBudget
    settings: ActiveSetSettings

    def guess(self) -> InitialGuess | None:
        """Compute an initial guess by chunking; None where too many samples are support vectors.

        That is a share of a chunk above ``most_support``, or more than the largest chunk holds.
        """
        own, program, P = self.settings, self.program, self.columns.P
        n = P.gram.size
        scale = decomposition.gradient_scale(program, self.columns, own)
        if scale is None or n < own.smallest_chunked or P.gram.is_kept:
            return None
        x = np.zeros(program.size)
        point = Point(x, x, np.zeros(len(program.b)))
        chunk = self._first(n)
        for number in range(own.max_chunks):
            x = self._solved(chunk)
            n_support = int(np.count_nonzero(self._of_samples(x > 0.0)))
            if n_support > own.most_support * (n if number else len(chunk)):
                return None
            Px = point.Px + self.columns.product(x - point.x)
            point = Point(x, Px, row_multipliers(program, x, Px, point.y))
            violations = self._violations(point)
            violations[chunk] = 0.0
            violated = np.flatnonzero(violations > own.decomposition_tolerance * scale)
            if len(violated) <= own.few_violations * n_support or not self.budget.may_go_on(np.inf):
                break
            worst = np.argsort(-violations[violated], kind="stable")[: len(chunk)]
            r = program.gradient(point.Px, point.y)
            is_next = self._of_samples((x > 0.0) | (r < own.decomposition_tolerance * scale))
            is_next[np.setdiff1d(np.arange(n), chunk)] = False
            is_next[violated[worst]] = True
            if np.count_nonzero(is_next) > self._largest:
                return None
            chunk = np.flatnonzero(is_next)
        return InitialGuess(x, int(np.sum(program.is_free(x))))

    @property
    def _samples(self) -> Index:
        """The sample of every variable of the kernel's."""
        P = self.columns.P
        return np.asarray(P.selection.samples(np.arange(P.size)))

    @property
    def _largest(self) -> int:
        """Number of samples that a chunk may have, at most."""
        return min(self.settings.largest_chunk, decomposition.fitting(self.for_columns))

    def _of_samples(self, is_true: Mask) -> Mask:
        """Return whether something is true of any variable of each sample, shape (n,)."""
        found = np.zeros(self.columns.P.gram.size, dtype=bool)
        found[self._samples[is_true[: self.columns.P.size]]] = True
        return found

    def _violations(self, point: Point) -> Vector:
        """Return by how much each sample at zero violates its condition, shape (n,)."""
        r = self.program.gradient(point.Px, point.y)[: self.columns.P.size]
        found = np.zeros(self.columns.P.gram.size)
        np.maximum.at(found, self._samples, np.maximum(-r, 0.0))
        return found

    def _first(self, n: int) -> Index:
        """The samples of the first chunk: at random, as many of either sign as there are."""
        order = np.random.default_rng(COLUMNS.seed).permutation(n)
        share = self.settings.first_chunk / n
        if self.columns.P.selection.index is not None:  # a regression
            return np.sort(order[: self.settings.first_chunk])
        signs = self.columns.P.selection.signs[order]
        sides = [order[signs == s] for s in (-1.0, 1.0)]
        return np.sort(np.concatenate([s[: max(1, round(share * len(s)))] for s in sides]))

    def _solved(self, chunk: Index) -> Vector:
        """Solve the program of a chunk, all other variables at zero; return x of the whole."""
        part = Restriction.of(self.program, self.columns, chunk, self.for_columns)
        x = np.zeros(self.program.size)
        x[part.variables] = decomposition.descended(
            part.program, part.columns, self.columns.memory, self.settings
        )
        return x
