"""Working-set method for box programs: each working set is solved exactly.

Most variables of a large dual are at a bound and stay there. So a round takes the variables that
are free, those whose gradient says that they should move, and those nearest to that, and solves the
program in these alone (``proximal_newton``), with their part of P as a matrix. What changed enters
the gradient of all through its columns of P: no others are evaluated.

From a good start one round is all. From a bad one the working set is full of the variables that
violate most, and every round lowers the objective.

Source: Joachims, "Making large-scale SVM learning practical", in *Advances in Kernel Methods*
(1999), section 11.2 (working sets).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from qpsvm.numerics.arrays import Dense, Index, Vector
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution
from qpsvm.solvers.box import proximal_newton
from qpsvm.solvers.box.boxed import Boxed
from qpsvm.solvers.box.curvature import FactorCurvature
from qpsvm.solvers.box.program import BoxProgram
from qpsvm.solvers.box.row_multipliers import feasible, row_multipliers
from qpsvm.solvers.box.settings import BOX, DEFAULTS, WorkingSetSettings
from qpsvm.solvers.work_budget import Point, WorkBudget


def polish_box(
    program: QuadraticProgram, solution: QPSolution, *, memory_limit: int, budget: WorkBudget
) -> QPSolution:
    """Improve a solution of a box program; return the best point with all multipliers.

    Parameters
    ----------
    program : QuadraticProgram
        That ``Boxed.suits``.
    solution : QPSolution
        Only x is looked at, which need not be feasible.
    memory_limit : int
        Bytes for matrices; the working sets are as large as it allows.
    budget : WorkBudget
    """
    boxed = Boxed.of(program, memory_limit)
    point = settle(
        boxed.box, boxed.start(solution), largest=largest_within(memory_limit), budget=budget
    )
    return boxed.solution(replace(point, x=boxed.box.at_bounds(point)), solution)


def largest_within(memory_limit: int, settings: WorkingSetSettings = DEFAULTS) -> int:
    """Largest working set whose matrices fit into a number of bytes."""
    return max(1, min(settings.largest_set, int(np.sqrt(memory_limit / (8 * BOX.matrices)))))


def settle(
    box: BoxProgram,
    start: Point | Vector,
    *,
    largest: int,
    budget: WorkBudget,
    roughly: float = 0.0,
    eps: float = 0.0,
    expected_free: int | None = None,
    into_rounding: bool = False,
    settings: WorkingSetSettings = DEFAULTS,
) -> Point:
    """Minimise a box program by the working-set method; return the best point found.

    ``P x`` of a point is not computed again. It may end where no residual is larger than
    that share (``roughly``) of the largest at the start, or both the relative duality gap and the
    largest residual, relative to the entries of q, are at most ``eps``.
    Where one knows how many variables will be free, about, working sets need not hold all that
    violate. It goes ``into_rounding``, where residuals fall by luck, for as long as they do.
    """
    search = _WorkingSetSearch(
        box, largest, budget, roughly, eps, expected_free, into_rounding, settings
    )
    return search.run(start)


@dataclass(frozen=True, eq=False)
class _WorkingSetSearch:
    """State of the working-set method on one program."""

    box: BoxProgram
    largest: int
    budget: WorkBudget
    roughly: float
    eps: float
    expected_free: int | None
    into_rounding: bool
    settings: WorkingSetSettings

    @property
    def takes_all(self) -> bool:
        """Return whether every working set is the whole program."""
        is_small = self.box.size <= min(self.settings.smallest_working_set, self.largest)
        return is_small or isinstance(self.box.P, FactorCurvature)

    def run(self, start: Point | Vector) -> Point:
        """Solve working sets until no variable violates its condition or progress ends."""
        box = self.box
        point = feasible(box, start)
        if point is not start:
            point = replace(point, y=row_multipliers(box, point.x, point.Px, point.y))
        residual, expected_free, own = box.residual(point), self.expected_free, self.settings
        at_least = self.roughly * residual
        for _ in range(own.max_whole_sets if self.takes_all else own.max_sets):
            self.budget.best = point
            enough = max(at_least, self.enough(point, residual))
            is_done = residual <= enough or (box.is_settled(point) and not self.into_rounding)
            if is_done or not self.budget.may_go_on(residual):
                break
            better = self.round(point, residual, enough, expected_free)
            if better is None:
                break
            point, before, residual = better, residual, box.residual(better)
            if expected_free is not None and residual > 0.5 * before:
                expected_free *= 2  # the working set was too small
        return point

    def enough(self, point: Point, residual: float) -> float:
        """Target residual at which the gap should reach eps, by extrapolation."""
        if not self.eps > 0.0:
            return 0.0
        box = self.box
        gap = box.relative_gap(point)
        self.budget.gap = lambda: gap
        by_gap = residual if gap <= self.eps else residual * self.eps / gap
        return min(self.eps * box.scale(point), by_gap)

    def round(
        self, point: Point, residual: float, enough: float, expected_free: int | None
    ) -> Point | None:
        """Solve one working set; None if the point does not improve."""
        box, x = self.box, point.x
        index = self.working_set(point, expected_free)
        low_rank = isinstance(box.P, FactorCurvature)
        part = box if low_rank else box.restricted(index, point)
        inner = proximal_newton.solve(
            part,
            Point(x[index], part.P.product(x[index]), point.y),
            tolerance=0.5 * enough,
            budget=self.budget,
            into_rounding=self.into_rounding,
            settings=self.settings,
        )
        moved = x.copy()
        moved[index] = inner.x
        d = moved - x
        Pd = box.P.product(d)
        if not low_rank:
            self.budget.work += BOX.work_of_an_entry * box.size * int(np.count_nonzero(d))
        change = float(d @ (point.Px + box.q + 0.5 * Pd))
        Px, drift = point.Px + Pd, point.drift + float(np.max(box.rounding(d)))
        ys = row_multipliers(box, moved, Px, inner.y), inner.y
        new = min((Point(moved, Px, y, drift) for y in ys), key=box.residual)
        falls = change < -BOX.least_progress * box.objective_terms(point)
        return new if falls or box.residual(new) < 0.5 * residual else None

    def working_set(self, point: Point, expected_free: int | None) -> Index:
        """Choose the next working set: the largest violations, free variables, near violations."""
        box, own = self.box, self.settings
        if self.takes_all:
            return np.arange(box.size)
        r = box.gradient(point.Px, point.y)
        violations = box.natural_residual(point.x, r)
        is_violated = violations > box.tolerances(point)
        is_free = box.is_free(point.x)
        order = np.abs(r) / box.unit  # how far a variable at a bound is from leaving it
        order[is_free] = -1.0
        violated = np.flatnonzero(is_violated)
        turns = _turns(violations[violated], np.sign(box.A[:, violated] * r[violated]))
        order[violated] = turns - len(violated) - 1.0
        needed = int(own.set_size * np.count_nonzero(is_free | is_violated))
        if expected_free is not None:  # most of those that violate now will be bounded
            needed = min(needed, max(2 * expected_free, own.smallest_working_set))
        size = min(box.size, self.largest, max(own.smallest_working_set, needed))
        return np.sort(np.argsort(order, kind="stable")[:size])


def _turns(sizes: Vector, directions: Dense) -> Vector:
    """Interleave violating variables by the direction in which they move the rows.

    Those that violate most may all push the same way, and then none of them can move.
    """
    _, group = np.unique(directions, axis=1, return_inverse=True)
    by_group = np.lexsort((-sizes, group.ravel()))
    begins = np.searchsorted(group.ravel()[by_group], np.arange(len(sizes)))
    turns = np.empty(len(sizes))
    turns[by_group] = np.arange(len(sizes)) - begins[group.ravel()[by_group]]
    return turns
