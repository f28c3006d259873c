"""Box programs with few equality rows, the duals of support vector machines.

    minimise 1/2 x'Px + q'x   subject to   Ax = b,   lower <= x <= upper

An inequality row ``Gx <= h`` is one with a slack variable s of its own, ``Gx + s = h``, ``s >= 0``.

``r = Px + q + A'y`` is the gradient of the Lagrangian. At an optimum it vanishes between the
bounds and pushes outwards at them, which is to say that the *natural residual* vanishes::

    x - clip(x - r / k, lower, upper),     k the largest curvature

Source: Facchinei and Pang, *Finite-Dimensional Variational Inequalities*, section 1.5.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from qpsvm.numerics.arrays import Dense, Index, Mask, Vector
from qpsvm.qp.box_gap import box_gap_terms, negligible_objective
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution
from qpsvm.qp.transforms import SlackRows, drop_infinite_rows
from qpsvm.solvers.box.curvature import Curvature, FactorCurvature, HessianCurvature
from qpsvm.solvers.box.settings import (
    BOX,
    GRADIENT_ROUNDING,
    MAX_ROWS,
    SMALLEST_WEIGHT,
    SUM_ROUNDING,
)
from qpsvm.solvers.budget import Point


@dataclass(frozen=True, eq=False)
class BoxProgram:
    """``min 1/2 x'Px + q'x`` subject to ``Ax = b`` and ``lower <= x <= upper``.

    Attributes
    ----------
    P : Curvature
    q, lower, upper : arrays of shape (n,)
    A : array of shape (p, n)
        No entry larger than 1.
    b : array of shape (p,)
    diagonal : array of shape (n,)
        That of P.
    unit : float
        k, the largest diagonal entry of P, the median one in a working set; 1 where P is zero.
    """

    P: Curvature
    q: Vector
    A: Dense
    b: Vector
    lower: Vector
    upper: Vector
    diagonal: Vector
    unit: float

    @property
    def size(self) -> int:
        """Number of variables n."""
        return len(self.q)

    @cached_property
    def mean_curvature(self) -> float:
        """The mean of the diagonal of P; 1 where P is zero."""
        return float(np.sum(self.diagonal)) / self.size or 1.0

    def gradient(self, Px: Vector, y: Vector) -> Vector:
        """``r = Px + q + A'y``."""
        return np.asarray(Px + self.q + y @ self.A)

    def clip(self, x: Vector) -> Vector:
        """The nearest point of the box."""
        return np.minimum(np.maximum(x, self.lower), self.upper)

    def is_free(self, x: Vector) -> Mask:
        """Return whether each variable is strictly between its bounds."""
        return (x > self.lower) & (x < self.upper)

    def restricted(self, index: Index, point: Point) -> BoxProgram:
        """The program in ``x[index]`` alone, the other variables fixed."""
        P, A, own = self.P.restricted(index), self.A[:, index], point.x[index]
        q, b = self.q, self.b
        if len(index) < self.size:
            q = (point.Px + self.q)[index] - P.matrix @ own
            b = b - self.A @ point.x + A @ own
        diagonal = self.diagonal[index]
        # the typical curvature: one sample far out must not decide how near proximal points are
        unit = float(np.median(diagonal[diagonal > 0.0])) if diagonal.any() else self.unit
        return BoxProgram(P, q, A, b, self.lower[index], self.upper[index], diagonal, unit)

    # --- residuals --------------------------------------------------------------------------------

    def natural_residual(self, x: Vector, r: Vector) -> Vector:
        """The natural residual ``k |x - clip(x - r / k)|``, in the unit of the gradient r."""
        lowest, highest = self.unit * (x - self.upper), self.unit * (x - self.lower)
        return np.abs(np.minimum(np.maximum(r, lowest), highest))

    def rows_hold(self, x: Vector) -> bool:
        """Return whether ``Ax = b`` holds up to rounding; False for NaN."""
        return bool((self._missed(x) == 0.0).all())

    def _missed(self, x: Vector) -> Vector:
        """``|Ax - b|``; zero where that is only rounding."""
        missed = np.abs(self.A @ x - self.b)
        missed[missed <= SUM_ROUNDING * self.row_terms(x)] = 0.0
        return missed

    def row_terms(self, x: Vector) -> Vector:
        """The sum of the absolute terms of every row."""
        return np.abs(self.A) @ np.abs(x) + np.abs(self.b)

    def residual(self, point: Point) -> float:
        """The largest natural residual or row residual, in the unit of the gradient."""
        natural = self.natural_residual(point.x, self.gradient(point.Px, point.y))
        missed = self.unit * self._missed(point.x)
        return float(np.max(np.concatenate([natural, missed])))

    def scale(self, point: Point) -> float:
        """Scale of relative residuals: the largest entry of q, or of ``P x`` if q is zero."""
        return float(np.max(np.abs(self.q))) or float(np.max(np.abs(point.Px)))

    # --- objective and gap ------------------------------------------------------------------------

    def objective(self, point: Point) -> float:
        """``1/2 x'Px + q'x``."""
        return float(point.x @ (0.5 * point.Px + self.q))

    def objective_terms(self, point: Point) -> float:
        """The sum of the absolute terms of the objective."""
        return float(np.abs(point.x) @ (0.5 * np.abs(point.Px) + np.abs(self.q)))

    def objective_scale(self, point: Point) -> float:
        """Scale of the relative gap: the objective, or the value that counts as zero if larger."""
        negligible = negligible_objective(self.q, self.mean_curvature, point.x)
        return max(abs(self.objective(point)), negligible)

    def relative_gap(self, point: Point) -> float:
        """The duality gap, relative to the objective; infinite where rows are missed."""
        gap = self.gap(point)
        return gap if gap == np.inf else gap / self.objective_scale(point)

    def gap(self, point: Point) -> float:
        """The duality gap; infinite where rows are missed."""
        r, x = self.gradient(point.Px, point.y), point.x
        terms = box_gap_terms(x, r, self.lower, self.upper, is_measure=True)
        missing = np.abs(self.A @ x - self.b)
        if (missing > 1e-6 * self.row_terms(x)).any():  # a point of another program
            return np.inf
        return float(np.sum(terms)) + float(np.abs(point.y) @ missing)

    def is_optimal(self, point: Point, eps: float) -> bool:
        """Return whether relative gap and residuals are at most eps, the drift of ``P x`` included.

        The gap alone may be small where single samples are far from what they should be. Nor is it
        enough that only rounding is left: with x of 1e5 that is more than what was asked for.
        """
        if not self.is_near(point, eps):
            return False
        widths, scale = _finite(self.upper - self.lower, point.x), self.objective_scale(point)
        drifted = point.drift * float(np.sum(widths)) / scale
        return self.gap(point) / scale + drifted <= eps

    def is_near(self, point: Point, eps: float) -> bool:
        """Return whether the relative residuals are at most eps."""
        return self.residual(point) + point.drift <= eps * self.scale(point)

    # --- rounding ---------------------------------------------------------------------------------

    def rounding(self, d: Vector) -> Vector:
        """Estimated rounding error of every entry of ``P d``.

        ``|P_ij d_j| <= sqrt(P_ii) sqrt(P_jj) |d_j|``, and errors in many terms add up to the norm
        of these.
        """
        size = np.sqrt(self.diagonal)
        return GRADIENT_ROUNDING * float(np.linalg.norm(size * d)) * size

    def tolerances(self, point: Point) -> Vector:
        """Estimated rounding error of every entry of the gradient.

        A curvature and an x that are large need not have met.
        """
        others = np.abs(self.q) + np.abs(point.y) @ np.abs(self.A)
        return np.asarray(np.maximum(self.rounding(point.x), GRADIENT_ROUNDING * others))

    def gap_rounding_bound(self, point: Point) -> float:
        """Bound on the change of the relative gap by rounding of the gradient."""
        tolerances, x = self.tolerances(point), point.x
        is_open = np.abs(self.gradient(point.Px, point.y)) <= tolerances
        room = _finite(np.maximum(x - self.lower, self.upper - x), x)
        return float(tolerances[is_open] @ room[is_open]) / self.objective_scale(point)

    def is_within_rounding(self, point: Point) -> bool:
        """Return whether residuals are below their rounding errors; false for NaN."""
        natural = self.natural_residual(point.x, self.gradient(point.Px, point.y))
        return bool((natural <= self.tolerances(point)).all()) and self.rows_hold(point.x)

    def at_bounds(self, point: Point) -> Vector:
        """Move entries within rounding of their active bound onto it."""
        x, r = point.x, self.gradient(point.Px, point.y)
        near = self.tolerances(point) / self.unit
        x = np.where((x - self.lower <= near) & (r > 0.0), self.lower, x)
        return np.where((self.upper - x <= near) & (r < 0.0), self.upper, x)

    def moved(self, point: Point, x: Vector) -> Point:
        """The point at another x: its ``P x`` is corrected, and its drift grows."""
        step = x - point.x
        drift = point.drift + float(np.max(self.rounding(step)))
        return Point(x, point.Px + self.P.product(step), point.y, drift)


