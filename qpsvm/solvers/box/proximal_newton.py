"""Proximal-point iteration for box programs, by a globalised semismooth Newton method.

The proximal point of a centre c is the solution of a strongly convex program::

    minimise 1/2 x'Px + q'x + s/2 |x - c|^2   subject to   Ax = b,   lower <= x <= upper

Moving the centre there, again and again, solves the program without the proximal term: the
objective never rises, and s may shrink as the active set settles.

With ``1/2 x'Px = max_v x'Pv - 1/2 v'Pv``, the dual of the proximal program is to maximise ::

    D(v, y) = -1/2 v'Pv - b'y + sum_i min { x_i r_i + s/2 (x_i - c_i)^2 : lower <= x_i <= upper }
    r = Pv + q + A'y,     attained at x(r) = clip(c - r / s)

which is concave, once differentiable, ``dD = (P (x(r) - v), A x(r) - b)``, and quadratic on pieces.
The Newton step from (v, y) holds the variables outside F at their bounds and solves ::

    (P_FF + s I) v_F + A_F' y = s c_F - q_F - P_FB v_B,     A v = b

where F are the indices with ``lower < c - r / s < upper``: a step of a primal-dual active-set
method. The step goes on as long as D rises along it (an exact line search), so that D rises with
every step: nothing comes back, and there are finitely many steps. From a good start the classical
full steps, with F read off the natural residual, need fewer; they come first, and end as soon as
an active set repeats.

Sources: Rockafellar, *SIAM J. Control Optim.* 14 (1976) (moving the centre); Hintermueller, Ito and
Kunisch, *SIAM J. Optim.* 13 (2002), section 2 (full steps); Sun, "On piecewise quadratic Newton and
trust region problems", *Mathematical Programming* 76 (1997) (finitely many steps); Li, Sun and
Toh, *SIAM J. Optim.* 28 (2018) (semismooth Newton inside proximal steps); Hermans, Themelis and
Patrinos, "QPALM", CDC 2019 (the line search).
"""

from __future__ import annotations

import numpy as np

from qpsvm.numerics.arrays import Dense, Index, Vector
from qpsvm.solvers.box.curvature import Solve
from qpsvm.solvers.box.program import BoxProgram, step_length
from qpsvm.solvers.box.settings import BOX, SMALLEST_WEIGHT, SUM_ROUNDING
from qpsvm.solvers.budget import Point, WorkBudget

SMALLEST_SIGMA = 1e-11
"""Limit of the proximal weight, relative to the largest curvature."""


def solve(
    program: BoxProgram,
    start: Point,
    *,
    tolerance: float,
    budget: WorkBudget,
    into_rounding: bool = False,
) -> Point:
    """Iterate proximal points until the residual is within its tolerance.

    Ends earlier where only rounding is left (unless it shall go ``into_rounding``, as long as the
    residual falls), and where the budget ends it. The objective of
    the result is at most that of the start, if that satisfies the rows.
    """
    unit = program.unit
    centre = best = start
    residual = lowest = program.residual(start)
    smallest, is_stalled = SMALLEST_SIGMA * unit, False
    # the gradient moves variables by about the size of x
    size = unit * float(np.max(np.abs(start.x)))
    relative = 0.01 * min(lowest / size if size > 0.0 else 1.0, 1.0)
    sigma = unit * max(relative, SMALLEST_SIGMA)
    for _ in range(100):
        is_done = lowest <= tolerance or is_stalled
        is_done = is_done or (program.is_within_rounding(best) and not into_rounding)
        if is_done or not budget.may_go_on(lowest):
            break
        proximal = ProximalProgram(program, centre, sigma, budget)
        try:
            found = proximal.solve()
        except np.linalg.LinAlgError:
            found = None
        if found is None:
            smallest, sigma = 2.0 * sigma, 10.0 * sigma
            if sigma > 1e3 * unit:
                break
            continue
        centre, before, residual = found, residual, program.residual(found)
        if residual < lowest or not _same_objective(program, best, centre):
            best, lowest = centre, residual
        is_stalled = sigma <= smallest and not residual < 0.5 * before
        easy, factor = BOX.shrinking
        sigma = max(smallest, sigma * (factor if proximal.steps <= easy else 1.0))
    return best


def _same_objective(program: BoxProgram, one: Point, other: Point) -> bool:
    """Return whether two objectives differ by rounding only."""
    difference = program.objective(one) - program.objective(other)
    return abs(difference) <= SUM_ROUNDING * program.objective_terms(one)


