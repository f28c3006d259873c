"""The proximal point method for linear machines, by Newton's method on the weights.

The dual of the program over ``w = F'x + offset``, ``Ax = b`` and the box is to minimise, with
``g = F w + q + A'y``,

    1/2 |w|^2 - offset'w + b'y + sum_i max over the box of (-g_i x - d_i x^2 / 2)

over the weights w and the multipliers y of the rows: for a support vector machine its primal
objective, whose losses have kinks where d is zero. The proximal point method on the program itself,

    c <- argmin over the box and the rows of   objective(x) + delta/2 |x - c|^2,   c the x before

rounds them: d becomes ``d + delta`` in the same sum, up to a linear term, and the maximisers are

    x(g) = clip((delta c - g) / (d + delta), lower, upper)

so that its dual is piecewise quadratic, with the gradient ``(w - offset - F'x, b - A x)`` and, over
the variables I between their bounds, the generalised Hessian of ``newton``. Newton steps with a
line search end at its exact minimum: where a full step leaves every variable between the same
bounds, or at the same one, as before. One minimum is the start of the next, with a smaller delta.

Most variables of a tall program are at a bound and stay there. So the steps of one minimum look at
the variables between their bounds and those nearest to leaving them ("open"), and a product with
all samples says whether others have to be opened.

With a small delta x(g) rounds. What the equations of the free variables miss at x itself is
therefore removed at the end by steps of x, whose error the weights do not see.

Source: Rockafellar, "Augmented Lagrangians and applications of the proximal point algorithm in
convex programming", *Mathematics of Operations Research* 1 (1976); Li, Sun and Toh, "A highly
efficient semismooth Newton augmented Lagrangian method for solving Lasso problems", *SIAM Journal
on Optimization* 28 (2018); Yan and Li, "An efficient augmented Lagrangian method for support vector
machine", *Optimization Methods and Software* 35 (2020).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from qpsvm.numerics.arrays import Index, Mask, Vector
from qpsvm.numerics.balls import UNDERFLOW
from qpsvm.numerics.interrupts import NEVER, Deadline
from qpsvm.numerics.precision import TINY
from qpsvm.qp.solution import Status
from qpsvm.solvers.linear.newton import NewtonSystem, NormalMatrix, OfVariables, OfWeights
from qpsvm.solvers.linear.program import FactorProgram, Point
from qpsvm.solvers.linear.search import REACHED, Search, SearchResult


@dataclass(frozen=True, eq=False)
class Rounded:
    """The program with a proximal term around c.

    Attributes
    ----------
    program : FactorProgram
    c : array of shape (n,)
    delta : float
        Weight of the proximal term.
    """

    program: FactorProgram
    c: Vector
    delta: float

    @property
    def theta(self) -> Vector:
        """Curvature of every variable, the proximal term included."""
        return self.program.d + self.delta

    def slopes(self, g: Vector) -> Vector:
        """The variables that attain the maxima at gradients g."""
        p = self.program
        return np.clip((self.delta * self.c - g) / self.theta, p.lower, p.upper)

    def at(self, point: Point) -> Point:
        """The point with the variables that belong to its weights."""
        return replace(point, x=self.slopes(point.g))

    def searched(self, at: Point, step: Point, slope: float, exact: bool) -> tuple[Point, bool]:
        """Search along a step for a point where the slope has fallen to a third of its first value.

        It ends before the minimum: beyond it a small slope says nothing of how far the objective
        rose there.

        Parameters
        ----------
        at : Point
        step : Point
            Changes of weights, multipliers and gradient.
        slope : float
            At the begin, below zero.
        exact : bool
            Whether a full step that moves no variable to or from a bound is the minimum.

        Returns
        -------
        tuple
            The point, and whether it is the minimum.
        """
        p, ends, slopes, t = self.program, [0.0, 0.0], [slope, 0.0], 1.0
        cost = float((at.w - p.offset) @ step.w + p.b @ step.y)
        curvature = float(step.w @ step.w)
        for trial in range(60):
            g = at.g + t * step.g
            new = Point(self.slopes(g), at.y + t * step.y, at.w + t * step.w, g)
            if trial == 0 and exact and p.have_same_sides(new.x, at.x):
                return new, True
            own = cost + t * curvature - float(new.x @ step.g)
            if 0.3 * slope <= own <= 0.0:
                break
            ends[own > 0.0], slopes[own > 0.0] = t, own
            if slopes[1] > 0.0:
                share = slopes[0] / (slopes[0] - slopes[1])
                t = ends[0] + (ends[1] - ends[0]) * min(max(share, 0.1), 0.9)
            else:
                t *= 2.0
        return new, False


@dataclass(eq=False)
class ProximalSteps:
    """Proximal steps on one program, and what they share.

    Attributes
    ----------
    program : FactorProgram
    delta : float
        Weight of the next proximal term.
    eps : float
        Relative gap.
    deadline : Deadline
    """

    program: FactorProgram
    delta: float
    eps: float = 0.0
    deadline: Deadline = NEVER
    _matrix: NormalMatrix = field(init=False)

    def __post_init__(self) -> None:
        self._matrix = NormalMatrix(self.program.F)

    def from_point(self, at: Point) -> tuple[Point, bool]:
        """Make one proximal step; return its point, and whether it is the exact minimum."""
        p, c = self.program, at.x
        rounded = Rounded(p, c, self.delta)
        is_open = self._opened(rounded, at)
        while True:
            everybody = bool(is_open.all())
            kept = np.flatnonzero(is_open)
            part = p if everybody else p.restricted(kept, at.x)
            inner = Rounded(part, c[kept], self.delta)
            begin = Point(at.x[kept], at.y, at.w, at.g[kept])
            found, system = self._minimum(inner, begin, kept)
            x = at.x.copy()
            x[kept] = found.x
            at = Point(x, found.y, found.w, found.g)
            if not everybody:
                at = Point.of(p, x, found.y, found.w)
            wrong = (rounded.slopes(at.g) != x) & ~is_open
            if everybody or (system is not None and not wrong.any()):
                break
            at.x[wrong] = rounded.slopes(at.g)[wrong]
            is_open |= wrong
            # some alone may have no minimum: the rows do not hold
            if system is None or np.mean(is_open) > p.settings.largest_open_share:
                is_open[:] = True
        if system is None:
            return at, False
        x[kept], y = self._refined(system, found.x, found.y)
        return Point.of(p, x, y), True

    def _opened(self, rounded: Rounded, at: Point) -> Mask:
        """Choose the variables that the steps look at."""
        p, own = self.program, self.program.settings
        is_free = p.is_free(at.x)
        n_free = max(np.count_nonzero(is_free), np.count_nonzero(p.is_free(rounded.slopes(at.g))))
        count = max(own.open_per_weight * p.F.rank, own.open_per_free * int(n_free))
        is_open = np.ones(p.size, dtype=bool)
        if n_free and count < own.largest_open_share * p.size:
            distance = np.where(is_free, -1.0, np.abs(at.g + p.d * at.x))
            is_open[np.argpartition(distance, count)[count:]] = False
        return is_open

    def _minimum(
        self, rounded: Rounded, at: Point, kept: Index
    ) -> tuple[Point, NewtonSystem | None]:
        """Minimise in the weights; return the last system at the exact minimum, else None."""
        p = rounded.program
        is_free = p.is_free(at.x)  # those of the last minimum are nearer than those of its slopes
        at = rounded.at(at)
        for _ in range(p.settings.newton_steps):
            if self.deadline.has_passed():
                break
            system = self._system(rounded, np.flatnonzero(is_free), kept)
            a, b = p.F.transposed(at.x) + p.offset - at.w, p.A @ at.x - p.b
            dw, dy = system.of_weights(a, b)
            decrease = float(a @ dw + b @ dy)
            if not np.isfinite(decrease):
                raise np.linalg.LinAlgError("diverges: there may be no optimum")
            if decrease <= 0.0:
                return at, system  # but for rounding, this is the minimum
            dg = p.F.times(dw, np.empty(p.size)) + dy @ p.A
            is_known = np.array_equal(is_free, p.is_free(at.x))
            may_end = is_known and not system.misses(b, at.x)
            at, is_minimum = rounded.searched(at, Point(at.x, dy, dw, dg), -decrease, may_end)
            if is_minimum:
                return at, system
            is_free = p.is_free(at.x)
        return at, None

    def _system(self, rounded: Rounded, free: Index, kept: Index) -> NewtonSystem:
        p, theta = rounded.program, rounded.theta[free]
        weight = self.delta or 1.0
        if len(free) < p.F.rank:
            return OfVariables(p, free, theta, weight)
        return OfWeights(p, free, theta, weight, self._matrix, kept)

    def _refined(self, system: NewtonSystem, x: Vector, y: Vector) -> tuple[Vector, Vector]:
        """Remove what the equations of the free variables miss, as long as the gap falls."""
        p, free, best, known = system.program, system.free, np.inf, (x, y)
        for _ in range(4):
            at = Point.of(p, x, y)
            gap = p.gap(at)[1]
            if gap < best:
                known, best = (x, y), gap
            if gap <= 0.1 * self.eps:
                break
            dx, dy = system.of_variables(-(at.g + p.d * x)[free], p.b - p.A @ x)
            own, room = x[free], np.where(dx > 0.0, p.upper[free], p.lower[free])
            share = float(np.min((room - own) / dx, where=dx != 0.0, initial=1.0))
            x, y = x.copy(), y + share * dy
            x[free] = np.clip(own + share * dx, p.lower[free], p.upper[free])
        return known


def first_weight(program: FactorProgram) -> float:
    """Choose the weight of the first proximal term: kinks as wide as gradients, at least.

    Zero where every variable has curvature: there are no kinks.
    """
    p, own = program, program.settings
    if (p.d > 0.0).all():
        return 0.0
    width = p.upper - p.lower
    widest = float(np.max(width, where=np.isfinite(width), initial=0.0))
    ramp = own.first_ramp * _gradient_scale(p) / widest if widest > 0.0 else 0.0
    return max(own.first_weight * p.unit, ramp, TINY)


def _gradient_scale(p: FactorProgram) -> float:
    """Return the scale of gradients: the largest linear cost, or what the rows force."""
    middle = 0.5 * (p.lower + p.upper)
    sizes = np.abs(np.where(np.isfinite(middle), middle, np.clip(1.0, p.lower, p.upper)))
    terms = np.maximum(np.abs(p.A) @ sizes, UNDERFLOW)
    share = min(float(np.max(np.abs(p.b) / terms, initial=0.0)), 1.0)
    return max(float(np.max(np.abs(p.costs))), share * p.unit * float(np.sum(sizes)))


def solve_by_proximal_steps(
    search: Search, at: Point, delta: float | None = None, deadline: Deadline = NEVER
) -> SearchResult:
    """Solve a program by proximal steps from a point, until rounding or a limit ends them.

    Parameters
    ----------
    search : Search
    at : Point
    delta : float, optional
        Weight of the first proximal term.
    deadline : Deadline
        Looked at before every Newton step.
    """
    p, own = search.program, search.program.settings
    steps = ProximalSteps(p, delta or first_weight(p), search.eps, deadline)
    best, best_at, least = search.initial_point(), at, np.inf
    left, target, lowest = own.patience, np.inf, np.inf
    reason = "no progress: rounding"
    while left and search.may_continue:
        try:
            at, is_exact = steps.from_point(at)
        except np.linalg.LinAlgError as error:
            reason = str(error)
            break
        judged = at if is_exact else Point.of(p, at.x, at.y)  # by the weights of x
        objective, gap = p.gap(judged)
        excess = search.excess(judged, gap)
        search.report(objective, gap)
        found = search.record(search.result(judged, gap))
        if excess <= 1.0:
            return replace(found, status=Status.OPTIMAL, reason=REACHED)
        left -= 1
        if gap < target:
            left, target = own.patience, own.slow_factor * gap
        # proximal steps lower the objective, if it is not rounding that makes them
        falls = objective < lowest - search.eps * abs(objective)
        lowest = min(lowest, objective)
        if gap < least:
            best, best_at, least = found, at, gap
        if gap <= least or falls:
            steps.delta *= own.shrink if is_exact else 2.0
        elif is_exact:  # rounding: less of it with a larger weight
            at = best_at
            steps.delta *= 25.0
        else:
            steps.delta *= 2.0
    status = Status.INACCURATE
    if not search.may_continue:
        status, reason = search.ended
    return replace(best, status=status, reason=reason, iterations=search.iterations)
