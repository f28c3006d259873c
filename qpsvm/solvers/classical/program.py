"""Dual programs of the textbooks: a box and at most one equality row.

    minimise f(x) = 1/2 x'Px + q'x   subject to   a'x = b,   lower <= x <= upper

For a soft margin x is alpha, P is ``H = ss' o K``, q is -1, a are the labels s, and b is 0.
``g = Px + q`` is the gradient.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from qpsvm.exceptions import UnsupportedProgramError
from qpsvm.numerics.arrays import Vector, as_dense
from qpsvm.numerics.precision import TINY
from qpsvm.qp.box_gap import box_gap_terms
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.quadratic import DenseQuadratic
from qpsvm.qp.solution import QPSolution, Status


@dataclass(frozen=True)
class ClassicalSettings:
    """Settings of the textbooks' dual methods; none changes what a certificate proves.

    Attributes
    ----------
    rate : float
        Step size eta of dual ascent; 0 for ``1 / L``, with L an estimate of the largest eigenvalue
        of P.
    rho : float
        Penalty of ADMM; 0 for the mean diagonal entry of P.
    seed : int
        Of the order in which coordinate descent visits the variables.
    first_check : int
        The step after which the gap is measured for the first time.
    check_growth : float
        Ratio of the steps of two further measurements: a measurement takes longer than a step.
    """

    rate: float = 0.0
    rho: float = 0.0
    seed: int = 0
    first_check: int = 1
    check_growth: float = 1.25


DEFAULTS = ClassicalSettings()

KEPT_BYTES = 2**28
"""Kernel matrices up to this size are evaluated once (5,800 variables); of others so many bytes of
columns are kept."""


class DualProgram:
    """``min 1/2 x'Px + q'x`` subject to ``a'x = b`` and ``lower <= x <= upper``.

    Parameters
    ----------
    program : QuadraticProgram
        Its only rows are one equality, or none.
    method : str
        Name of the method, for errors.

    Attributes
    ----------
    P : Quadratic
    q, lower, upper, diagonal : arrays of shape (n,)
        The diagonal is that of P.
    a : array of shape (n,)
        The equality row; zeros without one.
    b : float

    Raises
    ------
    UnsupportedProgramError
        Other rows.
    """

    def __init__(self, program: QuadraticProgram, method: str) -> None:
        if program.n_inequalities or program.n_equalities > 1:
            raise UnsupportedProgramError(
                f"{method!r} takes bounds and at most one equality row; this program has "
                f"{program.n_equalities} equalities and {program.n_inequalities} inequalities "
                f"over {program.n_variables} variables. The dual of a soft margin is of that kind "
                "(form='dual'); for others use 'cvxopt' or 'osqp'."
            )
        P = program.P
        if isinstance(P, KernelQuadratic) and 8 * P.size**2 <= KEPT_BYTES:
            P = DenseQuadratic(P.to_dense())  # evaluated once, and not with every product
        self.program, self.P, self.q = program, P, program.q
        self.lower, self.upper, self.diagonal = program.lb, program.ub, P.diagonal()
        self.has_row = program.n_equalities == 1
        self.a = as_dense(program.A)[0] if self.has_row else np.zeros(P.size)
        self.b = float(program.b[0]) if self.has_row else 0.0

    def gradient(self, x: Vector) -> Vector:
        """``g = P x + q``."""
        return self.P.matvec(x) + self.q

    def clip(self, x: Vector) -> Vector:
        """The nearest point of the box."""
        return np.minimum(np.maximum(x, self.lower), self.upper)

    def columns(self) -> Callable[[int], Vector]:
        """Columns of P, each computed once and kept as long as there is room for it."""
        P, rows = self.P, np.arange(self.P.size)

        @lru_cache(max(2, KEPT_BYTES // (8 * P.size)))
        def column(i: int) -> Vector:
            if not isinstance(P, LowRankQuadratic):
                return np.ascontiguousarray(P.block(rows, np.array([i]))[:, 0])
            found = np.asarray(P.factor @ as_dense(P.factor[[i]])[0])
            found[i] = self.diagonal[i]
            return found

        return column

    # --- the projection --------------------------------------------------------------------------

    def project(self, v: Vector) -> Vector:
        """The feasible point nearest to v: box and row are met exactly, up to rounding of the row.

        ``x(t) = clip(v - t a)`` for the multiplier t with ``a'x(t) = b``. The sum falls with t and
        is linear between the points where an entry meets its bound: these are sorted, the two
        around b are found by bisection, and between them one linear equation is left (Brucker, "An
        O(n) algorithm for quadratic knapsack problems", *Operations Research Letters* 3 (1984)).

        Where no point is feasible, the sum is as near to b as the box allows.
        """
        a, used = self.a, self.a != 0.0
        with np.errstate(invalid="ignore"):
            ends = [(v[used] - bound[used]) / a[used] for bound in (self.lower, self.upper)]
        kinks = np.unique(np.concatenate(ends))
        kinks = kinks[np.isfinite(kinks)]
        t = 0.0
        if len(kinks):
            # the first kink at which the sum is below b; t lies between it and the one before
            after = bisect_right(kinks, -self.b, key=lambda t: -float(a @ self.clip(v - t * a)))
            kinks = np.concatenate([[kinks[0] - 2.0], kinks, [kinks[-1] + 2.0]])
            t = float(np.mean(kinks[after : after + 2]))
        x = v - t * a
        is_free = (x > self.lower) & (x < self.upper) & used
        if is_free.any():
            fixed = float(a[~is_free] @ self.clip(x)[~is_free])
            free = a[is_free]
            t = (float(free @ v[is_free]) + fixed - self.b) / float(free @ free)
            x = v - t * a
        return self.clip(x)

    # --- the gap ---------------------------------------------------------------------------------

    def multiplier(self, x: Vector, g: Vector) -> float:
        """The multiplier y of the row with the smallest duality gap; the intercept of a machine.

        The gap ``sum_i max(r_i (x_i - l_i), r_i (x_i - u_i))`` with ``r = g + y a`` is convex and
        piecewise linear in y: its kinks are sorted, and its slope is added up to where it is zero.
        """
        used = self.a != 0.0
        if not used.any():
            return 0.0
        a = self.a[used]
        below, above = self._room(x)
        kinks = -g[used] / a
        order = np.argsort(kinks)
        first = np.where(a > 0.0, above[used], below[used])
        slopes = np.cumsum((np.abs(a) * (below + above)[used])[order])
        slopes -= float(np.abs(a) @ first)
        crossing = min(int(np.searchsorted(slopes, 0.0)), len(order) - 1)
        return float(kinks[order[crossing]])

    def relative_gap(self, x: Vector, g: Vector, y: float) -> float:
        """The duality gap, relative to the objective; infinite where x is not feasible.

        Infinite bounds count as ``1 + |x|`` away: for these it is a measure, and no bound.
        """
        terms = float(np.abs(self.a) @ np.abs(x)) + abs(self.b)
        if abs(float(self.a @ x) - self.b) > 1e-9 * terms:
            return np.inf
        r = g + y * self.a
        gap = float(np.sum(box_gap_terms(x, r, self.lower, self.upper, is_measure=True)))
        value = 0.5 * float(x @ (g + self.q))
        relative = gap / max(abs(value), TINY)
        return relative if np.isfinite(value) and np.isfinite(relative) else np.inf

    def _room(self, x: Vector) -> tuple[Vector, Vector]:
        """Distances of x from both bounds, ``1 + |x|`` for infinite ones."""
        far = 1.0 + np.abs(x)
        below, above = x - self.lower, self.upper - x
        return np.where(np.isinf(below), far, below), np.where(np.isinf(above), far, above)

    def solution(self, x: Vector) -> QPSolution:
        """The point as a QPSolution, with the best multipliers for it and status UNKNOWN."""
        g = self.gradient(x)
        y = self.multiplier(x, g)
        r = g + y * self.a
        return QPSolution(
            Status.UNKNOWN,
            x=x,
            z=np.zeros(0),
            y=np.full(int(self.has_row), y),
            z_lower=np.where(np.isinf(self.lower), 0.0, np.maximum(r, 0.0)),
            z_upper=np.where(np.isinf(self.upper), 0.0, np.maximum(-r, 0.0)),
        )