class ProximalProgram:
    """The proximal program at one centre, solved by semismooth Newton steps.

    Attributes
    ----------
    steps : int
        Newton steps so far.
    """

    def __init__(
        self, program: BoxProgram, centre: Point, sigma: float, budget: WorkBudget
    ) -> None:
        self.program, self.centre, self.sigma, self.budget = program, centre, sigma, budget
        self.steps = 0
        self._factored: tuple[bytes, Equations] | None = None

    def solve(self) -> Point | None:
        """Solve the proximal program; None if the steps do not converge.

        Raises
        ------
        LinAlgError
            Sigma is too small for rounding.
        """
        return self.full_steps() or self.searched_steps()

    def full_steps(self) -> Point | None:
        """Take full Newton steps until the active set settles; None if an active set repeats."""
        program, c, sigma = self.program, self.centre.x, self.sigma
        point, seen, last = self.centre, set[bytes](), b""
        for _ in range(BOX.full_steps):
            gradient = program.gradient(point.Px, point.y) + sigma * (point.x - c)
            target = point.x - gradient / (program.unit + sigma)
            key = self.active_set(target)
            if key == last and program.rows_hold(point.x):
                return self.accepted(point, target)
            if key in seen and key != last:
                break
            seen.add(key)
            last = key
            d, Pd, dy = self.newton(point, target)
            point = Point(point.x + d, point.Px + Pd, point.y + dy)
        return None

    def searched_steps(self) -> Point | None:
        """Newton steps from the centre with an exact line search on the dual function D."""
        program, c, sigma = self.program, self.centre.x, self.sigma
        point, last = self.centre, b""
        for _ in range(60):
            r = program.gradient(point.Px, point.y)
            target = c - r / sigma
            key = self.active_set(target)
            # v = x(r) up to rounding: the gradient of D vanishes
            delta = np.abs(program.clip(target) - point.x)
            is_maximal = key == last or (delta * sigma <= program.tolerances(point)).all()
            if is_maximal and program.rows_hold(point.x):
                return self.accepted(point, target)
            if self.budget.is_over or self.budget.work > self.budget.limit:
                return None
            d, Pd, dy = self.newton(point, target)
            # D'(t) = dr'x(r + t dr) - v'P dv - b'dy - t dv'P dv with dr = P dv + A'dy
            fixed, falling = float(point.x @ Pd + program.b @ dy), float(d @ Pd)
            dr = Pd + dy @ program.A
            t = step_length(program, c, sigma, r, dr, fixed=fixed, falling=falling)
            if t is None:
                return None
            last = key if t == 1.0 else b""
            point = Point(point.x + t * d, point.Px + t * Pd, point.y + t * dy)
        return None

    def accepted(self, point: Point, target: Vector) -> Point | None:
        """Accept a point if it is no worse than the centre; entries at bounds are exact."""
        program, centre = self.program, self.centre
        x = program.clip(np.where(program.is_free(target), point.x, target))
        new = Point(x, program.P.product(x), point.y)
        if not program.rows_hold(x):
            return None
        falls = program.objective(new) < program.objective(centre)
        if falls or _same_objective(program, new, centre) or not program.rows_hold(centre.x):
            return new
        return None

    def active_set(self, target: Vector) -> bytes:
        """Masks of the variables below, inside and above the box."""
        above = target >= self.program.upper
        return ((target <= self.program.lower).astype(np.int8) + 2 * above).tobytes()

    def newton(self, point: Point, target: Vector) -> tuple[Vector, Vector, Vector]:
        """``dv``, ``P dv`` and ``dy`` to the solution on the active set of the target."""
        program, sigma = self.program, self.sigma
        self.steps += 1
        free = np.flatnonzero(program.is_free(target))
        key = free.tobytes()
        if self._factored is None or self._factored[0] != key:
            self.budget.add_factorisation(program.P.work(len(free)))
            self._factored = None  # where its factor was the next one will be
            self._factored = key, Equations(program, free, sigma)
        d = program.clip(target) - point.x
        d[free] = 0.0
        r = program.gradient(point.Px, point.y) + program.P.product(d)
        right = sigma * (self.centre.x - point.x)[free] - r[free]
        missing = program.b - program.A @ (point.x + d)
        d[free], dy = self._factored[1].solve(right, missing)
        return d, program.P.product(d), dy


class Equations:
    """``(P_FF + s I) u + A_F'y = r``, ``A_F u = m``, by ``S = A_F (P_FF + s I)^-1 A_F'``."""

    def __init__(self, program: BoxProgram, free: Index, sigma: float) -> None:
        self.A: Dense = program.A[:, free]
        self.solve_P: Solve = program.P.factor(free, sigma)
        self.across = self.solve_P(np.ascontiguousarray(self.A.T))
        weights, self.vectors = np.linalg.eigh(self.A @ self.across)
        least = max(1e-12 * float(np.max(weights, initial=0.0)), SMALLEST_WEIGHT / program.unit)
        self.weights: Vector = np.maximum(weights, least)

    def solve(self, right: Vector, missing: Vector) -> tuple[Vector, Vector]:
        """``u`` and ``y``."""
        u = self.solve_P(right)
        y = self.vectors @ ((self.vectors.T @ (self.A @ u - missing)) / self.weights)
        return u - self.across @ y, y
