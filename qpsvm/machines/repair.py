"""Moving a point of a box so that given sums hold: dual variables that are feasible."""

from __future__ import annotations

import numpy as np

from qpsvm.machines.conditions import Conditions
from qpsvm.numerics.arrays import Dense, Vector
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


def with_width(a: Vector, c: Conditions, balance: float) -> Vector:
    """Make dual variables feasible: ``(R 1)'a = balance``, ``1'a >= price_t`` or ``<= price_t``.

    The sums over rows of either sign follow from both.
    """
    everyone = np.full(len(c), True)
    groups = [c.signs > 0.0, c.signs < 0.0] if c.intercept == "free" else [everyone]
    # both groups add up to the same, apart from the balance, which they share
    shares = [0.5 * balance, -0.5 * balance] if len(groups) > 1 else [0.0]
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


def sums_hold(a: Vector, c: Conditions, balance: float) -> bool:
    """Return whether ``(R 1)'a = balance`` and ``e 1'a <= price_t`` hold up to rounding."""
    total, unit = float(np.sum(np.abs(a))), 64.0 * EPS
    balanced = within = True
    if c.intercept == "free":
        balanced = abs(float(c.signs @ a) - balance) <= unit * (total + abs(balance))
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


# --- one decision function per class -------------------------------------------------------------


def nearest_rows(V: Dense, upper: Dense) -> Dense:
    """Project V onto ``sum_m T_im = 0`` and ``T_im <= upper_im``, row by row.

    It is ``T = min(V - theta, upper)`` with one theta per row: ``upper - T`` is the projection of
    ``upper - V`` on a simplex of size ``sum_m upper_im``. Entries leave their bound in the order of
    ``V - upper``; with the first r of them free, theta is the sum of their V and of the bounds of
    the others, over r; the right r is the largest whose last entry is indeed free.

    Parameters
    ----------
    V : array of shape (n, k)
    upper : array of shape (n, k)
        Not negative, with a positive sum in every row.

    Returns
    -------
    array of shape (n, k)
        Rows that satisfy both conditions up to rounding stay as they are. Rows with NaN or
        infinite entries have NaN.

    Notes
    -----
    Source: Crammer and Singer, *JMLR* 2 (2001), section 5; Duchi et al., "Efficient projections
    onto the l1-ball for learning in high dimensions", ICML 2008, section 2.

    Examples
    --------
    >>> nearest_rows(np.array([[3.0, -1.0, 0.5]]), np.array([[2.0, 0.0, 0.0]]))
    array([[ 2.  , -1.75, -0.25]])
    """
    with np.errstate(over="ignore", invalid="ignore"):
        # the first projection rounds in units of V, which may be far larger than a feasible row
        return _projected(_projected(V, upper), upper)


def _projected(V: Dense, upper: Dense) -> Dense:
    """Project every row of V onto ``{v: sum v = 0, v <= upper}``, up to rounding in units of V."""
    sums, sizes = np.sum(V, axis=1), np.sum(np.abs(V), axis=1)
    holds = np.isfinite(sizes) & (np.abs(sums) <= V.shape[1] * EPS * sizes)
    holds &= np.all(upper >= V, axis=1)
    order = np.argsort(V - upper, axis=1)
    values, bounds = np.take_along_axis(V, order, 1), np.take_along_axis(upper, order, 1)
    held = np.sum(bounds, axis=1, keepdims=True) - np.cumsum(bounds, axis=1)
    theta = (np.cumsum(values, axis=1) + held) / np.arange(1, V.shape[1] + 1)
    free = np.count_nonzero(values - bounds < theta, axis=1)
    chosen = np.take_along_axis(theta, np.maximum(free - 1, 0)[:, None], 1)
    return np.where(holds[:, None], V, np.minimum(V - chosen, upper))
