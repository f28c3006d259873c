"""Lower bounds on the optimum of samples in chunks, from sums over dual variables.

The bound of a dual point a is::

    sum (p a - d/2 a^2) - 1/(2 kappa) |X'R'a|^2  [- 1/2 (1'R'a - price_b)^2]

for every a within its bounds with ``1'R'a = price_b`` (free intercept) and ``e 1'a <= price_t``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from qpsvm.chunked.sums import Decided
from qpsvm.chunked.template import Template
from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.precision import EPS, TINY


@dataclass(frozen=True)
class DualBound:
    """A lower bound on the optimum of a problem on samples in chunks.

    Attributes
    ----------
    objective : float
        The dual objective of a feasible point; minus infinity if there is none.
    rounding : float
        Bound on its rounding, absolute.
    """

    objective: float
    rounding: float


def dual_bound(form: Template, sums: Decided) -> DualBound:
    """Bound the optimum from below by a feasible dual point close to the one summed up.

    The dual variables of one group, or of both, are multiplied by numbers from 0 to 1: within their
    bounds they remain whatever these are. What rounding hides of feasibility could be taken off in
    the same way, and its cost is part of ``rounding``. Where nothing can be taken off, because more
    is required, the missing part is charged at the largest price that an optimal intercept or width
    can have (``_largest_prices``).

    Parameters
    ----------
    form : Template
    sums : Decided
        Over all conditions.
    """
    signed, missing = sums.signed.value, float(sums.rounding.value[0])
    sizes = float(np.sum(np.abs(signed))) + abs(form.intercept_price) + abs(form.width_price)
    missing += 8.0 * EPS * sizes  # of the sums of both groups, here
    if not math.isfinite(missing):
        return NO_BOUND
    factors, price = np.ones(2), form.intercept_price
    if form.intercept == "free":
        factors = _balanced(signed, price, missing)
    factors, short = _within_width(form, factors, sums.total.value, missing)
    value, rounding, cost_of_shrinking = _objective(form, factors, sums)
    cost = 0.0
    own = factors * signed
    if form.intercept == "free" and (price or own.any()):
        rest = float(np.sum(own)) - price
        for side, part in ((1, rest + missing), (0, missing - rest)):
            amount = max(0.0, part)
            if abs(own[side]) >= 2.0 * amount:
                cost += cost_of_shrinking(side, amount / max(abs(own[side]), TINY))
                short += amount
            else:
                cost += amount * _largest_prices(form)[0]
    if form.width_sign < 0.0 and short > 0.0:
        cost += short * _largest_prices(form)[1]
    rounding = float(rounding + cost)
    if not (math.isfinite(value) and math.isfinite(rounding)):
        return NO_BOUND
    return DualBound(value, rounding)


NO_BOUND = DualBound(-math.inf, math.inf)
"""For sums that prove nothing."""


def _balanced(signed: Vector, price: float, missing: float) -> Vector:
    """Factors that shrink dual variables until those of both classes add up to the same.

    More, because what is too much can be taken off the positive group exactly.
    """
    factors = np.ones(2)
    wanted = price + 2.0 * missing if price > 0.0 else price
    excess = float(np.sum(signed)) - wanted
    if excess > 0.0:
        factors[1] = max(0.0, 1.0 - excess / signed[1])
    elif excess < 0.0 and signed[0] < 0.0:
        factors[0] = max(0.0, 1.0 - excess / signed[0])
    if not price and float(np.min(np.abs(factors * signed))) <= 4.0 * missing:
        return np.zeros(2)  # nothing but rounding; all dual variables may be zero
    return factors


def _within_width(
    form: Template, factors: Vector, total: Vector, missing: float
) -> tuple[Vector, float]:
    """Factors with which ``1'a <= price_t``, and what a sum that has to be large may lack."""
    amount = float(factors @ total)
    if form.width_sign > 0.0:
        excess = amount + missing - form.width_price
        if excess > 0.0 and not form.intercept_price:
            return factors * max(0.0, 1.0 - excess / max(amount, TINY)), 0.0
        return (factors, 0.0) if excess <= 0.0 else (np.full(2, np.nan), 0.0)
    if form.width_sign < 0.0:
        return factors, -form.width_price - amount + missing
    return factors, 0.0


def _largest_prices(form: Template) -> tuple[float, float]:
    """Bounds on ``|b|`` and t of some optimal machine, infinite where none is known.

    For unlabelled samples ``1'a = price_b``, so that ``|kappa w| = |X'a| <= radius price_b``; and
    some optimal b is at a kink, ``b = p - w'x``. For a margin of variable width ``1'a = |price_t|``
    unless t = 0, and some optimal t is at kinks, ``t <= |w| radius + |b|`` where b is not free.
    """
    largest_p = float(np.max(np.abs(form.offsets))) + (form.radius**2 if form.ball else 0.0)
    intercept = width = math.inf
    if form.task == "unlabelled":
        intercept = form.radius**2 * abs(form.intercept_price) / form.norm_weight + largest_p
    if form.width_sign < 0.0 and form.task == "binary":
        sum_a = abs(form.width_price)
        own = sum_a if form.intercept == "penalized" else 0.0
        width = form.radius**2 * sum_a / form.norm_weight + largest_p + own
    return 1.0625 * intercept, 1.0625 * width


def _objective(
    form: Template, factors: Vector, sums: Decided
) -> tuple[float, float, Callable[[int, float], float]]:
    """The dual objective at a point whose groups are multiplied by factors, and its rounding.

    With a function that bounds the loss where a group is multiplied by ``1 - share`` once more, by
    the first and second derivatives in the factors.
    """
    weights = factors[:, None] * sums.weights.value
    linear, quadratic = factors * sums.linear.value, factors * factors * sums.quadratic.value
    signed_error, weight_error, linear_error = sums.rounding.value.tolist()
    u, kappa = weights.sum(axis=0), form.norm_weight
    square = float(u @ u) / kappa
    products, squares = weights @ u / kappa, np.sum(weights * weights, axis=1) / kappa
    error = linear_error + (math.sqrt(square / kappa) + weight_error / kappa) * weight_error
    if form.intercept == "penalized":
        own = factors * sums.signed.value
        b = float(np.sum(own)) - form.intercept_price
        square += b * b
        products, squares = products + b * own, squares + own * own
        error += (abs(b) + signed_error) * signed_error
        error += 8.0 * EPS * abs(b) * float(np.sum(np.abs(own)) + abs(form.intercept_price))
    size = float(np.sum(np.abs(linear)) + np.sum(quadratic)) + square
    # of each part of w: it is a sum of two numbers that may cancel
    parts = float(np.linalg.norm(np.abs(weights).sum(axis=0))) * math.sqrt(square / kappa)
    error += (len(u) + 16) * EPS * (size + parts)
    slopes, curvatures = linear - quadratic - products, quadratic + squares
    slope_error = 2.0 * error + (len(u) + 16) * EPS * float(np.sum(squares))
    slope_error += 2.0 * weight_error * math.sqrt(float(np.max(squares)) / kappa)

    def cost_of_shrinking(side: int, share: float) -> float:
        slope = abs(float(slopes[side])) + slope_error
        return float(share * slope + 0.5 * share * share * curvatures[side])

    value = float(np.sum(linear) - 0.5 * np.sum(quadratic)) - 0.5 * square
    return value, error, cost_of_shrinking
