"""The active-set method for kernel duals: distinct samples, blocks, Newton steps at the end."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from qpsvm.numerics.arrays import Vector, default_memory_limit
from qpsvm.numerics.interrupts import keep_best
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.quadratic import Quadratic
from qpsvm.qp.solution import QPSolution, Status
from qpsvm.solvers.active_set.block_descent import descended
from qpsvm.solvers.active_set.columns import KernelColumns
from qpsvm.solvers.active_set.distinct import Distinct
from qpsvm.solvers.active_set.settings import COLUMNS, DEFAULTS, ActiveSetSettings
from qpsvm.solvers.box.boxed import Boxed
from qpsvm.solvers.box.polish import largest_within, settle
from qpsvm.solvers.box.program import BoxProgram
from qpsvm.solvers.box.refinement import reduce_gap_rounding, refine
from qpsvm.solvers.box.settings import BOX
from qpsvm.solvers.work_budget import Point, WorkBudget


@dataclass(frozen=True, eq=False)
class Found:
    """Result of the active-set method: a solution with its relative duality gap.

    It is called optimal only by its gradient, and where rounding cannot have made that one small.
    """

    solution: QPSolution
    gap: float
    is_optimal: bool


def least_memory(program: QuadraticProgram, settings: ActiveSetSettings = DEFAULTS) -> int:
    """The smallest memory limit in bytes: one kernel column and one working set."""
    samples = program.P.gram.size if isinstance(program.P, KernelQuadratic) else 0
    sets = 8 * BOX.matrices * COLUMNS.smallest_set**2
    share = settings.column_memory_share
    return math.ceil(max(8 * samples / share, sets / (1.0 - share)))


def minimise(
    program: QuadraticProgram,
    start: Vector | None,
    eps: float,
    *,
    settings: ActiveSetSettings,
    budget: WorkBudget,
) -> Found:
    """Minimise a box program to a relative duality gap of ``eps``, or until the budget is spent.

    Parameters
    ----------
    program : QuadraticProgram
        That ``Boxed.suits``.
    start : array of shape (n,), optional
        A point near the optimum.
    eps : float
        Relative gap with which it may end; as a rule the last step goes far below.
    settings : ActiveSetSettings
    budget : WorkBudget
    """
    memory_limit = settings.memory_limit or default_memory_limit()
    for_columns = int(settings.column_memory_share * memory_limit)
    largest = largest_within(memory_limit - for_columns, settings)
    if program.n_variables <= settings.whole_size:
        _keep_if_small(program.P, for_columns)
    boxed, like = Boxed.of(program, memory_limit), QPSolution(Status.UNKNOWN)
    search = _KernelSearch.of(boxed.box, program.P, for_columns, largest, eps, budget, settings)
    x = None if start is None else search.start(boxed.start(like.replace(x=start)))

    def found(point: Point, is_optimal: bool) -> Found:
        point = search.to_original_program(point)
        is_optimal = is_optimal and boxed.box.is_optimal(point, eps)
        point = replace(point, y=_with_signs(boxed, point.y))
        return Found(boxed.solution(point, like), boxed.box.relative_gap(point), is_optimal)

    try:
        return found(*search.run(search.descended(x)))
    except KeyboardInterrupt as error:
        keep_best(error, lambda: found(search.interrupted(x), is_optimal=False))
        raise


@dataclass(frozen=True, eq=False)
class _KernelSearch:
    """State of one run of the active-set method.

    Attributes
    ----------
    box : BoxProgram
        What is solved: of distinct samples, and by columns where it is of a kernel.
    distinct : Distinct or None
        The way back from it.
    for_columns, largest : int
        Bytes for the columns, and variables in a working set.
    eps : float
    budget : WorkBudget
    settings : ActiveSetSettings
    """

    box: BoxProgram
    distinct: Distinct | None
    for_columns: int
    largest: int
    eps: float
    budget: WorkBudget
    settings: ActiveSetSettings

    @classmethod
    def of(
        cls,
        given: BoxProgram,
        P: Quadratic,
        for_columns: int,
        largest: int,
        eps: float,
        budget: WorkBudget,
        settings: ActiveSetSettings,
    ) -> _KernelSearch:
        """Set up the search: distinct samples and cached columns for a kernel program."""
        if not isinstance(P, KernelQuadratic):
            return cls(given, None, for_columns, largest, eps, budget, settings)
        distinct = None if _is_small(P, for_columns) else Distinct.of(given, P)
        box, P = (given, P) if distinct is None else (distinct.box, distinct.P)
        columns = KernelColumns(P, box.size - P.size, for_columns)
        box = replace(box, P=columns)
        distinct = None if distinct is None else replace(distinct, box=box)
        return cls(box, distinct, for_columns, largest, eps, budget, settings)

    def start(self, x: Vector) -> Vector:
        """Map a starting point to the program of distinct samples."""
        return x if self.distinct is None else self.distinct.sums(x)

    def descended(self, x: Vector | None) -> Point | Vector:
        """Run the block decomposition; return its point, or the start where it does not apply."""
        box, point = self.box, None
        if isinstance(box.P, KernelColumns):
            point = descended(
                box,
                box.P,
                x,
                largest=self.largest,
                eps=self.settings.tightening * self.eps,
                budget=self.budget,
                settings=self.settings,
            )
        if point is not None:
            return point
        return box.clip(np.zeros(box.size)) if x is None else x

    def run(self, start: Point | Vector) -> tuple[Point, bool]:
        """Minimise by working sets from a start; return a point, and whether it is optimal.

        By a gradient that was evaluated anew for it, unless what was added to the first one is so
        little that it cannot matter. Where rounding may cost more than what was asked for nobody
        knows, whatever the gap is by this gradient.
        """
        box, budget = self.box, self.budget
        enough = self.settings.tightening * self.eps
        x = start.x if isinstance(start, Point) else start
        point = settle(
            box,
            start,
            largest=self.largest,
            budget=budget,
            eps=enough,
            expected_free=int(np.sum(box.is_free(x))) or None,
            settings=self.settings,
        )
        for left in range(self.settings.gradient_checks, -1, -1):
            if budget.is_over:
                break
            if box.is_optimal(point, self.eps) and box.gap_rounding_bound(point) <= self.eps:
                return point, True
            point = self.with_compensated_gradient(point)
            if box.is_optimal(point, self.eps):
                return self.certain(point)
            if left:
                enough *= self.settings.tightening
                point = self.improved(point, enough)
        return point, False

    def certain(self, point: Point) -> tuple[Point, bool]:
        """Make sure that rounding of the gradient cannot undo optimality; return point and verdict.

        Parameters
        ----------
        point : Point
            One that is optimal by the gradient just evaluated.
        """
        box = self.box
        if box.gap_rounding_bound(point) <= self.eps:
            return point, True
        point = self.refined(point)
        moved = self.with_reduced_gap_rounding(point)
        point = moved if box.is_optimal(moved, self.eps) else point
        return point, box.gap_rounding_bound(point) <= self.eps

    def with_compensated_gradient(self, point: Point) -> Point:
        """The point with its gradient recomputed by compensated sums."""
        return replace(point, Px=self.box.P.matvec_compensated(point.x), drift=0.0)

    def with_reduced_gap_rounding(self, point: Point) -> Point:
        """Move a point so that rounding of its gradient enlarges the duality gap least."""
        return reduce_gap_rounding(self.box, point, largest=self.largest, budget=self.budget)

    def refined(self, point: Point) -> Point:
        """Refine the point by Newton steps with compensated gradients, where it is not optimal yet.

        By far, because shares of sums are rounded, and whoever looks next evaluates it another way.
        """
        if self.box.is_optimal(point, self.settings.tightening * self.eps):
            return point
        return refine(self.box, point, largest=self.largest, budget=self.budget)

    def improved(self, point: Point, enough: float) -> Point:
        """Improve a point whose recomputed gradient is too large."""
        box, budget = self.box, self.budget
        if box.is_near(point, self.eps) or box.is_settled(point):
            point = self.refined(point)
            if box.is_optimal(point, self.eps):
                return point
        if box.is_near(point, self.eps):
            return self.with_reduced_gap_rounding(point)
        return settle(
            box,
            point,
            largest=self.largest,
            budget=budget,
            eps=enough,
            into_rounding=True,
            settings=self.settings,
        )

    def interrupted(self, x: Vector | None) -> Point:
        """Return the best point so far after Ctrl-C: the last one, or else the starting point."""
        best = self.budget.best
        if best is not None:
            return best
        x = self.box.clip(np.zeros(self.box.size)) if x is None else x
        self.budget.is_over = True
        return settle(self.box, x, largest=self.largest, budget=self.budget, settings=self.settings)

    def to_original_program(self, point: Point) -> Point:
        """Map a point back to the original program.

        With what is within rounding of its bound there, if that is no worse. A claim is about the
        point that is given. With x of 1e5 and more rounding is so wide that many variables moved
        by it change the gradient.
        """
        box = self.box
        x = box.at_bounds(point)
        if not np.array_equal(x, point.x):
            moved = replace(point, x=x, Px=point.Px + box.P.product(x - point.x))
            point = moved if box.relative_gap(moved) <= box.relative_gap(point) else point
        return point if self.distinct is None else self.distinct.undone(point)


def _is_small(P: KernelQuadratic, for_columns: int) -> bool:
    """Return whether the whole kernel matrix fits into memory and is worth keeping."""
    return P.gram.is_worth_keeping and 8 * P.gram.size**2 <= for_columns


def _keep_if_small(P: Quadratic, for_columns: int) -> None:
    """Evaluate and keep a small kernel matrix, which the verifier needs as well."""
    if isinstance(P, KernelQuadratic) and _is_small(P, for_columns):
        _ = P.gram.dense


def _with_signs(boxed: Boxed, y: Vector) -> Vector:
    """Clip the multipliers of inequalities at zero."""
    n_equalities = boxed.rows.n_equalities
    return np.concatenate([y[:n_equalities], np.maximum(y[n_equalities:], 0.0)])
