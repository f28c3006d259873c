"""Dual programs of the textbooks: a box and at most one equality row.

    minimise f(x) = 1/2 x'Px + q'x   subject to   a'x = b,   lower <= x <= upper

For a soft margin x is alpha, P is ``H = ss' o K``, q is -1, a are the labels s, and b is 0.
``g = Px + q`` is the gradient.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.exceptions import UnsupportedProgramError
from qpsvm.numerics.arrays import Dense, Vector, as_dense
from qpsvm.numerics.precision import TINY
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.quadratic import Quadratic
from qpsvm.qp.solution import QPSolution, Status
from qpsvm.qp.stored_quadratic import DenseQuadratic
from qpsvm.solvers.classical.settings import LIMITS


@dataclass(frozen=True, eq=False)
class DualProgram:
    """``min 1/2 x'Px + q'x`` subject to ``a'x = b`` and ``lower <= x <= upper``.

    Attributes
    ----------
    P : Quadratic
    q, lower, upper : arrays of shape (n,)
    a : array of shape (n,) or None
        The row; None without one.
    b : float
    diagonal : array of shape (n,)
        That of P.
    """

    P: Quadratic
    q: Vector
    lower: Vector
    upper: Vector
    a: Vector | None
    b: float
    diagonal: Vector

    @classmethod
    def of(cls, program: QuadraticProgram, method: str) -> DualProgram:
        """Read a quadratic program whose only rows are one equality, or none.

        Parameters
        ----------
        program : QuadraticProgram
        method : str
            Name of the method, for errors.

        Raises
        ------
        UnsupportedProgramError
            Other rows.
        """
        if program.n_inequalities or program.n_equalities > 1:
            raise UnsupportedProgramError(
                f"{method!r} takes bounds and at most one equality row; this program has "
                f"{program.n_equalities} equalities and {program.n_inequalities} inequalities "
                f"over {program.n_variables} variables. The dual of a soft margin is of that kind "
                "(form='dual'); for others use 'cvxopt' or 'osqp'."
            )
        a = as_dense(program.A)[0] if program.n_equalities else None
        P = program.P
        if isinstance(P, KernelQuadratic) and 8 * P.size**2 <= LIMITS.whole_matrix_bytes:
            P = DenseQuadratic(P.to_dense())  # evaluated once, and not with every product
        return cls(
            P,
            program.q,
            program.lb,
            program.ub,
            a,
            float(program.b[0]) if a is not None else 0.0,
            P.diagonal(),
        )

    @property
    def size(self) -> int:
        """Number of variables n."""
        return len(self.q)

    def gradient(self, x: Vector) -> Vector:
        """``g = P x + q``."""
        return self.P.matvec(x) + self.q

    def clip(self, x: Vector) -> Vector:
        """The nearest point of the box."""
        return np.minimum(np.maximum(x, self.lower), self.upper)

    def start(self, x: Vector | None = None) -> Vector:
        """Project a point onto the feasible set of a dual program; zero is projected by default."""
        return self.project(np.zeros(self.size) if x is None else x)

    # --- the projection --------------------------------------------------------------------------

    def project(self, v: Vector) -> Vector:
        """The feasible point nearest to v: box and row are met exactly, up to rounding of the row.

        ``x(t) = clip(v - t a)`` for the multiplier t with ``a'x(t) = b``. The sum falls with t and
        is linear between the points where an entry meets its bound: these are sorted, the two
        around b are found by bisection, and between them one linear equation is left (Brucker, "An
        O(n) algorithm for quadratic knapsack problems", *Operations Research Letters* 3 (1984)).

        Where no point is feasible, the sum is as near to b as the box allows.
        """
        if self.a is None:
            return self.clip(v)
        a, used = self.a, self.a != 0.0
        with np.errstate(invalid="ignore"):
            ends = [(v[used] - bound[used]) / a[used] for bound in (self.lower, self.upper)]
        kinks = np.unique(np.concatenate(ends))
        kinks = kinks[np.isfinite(kinks)]
        low, high = -1, len(kinks)  # the sum is at least b at kinks[low], below it at kinks[high]
        while high - low > 1:
            middle = (low + high) // 2
            if float(a @ self.clip(v - kinks[middle] * a)) >= self.b:
                low = middle
            else:
                high = middle
        inside = kinks[max(low, 0) : high + 1] if len(kinks) else np.zeros(1)
        t = float(np.mean(inside[:2]))
        if low < 0 and len(kinks):
            t = float(kinks[0]) - 1.0
        elif high == len(kinks) and len(kinks):
            t = float(kinks[-1]) + 1.0
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
        if self.a is None or not self.a.any():
            return 0.0
        used = self.a != 0.0
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
        r = g if self.a is None else g + y * self.a
        if self.a is not None:
            terms = float(np.abs(self.a) @ np.abs(x)) + abs(self.b)
            if abs(float(self.a @ x) - self.b) > LIMITS.row_missed * terms:
                return np.inf
        below, above = self._room(x)
        gap = float(np.maximum(r, 0.0) @ below + np.maximum(-r, 0.0) @ above)
        value = 0.5 * float(x @ (g + self.q))
        if not np.isfinite(value):
            return np.inf
        relative = gap / max(abs(value), TINY)
        return relative if np.isfinite(relative) else np.inf

    def _room(self, x: Vector) -> tuple[Vector, Vector]:
        """Distances of x from both bounds, ``1 + |x|`` for infinite ones."""
        far = 1.0 + np.abs(x)
        below, above = x - self.lower, self.upper - x
        return np.where(np.isinf(below), far, below), np.where(np.isinf(above), far, above)

    def solution(self, x: Vector) -> QPSolution:
        """The point as a QPSolution, with the best multipliers for it and status UNKNOWN."""
        g = self.gradient(x)
        y = self.multiplier(x, g)
        r = g if self.a is None else g + y * self.a
        return QPSolution(
            Status.UNKNOWN,
            x=x,
            z=np.zeros(0),
            y=np.zeros(0) if self.a is None else np.array([y]),
            z_lower=np.where(np.isinf(self.lower), 0.0, np.maximum(r, 0.0)),
            z_upper=np.where(np.isinf(self.upper), 0.0, np.maximum(-r, 0.0)),
        )


class Columns:
    """Columns of P, each computed once and kept as long as there is room.

    Parameters
    ----------
    P : Quadratic
    kept_bytes : int
        Room for columns; the oldest make place for new ones.
    """

    def __init__(self, P: Quadratic, kept_bytes: int) -> None:
        self.P = P
        self._rows = np.arange(P.size)
        self._factor = P.factor if isinstance(P, LowRankQuadratic) else None
        self._limit = max(2, kept_bytes // (8 * P.size))
        self._kept: dict[int, Vector] = {}
        self.diagonal = P.diagonal()

    def __getitem__(self, i: int) -> Vector:
        column = self._kept.get(i)
        if column is None:
            if len(self._kept) >= self._limit:
                del self._kept[next(iter(self._kept))]
            column = self._kept[i] = self._computed(i)
        return column

    def _computed(self, i: int) -> Vector:
        if self._factor is None:
            block: Dense = self.P.block(self._rows, np.array([i]))
            return np.ascontiguousarray(block[:, 0])
        column = np.asarray(self._factor @ as_dense(self._factor[[i]])[0])
        column[i] = self.diagonal[i]
        return column