def _finite(room: Vector, x: Vector) -> Vector:
    """Distances to bounds, with ``1 + |x|`` in place of infinite ones."""
    return np.where(np.isinf(room), 1.0 + np.abs(x), room)


@dataclass(frozen=True, eq=False)
class Boxed:
    """A quadratic program as a box program with slack variables, and the map back.

    Attributes
    ----------
    box : BoxProgram
        In ``(x, s)``: one slack variable for every finite inequality.
    rows : SlackRows
    restore : callable
        The way back from the program without infinite rows.
    """

    box: BoxProgram
    rows: SlackRows
    restore: Callable[[QPSolution], QPSolution]

    @staticmethod
    def suits(program: QuadraticProgram) -> bool:
        """Return whether the rows are few and the Hessian is not a sparse matrix."""
        rows = program.n_equalities + program.n_inequalities
        return rows <= MAX_ROWS and not program.P.prefers_sparse

    @classmethod
    def of(cls, program: QuadraticProgram, memory_limit: int) -> Boxed:
        """Add slack variables for inequalities and scale rows to a largest entry of 1."""
        p, restore = drop_infinite_rows(program)
        rows, P = SlackRows.of(p.A, p.b, p.G, p.h), p.P
        diagonal = rows.extended(P.diagonal())
        kind = HessianCurvature
        if isinstance(P, LowRankQuadratic) and P.rank <= BOX.small:
            kind = FactorCurvature if 16 * P.size * P.rank <= memory_limit else kind
        box = BoxProgram(
            kind(P, rows.n_slack),
            rows.extended(p.q),
            rows.matrix,
            rows.right,
            rows.extended(p.lb),
            rows.extended(p.ub, np.inf),
            diagonal,
            float(np.max(diagonal, initial=0.0)) or 1.0,
        )
        return cls(box, rows, restore)

    def start(self, x: Vector) -> Vector:
        """The point ``(x, s)`` of the box program with ``s = h - Gx``, clipped to the box."""
        return self.box.clip(self.rows.extended(x, self.rows.slack(x)))

    def signed(self, point: Point) -> Point:
        """Clip the multipliers of inequalities at zero."""
        p = self.rows.n_equalities
        return replace(point, y=np.append(point.y[:p], np.maximum(point.y[p:], 0.0)))

    def solution(self, point: Point, like: QPSolution) -> QPSolution:
        """The QPSolution of a point; multipliers of bounds are the remaining gradient."""
        box = self.box
        own = slice(box.size - self.rows.n_slack)
        r, x = box.gradient(point.Px, point.y)[own], point.x[own]
        y, z = self.rows.multipliers(point.y)
        found = like.replace(
            x=x,
            z=z,
            y=y,
            z_lower=np.where(x <= box.lower[own], np.maximum(r, 0.0), 0.0),
            z_upper=np.where(x >= box.upper[own], np.maximum(-r, 0.0), 0.0),
        )
        return self.restore(found)


