"""Bound on the decrease of the objective by negative curvature of P within rounding.

A Hessian that is semidefinite only up to rounding (``convexity``) may have feasible points that are
better than a dual objective D allows. With the reduced costs g at w, every feasible ``w + d`` has

    objective = D + sum_j |g_j| (distance of x_j from the bound that g_j presses on) + 1/2 d'Pd

at least, and ``P + diag(s)`` is semidefinite. So a better point exists only where ``d'Pd`` is
negative, which gains at most ``1/2 sum_j s_j d_j^2``: this price, over all d that the bounds allow,
is the first bound. It bounds how far from their bounds variables with a reduced cost can be at all,
and this lowers the price in turn.

The few variables S without a reduced cost depend on the others, T. With ``Q = P + diag(s) +
k A'A``, which is P + diag(s) along feasible directions, and its smallest eigenvalue ``mu`` on S,

    d'Qd >= mu |d_S + M d_T|^2     with M = Q_SS^-1 Q_ST

since the Schur complement of Q is semidefinite. So ``d'Pd`` is negative only near ``d_S = -M d_T``,
and if ``|M d_T| <= m``, then d_S gains ``1/2 s m^2 mu / (mu - s)`` at most. Repeated, the price of
a program whose solution is unique by a margin falls to next to nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from qpsvm.numerics.arrays import Dense, Mask, Vector, as_dense
from qpsvm.numerics.precision import EPS
from qpsvm.numerics.rows import largest_in_rows
from qpsvm.qp.implied_bounds import implied_bounds
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.row_gradient import row_gradient

PASSES = 40
"""Repetitions of the bound at most; each one takes an eigenvalue of the variables in S."""

FALL = 0.9
"""A price that does not fall to this share of itself is left as it is."""

LARGEST_SET = 1500
"""Up to so many variables in S their smallest eigenvalue is computed."""


def hidden_curvature_price(
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
    reach = np.maximum(np.maximum(upper - w, w - lower), 0.0)
    if np.isinf(reach[shift > 0.0]).any():
        reach = np.full(len(w), _reach_in_cone(program, w, y, z)) + np.abs(w)
    with np.errstate(all="ignore"):  # an infinite price proves nothing, as it should
        price = _price(shift, reach)
        if reduced_costs is None or not math.isfinite(price):
            return price
        return _Local(program, w, *reduced_costs, shift, reach).price(price)


def _price(shift: Vector, reach: Vector) -> float:
    """``1/2 sum_j s_j reach_j^2``; roots first, since squares of a reach may overflow alone."""
    used = shift > 0.0
    return 0.5 * float(np.sum((np.sqrt(shift[used]) * reach[used]) ** 2))


@dataclass(frozen=True, eq=False)
class _Local:
    """The price of the points that reduced costs leave, see the module's docstring."""

    program: QuadraticProgram
    w: Vector
    g: Vector
    error: Vector
    shift: Vector
    reach: Vector

    def price(self, price: float) -> float:
        """Lower a bound on the price as far as it goes."""
        free: Mask | None = None
        dependence = _Dependence(0.0, np.zeros(0))
        for _ in range(PASSES):
            room = self.offset + price * self.inverse
            unlimited = ~(room < self.reach)
            if free is None or not np.array_equal(free, unlimited):
                free, dependence = unlimited, self._dependence(unlimited)
            lowered = min(price, self._lowered(price, free, dependence))
            if not lowered < FALL * price:
                return lowered
            price = lowered
        return price

    def _lowered(self, price: float, free: Mask, dependence: _Dependence) -> float:
        """The price if no better point gains more than a known one; ``free`` is the set S."""
        others, s, mu = ~free, float(np.max(self.shift[free], initial=0.0)), dependence.curvature
        offset, inverse = self.offset[others], self.inverse[others]
        reach = np.minimum(offset + price * inverse, self.reach[others])
        fixed, of_free = (
            _price(self.shift[others], reach),
            _price(self.shift[free], self.reach[free]),
        )
        if not mu > s:
            return fixed + of_free
        sizes = dependence.sizes
        # all reduced costs together pay for one gain
        at_once = float(sizes @ offset) + price * float(np.max(sizes * inverse, initial=0.0))
        m = min(float(sizes @ reach), at_once)
        of_moved = 0.5 * s * m * m / (1.0 - s / mu) + 0.5 * self._missed
        return fixed + min(of_free, of_moved)

    # --- reduced costs ---------------------------------------------------------------------------

    @cached_property
    def _pressed(self) -> tuple[Vector, Vector]:
        """The bounds that reduced costs press on, and the costs, less their rounding."""
        bound = np.where(self.g > 0.0, self.program.lb, self.program.ub)
        # rows have multipliers of their own: of a variable without that bound nothing is known
        cost = np.where(np.isfinite(bound), np.maximum(np.abs(self.g) - self.error, 0.0), 0.0)
        return bound, cost

    @cached_property
    def offset(self) -> Vector:
        """Distance of each variable from the bound that its reduced cost asks for, shape (n,)."""
        bound, cost = self._pressed
        return np.where(cost > 0.0, np.abs(self.w - bound), 0.0)

    @cached_property
    def inverse(self) -> Vector:
        """Distance from its bound that a unit of the objective gives each variable, shape (n,)."""
        cost = self._pressed[1]
        return np.asarray(np.where(cost > 0.0, 1.0 / cost, np.inf))

    # --- Q = P + diag(s) + k A'A ----------------------------------------------------------------

    @cached_property
    def _rows(self) -> Dense:
        """The rows of A, each times the root of its k, which makes it as large as P is."""
        return as_dense(self.program.A) * self._factors[:, None]

    @cached_property
    def _factors(self) -> Vector:
        """The root of k for every row."""
        largest = largest_in_rows(self.program.A)
        size = math.sqrt(float(np.max(np.maximum(self.program.P.diagonal(), 0.0))))
        return np.asarray(size / np.where(largest > 0.0, largest, 1.0))

    @cached_property
    def _missed(self) -> float:
        """``k |A (x - w)|^2`` for every feasible x: what w misses of its equalities, priced."""
        A, b = self.program.A, self.program.b
        left = np.abs(A @ self.w - b)
        rounding = self.program.n_variables * EPS * (abs(A) @ np.abs(self.w) + np.abs(b))
        return float(np.sum((self._factors * (left + rounding)) ** 2))

    def _dependence(self, free: Mask) -> _Dependence:
        """The smallest eigenvalue of Q on S, and how far S moves with the other variables."""
        S, T = np.flatnonzero(free), np.flatnonzero(~free)
        if len(S) == 0:
            return _Dependence(math.inf, np.zeros(len(T)))
        if len(S) > LARGEST_SET:
            return _Dependence(0.0, np.full(len(T), np.inf))
        P, rows = self.program.P, self._rows
        own = P.block(S, S) + rows[:, S].T @ rows[:, S]
        own[np.diag_indices(len(S))] += self.shift[S]
        rounding = 4.0 * (len(S) + len(rows)) * EPS
        mu = float(np.linalg.eigvalsh(own)[0]) - rounding * float(np.linalg.norm(own))
        if not mu > 0.0:
            return _Dependence(0.0, np.full(len(T), np.inf))
        cross = P.block(S, T) + rows[:, S].T @ rows[:, T]
        M = np.linalg.solve(own, cross)
        left = np.linalg.norm(own @ M - cross, axis=0)
        left += rounding * (
            np.linalg.norm(cross, axis=0) + np.linalg.norm(abs(own) @ abs(M), axis=0)
        )
        return _Dependence(mu, np.linalg.norm(M, axis=0) + left / mu)


@dataclass(frozen=True, eq=False)
class _Dependence:
    """Dependence of the variables without a reduced cost on the others.

    Attributes
    ----------
    curvature : float
        ``mu``, or less; 0 where nothing is known.
    sizes : array of shape (number of the others,)
        At least the norm of each column of M.
    """

    curvature: float
    sizes: Vector


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
