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

from dataclasses import dataclass

import numpy as np

from qpsvm.numerics.arrays import Vector
from qpsvm.solvers.interior_point.program import FactorProgram
from qpsvm.solvers.interior_point.settings import InteriorPointSettings
from qpsvm.solvers.interior_point.variables import Variables


def between(g: Vector, u: Vector, mu: float) -> tuple[Vector, Vector]:
    """Distances s and t to both bounds, u apart, for variables without curvature."""
    gu = np.abs(g) * u
    near = 2.0 * mu * u / (gu + 2.0 * mu + np.hypot(gu, 2.0 * mu))
    return np.where(g >= 0.0, near, u - near), np.where(g >= 0.0, u - near, near)


def point_at(program: FactorProgram, w: Vector, y: Vector, mu: float) -> Variables:
    """Compute the interior point with ``s z = t v = mu`` for given weights and row multipliers.

    It satisfies all equations of the central path but two: ``F'x + offset = w`` and ``A x = b``.

    Parameters
    ----------
    program : FactorProgram
        Without curvature, and with two finite bounds for each variable.
    w, y : arrays of shape (r,) and (p,)
    mu : float
        Above zero.
    """
    g = program.gradient(w, y, np.empty(program.size))
    s, t = between(g, program.upper - program.lower, mu)
    return Variables(x=program.lower + s, s=s, t=t, z=mu / s, v=mu / t, y=y, w=w, g=g)


def above(G: Vector, d: Vector, mu: float) -> Vector:
    """Distance s to the lower bound for variables with curvature and no upper bound."""
    sum_ = np.abs(G) + np.hypot(G, 2.0 * np.sqrt(d * mu))
    return np.where(G >= 0.0, 2.0 * mu / sum_, sum_ / (2.0 * d))


@dataclass(frozen=True, eq=False)
class Known:
    """Known weights and row multipliers of a similar program, and their cost.

    Attributes
    ----------
    w, y : arrays of shape (r,) and (p,)
    cost : float
        Minus the dual objective of the whole program.
    """

    w: Vector
    y: Vector
    cost: float

    def start(self, part: FactorProgram, settings: InteriorPointSettings) -> Variables | None:
        """Compute a starting point for some variables from known weights; None if the cost is 0."""
        mu = settings.known_smoothing * self.cost / (2.0 * part.size)
        return point_at(part, self.w, self.y, mu) if mu > 0.0 else None
