"""Iterative refinement by Newton steps from a gradient with compensated sums.

Newton steps on the variables between their bounds, each from the gradient at the point that the
last one ended at. The sums ``P x`` are not evaluated again: a step is so short that what it adds
to them has no digits that matter in its rounding.

Source: Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd edition, section 12.1.

Rounding of the gradient leaves a duality gap at large bounds. At an optimum the gradient r vanishes
between the bounds. In floating point it is some rounding, which costs in the duality gap::

    r_i (x_i - lower_i)  where r_i > 0,        -r_i (upper_i - x_i)  where r_i < 0

With bounds of 10,000 and variables of 0.1 one side costs 100,000 times as much as the other. So
the free variables are moved until their gradients are not zero but, on the cheap side, a little
more than rounding: the margins of a machine without errors are not 1, but 1 + 1e-13, and cost
nothing.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from qpsvm.numerics.arrays import Index
from qpsvm.solvers.box.polish import settle
from qpsvm.solvers.box.program import BoxProgram
from qpsvm.solvers.box.proximal_newton import Equations
from qpsvm.solvers.box.row_multipliers import row_multipliers
from qpsvm.solvers.box.settings import BOX
from qpsvm.solvers.work_budget import Point, WorkBudget


def refine(box: BoxProgram, point: Point, *, largest: int, budget: WorkBudget) -> Point:
    """Refine a point whose ``P x`` is exact; the point itself if the gap does not fall.

    Parameters
    ----------
    box : BoxProgram
    point : Point
    largest : int
        Free variables for which there is memory.
    budget : WorkBudget
    """
    known, solve = b"", None
    for _ in range(BOX.refinement_steps):
        free = np.flatnonzero(box.is_free(point.x))
        if not 0 < len(free) <= largest or not budget.may_go_on(box.residual(point)):
            break
        if solve is None or free.tobytes() != known:
            known, solve = free.tobytes(), _equations(box, free, point, budget)
        if solve is None:
            break
        r = box.gradient(point.Px, point.y)
        d, dy = solve.solve(-r[free], box.b - box.A @ point.x)
        x = point.x.copy()
        x[free] += d
        x = box.clip(x)
        step = x - point.x  # exact: what was added is small
        Px = point.Px + box.P.product(step)
        drift = point.drift + float(np.max(box.rounding(step)))
        ys = point.y + dy, row_multipliers(box, x, Px, point.y + dy)
        moved = min((Point(x, Px, y, drift) for y in ys), key=box.relative_gap)
        if not box.relative_gap(moved) < 0.5 * box.relative_gap(point):
            break
        point = moved
    return point


def _equations(box: BoxProgram, free: Index, point: Point, budget: WorkBudget) -> Equations | None:
    part = box.restricted(free, point)
    for term in BOX.refined_terms:
        budget.add_factorisation(len(free), part.P.work(len(free)))
        try:
            return Equations(part, np.arange(len(free)), term * part.unit)
        except np.linalg.LinAlgError:
            continue
    return None


def reduce_gap_rounding(
    box: BoxProgram, point: Point, *, largest: int, budget: WorkBudget
) -> Point:
    """Move a point whose residuals are rounding so that its duality gap becomes smaller.

    With the gap counts what rounding may add to it, so that it may be larger and certain.
    """
    x, r = point.x, box.gradient(point.Px, point.y)
    below, above = x - box.lower, box.upper - x
    residual, tolerances = box.natural_residual(x, r), box.tolerances(point)
    is_open = ((below > 0.0) & (above > 0.0)) | (residual > 0.0)
    away = (
        np.maximum(
            BOX.offset_per_residual * float(np.max(residual)), BOX.offset_per_rounding * tolerances
        )
        * is_open
    )
    moved = settle(
        replace(box, q=box.q - np.where(below < above, away, -away)),
        point,
        largest=largest,
        budget=budget,
        roughly=1.0 / (BOX.offset_per_residual + 1.0),
        into_rounding=True,
    )
    return min(point, moved, key=lambda p: box.relative_gap(p) + box.gap_rounding_bound(p))
