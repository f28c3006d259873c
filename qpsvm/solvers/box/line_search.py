"""Exact maximisation along a line, for the dual of a proximal program over a box."""

from __future__ import annotations

import numpy as np

from qpsvm.numerics.arrays import Vector
from qpsvm.solvers.box.program import BoxProgram
from qpsvm.solvers.box.settings import BOX


def step_length(
    program: BoxProgram,
    centre: Vector,
    sigma: float,
    r: Vector,
    dr: Vector,
    *,
    fixed: float,
    falling: float = 0.0,
) -> float | None:
    """The maximiser ``t >= 0`` of D along a direction; 1 if that is nearly optimal.

    The slope ``D'(t) = dr'x(t) - fixed - falling t`` with ``x(t) = clip(c - (r + t dr) / sigma)``
    never rises, and is linear between the t at which some ``x_i(t)`` reaches or leaves a bound.

    Returns
    -------
    float or None
        None where D does not rise at all, or without end.
    """

    def slope(t: float) -> float:
        x = program.clip(centre - (r + t * dr) / sigma)
        return float(dr @ x) - fixed - falling * t

    at_start = slope(0.0)
    if abs(slope(1.0)) <= BOX.accepted_slope * abs(at_start):
        return 1.0
    if not at_start > 0.0:
        return None
    with np.errstate(all="ignore"):  # a variable that does not move has no kink
        kinks = [(sigma * (centre - end) - r) / dr for end in (program.lower, program.upper)]
    t = np.concatenate(kinks)
    t = np.unique(t[np.isfinite(t) & (t > 0.0)])
    low, high = -1, len(t)  # D' > 0 up to t[low], and not from t[high] on
    while high - low > 1:
        middle = (low + high) // 2
        if slope(float(t[middle])) > 0.0:
            low = middle
        else:
            high = middle
    left = float(t[low]) if low >= 0 else 0.0
    right = float(t[high]) if high < len(t) else 2.0 * left + 1.0
    at_left, at_right = slope(left), slope(right)
    if not at_left > max(at_right, 0.0):
        return None
    return left + (right - left) * at_left / (at_left - at_right)
