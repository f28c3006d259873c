"""Points of the central path of a box, variable by variable.

``x_i`` minimises ``1/2 d_i x^2 + g_i x`` with barriers of weight mu on its bounds: with distances
``s`` from the lower bound and ``t`` from the upper one,

    d x + g = mu / s - mu / t

Without curvature and with both bounds, ``u = s + t``, that is a quadratic equation for s, and so it
is with curvature and one bound::

    s = 2 mu u / (g u + 2 mu + sqrt((g u)^2 + 4 mu^2))            for g >= 0; for g < 0 that is t
    s = 2 mu / (G + sqrt(G^2 + 4 d mu)),  G = g + d lower
"""

from __future__ import annotations

import numpy as np

from qpsvm.numerics.arrays import Vector


def between(g: Vector, u: Vector, mu: float) -> tuple[Vector, Vector]:
    """Distances s and t to both bounds, u apart, for variables without curvature."""
    gu = np.abs(g) * u
    near = 2.0 * mu * u / (gu + 2.0 * mu + np.hypot(gu, 2.0 * mu))
    return np.where(g >= 0.0, near, u - near), np.where(g >= 0.0, u - near, near)


def above(G: Vector, d: Vector, mu: float) -> Vector:
    """Distance s to the lower bound for variables with curvature and no upper bound."""
    sum_ = np.abs(G) + np.hypot(G, 2.0 * np.sqrt(d * mu))
    return np.where(G >= 0.0, 2.0 * mu / sum_, sum_ / (2.0 * d))
