"""Optimal intercepts for given weights, exactly.

For fixed weights the objective is a convex function of the intercept b alone::

    phi(b) = price b + sum_i loss_i(t_i - b),    phi'(b) = price - sum_i a_i(t_i - b)

with the losses of ``losses`` and their slopes ``a_i``, which fall from ``upper_i`` to ``lower_i``
as b grows: at once, at ``b = t_i``, where the loss has a kink (phi is piecewise linear, and its
minimiser a weighted quantile), or along a ramp where it is quadratic. Either way phi' changes form
at a few points only: sort them, find the piece where it passes through zero, and solve there.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from qpsvm.machines.settings import MACHINES
from qpsvm.numerics.arguments import require_choice
from qpsvm.numerics.arrays import Index, Vector
from qpsvm.numerics.precision import EPS, TINY

InterceptKind: TypeAlias = Literal["free", "penalized", "none"]
"""``"free"``: b is not in the objective. ``"penalized"``: 1/2 b^2 is (what LIBLINEAR solves).
``"none"``: b = 0."""


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


def require_intercept_kind(kind: str) -> None:
    """Raise InvalidParameterError unless kind is "free", "penalized" or "none"."""
    require_choice(
        kind, ("free", "penalized", "none"), "intercept", " (penalized: 1/2 b^2 in the objective)"
    )


def best_shifts(
    targets: Vector, lower: Vector, upper: Vector, curvature: Vector, price: float = 0.0
) -> Interval:
    """All minimisers of ``price b + sum_i loss_i(t_i - b)`` over b.

    Parameters
    ----------
    targets : array of shape (n,)
        t.
    lower, upper, curvature : arrays of shape (n,)
        The losses, see ``losses``. All with curvature zero, or all above zero.
    price : float
        Between ``sum lower`` and ``sum upper``, so that there is a minimiser. At ``sum upper`` the
        minimisers are a half-line.

    Returns
    -------
    Interval
        Of NaN where a target is not a number. Where conditions are hard (infinite slopes and no
        curvature) the middle of the b that satisfy them, or the one that misses them by least.

    Notes
    -----
    Slopes are compared to zero with a tolerance of n roundings of their terms: on a flat piece the
    true slope is zero, and only rounding would pick one end of it.
    """
    if not np.isfinite(targets).all():
        return NOT_A_NUMBER
    if (curvature > 0.0).any():
        return _on_ramps(targets, lower, upper, curvature, price)
    from_below, from_above = np.isinf(upper), np.isinf(lower)
    if from_below.any() or from_above.any():
        lowest = float(np.max(targets[from_below], initial=-math.inf))
        highest = float(np.min(targets[from_above], initial=math.inf))
        ends = [end for end in (lowest, highest) if math.isfinite(end)]
        b = ends[0] + 0.5 * (ends[-1] - ends[0])
        return Interval(b, b)
    return _at_steps(targets, lower, upper, price)


def enclosing_shifts(
    targets: Vector,
    radius: Vector,
    lower: Vector,
    upper: Vector,
    curvature: Vector,
    price: float = 0.0,
    error: float = 0.0,
) -> Interval:
    """Enclose all minimisers of ``price b + sum_i loss_i(t_i - b)``, t_i known to a radius.

    phi' falls when a target grows, so the minimisers move the same way as the targets: they are
    between those of ``targets - radius`` and those of ``targets + radius``. The ends are outward: a
    slope counts as being on the far side of zero only if it is there by more than its rounding.

    Parameters
    ----------
    targets, radius : arrays of shape (n,)
        ``|t - targets| <= radius``.
    lower, upper, curvature, price
        As for ``best_shifts``.
    error : float
        How far each of these may be from what is stored, relative to it.

    Returns
    -------
    Interval
        The whole line where nothing is known.
    """
    if len(targets) == 0 or not np.isfinite(targets).all() or not np.isfinite(radius).all():
        return EVERYWHERE
    low, high = np.nextafter(targets - radius, -np.inf), np.nextafter(targets + radius, np.inf)
    if (curvature > 0.0).any():
        return Interval(
            _pushed(low, lower, upper, curvature, price, error, -1.0),
            _pushed(high, lower, upper, curvature, price, error, 1.0),
        )
    if np.isinf(upper).any() or np.isinf(lower).any():
        return Interval(
            float(np.max(low[np.isinf(upper)], initial=-math.inf)),
            float(np.min(high[np.isinf(lower)], initial=math.inf)),
        )
    return Interval(
        _last_step(low, lower, upper, price, error),
        -_last_step(-high, -upper, -lower, -price, error),
    )


def _last_step(targets: Vector, lower: Vector, upper: Vector, price: float, error: float) -> float:
    """Leftmost possible minimiser: left of it, the derivative phi' is certainly negative."""
    order = np.argsort(targets, kind="stable")
    right, rounding = _slopes_right_of_steps(order, lower, upper, price)
    # of the partial sums as well: a bound now, no longer a typical size
    rounding = 4.0 * rounding + 2.0 * error * _size_of_terms(lower, upper, price)
    possible = right >= -rounding
    if price - float(np.sum(upper)) >= -rounding or not possible.any():
        return -math.inf
    return float(targets[order[int(np.argmax(possible))]])


