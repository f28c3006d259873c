"""Reduction of the duality gap that rounding of the gradient leaves at large bounds.

At an optimum the gradient r vanishes between the bounds. In floating point it is some rounding, and
what that costs in the duality gap is ::

    r_i (x_i - lower_i)  where r_i > 0,        -r_i (upper_i - x_i)  where r_i < 0

With bounds of 10,000 and variables of 0.1 one side costs 100,000 times as much as the other. So
the free variables are moved until their gradients are not zero but, on the cheap side, a little
more than rounding: the margins of a machine without errors are not 1, but 1 + 1e-13, and cost
nothing.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from qpsvm.solvers.box.polish import settle
from qpsvm.solvers.box.program import BoxProgram
from qpsvm.solvers.box.settings import BOX
from qpsvm.solvers.point import Point
from qpsvm.solvers.work_budget import WorkBudget


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
