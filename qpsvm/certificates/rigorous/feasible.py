"""Balls around dual variables that contain an exactly feasible point.

In float64 a sum can hardly be made exact. But if ``(R 1)'a`` misses its value by rho, and variables
have room for it in their boxes, then *some real point* near a has exactly the right sum: the one
that shares rho out in proportion to that room. It need not be computed; it is in the ball whose
radius is each variable's largest share. That is all a bound needs (lemma 9).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from qpsvm.certificates.rigorous.kernels import smaller, upper_bound_error
from qpsvm.machines.conditions import Conditions
from qpsvm.machines.intercept import Interval
from qpsvm.machines.primal_dual import DualPoint, PrimalDualPair
from qpsvm.numerics.arrays import Mask, Vector
from qpsvm.numerics.balls import Ball, down, outward, product, sum_lower, sum_upper, up


@dataclass(frozen=True, eq=False)
class FeasibleBall:
    """Balls around dual variables and multipliers that contain an exactly feasible point.

    Attributes
    ----------
    alpha : Ball of shape (N,)
    multipliers : Ball of shape (m,)
        Of constraints on (w, b).
    """

    alpha: Ball
    multipliers: Ball


def feasible_ball(
    model: PrimalDualPair, point: DualPoint, settled: Mask | None = None
) -> FeasibleBall | None:
    """Find a ball around dual variables that contains an exactly feasible point.

    Parameters
    ----------
    model : PrimalDualPair
    point : DualPoint
        Multipliers of inequalities are not negative.
    settled : array of bool of shape (N,), optional
        Variables that are at an end of their box, or zero, and stay there: the stored end is
        within ``upper_bound_error`` of the exact one. The others make up for them.

    Returns
    -------
    FeasibleBall, or None where the boxes leave no room.
    """
    c, mu = model.conditions, point.constraint_multipliers
    error = upper_bound_error(model.data.weights, len(c))
    lower, upper = -smaller(c.lower, error), smaller(c.upper, error)
    a = np.clip(point.alpha, lower, upper)
    sums_are_exact = (np.abs(c.rows.data) == 1.0).all() and (np.abs(c.signs) <= 1.0).all()
    if not (sums_are_exact and np.isfinite(a).all() and np.isfinite(mu).all()):
        return None
    rad = np.zeros(len(a))
    if settled is not None:
        a = np.where(settled, point.alpha, a)
        lower, upper = np.where(settled, a, lower), np.where(settled, a, upper)
        rad = np.where(settled & (a != 0.0), outward(error * np.abs(a)), 0.0)
    for members, signs, total in _sums(model, a, mu, error, sum_upper(rad)):
        box = lower[members], upper[members]
        unknown = sum_upper(rad[members])
        interval = between(total.lower - unknown, total.upper + unknown) if unknown else total
        shares = move_bounds(a[members], signs[members], *box, interval)
        if shares is None:
            return _with_other_balance(model, a, mu, error) if settled is None else None
        rad[members] += shares  # one of the two is zero
    return FeasibleBall(Ball(a, rad), Ball.exact(mu))


def _with_other_balance(
    model: PrimalDualPair, a: Vector, mu: Vector, error: float
) -> FeasibleBall | None:
    """Restore a dual equality by a multiplier of a constraint on b where alpha is at its bounds."""
    c, rules = model.conditions, model.constraints
    movable = model.intercept == "free" and model.intercept_is_constrained
    if rules is None or not movable or not _width_holds(c, a, error):
        return None
    balance, column = _balance(model, mu), np.abs(rules.intercept_column)
    off = max(
        up(balance.upper - sum_lower(c.signs * a)), up(sum_upper(c.signs * a) - balance.lower), 0.0
    )
    room = np.where(rules.lower < 0.0, np.inf, mu)
    j = int(np.argmax(np.where(column > 0.0, column * room, 0.0)))
    rad = np.zeros(len(mu))
    rad[j] = outward(off / column[j])
    return FeasibleBall(Ball.exact(a), Ball(mu, rad)) if rad[j] <= room[j] else None


def move_bounds(
    a: Vector, signs: Vector, lower: Vector, upper: Vector, total: Interval
) -> Vector | None:
    """Bound on each variable's move that lets ``signs'a`` reach any value of an interval.

    Parameters
    ----------
    a, lower, upper : arrays of shape (n,)
        A point of the box.
    signs : array of shape (n,)
        -1, 0 or +1.
    total : Interval

    Returns
    -------
    array of shape (n,), or None where the box does not allow it.
    """
    terms = signs * a
    missing = math.nextafter(total.upper - sum_lower(terms), math.inf)
    excess = math.nextafter(sum_upper(terms) - total.lower, math.inf)
    if not (math.isfinite(missing) and math.isfinite(excess)):
        return None
    above, below = np.maximum(down(upper - a), 0.0), np.maximum(down(a - lower), 0.0)
    shares = np.zeros(len(a))
    for need, raising in ((missing, signs > 0.0), (excess, signs < 0.0)):
        if need <= 0.0:
            continue
        room = np.where(signs == 0.0, 0.0, np.where(raising, above, below))
        room = np.minimum(room, 2.0 * need)  # no more than it takes, also where there is no bound
        available = sum_lower(room)
        if not available >= need:
            return None
        shares = np.maximum(shares, outward(room * (need / available)))
    return shares


def _sums(
    model: PrimalDualPair, a: Vector, multipliers: Vector, error: float, unknown: float
) -> Iterator[tuple[Mask, Vector, Interval]]:
    """Yield (members, signs, value) of the sums ``(R 1)'a = balance`` and ``e 1'a <= price_t``.

    With a width the two rows become one sum for the conditions of either sign, A and B with
    ``A - B = balance`` and ``e (A + B) <= price_t``. ``unknown`` is how far 1'a may be from exact.
    """
    c = model.conditions
    balance = _balance(model, multipliers)
    everyone, ones = np.full(len(a), True), np.ones(len(a))
    if not c.width_sign:
        if model.intercept == "free":
            yield everyone, c.signs, balance
        return
    safe = _width_limit(c, error)
    if model.intercept != "free":
        if not _width_holds(c, a, error, unknown):
            yield everyone, ones, Interval(safe, safe)
        return
    groups = c.signs > 0.0, c.signs < 0.0
    half = Interval(0.5 * balance.lower, 0.5 * balance.upper)
    # the lower of the two: there is always room to take something away
    target = float(
        down(min(sum_lower(a[groups[0]]) - half.upper, sum_lower(a[groups[1]]) + half.lower))
    )
    target = max(target, 0.5 * safe) if c.width_sign < 0.0 else min(target, 0.5 * safe)
    yield groups[0], ones, between(target + half.lower, target + half.upper)
    yield groups[1], ones, between(target - half.upper, target - half.lower)


def _width_limit(c: Conditions, error: float) -> float:
    """Limit of 1'a (lower for e = -1, upper for e = +1) that ensures its exact constraint."""
    limit = c.width_sign * c.width_price
    inwards = up(limit * (1.0 + 2.0 * error)), down(limit * (1.0 - 2.0 * error))
    return float(inwards[0] if c.width_sign < 0.0 else inwards[1])


def _width_holds(c: Conditions, a: Vector, error: float, unknown: float = 0.0) -> bool:
    limit = _width_limit(c, error)
    if not c.width_sign:
        return True
    if c.width_sign < 0.0:
        return bool(down(sum_lower(a) - unknown) >= limit)
    return bool(up(sum_upper(a) + unknown) <= limit)


def _balance(model: PrimalDualPair, multipliers: Vector) -> Interval:
    """The interval of the value that ``(R 1)'a`` must have."""
    balance = Ball.exact(np.full(1, model.conditions.intercept_price))
    if model.constraints is not None:
        balance += product(model.constraints.intercept_column[None], Ball.exact(multipliers))
    return Interval(float(balance.lower[0]), float(balance.upper[0]))


def between(lower: float, upper: float) -> Interval:
    """The interval between two sums, each moved outward by one float64."""
    return Interval(math.nextafter(lower, -math.inf), math.nextafter(upper, math.inf))
