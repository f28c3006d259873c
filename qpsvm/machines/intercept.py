"""Optimal intercepts for given weights, exactly.

For fixed weights the objective is a convex function of the intercept b alone::

    phi(b) = c b + sum_i loss_i(t_i - b),    phi'(b) = c - sum_i a_i(t_i - b)

with a linear cost c, the losses of ``conditions.losses`` and their slopes ``a_i``, which fall from
``upper_i`` to ``lower_i`` as b grows: at once, at ``b = t_i``, where the loss has a kink (phi is
piecewise linear, and its minimiser a weighted quantile), or along a ramp where it is quadratic.
Either way phi' changes form at a few points only: the compiled core finds the piece where it passes
through zero, and solves there.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from qpsvm.machines.conditions import Conditions
from qpsvm.native import Losses
from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.precision import EPS, TINY


class Interval(NamedTuple):
    """A closed interval of equally good intercepts; one end may be infinite.

    Parameters
    ----------
    lower, upper : float
        Its ends, which belong to it.

    Examples
    --------
    >>> Interval(-1.0, 2.0).midpoint
    0.5
    """

    lower: float
    upper: float

    @property
    def midpoint(self) -> float:
        """The middle of the interval, or its only finite end."""
        if math.isinf(self.lower) or math.isinf(self.upper):
            return self.upper if math.isinf(self.lower) else self.lower
        return self.lower + 0.5 * (self.upper - self.lower)


NOT_A_NUMBER = Interval(math.nan, math.nan)
EVERYWHERE = Interval(-math.inf, math.inf)


def optimal_intercepts(
    targets: Vector, lower: Vector, upper: Vector, curvature: Vector, cost: float = 0.0
) -> Interval:
    """All minimisers of ``c b + sum_i loss_i(t_i - b)`` over b.

    Parameters
    ----------
    targets : array of shape (n,)
        t.
    lower, upper, curvature : arrays of shape (n,)
        The losses, see ``conditions.losses``. All with curvature zero, or all above zero.
    cost : float
        c, between ``sum lower`` and ``sum upper``, so that there is a minimiser. At either end the
        minimisers are a half-line.

    Returns
    -------
    Interval
        Of NaN where a target is not a number. Where all conditions are hard (infinite slopes and no
        curvature) the middle of the b that satisfy them, or the one that misses them by least.

    Notes
    -----
    Slopes are compared to zero with a tolerance of n roundings of their terms: on a flat piece the
    true slope is zero, and only rounding would pick one end of it.
    """
    if not _are_finite(targets, curvature, cost):
        return NOT_A_NUMBER
    rounding = len(lower) * EPS * _size_of_terms(lower, upper, cost)
    found = _minimisers(targets, lower, upper, curvature, cost, rounding)
    if not curvature.any() and (np.isinf(lower) | np.isinf(upper)).all():
        return Interval(found.midpoint, found.midpoint)
    return found


def _minimisers(
    targets: Vector, lower: Vector, upper: Vector, curvature: Vector, cost: float, flat: float
) -> Interval:
    """The b whose slopes phi' are within ``flat`` of zero, by the compiled core."""
    d = np.ascontiguousarray(curvature) if curvature.any() else None
    required, low, high = map(np.ascontiguousarray, (targets, lower, upper))
    losses = Losses(required, low, high, curved=d)
    return Interval(*losses.optimal_intercepts(np.zeros(len(targets)), cost=cost, flat=flat))


