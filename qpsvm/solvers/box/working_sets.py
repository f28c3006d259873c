"""Working-set method for box programs, and the refinement of its last digits.

Most variables of a large dual are at a bound and stay there. So a round takes the variables that
are free, those whose gradient says that they should move, and those nearest to that, and solves the
program in these alone (``proximal_newton``), with their part of P as a matrix. What changed enters
the gradient of all through its columns of P: no others are evaluated.

From a good start one round is all. From a bad one the working set is full of the variables that
violate most, and every round lowers the objective.

Where rounding matters, Newton steps on the free variables follow, each from a gradient with
compensated sums; and the gradients of free variables are shifted to where rounding costs least.

Sources: Joachims, "Making large-scale SVM learning practical", in *Advances in Kernel Methods*
(1999), section 11.2 (working sets); Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd
edition, section 12.1 (iterative refinement).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from qpsvm.numerics.arrays import Dense, Index, Vector
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution
from qpsvm.solvers.box import proximal_newton
from qpsvm.solvers.box.program import Boxed, BoxProgram, feasible, row_multipliers
from qpsvm.solvers.box.proximal_newton import Equations
from qpsvm.solvers.budget import Point, WorkBudget

MATRICES = 3
"""Matrices of the size of the working set that exist at a time, by the code."""

SMALLEST_SET = 400
"""Variables of a working set, at least; it is the whole of a program with no more."""


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
    budget.largest = largest_within(memory_limit)
    point = working_set_method(boxed.box, boxed.start(np.asarray(solution.x)), budget)
    return boxed.solution(replace(point, x=boxed.box.at_bounds(point)), solution)


def largest_within(memory_limit: int) -> int:
    """Largest working set whose matrices fit into a number of bytes."""
    return max(1, min(WorkBudget.largest, int(np.sqrt(memory_limit / (8 * MATRICES)))))


def working_set_method(
    box: BoxProgram,
    start: Point | Vector,
    budget: WorkBudget,
    *,
    roughly: float = 0.0,
    eps: float = 0.0,
    expected_free: int | None = None,
    into_rounding: bool = False,
) -> Point:
    """Minimise a box program by the working-set method; return the best point found.

    ``P x`` of a point is not computed again. It may end where no residual is larger than
    that share (``roughly``) of the largest at the start, or both the relative duality gap and the
    largest residual, relative to the entries of q, are at most ``eps``.
    Where one knows how many variables will be free, about, working sets need not hold all that
    violate. It goes ``into_rounding``, where residuals fall by luck, for as long as they do.
    """
    point = feasible(box, start)
    if point is not start:
        point = replace(point, y=row_multipliers(box, point.x, point.Px, point.y))
    takes_all = box.P.factors_all or box.size <= min(SMALLEST_SET, budget.largest)
    residual = box.residual(point)
    at_least = roughly * residual
    for _ in range(100 if takes_all else 2000):
        budget.best = point
        enough = max(at_least, _target_residual(box, point, residual, eps, budget))
        is_done = residual <= enough or (box.is_within_rounding(point) and not into_rounding)
        if is_done or not budget.may_go_on(residual):
            break
        index = np.arange(box.size)
        if not takes_all:
            index = _working_set(box, point, budget.largest, expected_free)
        better = _solve_working_set(
            box, point, index, residual, enough, budget, into_rounding=into_rounding
        )
        if better is None:
            break
        point, before, residual = better, residual, box.residual(better)
        if expected_free is not None and residual > 0.5 * before:
            expected_free *= 2  # the working set was too small
    return point


def _target_residual(
    box: BoxProgram, point: Point, residual: float, eps: float, budget: WorkBudget
) -> float:
    """Target residual at which the gap should reach eps, by extrapolation."""
    if not eps > 0.0:
        return 0.0
    gap = box.relative_gap(point)
    budget.gap = lambda: gap
    by_gap = residual if gap <= eps else residual * eps / gap
    return min(eps * box.scale(point), by_gap)


def _solve_working_set(
    box: BoxProgram,
    point: Point,
    index: Index,
    residual: float,
    enough: float,
    budget: WorkBudget,
    *,
    into_rounding: bool,
) -> Point | None:
    """Solve one working set; None if the point does not improve."""
    part = box if box.P.factors_all else box.restricted(index, point)
    x = point.x[index]
    inner = proximal_newton.solve(
        part,
        Point(x, part.P.product(x), point.y),
        tolerance=0.5 * enough,
        budget=budget,
        into_rounding=into_rounding,
    )
    x = point.x.copy()
    x[index] = inner.x
    moved, d = box.moved(point, x), x - point.x
    if not box.P.factors_all:  # evaluating a kernel value takes as long as 300 of its steps
        budget.work += 300.0 * box.size * int(np.count_nonzero(d))
    change = 0.5 * float(d @ (point.Px + moved.Px + 2.0 * box.q))
    ys = row_multipliers(box, x, moved.Px, inner.y), inner.y
    new = min((replace(moved, y=y) for y in ys), key=box.residual)
    falls = change < -1e-14 * box.objective_terms(point)
    return new if falls or box.residual(new) < 0.5 * residual else None


def _working_set(box: BoxProgram, point: Point, largest: int, expected_free: int | None) -> Index:
    """Choose the next working set: the largest violations, free variables, near violations."""
    r = box.gradient(point.Px, point.y)
    violations = box.natural_residual(point.x, r)
    is_violated = violations > box.tolerances(point)
    is_free = box.is_free(point.x)
    order = np.abs(r) / box.unit  # how far a variable at a bound is from leaving it
    order[is_free] = -1.0
    violated = np.flatnonzero(is_violated)
    turns = _interleaved_order(violations[violated], np.sign(box.A[:, violated] * r[violated]))
    order[violated] = turns - len(violated) - 1.0
    needed = 2 * int(np.count_nonzero(is_free | is_violated))
    if expected_free is not None:  # most of those that violate now will be bounded
        needed = min(needed, max(2 * expected_free, SMALLEST_SET))
    size = min(box.size, largest, max(SMALLEST_SET, needed))
    return np.sort(np.argsort(order, kind="stable")[:size])


def _interleaved_order(sizes: Vector, directions: Dense) -> Vector:
    """Interleave violating variables by the direction in which they move the rows.

    Those that violate most may all push the same way, and then none of them can move.
    """
    _, group = np.unique(directions, axis=1, return_inverse=True)
    by_group = np.lexsort((-sizes, group.ravel()))
    begins = np.searchsorted(group.ravel()[by_group], np.arange(len(sizes)))
    turns = np.empty(len(sizes))
    turns[by_group] = np.arange(len(sizes)) - begins[group.ravel()[by_group]]
    return turns


# --- the last digits ------------------------------------------------------------------------------


def refine(box: BoxProgram, point: Point, budget: WorkBudget) -> Point:
    """Refine a point whose ``P x`` is exact; the point itself if the gap does not fall.

    Newton steps on the variables between their bounds, each from the gradient at the point that the
    last one ended at. The sums ``P x`` are not evaluated again: a step is so short that what it
    adds to them has no digits that matter in its rounding.
    """
    known, solve = b"", None
    for _ in range(5):  # each removes all digits that the factors have
        free = np.flatnonzero(box.is_free(point.x))
        if not 0 < len(free) <= budget.largest or not budget.may_go_on(box.residual(point)):
            break
        if solve is None or free.tobytes() != known:
            known, solve = free.tobytes(), _equations(box, free, point, budget)
        if solve is None:
            break
        r = box.gradient(point.Px, point.y)
        d, dy = solve.solve(-r[free], box.b - box.A @ point.x)
        x = point.x.copy()
        x[free] += d
        moved = box.moved(point, box.clip(x))  # by an exact step: what was added is small
        y = point.y + dy
        ys = y, row_multipliers(box, moved.x, moved.Px, y)
        moved = min((replace(moved, y=y) for y in ys), key=box.relative_gap)
        if not box.relative_gap(moved) < 0.5 * box.relative_gap(point):
            break
        point = moved
    return point


def _equations(box: BoxProgram, free: Index, point: Point, budget: WorkBudget) -> Equations | None:
    """Factor the equations of the free variables, with the least proximal term that allows it."""
    part = box.restricted(free, point)
    for term in (1e-12, 1e-10, 1e-8):
        budget.add_factorisation(part.P.work(len(free)))
        try:
            return Equations(part, np.arange(len(free)), term * part.unit)
        except np.linalg.LinAlgError:
            continue
    return None


def reduce_gap_rounding(box: BoxProgram, point: Point, budget: WorkBudget) -> Point:
    """Move a point whose residuals are rounding so that its duality gap becomes smaller.

    At an optimum the gradient r vanishes between the bounds. In floating point it is some
    rounding, which costs in the duality gap::

        r_i (x_i - lower_i)  where r_i > 0,        -r_i (upper_i - x_i)  where r_i < 0

    With bounds of 10,000 and variables of 0.1 one side costs 100,000 times as much as the other. So
    the free variables are moved until their gradients are not zero but, on the cheap side, a little
    more than rounding: the margins of a machine without errors are not 1, but 1 + 1e-13, and cost
    nothing. Points are compared by the upper bound on the gap, rounding included.
    """
    x, r = point.x, box.gradient(point.Px, point.y)
    below, above = x - box.lower, box.upper - x
    residual, tolerances = box.natural_residual(x, r), box.tolerances(point)
    is_open = ((below > 0.0) & (above > 0.0)) | (residual > 0.0)
    # an evaluation of P in another order rounds as far the other way; twice the bound on rounding
    # makes the sign of a gradient certain
    away = np.maximum(4.0 * float(np.max(residual)), 2.0 * tolerances) * is_open
    shifted = replace(box, q=box.q - np.where(below < above, away, -away))
    moved = working_set_method(shifted, point, budget, roughly=0.2, into_rounding=True)
    return min(point, moved, key=lambda p: box.relative_gap(p) + box.gap_rounding_bound(p))
