"""Objectives, duality gap and scaled residuals of an interior-point iterate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.solvers.interior_point.variables import NO_BOUND_DISTANCE, Residuals, Variables
from qpsvm.solvers.interior_point.workspace import Workspace


@dataclass(frozen=True, eq=False)
class Accuracy:
    """Objectives, duality gap and scaled residuals of an interior-point iterate.

    Attributes
    ----------
    primal, dual : float
        Objectives; the primal one is that of an x that may violate rows.
    row_cost : float
        ``|y|'|Ax - b|``: the change of the objective by these violations, to first order.
    floor : float
        Gaps are relative to the primal objective, but to no less than this.
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
    dual: float
    row_cost: float
    floor: float
    natural: float
    rows: float
    free: float
    products: float

    @classmethod
    def of(cls, work: Workspace, variables: Variables, residuals: Residuals) -> Accuracy:
        """Measure an iterate: x, and y with the weights implied by x."""
        p, it, unit = work.program, variables, work.gradient_scale
        w = it.w + residuals.weights
        primal = 0.5 * float(w @ w) + p.constant
        free = 0.0
        dual = float(w @ (p.offset - 0.5 * w)) - float(it.y @ p.b) + p.constant
        natural = products = 0.0
        for i in work.chunks:
            x, h, d, s, t = it.x[i], residuals.gradient[i], p.d[i], it.s[i], it.t[i]
            primal += float(x @ (0.5 * d * x + p.q[i]))
            dual += p.box_minimum(i, h, x)
            r = (h + d * x) / unit
            to_lower = s / np.minimum(s + t, np.maximum(np.abs(p.lower[i]), 1.0))
            to_upper = t / np.minimum(s + t, np.maximum(np.abs(p.upper[i]), 1.0))
            nearer = np.where(r > 0.0, np.minimum(r, to_lower), np.minimum(-r, to_upper))
            natural = max(natural, float(np.max(nearer)))
            room = np.where(r > 0.0, s, t)
            if work.has_bounds is not None:
                is_free = room == NO_BOUND_DISTANCE
                free = max(free, float(np.max(np.abs(r[is_free]), initial=0.0)))
                room[is_free] = 0.0
            products += float(np.abs(r) @ room)
        violations = np.abs(residuals.rows)
        return cls(
            primal=primal,
            dual=dual,
            row_cost=float(np.abs(it.y) @ violations),
            floor=p.floor(it.x),
            natural=natural,
            rows=float(np.max(violations / np.maximum(np.abs(p.b), 1.0), initial=0.0)),
            free=free,
            products=products * unit / max(abs(primal), 1.0),
        )

    @property
    def worst(self) -> float:
        """The largest of relative gap, row and gradient residuals, and squared natural one."""
        return max(self.gap, self.natural * self.natural, self.rows, self.free, self.products)

    @property
    def gap(self) -> float:
        """The relative duality gap, with the cost of row violations."""
        return self.absolute_gap / max(abs(self.primal), self.floor)

    @property
    def absolute_gap(self) -> float:
        """``|primal - dual| + |y|'|Ax - b|``."""
        return abs(self.primal - self.dual) + self.row_cost
