"""Primal-dual points of the interior-point method, and its starting point.

    minimise 1/2 |w|^2 + 1/2 x'diag(d)x + q'x   over   w = F'x + offset,  A x = b,  s, t >= 0
    with     s = x - lower,   t = upper - x

The Lagrangian is stationary where ``F w + q + A'y + d x = z - v``: y are the multipliers of the
rows, z and v those of the lower and of the upper bounds.

Their residuals say how far a point is from all of this.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.numerics.arrays import Vector
from qpsvm.solvers.interior_point.program import FactorProgram

NO_BOUND_DISTANCE = float(np.sqrt(np.finfo(np.float64).max))
"""Distance of a bound that does not exist. Finite, so that its product with 0 is 0; the root,
since sums and products of it with other numbers must not overflow."""


@dataclass(frozen=True, eq=False)
class Variables:
    """A primal-dual point ``(x, s, t, z, v, y, w)`` and the gradient g at its weights.

    The point satisfies ``s = x - lower``, ``t = upper - x`` and all signs; what it misses of the
    other equations are its ``Residuals``.

    Attributes
    ----------
    x, s, t : arrays of shape (n,)
        The variables and their distances from both bounds, ``NO_BOUND_DISTANCE`` where there
        is none.
    z, v : arrays of shape (n,)
        Multipliers of the lower and of the upper bounds, 0 where there is no bound.
    y : array of shape (p,)
        Multipliers of the rows.
    w : array of shape (r,)
        Weights. They are unknowns of their own: ``w = F'x + offset`` holds in the end.
    g : array of shape (n,)
        ``F w + q + A'y``, updated by each step, since a step does not form ``F dw``.
    """

    x: Vector
    s: Vector
    t: Vector
    z: Vector
    v: Vector
    y: Vector
    w: Vector
    g: Vector

    @property
    def complementarity(self) -> float:
        """``s'z + t'v``, which is the duality gap of a point without residuals."""
        return float(self.s @ self.z + self.t @ self.v)


def starting_point(program: FactorProgram) -> Variables:
    """Starting point: the middle of the box, with multipliers as large as the gradients.

    ``s z`` and ``t v`` are then about equal in all variables, which no value of C makes untrue. A
    variable with one bound starts at distance 1 from the bound, a free one at 0.
    """
    p, n = program, program.size
    has_lower, has_upper = np.isfinite(p.lower), np.isfinite(p.upper)
    with np.errstate(invalid="ignore"):
        x = np.where(has_upper, 0.5 * (p.lower + p.upper), p.lower + 1.0)
        x = np.where(has_lower, x, np.where(has_upper, p.upper - 1.0, 0.0))
    gradient, scale = p.q + p.d * x, _gradient_scale(p, x)
    y, w = np.zeros(len(p.b)), p.offset.copy()
    return Variables(
        x=x,
        s=np.where(has_lower, x - p.lower, NO_BOUND_DISTANCE),
        t=np.where(has_upper, p.upper - x, NO_BOUND_DISTANCE),
        z=np.where(has_lower, np.maximum(gradient, 0.0) + scale, 0.0),
        v=np.where(has_upper, np.maximum(-gradient, 0.0) + scale, 0.0),
        y=y,
        w=w,
        g=p.gradient(w, y, np.empty(n)),
    )


def _gradient_scale(program: FactorProgram, x: Vector) -> float:
    """Scale of gradients: the largest entry of q, or of the gradient the rows force."""
    p = program
    terms = np.abs(p.A) @ np.abs(x)
    share = min(float(np.max(np.abs(p.b) / np.maximum(terms, 1e-300), initial=0.0)), 1.0)
    w = share * p.F.transposed(x) + p.offset
    gradient = np.abs(p.F.times(w, np.empty(p.size)))
    scale = max(float(np.max(part, initial=0.0)) for part in (np.abs(p.q), gradient))
    # without any gradient the right-hand sides of the rows give the scale
    return scale or p.unit * float(np.max(np.abs(p.b), initial=0.0)) or 1.0


@dataclass(frozen=True, eq=False)
class Residuals:
    """``F'x + offset - w``, ``b - A x`` and the gradient at the weights of x.

    A Newton step removes all three. The residual of stationarity is ``gradient + d x - z + v``.

    Attributes
    ----------
    weights : array of shape (r,)
        ``F'x + offset - w``.
    rows : array of shape (p,)
        ``b - A x``.
    gradient : array of shape (n,)
        ``F (F'x + offset) + q + A'y``.
    """

    weights: Vector
    rows: Vector
    gradient: Vector

    @classmethod
    def of(cls, program: FactorProgram, variables: Variables) -> Residuals:
        """Compute the residuals from x, y and w: no rounding is carried from step to step."""
        weights = program.F.transposed(variables.x) + program.offset
        gradient = program.gradient(weights, variables.y, np.empty(program.size))
        return cls(weights - variables.w, program.b - program.A @ variables.x, gradient)
