"""Initial guesses for kernel duals: solve parts of the samples, then their support vectors.

A share of the samples with bounds 1 / share times as far apart makes about the same machine: the
sums over all samples become sums over some, each counted so often. So do the costs
``1/2 d_i x_i^2``, with share times d. The machines of three thirds, each x divided by three, make
one of all samples that satisfies the rows. Every sample is judged by a machine that knows it:
those that matter are among those that mattered in their third, but for some. The three together
are better than any of them is on the others, and what is left are the variables near their margins.

A decomposition solves parts that are small enough at once, and once more what mattered in any of
them, with its own bounds and all others at zero. Without one each third is solved by thirds.

Sources: Hsieh, Si and Dhillon, "A divide-and-conquer solver for kernel support vector machines",
*ICML* 2014 (there by clusters, and so that the kernel between parts is small; here any parts do,
with bounds that are wider); Graf, Cosatto, Bottou, Dourdanovic and Vapnik, "Parallel support vector
machines: the cascade SVM", *NIPS* 2004 (what mattered in any part).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from qpsvm.numerics.arrays import Index
from qpsvm.numerics.interrupts import keep_best
from qpsvm.numerics.threads import for_each, usable_threads
from qpsvm.numerics.workspace import Memory
from qpsvm.solvers.active_set import decomposition
from qpsvm.solvers.active_set.columns import KernelColumns
from qpsvm.solvers.active_set.restriction import InitialGuess, Restriction
from qpsvm.solvers.active_set.settings import COLUMNS, DEFAULTS, ActiveSetSettings
from qpsvm.solvers.box.polish import settle
from qpsvm.solvers.box.program import BoxProgram
from qpsvm.solvers.work_budget import WorkBudget


@dataclass(frozen=True, eq=False)
class Parts:
    """Initial guess for a kernel program from approximate solutions of parts of its samples.

    LIBSVM has one thread: the parts that it solves are solved in several threads.

    Attributes
    ----------
    program : BoxProgram
    columns : KernelColumns
        Its P.
    for_columns, for_sets : int
        Bytes for the columns of a part, and variables in its working sets.
    budget : WorkBudget
        Watched after every part and between working sets.
    settings : ActiveSetSettings
    """

    program: BoxProgram
    columns: KernelColumns
    for_columns: int
    for_sets: int
    budget: WorkBudget
    settings: ActiveSetSettings = DEFAULTS

    def guess(self) -> InitialGuess | None:
        """Compute the initial guess; None if the program is small enough to do without."""
        samples, memory = self._samples, self.columns.memory
        of_sets = min(self.for_sets, self.program.size) ** 2
        memory.reserve(decomposition.MATRIX, of_sets)
        try:
            if len(samples) > self._at_once:
                guess = self._joined(np.random.default_rng(COLUMNS.seed).permutation(samples))
                return self._together(guess) if self._is_decomposed else guess
            if not self._is_decomposed:
                return None
            own = self.settings
            x = decomposition.descended(
                self.program, self.columns, memory, own, tolerance=own.whole_tolerance
            )
            return InitialGuess(x, int(np.sum(self.program.is_free(x))))
        finally:
            memory.shrink(decomposition.MATRIX, of_sets)

    @cached_property
    def _samples(self) -> Index:
        """Samples with at least one variable."""
        P = self.columns.P
        return np.unique(np.asarray(P.selection.samples(np.arange(P.size))))

    @cached_property
    def _is_decomposed(self) -> bool:
        return decomposition.suits(self.program, self.columns, self.settings)

    @cached_property
    def _at_once(self) -> int:
        """Largest number of samples that is solved without division into parts."""
        if not self._is_decomposed:
            return self.settings.undivided_size
        return min(self.settings.decomposed_size, max(COLUMNS.smallest_set, self._fitting))

    @property
    def _fitting(self) -> int:
        """Largest number of samples whose kernel matrix fits into memory."""
        return decomposition.fitting(self.for_columns)

    def _n_parts(self, n: int) -> int:
        """Number of parts of a set of samples."""
        return -(-n // self._at_once) if self._is_decomposed else self.settings.divisions

    def _joined(self, samples: Index) -> InitialGuess:
        """Solve the parts of some samples and join their solutions."""
        x, n_free, n_parts = np.zeros(self.program.size), [0], self._n_parts(len(samples))
        parts = [samples[first::n_parts] for first in range(n_parts)]
        solve = self._side_by_side if self._is_decomposed else self._in_turn

        def joined() -> InitialGuess:
            return InitialGuess(x, round(float(np.sqrt(sum(n_free) * max(n_free)))))

        try:
            for own, guess in solve(parts):
                x += guess.x * len(own) / len(samples)
                n_free.append(guess.n_free)
        except KeyboardInterrupt as error:  # instead of what a part of a part has
            keep_best(error, joined)
            raise
        return joined()

    def _in_turn(self, parts: Sequence[Index]) -> Iterator[tuple[Index, InitialGuess]]:
        """Solve the program of every part of the samples; yield parts and dual variables."""
        for own in parts:
            yield own, self._solved(own)
            if not self.budget.may_go_on(np.inf):
                break

    def _side_by_side(self, parts: Sequence[Index]) -> Iterator[tuple[Index, InitialGuess]]:
        """Solve the programs of several parts of the samples at a time, in threads; yield each.

        As many parts are solved in one round as there are threads, and memory for their matrices.
        Each has work arrays of its own, which the next round uses again.
        """
        matrix = COLUMNS.bytes_per_entry * max(len(own) for own in parts) ** 2
        room = self.for_columns - self.columns.kept_bytes
        at_a_time = max(1, min(usable_threads(), room // matrix))
        memories = [self.columns.memory, *(Memory() for _ in range(1, at_a_time))]
        guesses: dict[int, InitialGuess] = {}

        def solve(k: int) -> None:
            guesses[k] = self._solved(parts[k], memories[k % at_a_time])

        for first in range(0, len(parts), at_a_time):
            some = range(first, min(first + at_a_time, len(parts)))
            for_each(solve, some)
            for k in some:
                yield parts[k], guesses.pop(k)
            if not self.budget.may_go_on(np.inf):
                break

    def _together(self, guess: InitialGuess) -> InitialGuess:
        """Solve the program of all samples that are support vectors of their part."""
        R = self.columns.P.selection
        used = np.unique(R.samples(np.flatnonzero(guess.x[: R.size])))
        if self.budget.is_over or not 0 < len(used) <= min(self.settings.joint_size, self._fitting):
            return guess
        part = self._part(used, share=1.0)
        x = np.zeros(self.program.size)
        x[part.variables] = decomposition.descended(
            part.program, part.columns, self.columns.memory, self.settings
        )
        return InitialGuess(x, int(np.sum(self.program.is_free(x))))

    def _solved(self, samples: Index, memory: Memory | None = None) -> InitialGuess:
        """Solve the program of one part of the samples, as if it stood for all of them.

        LIBSVM's matrix is in ``memory``; by default in that of the columns.
        """
        x = np.zeros(self.program.size)
        part = self._part(np.sort(samples), share=len(samples) / len(self._samples))
        program = part.program
        if len(samples) <= self._at_once and self._is_decomposed:
            memory = self.columns.memory if memory is None else memory
            own = decomposition.descended(program, part.columns, memory, self.settings)
        else:
            start, n_free = program.clip(np.zeros(program.size)), None
            if len(samples) > self._at_once:
                guess = self._joined(samples)
                start, n_free = program.clip_scaled(guess.x[part.variables]), guess.n_free
            own = start
            if not self.budget.is_over:
                own = settle(
                    program,
                    start,
                    largest=self.for_sets,
                    budget=self.budget,
                    roughly=self.settings.rough_share,
                    expected_free=n_free,
                    settings=self.settings,
                ).x
        x[part.variables] = own
        return InitialGuess(x, int(np.sum(program.is_free(own))))

    def _part(self, samples: Index, *, share: float) -> Restriction:
        """Build the program of one part of the samples, its bounds divided by ``share``."""
        return Restriction.of(self.program, self.columns, samples, self.for_columns, share)