def enclosing_intercepts(
    targets: Vector,
    radius: Vector,
    lower: Vector,
    upper: Vector,
    curvature: Vector,
    cost: float = 0.0,
    error: float = 0.0,
) -> Interval:
    """Enclose all minimisers of ``c b + sum_i loss_i(t_i - b)``, t_i known to a radius.

    phi' falls when a target grows, so the minimisers move the same way as the targets: they are
    between those of ``targets - radius`` and those of ``targets + radius``. The ends are outward: a
    slope counts as being on the far side of zero only if it is there by more than its rounding.

    Parameters
    ----------
    targets, radius : arrays of shape (n,)
        ``|t - targets| <= radius``.
    lower, upper, curvature, cost
        As for ``optimal_intercepts``.
    error : float
        How far each of these may be from what is stored, relative to it.

    Returns
    -------
    Interval
        The whole line where nothing is known.
    """
    low, high = np.nextafter(targets - radius, -np.inf), np.nextafter(targets + radius, np.inf)
    if len(targets) == 0 or not _are_finite(low, high, curvature, cost):
        return EVERYWHERE
    if (curvature > 0.0).any():
        return Interval(
            _bracket_end(low, lower, upper, curvature, cost, error, -1.0),
            _bracket_end(high, lower, upper, curvature, cost, error, 1.0),
        )
    if np.isinf(upper).any() or np.isinf(lower).any():
        return Interval(
            float(np.max(low[np.isinf(upper)], initial=-math.inf)),
            float(np.min(high[np.isinf(lower)], initial=math.inf)),
        )
    flat = (4.0 * len(lower) * EPS + 2.0 * error) * _size_of_terms(lower, upper, cost)
    first = _minimisers(low, lower, upper, curvature, cost, flat).lower
    last = _minimisers(high, lower, upper, curvature, cost, flat).upper
    if first == math.inf or last == -math.inf:  # the linear cost leaves no minimiser
        return EVERYWHERE
    return Interval(first, last)


def _bracket_end(
    targets: Vector,
    lower: Vector,
    upper: Vector,
    d: Vector,
    cost: float,
    error: float,
    side: float,
) -> float:
    """A point close to the minimisers and certainly beyond them on a side (-1: left, +1: right)."""
    best = _minimisers(targets, lower, upper, d, cost, 0.0)
    b = best.lower if side < 0.0 else best.upper
    if not math.isfinite(b):
        return side * math.inf
    step = EPS * (abs(b) + float(np.max(np.abs(targets))))
    for _ in range(60):
        b += side * step
        slopes = np.clip((targets - b) / d, lower, upper)
        terms = float(np.sum(np.abs(slopes))) + abs(cost)
        rounding = ((len(targets) + 4) * EPS + 4.0 * error) * terms + TINY
        if side * (cost - float(np.sum(slopes))) > rounding:
            return b
        step *= 2.0
    return side * math.inf


def _are_finite(*arrays: Vector | float) -> bool:
    return all(np.isfinite(array).all() for array in arrays)


def _size_of_terms(lower: Vector, upper: Vector, cost: float) -> float:
    """Sum of the sizes of all slopes; 0 where one is infinite, and none is compared to zero."""
    size = float(np.sum(np.maximum(np.abs(lower), np.abs(upper)))) + abs(cost)
    return size if math.isfinite(size) else 0.0


def signed(
    targets: Vector, signs: Vector, lower: Vector, upper: Vector
) -> tuple[Vector, Vector, Vector]:
    """Rewrite ``loss(t - s b)`` as a loss of ``s t - b``; return its targets, lower and upper."""
    positive = signs > 0.0
    return (signs * targets, np.where(positive, lower, -upper), np.where(positive, upper, -lower))


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
        return (_optimal_intercepts_of(c, targets) if is_free else Interval(b, b)), 0.0
    if not is_free:
        shift = optimal_intercepts(
            targets, c.lower, c.upper, c.curvature, c.width_sign * c.width_price
        ).midpoint
        return Interval(b, b), max(0.0, c.width_sign * shift)
    # rows of either sign see one unknown each, b + e t and -b + e t
    sides = []
    for group in (c.signs > 0.0, c.signs < 0.0):
        rows = (targets[group], c.lower[group], c.upper[group], c.curvature[group])
        sides.append(optimal_intercepts(*rows, 0.5 * c.width_sign * c.width_price))
    above, below = sides
    t = 0.5 * c.width_sign * (above.midpoint + below.midpoint)
    if t <= 0.0:
        return _optimal_intercepts_of(c, targets), 0.0
    ends = (0.5 * (above.lower - below.upper), 0.5 * (above.upper - below.lower))
    if not all(map(math.isfinite, ends)):  # along a half-line b and t grow together
        b = 0.5 * (above.midpoint - below.midpoint)
        return Interval(b, b), t
    return Interval(*ends), t


def _optimal_intercepts_of(c: Conditions, targets: Vector) -> Interval:
    rows = signed(targets, c.signs, c.lower, c.upper)
    return optimal_intercepts(*rows, c.curvature, c.intercept_price)