# --- multipliers of the rows ----------------------------------------------------------------------


def step_length(
    program: BoxProgram,
    centre: Vector,
    sigma: float,
    r: Vector,
    dr: Vector,
    *,
    fixed: float,
    falling: float = 0.0,
) -> float | None:
    """The maximiser ``t >= 0`` of a dual function D along a direction; 1 if that is nearly optimal.

    The slope ``D'(t) = dr'x(t) - fixed - falling t`` with ``x(t) = clip(c - (r + t dr) / sigma)``
    never rises, and is linear between the t at which some ``x_i(t)`` reaches or leaves a bound.

    Returns
    -------
    float or None
        None where D does not rise at all, or without end.
    """

    def slope(t: float) -> float:
        x = program.clip(centre - (r + t * dr) / sigma)
        return float(dr @ x) - fixed - falling * t

    at_start = slope(0.0)
    if abs(slope(1.0)) <= BOX.accepted_slope * abs(at_start):
        return 1.0
    if not at_start > 0.0:
        return None
    with np.errstate(all="ignore"):  # a variable that does not move has no kink
        kinks = [(sigma * (centre - end) - r) / dr for end in (program.lower, program.upper)]
    t = np.concatenate(kinks)
    t = np.unique(t[np.isfinite(t) & (t > 0.0)])
    low, high = -1, len(t)  # D' > 0 up to t[low], and not from t[high] on
    while high - low > 1:
        middle = (low + high) // 2
        if slope(float(t[middle])) > 0.0:
            low = middle
        else:
            high = middle
    left = float(t[low]) if low >= 0 else 0.0
    right = float(t[high]) if high < len(t) else 2.0 * left + 1.0
    at_left, at_right = slope(left), slope(right)
    if not at_left > max(at_right, 0.0):
        return None
    return left + (right - left) * at_left / (at_left - at_right)


