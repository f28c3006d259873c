"""Rounding on the side where it costs least.

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

from qpsvm.qp.box_polish import settle
from qpsvm.qp.box_program import BoxProgram, Point
from qpsvm.qp.effort import Effort

AWAY = 4.0
"""From zero, in the largest residual there is: whoever evaluates P in another order rounds as
far the other way."""


def on_the_cheap_side(box: BoxProgram, point: Point, *, largest: int, effort: Effort) -> Point:
    """A point with a smaller duality gap near one whose residuals are rounding; else that one."""
    x, r = point.x, box.gradient(point.Px, point.y)
    below, above = x - box.lower, box.upper - x
    residual = box.natural_residual(x, r)
    is_free = (below > 0.0) & (above > 0.0)
    away = AWAY * float(np.max(residual))
    wanted = np.where(below < above, away, -away) * (is_free | (residual > 0.0))
    moved = settle(
        replace(box, q=box.q - wanted),
        x,
        Px=point.Px,
        largest=largest,
        effort=effort,
        roughly=1.0 / (AWAY + 1.0),
        into_rounding=True,
    )
    moved = replace(moved, drift=moved.drift + point.drift)
    return moved if box.relative_gap(moved) < box.relative_gap(point) else point
