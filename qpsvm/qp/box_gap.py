"""The duality gap of a separable program over a box, term by term.

The minimum of ``sum_i d_i/2 x_i^2 + g_i x_i`` over ``lower <= x <= upper`` is a sum of minima, and
how far a point is above it is a sum of terms that are not negative and do not cancel. Every gap of
the package that is not the difference of two objectives is such a sum:

- of a box program at x, with the gradient g of its objective and multipliers;
- of a training problem with dual variables a and violations v: ``x = a``, ``g = -v``, d the
  curvature of the losses. ``loss(v) = max over lower <= a <= upper of a v - d/2 a^2``, so that a
  term is ``loss(v) + d/2 a^2 - a v`` (Fenchel and Young).

Source: Boyd and Vandenberghe, *Convex Optimization*, sections 3.3.2 and 5.5.3.
"""

from __future__ import annotations

import math

import numpy as np

from qpsvm.native import Losses
from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.balls import UNDERFLOW
from qpsvm.numerics.precision import EPS


def box_gap_terms(
    x: Vector,
    g: Vector,
    lower: Vector,
    upper: Vector,
    d: Vector | None = None,
    *,
    is_measure: bool = False,
) -> Vector:
    """Excess of ``d_i/2 x_i^2 + g_i x_i`` over its minimum in the box, shape (n,).

    Parameters
    ----------
    x, g : arrays of shape (n,)
        x is in the box. NaN is passed on.
    lower, upper : arrays of shape (n,)
        They may be infinite.
    d : array of shape (n,), optional
        At least 0; zero without it.
    is_measure : bool
        Where the term falls without end, so that it would be infinite, follow it for as far again
        as x is from zero: ``1 + |x_i|``. The sum is then no bound, but tells how far the gradient
        is from where it has to be.

    Examples
    --------
    >>> box_gap_terms(np.array([0.0, 0.5]), np.array([1.0, -2.0]), np.zeros(2), np.ones(2))
    array([0., 1.])
    """
    curved = d if d is not None and d.any() else None
    with np.errstate(all="ignore"):
        h = g if curved is None else g + curved * x
        step = np.where(h > 0.0, lower - x, upper - x)
        if curved is not None:
            newton = np.clip(-h / np.where(curved > 0.0, curved, 1.0), lower - x, upper - x)
            step = np.where(curved > 0.0, newton, step)
        if is_measure:
            step = np.where(np.isfinite(step), step, -np.sign(h) * (1.0 + np.abs(x)))
        slope = h if curved is None else h + 0.5 * curved * step
        is_least = (h == 0.0) | ((step == 0.0) & ~np.isnan(h))  # of an infinite g, too
        return np.where(is_least, 0.0, -step * slope)


def best_multiplier(a: Vector, b: float, g: Vector, lower: Vector, upper: Vector) -> float:
    """The multiplier y of a single row ``a'x = b`` with the smallest gap: a machine's intercept.

    But for terms without y the gap is ``b y + sum_i max over the box of -(g_i + a_i y) x_i``, a sum
    of losses of y whose kinks the compiled core sorts, as it does for the objective of a machine in
    its intercept.

    Parameters
    ----------
    a, g, lower, upper : arrays of shape (n,)
        The row, and the gradient without it. Bounds are finite; where ``g_i / a_i`` is not, the
        entry does not count.
    b : float
        Finite.

    Returns
    -------
    float
        Zero where every multiplier is as good, or none is best.

    Examples
    --------
    >>> box = np.zeros(2), np.ones(2)
    >>> best_multiplier(np.array([1.0, -1.0]), 0.0, np.array([-1.0, 3.0]), *box)
    2.0
    """
    with np.errstate(all="ignore"):
        kinks = -g / a
    moves = np.isfinite(kinks)
    one, other = (a * lower)[moves], (a * upper)[moves]
    losses = Losses(kinks[moves], np.minimum(one, other), np.maximum(one, other))
    rounding = len(one) * EPS * (float(np.sum(np.abs(one) + np.abs(other))) + abs(b))
    found = losses.optimal_intercepts(np.zeros(len(one)), cost=b, flat=rounding)
    finite = [y for y in found if math.isfinite(y)]
    return sum(finite) / len(finite) if finite else 0.0


ROUNDED_AWAY = 1e-12
"""Share of ``x'diag(P)x`` up to which an objective is what rounding left of larger numbers."""


def negligible_objective(q: Vector, unit: float, x: Vector) -> float:
    """Objective below which values count as zero when a gap is divided by them.

    Weights that are this much smaller than the terms they are the sum of; or, with costs q, that
    change no gradient by so small a share of the largest cost.

    Parameters
    ----------
    q, x : arrays of shape (n,)
    unit : float
        The mean of the diagonal of P.
    """
    if q.any():
        share = 1e-8 * float(np.max(np.abs(q)))  # of a gradient: no prediction shows it
        rounding = ROUNDED_AWAY * unit * float(x @ x)
        return max(rounding, 0.5 * share * share / unit, UNDERFLOW)
    # optimal weights may vanish: they are as small as the root of this share of their terms
    total = float(np.sum(np.abs(x)))
    return max(1e-9 * unit * total * total, UNDERFLOW)