def row_multipliers(program: BoxProgram, x: Vector, Px: Vector, y: Vector) -> Vector:
    """Multipliers y with which a projected gradient step from x satisfies the rows.

    With P replaced by its largest curvature k the dual of the program is a concave function of y
    alone, and ``A x(y) - b`` with ``x(y) = clip(x - (Px + q + A'y) / k)`` its gradient. Newton
    steps with an exact line search find where that vanishes; each costs a few passes over x.
    """
    A, b, k = program.A, program.b, program.unit
    terms = program.row_terms(x)
    for _ in range(30 if len(b) else 0):
        r = program.gradient(Px, y)
        target = x - r / k
        missed = A @ program.clip(target) - b
        if (np.abs(missed) <= 1e-14 * terms).all():
            break
        moving = A[:, program.is_free(target)]
        curvature = moving @ moving.T / k
        one = np.ones((1, 1))  # its eigenvectors, of a matrix with one entry
        weights, vectors = (curvature[0], one) if len(b) == 1 else np.linalg.eigh(curvature)
        dy = vectors @ ((vectors.T @ missed) / np.maximum(weights, SMALLEST_WEIGHT / k))
        t = step_length(program, x, k, r, dy @ A, fixed=float(b @ dy))
        if t is None:
            break
        y = y + t * dy
    return y


def satisfying(program: BoxProgram, x: Vector) -> Vector:
    """Project x onto the rows within the box, as far as the box allows.

    What is inside its bounds is moved there (the nearest point); only if that does not suffice,
    everything is: a variable at its bound is usually there for good.
    """
    if program.rows_hold(x):
        return x
    zeros, none = np.zeros(program.size), np.zeros(len(program.b))
    whole, inside = replace(program, q=zeros), program.is_free(x)
    lower, upper = (np.where(inside, end, x) for end in (program.lower, program.upper))
    for moving in (replace(whole, lower=lower, upper=upper), whole):
        y = row_multipliers(moving, x, zeros, none)
        x = moving.clip(x - (y @ program.A) / program.unit)
        if program.rows_hold(x):
            break
    return x


def feasible(program: BoxProgram, start: Point | Vector) -> Point:
    """Project a point onto the feasible set of a box program; return a feasible one unchanged.

    ``P x`` of a point is not computed again. Multipliers are not changed.
    """
    if isinstance(start, Point):
        x = satisfying(program, program.clip(start.x))
        return start if np.array_equal(x, start.x) else program.moved(start, x)
    x = satisfying(program, program.clip(start))
    return Point(x, program.P.product(x), np.zeros(len(program.b)))
