"""Bound on the decrease of the objective by negative curvature of P within rounding.

A Hessian that is semidefinite only up to rounding (``convexity``) may have feasible points that are
better than a dual objective D allows. With the reduced costs g at w, every feasible ``w + d`` has

    objective = D + sum_j |g_j| (distance of x_j from the bound that g_j presses on) + 1/2 d'Pd

at least, and ``P + diag(s)`` is semidefinite. So a better point exists only where ``d'Pd`` is
negative, which gains at most ``1/2 sum_j s_j d_j^2``: this gain, over all d that the bounds allow,
is the first bound. It bounds how far from their bounds variables with a reduced cost can be at all,
and this lowers the bound in turn.

The few variables S without a reduced cost depend on the others, T. With ``Q = P + diag(s) +
k A'A``, which is P + diag(s) along feasible directions, and its smallest eigenvalue ``mu`` on S,

    d'Qd >= mu |d_S + M d_T|^2     with M = Q_SS^-1 Q_ST

since the Schur complement of Q is semidefinite. So ``d'Pd`` is negative only near ``d_S = -M d_T``,
and if ``|M d_T| <= m``, then d_S gains ``1/2 s m^2 mu / (mu - s)`` at most. Repeated, the bound for
a program whose solution is unique by a margin falls to next to nothing.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from qpsvm.numerics.arrays import EIGENVALUE_SIZE, Mask, Vector, as_dense
from qpsvm.numerics.precision import EPS
from qpsvm.numerics.rows import largest_in_rows
from qpsvm.qp.program import QuadraticProgram, row_gradient
from qpsvm.qp.restrictions import stacked


def hidden_curvature_gain(
    program: QuadraticProgram,
    w: Vector,
    y: Vector,
    z: Vector,
    reduced_costs: tuple[Vector, Vector] | None = None,
) -> float:
    """Bound ``-min 1/2 d'Pd`` over the d that lead to better feasible points ``w + d``.

    Parameters
    ----------
    program : QuadraticProgram
    w : array of shape (n,)
        The point at which the multipliers are stationary.
    y, z : arrays of shape (p,) and (m,)
    reduced_costs : pair of arrays of shape (n,), optional
        ``g = Pw + q + A'y + G'z``, the multipliers of the bounds, and bounds on their rounding;
        without them every feasible point counts.
    """
    shift = program.convexity.shift
    if not shift.any():
        return 0.0
    lower, upper = implied_bounds(program)
    distance = np.maximum(np.maximum(upper - w, w - lower), 0.0)
    if np.isinf(distance[shift > 0.0]).any():
        distance = np.full(len(w), _distance_in_cone(program, w, y, z)) + np.abs(w)
    with np.errstate(all="ignore"):  # an infinite gain proves nothing, as it should
        gain = _largest_gain(shift, distance)
        if reduced_costs is None or not math.isfinite(gain):
            return gain
        return _lowered(program, w, reduced_costs, distance, gain)


def _largest_gain(shift: Vector, distance: Vector) -> float:
    """``1/2 sum_j s_j distance_j^2``; roots first: squares of a distance may overflow."""
    used = shift > 0.0
    return 0.5 * float(np.sum((np.sqrt(shift[used]) * distance[used]) ** 2))


def _lowered(
    program: QuadraticProgram,
    w: Vector,
    reduced_costs: tuple[Vector, Vector],
    distance: Vector,
    gain: float,
) -> float:
    """Tighten the bound on how much negative eigenvalues of P can lower the objective."""
    (g, error), shift = reduced_costs, program.convexity.shift
    bound = np.where(g > 0.0, program.lb, program.ub)
    # rows have multipliers of their own: of a variable without that bound nothing is known
    cost = np.where(np.isfinite(bound), np.maximum(np.abs(g) - error, 0.0), 0.0)
    offset = np.where(cost > 0.0, np.abs(w - bound), 0.0)
    inverse = np.where(cost > 0.0, 1.0 / cost, np.inf)
    free: Mask | None = None
    mu, sizes, missed = 0.0, np.zeros(0), 0.0
    # each takes an eigenvalue of the variables in S, where these have changed
    for _ in range(40):
        unlimited = ~(offset + gain * inverse < distance)
        if free is None or not np.array_equal(free, unlimited):
            free = unlimited
            mu, sizes, missed = _dependence(program, w, free)
        T, s = ~free, float(np.max(shift[free], initial=0.0))
        room = np.minimum(offset[T] + gain * inverse[T], distance[T])
        of_free = _largest_gain(shift[free], distance[free])
        if mu > s:
            # all reduced costs together pay for one gain
            at_once = float(sizes @ offset[T])
            at_once += gain * float(np.max(sizes * inverse[T], initial=0.0))
            m = min(float(sizes @ room), at_once)
            of_free = min(of_free, 0.5 * s * m * m / (1.0 - s / mu) + 0.5 * missed)
        found = min(gain, _largest_gain(shift[T], room) + of_free)
        if not found < gain:
            return found
        gain = found
    return gain


def _dependence(program: QuadraticProgram, w: Vector, free: Mask) -> tuple[float, Vector, float]:
    """Bound how variables without a reduced cost, S, follow the others.

    Returns
    -------
    curvature : float
        ``mu``, the smallest eigenvalue of ``Q = P + diag(s) + k A'A`` on S, or less; 0 where
        nothing is known.
    sizes : array of shape (number of the others,)
        At least the norm of each column of M.
    missed : float
        ``k |A (x - w)|^2`` for every feasible x: what w misses of its equalities, weighted.
    """
    S, T = np.flatnonzero(free), np.flatnonzero(~free)
    if len(S) == 0:
        return math.inf, np.zeros(len(T)), 0.0
    if len(S) > EIGENVALUE_SIZE:
        return 0.0, np.full(len(T), np.inf), 0.0
    P, A, b = program.P, program.A, program.b
    # each row of A times the root of its k, which makes it as large as P is
    largest = largest_in_rows(A)
    size = math.sqrt(float(np.max(np.maximum(P.diagonal(), 0.0))))
    factors = size / np.where(largest > 0.0, largest, 1.0)
    rows = as_dense(A) * factors[:, None]
    residual_error = program.n_variables * EPS * (abs(A) @ np.abs(w) + np.abs(b))
    missed = float(np.sum((factors * (np.abs(A @ w - b) + residual_error)) ** 2))
    own = P.block(S, S) + rows[:, S].T @ rows[:, S]
    own[np.diag_indices(len(S))] += program.convexity.shift[S]
    rounding = 4.0 * (len(S) + len(rows)) * EPS
    mu = float(np.linalg.eigvalsh(own)[0]) - rounding * float(np.linalg.norm(own))
    if not mu > 0.0:
        return 0.0, np.full(len(T), np.inf), 0.0
    cross = P.block(S, T) + rows[:, S].T @ rows[:, T]
    M = np.linalg.solve(own, cross)
    left = np.linalg.norm(own @ M - cross, axis=0)
    left += rounding * (np.linalg.norm(cross, axis=0) + np.linalg.norm(abs(own) @ abs(M), axis=0))
    return mu, np.linalg.norm(M, axis=0) + left / mu, missed


def _distance_in_cone(p: QuadraticProgram, x: Vector, y: Vector, z: Vector) -> float:
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


# --- bounds of variables implied by rows --------------------------------------------------------


def implied_bounds(program: QuadraticProgram) -> tuple[Vector, Vector]:
    """Bounds of x that follow from the rows and the bounds the program has.

    ``a'x <= r`` says of every x_j what the smallest value of the other terms leaves for it.
    """
    lower, upper = program.lb.copy(), program.ub.copy()
    rows = sp.coo_array(stacked(stacked(program.G, program.A), -program.A))
    right = np.concatenate([program.h, program.b, -program.b])
    k, j, a = rows.coords[0], rows.coords[1], rows.data
    k, j, a = k[a != 0.0], j[a != 0.0], a[a != 0.0]
    steps = np.bincount(k, minlength=len(right)) + 2.0
    for _ in range(3):  # bounds that follow from bounds
        least = np.where(a > 0.0, a * lower[j], a * upper[j])
        infinite = np.isinf(least)
        known = np.bincount(k, np.where(infinite, 0.0, least), len(right))
        size = np.bincount(k, np.where(infinite, 0.0, np.abs(least)), len(right)) + np.abs(right)
        count = np.bincount(k, infinite, len(right))
        others = np.where(
            count[k] - infinite == 0, known[k] - np.where(infinite, 0.0, least), -np.inf
        )
        end = (right[k] - others) / a
        # beside a tenth of an end its rounding is nothing, unless its terms cancel
        beyond = 0.1 * np.abs(end) + EPS * (steps * size)[k] / np.abs(a)
        end = end + np.where(np.isfinite(beyond), np.sign(a) * beyond, 0.0)
        np.minimum.at(upper, j[a > 0.0], end[a > 0.0])
        np.maximum.at(lower, j[a < 0.0], end[a < 0.0])
    return lower, upper