def _pushed(
    targets: Vector,
    lower: Vector,
    upper: Vector,
    d: Vector,
    price: float,
    error: float,
    side: float,
) -> float:
    """A point close to the minimisers and certainly beyond them on a side (-1: left, +1: right)."""
    best = _on_ramps(targets, lower, upper, d, price)
    b = best.lower if side < 0.0 else best.upper
    if not math.isfinite(b):
        return side * math.inf
    step = EPS * (abs(b) + float(np.max(np.abs(targets))))
    for _ in range(60):
        b += side * step
        slopes = np.clip((targets - b) / d, lower, upper)
        terms = float(np.sum(np.abs(slopes))) + abs(price)
        rounding = ((len(targets) + 4) * EPS + 4.0 * error) * terms + TINY
        if side * (price - float(np.sum(slopes))) > rounding:
            return b
        step *= 2.0
    return side * math.inf


def signed(
    targets: Vector, signs: Vector, lower: Vector, upper: Vector
) -> tuple[Vector, Vector, Vector]:
    """Rewrite ``loss(t - s b)`` as a loss of ``s t - b``; return its targets, lower and upper."""
    positive = signs > 0.0
    return (
        signs * targets,
        np.where(positive, lower, -upper),
        np.where(positive, upper, -lower),
    )


def _at_steps(targets: Vector, lower: Vector, upper: Vector, price: float) -> Interval:
    """Minimisers where every slope jumps at its target from the upper to the lower value."""
    left, rounding = price - float(np.sum(upper)), _slope_rounding(lower, upper, price)
    if left >= -rounding:  # phi' is zero left of all targets
        return Interval(-math.inf, float(np.min(targets)))
    widths = upper - lower
    low, high = _bracket(targets, widths, left)
    before, after = targets < low, targets > high
    left += float(np.sum(widths[before]))
    near = np.flatnonzero(~(before | after))
    order = near[np.argsort(targets[near], kind="stable")]
    right = left + np.cumsum(widths[order])
    if left >= -rounding or not (right >= -rounding).any():
        near = order = np.argsort(targets, kind="stable")
        right, after = price - float(np.sum(upper)) + np.cumsum(widths[order]), order < 0
    first = int(np.argmax(right >= -rounding))
    ends = targets[order[first : first + 2]]
    if not right[first] <= rounding:
        ends = ends[:1]
    elif len(ends) == 1 and after.any():
        ends = np.append(ends, np.min(targets[after]))
    return Interval(float(ends[0]), float(ends[-1]))


def _bracket(targets: Vector, widths: Vector, left: float) -> tuple[float, float]:
    """Guess an interval that contains the best shift, from a sample of the targets.

    Sorting all takes most of the time of a verification. The slope at a target of the sample is
    known up to ``sqrt(m) / 2`` of its m jumps, about.
    """
    step = len(targets) // MACHINES.sampled_targets
    if step < MACHINES.worth_sampling:
        return -math.inf, math.inf
    order = np.argsort(targets[::step], kind="stable")
    some, jumps = targets[::step][order], np.cumsum(widths[::step][order])
    middle = int(np.searchsorted(jumps, -left * float(jumps[-1]) / float(np.sum(widths))))
    around = 2 * math.isqrt(len(some))
    low = some[middle - around] if middle >= around else -math.inf
    return float(low), float(some[middle + around]) if middle + around < len(some) else math.inf


def _slopes_right_of_steps(
    order: Index, lower: Vector, upper: Vector, price: float
) -> tuple[Vector, float]:
    """The slope right of every target, in their order, and its rounding error."""
    right = np.cumsum((upper - lower)[order]) + (price - float(np.sum(upper)))
    return right, _slope_rounding(lower, upper, price)


def _slope_rounding(lower: Vector, upper: Vector, price: float) -> float:
    """Bound the rounding error of the slope ``price - sum of bounds`` of the losses."""
    return len(lower) * EPS * _size_of_terms(lower, upper, price)


def _size_of_terms(lower: Vector, upper: Vector, price: float) -> float:
    return float(np.sum(np.maximum(np.abs(lower), np.abs(upper)))) + abs(price)


def _on_ramps(
    targets: Vector, lower: Vector, upper: Vector, curvature: Vector, price: float
) -> Interval:
    """The minimiser where every slope is ``(t - b) / d``, clipped to its bounds."""
    begins, ends = targets - curvature * upper, targets - curvature * lower

    def slope_at(b: float) -> float:
        return price - float(np.sum(np.clip((targets - b) / curvature, lower, upper)))

    corners = np.unique(np.concatenate([begins, ends]))
    corners = corners[np.isfinite(corners)]
    left, right = -1, len(corners)  # phi' < 0 up to corner `left`, >= 0 from corner `right` on
    while right - left > 1:
        middle = (left + right) // 2
        if slope_at(float(corners[middle])) < 0.0:
            left = middle
        else:
            right = middle
    low = float(corners[left]) if left >= 0 else -math.inf
    high = float(corners[right]) if right < len(corners) else math.inf
    # on the piece between the two corners the same losses are quadratic
    active = (begins <= low) & (high <= ends)
    if not active.any():
        return Interval(high, high)
    still = np.where(ends <= low, lower, upper)[~active]
    weights = 1.0 / curvature[active]
    b = float(targets[active] @ weights + np.sum(still) - price) / float(np.sum(weights))
    b = min(max(b, low), high)
    return Interval(b, b)
