"""Bound on the decrease of the objective by negative curvature of P within rounding.

A Hessian that is semidefinite only up to rounding (``convexity``) may lower the objective by half
that curvature times the squared distance that a better point may have from the given one.
"""

from __future__ import annotations

import math

import numpy as np

from qpsvm.numerics.arrays import Vector
from qpsvm.qp.implied_bounds import implied_bounds
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.row_gradient import row_gradient


def hidden_curvature_price(program: QuadraticProgram, w: Vector, y: Vector, z: Vector) -> float:
    """``1/2 sum_j shift_j max |x_j - w_j|^2`` over the feasible x that are better than x."""
    shift = program.convexity.shift
    if not shift.any():
        return 0.0
    lower, upper = implied_bounds(program)
    reach = np.maximum(np.maximum(upper - w, w - lower), 0.0)
    if np.isinf(reach[shift > 0.0]).any():
        reach = np.full(len(w), _reach_in_cone(program, w, y, z)) + np.abs(w)
    with np.errstate(over="ignore"):  # an infinite price proves nothing, as it should
        return 0.5 * float(np.sum((np.sqrt(shift[shift > 0.0]) * reach[shift > 0.0]) ** 2))


def _reach_in_cone(p: QuadraticProgram, x: Vector, y: Vector, z: Vector) -> float:
    """Bound ``1'x`` of every better point, where the feasible points form a cone in ``x >= 0``.

    For u in the cone with ``1'u = 1``, weak duality bounds the curvature from below by any v
    and any multipliers: ``u'Pu >= 2 min_j (Pv + A'y + G'z)_j - v'Pv = k``. With ``k > 0`` the
    objective of ``s u`` is at least ``k s^2 / 2 - s max |q|``, which is no better than that of
    x from some s on. The dual of a hard margin is such a program: k is the distance of the
    classes. Infinite for other programs, and where k is not above zero.
    """
    s = float(np.sum(x))
    is_cone = not p.lb.any() and np.isposinf(p.ub).all() and not p.b.any()
    is_cone = is_cone and not p.h[np.isfinite(p.h)].any()
    if not (is_cone and s > 0.0):
        return math.inf
    with np.errstate(over="ignore", invalid="ignore"):  # where k is no number, nothing is known
        v = x / s  # s^2 may be zero in double precision, however large P is
        Pv = p.P.matvec(v)
        k = 2.0 * float(np.min(Pv + row_gradient(p, z, y) / s)) - float(v @ Pv)
    k -= 2.0 * float(np.max(p.convexity.shift))
    if not k > 0.0:
        return math.inf
    steepest = float(np.max(np.abs(p.q)))
    best = max(0.5 * float(x @ p.P.matvec(x)) + float(p.q @ x), 0.0)
    return (steepest + math.hypot(steepest, math.sqrt(2.0 * k) * math.sqrt(best))) / k
