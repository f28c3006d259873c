"""The optimal intercept and width for given weights."""

from __future__ import annotations

import math

from qpsvm.machines.intercept import Interval, best_shifts, signed
from qpsvm.machines.setup import TrainingSetup
from qpsvm.numerics.arrays import Vector


def best_offsets(
    model: TrainingSetup, scores: Vector, b: float, t: float
) -> tuple[Interval, float]:
    """The interval of optimal intercepts for given weights, and the best t at its midpoint.

    ``b`` and ``t`` are the program's own, used where it is not a matter of the losses alone:
    for a penalised intercept, and where a constraint involves b.
    """
    c = model.conditions
    free = c.intercept == "free" and not model.intercept_is_constrained
    if not c.width_sign:
        if not free:
            fixed = 0.0 if c.intercept == "none" else b
            return Interval(fixed, fixed), 0.0
        return _minimisers(model, scores, 0.0), 0.0
    if not free:
        fixed = 0.0 if c.intercept == "none" else b
        targets = model.violations(scores, fixed, 0.0)
        shift = best_shifts(
            targets, c.lower, c.upper, c.curvature, c.width_sign * c.width_price
        ).midpoint
        return Interval(fixed, fixed), max(0.0, c.width_sign * shift)
    # rows of either sign see one unknown each, b + e t and -b + e t
    targets = model.violations(scores, 0.0, 0.0)
    sides = []
    for group in (c.signs > 0.0, c.signs < 0.0):
        rows = (targets[group], c.lower[group], c.upper[group], c.curvature[group])
        sides.append(best_shifts(*rows, 0.5 * c.width_sign * c.width_price))
    above, below = sides
    t = 0.5 * c.width_sign * (above.midpoint + below.midpoint)
    if t <= 0.0:
        return _minimisers(model, scores, 0.0), 0.0
    ends = (0.5 * (above.lower - below.upper), 0.5 * (above.upper - below.lower))
    if not all(map(math.isfinite, ends)):  # along a half-line b and t grow together
        b = 0.5 * (above.midpoint - below.midpoint)
        return Interval(b, b), t
    return Interval(*ends), t


def _minimisers(model: TrainingSetup, scores: Vector, t: float) -> Interval:
    c = model.conditions
    targets = model.violations(scores, 0.0, t)
    rows = signed(targets, c.signs, c.lower, c.upper)
    return best_shifts(*rows, c.curvature, c.intercept_price)
