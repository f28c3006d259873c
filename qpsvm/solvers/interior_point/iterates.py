"""Primal-dual points of the interior-point method: where it starts, and how far each is from done.

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
from qpsvm.solvers.common import SMALLEST_DIVISOR
from qpsvm.solvers.interior_point.program import FactorProgram
from qpsvm.solvers.interior_point.settings import chunks

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

    def mean_complementarity(self, program: FactorProgram) -> float:
        """``mu = (s'z + t'v) / number of bounds``."""
        return self.complementarity / max(program.n_bounds, 1)


def starting_point(program: FactorProgram) -> Variables:
    """Starting point: the middle of the box, with multipliers as large as the gradients.

    ``s z`` and ``t v`` are then about equal in all variables, which no value of C makes untrue. A
    variable with one bound starts at distance 1 from the bound, a free one at 0.
    """
    p, (has_lower, has_upper) = program, program.bounds
    with np.errstate(invalid="ignore"):
        x = np.where(has_upper, 0.5 * (p.lower + p.upper), p.lower + 1.0)
        x = np.where(has_lower, x, np.where(has_upper, p.upper - 1.0, 0.0))
    # the scale of gradients: the largest entry of q, or of the gradient the rows force
    terms = np.abs(p.A) @ np.abs(x)
    share = np.max(np.abs(p.b) / np.maximum(terms, SMALLEST_DIVISOR), initial=0.0)
    forced = p.F.times(min(share, 1.0) * p.F.transposed(x) + p.offset, np.empty(p.size))
    scale = max(float(np.max(np.abs(part), initial=0.0)) for part in (p.q, forced))
    # without any gradient the right-hand sides of the rows give the scale
    scale = scale or p.unit * float(np.max(np.abs(p.b), initial=0.0)) or 1.0
    gradient, y, w = p.q + p.d * x, np.zeros(len(p.b)), p.offset.copy()
    return Variables(
        x=x,
        s=np.where(has_lower, x - p.lower, NO_BOUND_DISTANCE),
        t=np.where(has_upper, p.upper - x, NO_BOUND_DISTANCE),
        z=np.where(has_lower, np.maximum(gradient, 0.0) + scale, 0.0),
        v=np.where(has_upper, np.maximum(-gradient, 0.0) + scale, 0.0),
        y=y,
        w=w,
        g=p.gradient(w, y),
    )


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
        gradient = program.gradient(weights, variables.y)
        return cls(weights - variables.w, program.b - program.A @ variables.x, gradient)


@dataclass(frozen=True, eq=False)
class Accuracy:
    """Objectives, duality gap and scaled residuals of an interior-point iterate.

    Attributes
    ----------
    primal : float
        The objective of an x that may violate rows.
    gap : float
        The relative duality gap, the cost of row violations ``|y|'|Ax - b|`` included: the change
        of the objective by these, to first order.
    natural : float
        Largest natural residual: each variable's distance from its bound or of its gradient from
        zero, the smaller one, in the units of ``qp/kkt.py``.
    rows : float
        Largest violation of a row, relative to its right-hand side or 1.
    free : float
        Largest gradient towards a bound that does not exist, in the same units as ``natural``.
    products : float
        Sum of gradients times distances to the bounds they point to, relative to the objective or
        1. With curvature, that is more than the gap.
    """

    primal: float
    gap: float
    natural: float
    rows: float
    free: float
    products: float

    @classmethod
    def of(cls, program: FactorProgram, variables: Variables, residuals: Residuals) -> Accuracy:
        """Measure an iterate: x, and y with the weights implied by x."""
        p, it, unit = program, variables, program.gradient_scale
        w = it.w + residuals.weights
        primal = 0.5 * float(w @ w) + p.constant
        gap = natural = free = products = 0.0
        for i in chunks(p.size):
            x, h, d, s, t = it.x[i], residuals.gradient[i], p.d[i], it.s[i], it.t[i]
            primal += float(x @ (0.5 * d * x + p.q[i]))
            gap += float(np.sum(p.missed(it.x, residuals.gradient, i)))
            r = (h + d * x) / unit
            to_lower = s / np.minimum(s + t, np.maximum(np.abs(p.lower[i]), 1.0))
            to_upper = t / np.minimum(s + t, np.maximum(np.abs(p.upper[i]), 1.0))
            nearer = np.where(r > 0.0, np.minimum(r, to_lower), np.minimum(-r, to_upper))
            natural = max(natural, float(np.max(nearer)))
            room = np.where(r > 0.0, s, t)
            if p.n_bounds < 2 * p.size:
                is_free = room == NO_BOUND_DISTANCE
                free = max(free, float(np.max(np.abs(r[is_free]), initial=0.0)))
                room[is_free] = 0.0
            products += float(np.abs(r) @ room)
        violations = np.abs(residuals.rows)
        gap += float(np.abs(it.y) @ violations)
        return cls(
            primal=primal,
            gap=gap / max(abs(primal), p.floor(it.x)),
            natural=natural,
            rows=float(np.max(violations / np.maximum(np.abs(p.b), 1.0), initial=0.0)),
            free=free,
            products=products * unit / max(abs(primal), 1.0),
        )

    @property
    def worst(self) -> float:
        """The largest of relative gap, row and gradient residuals, and squared natural one."""
        return max(self.gap, self.natural * self.natural, self.rows, self.free, self.products)
