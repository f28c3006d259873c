"""The active-set method for kernel duals: distinct samples, blocks, Newton steps at the end.

A program of k equal samples has k equal columns of K, and whatever the optimum says about their
variables, only the sum of these matters. With one variable for all of them there are fewer columns
to evaluate, the matrices of free variables are smaller and less singular, and a point is unique
where it was not. It is the same program: bounds are added up, multipliers are the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from qpsvm.numerics.arrays import Vector, default_memory_limit
from qpsvm.numerics.duplicates import Merged, clip_scaled
from qpsvm.numerics.interrupts import keep_best
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution, Status
from qpsvm.solvers.box.blocks import block_decomposition
from qpsvm.solvers.box.curvature import HessianCurvature, KernelColumns
from qpsvm.solvers.box.program import Boxed, BoxProgram
from qpsvm.solvers.box.settings import DEFAULTS, ActiveSetSettings
from qpsvm.solvers.box.working_sets import (
    MATRICES,
    largest_within,
    reduce_gap_rounding,
    refine,
    working_set_method,
)
from qpsvm.solvers.budget import Point, WorkBudget


@dataclass(frozen=True, eq=False)
class Distinct:
    """A program of distinct samples, with the maps to it and back.

    Attributes
    ----------
    box : BoxProgram
    P : KernelQuadratic
        Of the samples that are left.
    merged : Merged
        The variables of the given P.
    """

    box: BoxProgram
    P: KernelQuadratic
    merged: Merged

    @classmethod
    def of(cls, box: BoxProgram, P: KernelQuadratic) -> Distinct | None:
        """Merge repeated samples; None if samples cannot be compared or hardly any repeat."""
        n, R, X = P.size, P.selection, P.gram.X
        if np.ndim(X) != 2 or X.dtype.kind != "f":
            return None
        others = [R.signs, box.q[:n], *box.A[:, :n]]
        merged = Merged.of(X, R.index, others, (box.lower[:n], box.upper[:n]), P.diag)
        if merged is None:
            return None
        of_sums = P.restricted(merged.kept, merged.diag)
        kept = np.concatenate([merged.kept, np.arange(n, box.size)])
        diagonal = box.diagonal[kept]
        diagonal[: of_sums.size] += merged.diag - P.diag[merged.kept]
        smaller = BoxProgram(
            HessianCurvature(of_sums, box.size - n),
            box.q[kept],
            box.A[:, kept],
            box.b,
            np.append(merged.lower, box.lower[n:]),
            np.append(merged.upper, box.upper[n:]),
            diagonal,
            float(np.max(diagonal)) or 1.0,
        )
        return cls(smaller, of_sums, merged)

    def sums(self, x: Vector) -> Vector:
        """Map a point of the original program to the reduced one."""
        n, box = len(self.merged.group), self.box
        sums = np.concatenate([self.merged.sums(x[:n]), x[n:]])
        return clip_scaled(sums, box.lower, box.upper)

    def undone(self, point: Point) -> Point:
        """Map a point back to the original program and correct its gradient."""
        m, group = len(self.merged.kept), self.merged.group
        x = np.concatenate([self.merged.undone(point.x[:m]), point.x[m:]])
        Px = point.Px + self.box.P.product(self.sums(x) - point.x)
        return Point(x, np.concatenate([Px[:m][group], Px[m:]]), point.y, point.drift)


@dataclass(frozen=True, eq=False)
class ActiveSetResult:
    """Result of the active-set method: a solution with its relative duality gap.

    Optimal when the gradient test holds by more than its rounding bound.
    """

    solution: QPSolution
    gap: float
    is_optimal: bool

    @classmethod
    def at(cls, boxed: Boxed, point: Point, eps: float, *, is_optimal: bool) -> ActiveSetResult:
        """Measure a point of the whole program; withdraw a claim that it does not bear out."""
        is_optimal = is_optimal and boxed.box.is_optimal(point, eps)
        point = boxed.signed(point)
        solution = boxed.solution(point, QPSolution(Status.UNKNOWN))
        return cls(solution, boxed.box.relative_gap(point), is_optimal)


def least_memory(program: QuadraticProgram, settings: ActiveSetSettings = DEFAULTS) -> int:
    """The smallest memory limit in bytes: one kernel column, and a working set of 256 variables."""
    samples = program.P.gram.size if isinstance(program.P, KernelQuadratic) else 0
    share = settings.column_memory_share
    return math.ceil(max(8 * samples / share, 8 * MATRICES * 256**2 / (1.0 - share)))


def minimise(
    program: QuadraticProgram,
    start: Vector | None,
    eps: float,
    *,
    settings: ActiveSetSettings,
    budget: WorkBudget,
) -> ActiveSetResult:
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
    P, budget.largest = program.P, largest_within(memory_limit - for_columns)
    is_small = False
    if isinstance(P, KernelQuadratic):
        is_small = P.gram.is_worth_keeping and 8 * P.gram.size**2 <= for_columns
        if is_small and program.n_variables <= settings.whole_size:
            _ = P.gram.dense  # evaluated once: the verifier needs it as well
    boxed = Boxed.of(program, memory_limit)
    box, distinct = boxed.box, None
    if isinstance(P, KernelQuadratic):
        distinct = None if is_small else Distinct.of(box, P)
        if distinct is not None:
            box, P = distinct.box, distinct.P
        box = replace(box, P=KernelColumns(P, box.size - P.size, for_columns))
        distinct = None if distinct is None else replace(distinct, box=box)
    search = _Search(box, eps, budget, settings)
    x = None if start is None else boxed.start(start)
    if x is not None and distinct is not None:
        x = distinct.sums(x)

    def found(point: Point, is_optimal: bool) -> ActiveSetResult:
        point = _with_exact_bounds(box, point)
        point = point if distinct is None else distinct.undone(point)
        return ActiveSetResult.at(boxed, point, eps, is_optimal=is_optimal)

    try:
        return found(*search.run(search.block_decomposition(x)))
    except KeyboardInterrupt as error:
        keep_best(error, lambda: found(search.interrupted(x), is_optimal=False))
        raise


def _with_exact_bounds(box: BoxProgram, point: Point) -> Point:
    """Move what is within rounding of its bound there, if that is no worse.

    A claim is about the point that is given. With x of 1e5 and more rounding is so wide that many
    variables moved by it change the gradient.
    """
    x = box.at_bounds(point)
    if np.array_equal(x, point.x):
        return point
    moved = replace(point, x=x, Px=point.Px + box.P.product(x - point.x))
    return moved if box.relative_gap(moved) <= box.relative_gap(point) else point


@dataclass(frozen=True, eq=False)
class _Search:
    """One run of the active-set method on a program of distinct samples.

    Attributes
    ----------
    box : BoxProgram
        By columns where it is of a kernel.
    eps : float
    budget : WorkBudget
    settings : ActiveSetSettings
    """

    box: BoxProgram
    eps: float
    budget: WorkBudget
    settings: ActiveSetSettings

    def block_decomposition(self, x: Vector | None) -> Point | Vector:
        """Run the block decomposition; return its point, or the start where it does not apply."""
        own = self.settings
        eps = own.tightening * self.eps
        point = block_decomposition(self.box, x, self.budget, eps=eps, settings=own)
        return self._start(x) if point is None else point

    def _start(self, x: Vector | None) -> Vector:
        return self.box.clip(np.zeros(self.box.size)) if x is None else x

    def run(self, start: Point | Vector) -> tuple[Point, bool]:
        """Minimise by working sets from a start; return a point, and whether it is optimal.

        By a gradient that was evaluated anew for it, unless what was added to the first one is so
        little that it cannot matter. Where the rounding bound of the gap exceeds ``eps`` the point
        is not known to be optimal, whatever the gap is by this gradient.
        """
        box, budget = self.box, self.budget
        enough = self.settings.tightening * self.eps
        x = start.x if isinstance(start, Point) else start
        n_free = int(np.sum(box.is_free(x))) or None
        point = working_set_method(box, start, budget, eps=enough, expected_free=n_free)
        for left in range(self.settings.gradient_checks, -1, -1):
            if budget.is_over:
                break
            if box.is_optimal(point, self.eps) and box.gap_rounding_bound(point) <= self.eps:
                return point, True
            point = replace(point, Px=box.P.matvec_compensated(point.x), drift=0.0)
            if box.is_optimal(point, self.eps):
                return self.confirm_optimality(point)
            if left:
                enough *= self.settings.tightening
                point = self.improved(point, enough)
        return point, False

    def confirm_optimality(self, point: Point) -> tuple[Point, bool]:
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
        moved = reduce_gap_rounding(box, point, self.budget)
        point = moved if box.is_optimal(moved, self.eps) else point
        return point, box.gap_rounding_bound(point) <= self.eps

    def improved(self, point: Point, enough: float) -> Point:
        """Improve a point whose recomputed gradient is too large."""
        box = self.box
        if box.is_near(point, self.eps) or box.is_within_rounding(point):
            point = self.refined(point)
            if box.is_optimal(point, self.eps):
                return point
        if box.is_near(point, self.eps):
            return reduce_gap_rounding(box, point, self.budget)
        return working_set_method(box, point, self.budget, eps=enough, into_rounding=True)

    def refined(self, point: Point) -> Point:
        """Refine the point by Newton steps with compensated gradients, where it is not optimal yet.

        By far, because sums are rounded, and a verifier evaluates them in another order.
        """
        if self.box.is_optimal(point, self.settings.tightening * self.eps):
            return point
        return refine(self.box, point, self.budget)

    def interrupted(self, x: Vector | None) -> Point:
        """Return the best point so far after Ctrl-C: the last one, or else the starting point."""
        self.budget.is_over = True
        return self.budget.best or working_set_method(self.box, self._start(x), self.budget)
