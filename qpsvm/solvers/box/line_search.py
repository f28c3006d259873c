"""The exact line search of proximal Newton methods, by the compiled core.

The dual of a proximal program over a box is, along a step of length t, a convex function

    phi(t) = cost t + curvature t^2/2 + sum_i max over the box of -(g_i + t dg_i) x - theta_i x^2/2

whose maximisers are ``x(t) = clip(-(g + t dg) / theta, lower, upper)``, and whose slope is
``cost + curvature t - dg'x(t)``. With ``a = dg_i x`` a term of the sum is the loss at ``p_i - t``
of a condition ``p_i = -g_i / dg_i`` with the curvature ``theta_i / dg_i^2``, and the quadratic is
one more such loss. So phi is minimised like the objective of a machine in its intercept.
"""

from __future__ import annotations

import numpy as np

from qpsvm.native import Losses
from qpsvm.numerics.arrays import Vector


def least_along(
    g: Vector,
    dg: Vector,
    theta: Vector,
    lower: Vector,
    upper: Vector,
    *,
    cost: float,
    curvature: float = 0.0,
) -> float | None:
    """The t that minimises phi; None where it has no minimum.

    Parameters
    ----------
    g, dg : arrays of shape (n,)
        Entries of dg so small that nothing moves count as zero.
    theta : array of shape (n,)
        Above zero.
    lower, upper : arrays of shape (n,)
        They may be infinite.
    cost, curvature : float
        Finite; the curvature is at least 0.

    Examples
    --------
    >>> one = np.ones(1)
    >>> least_along(-one, one, one, 0.0 * one, 4.0 * one, cost=0.25)
    0.75
    """
    with np.errstate(all="ignore"):
        p, d = -g / dg, theta / (dg * dg)
    moves = np.isfinite(p) & np.isfinite(d)
    ends = np.sort([(dg * lower)[moves], (dg * upper)[moves]], axis=0)
    p, d = p[moves], d[moves]
    if curvature > 0.0:
        p, d = np.append(p, 0.0), np.append(d, 1.0 / curvature)
        ends = np.column_stack([ends, [-np.inf, np.inf]])
    low, high = np.ascontiguousarray(ends)
    first, last = Losses(p, low, high, curved=d).optimal_intercepts(np.zeros(len(p)), cost=cost)
    t = 0.5 * (first + last)
    return t if np.isfinite(t) else None
