"""Block decomposition for kernel duals: the most violating variables, solved by steps of pairs.

A round takes a block of variables: half of them from the last block, the free ones first; the other
half are those whose conditions are violated most, as many that should rise as fall. Their part of
the kernel matrix is evaluated as a matrix product, and the compiled core minimises over them, by
steps of two variables at a time and Newton steps in turn, until their violation is small beside
that of all. What changed enters the
gradient of all through its columns of the kernel matrix, which stay in memory.

A program that fits into one block is solved there. Of a larger one the last digits are left to
Newton steps on the free variables (``solvers.box.polish``): where bounds are far apart, steps of
pairs are many.

Sources: Joachims, "Making large-scale SVM learning practical", in *Advances in Kernel Methods*
(1999), section 11.2 (blocks); Fan, Chen and Lin, "Working set selection using second order
information for training SVM", *JMLR* 6 (2005) (pairs); Wen, Shi, Li, He and Chen, "ThunderSVM",
*JMLR* 19 (2018) (half of every block is kept).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from qpsvm.native import MachineRun, RunNumbers, SmallMachine, Status, descend_pairs
from qpsvm.numerics.arrays import Dense, Index, Vector
from qpsvm.solvers.active_set.columns import KernelColumns
from qpsvm.solvers.active_set.pair_program import PairProgram
from qpsvm.solvers.active_set.settings import ActiveSetSettings
from qpsvm.solvers.box.program import BoxProgram
from qpsvm.solvers.box.row_multipliers import feasible, row_multipliers
from qpsvm.solvers.work_budget import Point, WorkBudget

RUN = RunNumbers()


def descended(
    box: BoxProgram,
    columns: KernelColumns,
    start: Point | Vector | None,
    *,
    largest: int,
    eps: float,
    budget: WorkBudget,
    settings: ActiveSetSettings,
) -> Point | None:
    """Minimise the dual of a kernel machine by block decomposition; None where it does not apply.

    Parameters
    ----------
    box : BoxProgram
    columns : KernelColumns
        Its P.
    start : Point or array of shape (n,), optional
        Without one the descent begins with as many variables at a bound as possible.
    largest : int
        Variables of a block, at most.
    eps : float
        Residual, relative to the entries of q, with which one block that holds all may end.
    budget : WorkBudget
        Watched before every block.
    settings : ActiveSetSettings
    """
    program = PairProgram.of(box, columns.P)
    if program is None:
        return None
    point = feasible(box, program.filled(box) if start is None else start)
    if not box.rows_hold(point.x):
        return None
    return _Blocks(box, columns, program, largest, eps, budget, settings).run(point)


@dataclass(frozen=True, eq=False)
class _Blocks:
    """State of the block decomposition of one program."""

    box: BoxProgram
    columns: KernelColumns
    program: PairProgram
    largest: int
    eps: float
    budget: WorkBudget
    settings: ActiveSetSettings

    def run(self, point: Point) -> Point | None:
        """Minimise over one block of variables after the other until the violation is small."""
        box, program, own, budget = self.box, self.program, self.settings, self.budget
        block, at_end = np.zeros(0, dtype=np.intp), False
        for _ in range(own.max_blocks):
            v, g = self._in_pairs(point)
            if not np.isfinite(g).all():
                return None
            budget.best, budget.gap = point, partial(box.relative_gap, point)
            rising, falling = program.violations(v, g)
            worst = max(float(np.max(rising)), float(np.max(falling)), 0.0)
            target = self._target(point)
            if at_end or worst <= target or not budget.may_go_on(worst):
                break
            block = self._next(block, v, rising, falling)
            inner = max(own.tightening * target, own.inner_share * worst)
            if len(block) == len(v):
                inner = target
            point, at_end = self._minimised(point, block, v, g, inner)
        return replace(point, y=row_multipliers(box, point.x, point.Px, point.y))

    def _in_pairs(self, point: Point) -> tuple[Vector, Vector]:
        """Convert a point to the variables of pairs, v; return v and the gradient there."""
        s = self.program.s
        return s * point.x[: len(s)], (point.Px + self.box.q)[: len(s)] / s

    @property
    def _is_whole(self) -> bool:
        """Return whether all variables fit into one block."""
        return len(self.program.s) <= min(self.settings.whole_size, self.largest)

    def _target(self, point: Point) -> float:
        """Violation at which the block decomposition ends, in units of the gradient."""
        share = self.eps if self._is_whole else self.settings.handover
        return share * self.box.scale(point) / abs(float(self.program.s[0]))

    def _next(self, last: Index, v: Vector, rising: Vector, falling: Vector) -> Index:
        """Choose the next block: free variables of the last one, and the largest violations."""
        n, own, program = len(v), self.settings, self.program
        if self._is_whole:
            return np.arange(n)
        is_free = (v > program.lower) & (v < program.upper)
        n_free = int(np.count_nonzero(is_free))
        wanted = max(own.smallest_block, int(own.block_share * n_free))
        size = min(n, self.largest, wanted)
        violation = np.maximum(rising, falling)
        rank = np.where(is_free[last], -np.inf, -violation[last])
        chosen = np.zeros(n, dtype=bool)
        chosen[last[np.argsort(rank, kind="stable")[: size // 2]]] = True
        groups = range(max(1, program.rows.shape[1]))
        room = -(-(size - int(np.count_nonzero(chosen))) // (2 * len(groups)))
        for number in groups:
            for direction in (rising, falling):
                of_group = (program.group == number) & ~chosen & (direction > 0.0)
                candidates = np.flatnonzero(of_group)
                if len(candidates) > room:
                    worst = np.argsort(-direction[candidates], kind="stable")[:room]
                    candidates = candidates[worst]
                chosen[candidates] = True
        return np.flatnonzero(chosen)

    def _minimised(
        self, point: Point, block: Index, v: Vector, g: Vector, tolerance: float
    ) -> tuple[Point, bool]:
        """Minimise over a block of variables; return the point, and whether to stop afterwards."""
        program, columns = self.program, self.columns
        samples, places = np.unique(program.samples[block], return_inverse=True)
        K = columns.square(samples)
        own, gradient = v[block], g[block]
        run = self._with_newton_steps(K, places, block, own, gradient, tolerance)
        if run is not None and run.status is Status.DONE:
            return self._moved(point, block, run.v, run.status)
        of_places = {}
        if not np.array_equal(places, np.arange(len(samples))):  # two variables share a row
            places = places.astype(np.int64)
            of_places = {"offsets": places * len(samples), "columns": places}
            K = K.ravel()
        at_most = self.settings.steps_per_variable
        if self._is_whole:
            at_most = self.settings.whole_steps
        steps = descend_pairs(
            K,
            own,
            gradient,
            program.lower[block],
            program.upper[block],
            kept=program.kept,
            tol=tolerance,
            max_steps=at_most * len(block),
            groups=program.group[block],
            added=program.added[block],
            constant=program.constant,
            **of_places,
        )
        return self._moved(point, block, own, steps.status)

    def _with_newton_steps(
        self, K: Dense, places: Index, block: Index, own: Vector, gradient: Vector, tolerance: float
    ) -> MachineRun | None:
        """Minimise over a block of variables, Newton steps included.

        The variables and their gradient change in place; what is left is for steps of pairs.
        """
        program = self.program
        lower, upper = program.lower[block], program.upper[block]
        if (lower > 0.0).any() or (upper < 0.0).any():
            return None
        if np.count_nonzero((own > lower) & (own < upper)) > RUN.most:
            return None  # the run would end where it begins
        rows = None if np.array_equal(places, np.arange(len(K))) else places.astype(np.int64)
        is_second = program.group[block] > 0  # keeps its own sum, as negative labels do
        machine = SmallMachine(
            K,
            np.where(is_second, -1.0, 1.0),
            np.zeros(len(block)),
            np.where(is_second, -upper, lower),
            np.where(is_second, -lower, upper),
            curved=program.added[block],
            rows=rows,
            is_free=program.kept != "none",
            constant=program.constant,
            side=1.0 if program.kept == "sums" else 0.0,
        )
        return machine.run(tolerance, RUN, MachineRun(Status.DONE, own, own, gradient, 0))

    def _moved(self, point: Point, block: Index, own: Vector, status: Status) -> tuple[Point, bool]:
        """Move the variables of a block, and the gradient of all; return whether to stop then."""
        x = point.x.copy()
        x[block] = own / self.program.s[block]
        x = self.box.clip(x)
        step = x - point.x
        Px = point.Px + self.columns.product(step)
        drift = point.drift + float(np.max(self.box.rounding(step)))
        return Point(x, Px, point.y, drift), status is not Status.DONE
