"""The optimal intercept and width for given weights."""

from __future__ import annotations

import math

from qpsvm.machines.conditions import Conditions
from qpsvm.machines.intercept import Interval, best_shifts, signed
from qpsvm.machines.setup import TrainingSetup
from qpsvm.numerics.arrays import Vector


def best_offsets(
    model: TrainingSetup, scores: Vector, b: float, t: float
) -> tuple[Interval, float]:
    """Find the interval of intercepts that are optimal for given weights, and the best width t.

    ``b`` and ``t`` are the program's own, used where it is not a matter of the losses alone:
    for a penalised intercept, and where a constraint involves b.
    """
    c = model.conditions
    free = c.intercept == "free" and not model.intercept_is_constrained
    fixed = 0.0 if free or c.intercept == "none" else b
    if not free and not c.width_sign:
        return Interval(fixed, fixed), 0.0
    targets = model.violations(scores, fixed, 0.0)
    interval, t = offsets_of_conditions(c, targets, fixed, is_free=free)
    return interval, t


def offsets_of_conditions(
    c: Conditions, targets: Vector, b: float, *, is_free: bool
) -> tuple[Interval, float]:
    """Find the interval of intercepts that are optimal for given weights, and the best width t.

    Parameters
    ----------
    c : Conditions
    targets : array of shape (N,)
        Violations with the intercept b and without t.
    b : float
        The intercept if it is fixed; otherwise 0.
    is_free : bool
        The intercept is a matter of the losses alone.
    """
    if not c.width_sign:
        return (_minimisers(c, targets) if is_free else Interval(b, b)), 0.0
    if not is_free:
        shift = best_shifts(
            targets, c.lower, c.upper, c.curvature, c.width_sign * c.width_price
        ).midpoint
        return Interval(b, b), max(0.0, c.width_sign * shift)
    # rows of either sign see one unknown each, b + e t and -b + e t
    sides = []
    for group in (c.signs > 0.0, c.signs < 0.0):
        rows = (targets[group], c.lower[group], c.upper[group], c.curvature[group])
        sides.append(best_shifts(*rows, 0.5 * c.width_sign * c.width_price))
    above, below = sides
    t = 0.5 * c.width_sign * (above.midpoint + below.midpoint)
    if t <= 0.0:
        return _minimisers(c, targets), 0.0
    ends = (0.5 * (above.lower - below.upper), 0.5 * (above.upper - below.lower))
    if not all(map(math.isfinite, ends)):  # along a half-line b and t grow together
        b = 0.5 * (above.midpoint - below.midpoint)
        return Interval(b, b), t
    return Interval(*ends), t


def _minimisers(c: Conditions, targets: Vector) -> Interval:
    rows = signed(targets, c.signs, c.lower, c.upper)
    return best_shifts(*rows, c.curvature, c.intercept_price)
