"""Moving a point of a box so that given sums hold."""

from __future__ import annotations

import numpy as np

from qpsvm.machines.conditions import Conditions
from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.precision import EPS


def with_sum(a: Vector, lower: Vector, upper: Vector, signs: Vector, total: float) -> Vector:
    """Move a point of the box so that ``signs'a = total``, free variables first.

    What is missing is taken from the variables strictly inside the box, in proportion to their
    distance from it, where it costs the least (their reduced cost is zero at the optimum). Only if
    that does not suffice, all the room there is is used.

    Parameters
    ----------
    a, lower, upper : arrays of shape (n,)
        A point of the box; bounds may be infinite.
    signs : array of shape (n,)
        -1, 0 or +1.
    total : float

    Returns
    -------
    array of shape (n,)
        In the box; its sum differs from total by rounding, or by what the box does not allow.
    """
    for _ in range(5):  # each pass removes the rounding of the one before
        excess = float(signs @ a) - total
        terms = float(np.sum(np.abs(a[signs != 0.0])))
        if not abs(excess) > EPS * max(terms, abs(total)):
            break
        a = _moved(a, lower, upper, signs, excess)
    return a


def with_width(a: Vector, c: Conditions, price: float) -> Vector:
    """Move a so that ``(R 1)'a = price``, and ``1'a >= price_t`` (margin) or ``<=`` (tube).

    The sums over rows of either sign follow from both.
    """
    everyone = np.full(len(c), True)
    groups = [c.signs > 0.0, c.signs < 0.0] if c.intercept == "free" else [everyone]
    # both groups add up to the same, apart from the price they share
    shares = [0.5 * price, -0.5 * price] if len(groups) > 1 else [0.0]
    target = float(np.mean([np.sum(a[group]) for group in groups]))
    limit = c.width_sign * c.width_price / len(groups)
    target = max(target, limit) if c.width_sign < 0.0 else min(target, limit)
    capacities = [float(np.sum(c.upper[group])) for group in groups]
    target = min(target, *(room - own for room, own in zip(capacities, shares, strict=True)))
    result = a.copy()
    for group, own in zip(groups, shares, strict=True):
        ones = np.ones(int(np.count_nonzero(group)))
        result[group] = with_sum(a[group], c.lower[group], c.upper[group], ones, target + own)
    return result


def sums_hold(a: Vector, c: Conditions, price: float) -> bool:
    """Return whether ``(R 1)'a = price`` and ``e 1'a <= price_t`` hold up to rounding."""
    total, unit = float(np.sum(np.abs(a))), 64.0 * EPS
    balanced = within = True
    if c.intercept == "free":
        balanced = abs(float(c.signs @ a) - price) <= unit * (total + abs(price))
    if c.width_sign:
        excess = c.width_sign * float(np.sum(a)) - c.width_price
        within = excess <= unit * (total + abs(c.width_price))
    return balanced and within


def _moved(a: Vector, lower: Vector, upper: Vector, signs: Vector, excess: float) -> Vector:
    shrinks = signs * excess > 0.0
    reach = np.where(signs == 0.0, 0.0, abs(excess))
    down, up = np.minimum(a - lower, reach), np.minimum(upper - a, reach)
    nearest = np.minimum(a - lower, upper - a)
    inside = np.where(signs == 0.0, 0.0, np.where(np.isinf(nearest), reach, nearest))
    weights = inside if float(np.sum(inside)) >= abs(excess) else np.where(shrinks, down, up)
    available = float(np.sum(weights))
    if not available > 0.0:
        return a
    step = min(1.0, abs(excess) / available) * weights
    moved: Vector = np.where(shrinks, a - step, a + step)
    return np.minimum(np.maximum(moved, lower), upper)
