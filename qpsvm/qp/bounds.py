"""Bounds on the optimum of a quadratic program, from any point and any multipliers.

The objective of every feasible point is at least the optimum, and for multipliers ``z, z_lower,
z_upper >= 0`` and any w with ``Pw + q + G'z + A'y - z_lower + z_upper = 0`` the dual objective is
at most the optimum. What a solver returns satisfies neither condition exactly. So a feasible point
near x and feasible multipliers near z and y are found first (``nearest``); what they cost is part
of the bound. With them, at a feasible x and ``w``::

    objective - dual objective = sum_j distance of x_j from the bound that its multiplier presses on
                                 x that multiplier + z'(h - Gx) + 1/2 (x - w)'P(x - w)

which is evaluated in this form, because the two objectives may be far larger than their difference.
Multipliers of the bounds are the reduced costs ``Pw + q + A'y + G'z``. Stationarity in a variable
without the bound that it would press on is a condition on (w, y, z), one row of a system like
``Gx <= h``. Rows with a single variable count as bounds (``transforms``).

Rounding is estimated, not enclosed. A Hessian that is semidefinite only up to rounding
(``convexity``) costs what the negative curvature hidden by rounding can lower the objective by over
the bounds of x: without bounds there is no bound on the optimum.

Sources: Boyd and Vandenberghe, *Convex Optimization*, section 5.5.3; for bounds from multipliers
that are nearly feasible Jansson, "Rigorous lower and upper bounds in linear programming", *SIAM
Journal on Optimization* 14 (2004), section 3.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from qpsvm.display import short_repr
from qpsvm.numerics.arrays import Dense, Index, Mask, Vector, as_dense
from qpsvm.numerics.precision import EPS
from qpsvm.numerics.rows import scaled_rows, terms_per_row
from qpsvm.qp.box_gap import box_gap_terms
from qpsvm.qp.hessian_points import MOVABLE_SIZE, HessianPoint, PlainPoint, point_at
from qpsvm.qp.hidden_curvature import hidden_curvature_gain, implied_bounds
from qpsvm.qp.kkt import objective_scale
from qpsvm.qp.nearest import nearest_feasible
from qpsvm.qp.program import QuadraticProgram, row_gradient, row_gradient_sizes
from qpsvm.qp.restrictions import (
    NearestPoint,
    Restrictions,
    fast_rows,
    primal_restrictions,
    row_name,
    stationarity_rows,
)
from qpsvm.qp.row_proofs import prove_rows
from qpsvm.qp.solution import QPSolution, Status
from qpsvm.qp.transforms import rows_as_bounds

NEGLIGIBLE = 1e-10
"""Share of the objective that the rounding of a reduced cost may contribute through one far bound;
a variable inside bounds further apart than that is made stationary like one without bounds."""


@short_repr
@dataclass(frozen=True)
class ProgramBound:
    """Bound on the distance of a point of a quadratic program from its optimum.

    Attributes
    ----------
    objective : float
        Of x as it came; NaN where it cannot be computed.
    upper : float
        At least the optimum: the objective of a feasible point near x. Infinite if none was found.
    lower : float
        At most the optimum: the dual objective of feasible multipliers. Minus infinity if none were
        found.
    rounding : float
        Estimate of what rounding may have done to both, absolute.
    curvature : float
        What negative curvature of P within its rounding may lower the objective by, absolute; part
        of ``lower``.
    scale : float
        What the gap is relative to: the terms of the objective at x (``objective_scale``).
    reason : str
        Why there is no bound; empty if there is one.
    """

    objective: float
    upper: float
    lower: float
    rounding: float
    curvature: float
    scale: float
    reason: str = ""

    @property
    def gap_upper(self) -> float:
        """Upper bound on the objective at x minus the optimum; infinite if unknown."""
        highest = np.maximum(self.upper, self.objective)  # NaN stays NaN
        gap = float(highest - np.minimum(self.lower, self.objective)) + self.rounding
        return gap if math.isfinite(gap) else math.inf

    @property
    def relative_gap(self) -> float:
        """``gap_upper / scale``."""
        return self._relative(self.gap_upper)

    @property
    def floor(self) -> float:
        """``(rounding + curvature) / scale``: the part of the gap that all answers share."""
        return self._relative(self.rounding + self.curvature)

    def _relative(self, gap: float) -> float:
        """A gap relative to the scale, which is zero where nothing sets any."""
        if not gap > 0.0:
            return math.inf if math.isnan(gap) else 0.0
        return gap / self.scale if math.isfinite(gap) and self.scale > 0.0 else math.inf

    def to_dict(self) -> dict[str, object]:
        """The figures by name, for JSON."""
        names = ("gap_upper", "relative_gap", "floor")
        return {**vars(self), **{name: getattr(self, name) for name in names}}


class FeasiblePair(NamedTuple):
    """A primal feasible point and dual feasible multipliers, up to rounding.

    Attributes
    ----------
    x : array of shape (n,)
    y, z : arrays of shape (p,) and (m,)
    z_lower, z_upper : arrays of shape (n,)
    left : array of shape (m + p,)
        What x misses of rows, inequalities first, that contradict each other by the rounding of
        their numbers.
    """

    x: Vector
    y: Vector
    z: Vector
    z_lower: Vector
    z_upper: Vector
    left: Vector


class _Stationary(NamedTuple):
    """Multipliers of rows that are stationary at w, and their reduced costs with rounding.

    ``moved`` is the restricted system's point: the coordinates of w, y and z. ``rows`` are the
    variables whose reduced costs are its rows.
    """

    point: HessianPoint
    y: Vector
    z: Vector
    g: Vector
    error: Vector
    moved: NearestPoint
    rows: Index


def bound(
    program: QuadraticProgram, x: Vector, z: Vector, y: Vector
) -> tuple[ProgramBound, FeasiblePair]:
    """Bound how far the objective at x is from its optimum, from any multipliers.

    Parameters
    ----------
    program : QuadraticProgram
    x : array of shape (n,)
    z, y : arrays of shape (m,) and (p,)
        Multipliers of the rows; those of the bounds follow. All entries finite.

    Returns
    -------
    bound : ProgramBound
    pair : FeasiblePair
        The point and the multipliers the bound is about.

    Examples
    --------
    >>> program = QuadraticProgram([[1.0]], [-3.0], ub=[2.0])
    >>> bound(program, np.array([2.0]), np.zeros(0), np.zeros(0))[0].gap_upper < 1e-14
    True
    """
    with np.errstate(all="ignore"):  # what overflows becomes NaN, and proves nothing
        bounded, way = rows_as_bounds(program)
        m = program.n_inequalities
        rows = np.concatenate([way.kept, m + np.arange(program.n_equalities)])
        found, pair, blocked = _bound(bounded, way.inexact, x, z[way.kept], y)
        if blocked is not None:
            name = row_name(program, int(rows[blocked]))
            found = ProgramBound(
                found.objective, math.inf, -math.inf, 0.0, 0.0, found.scale,
                f"no point near x satisfies {name}",
            )  # fmt: skip
        own = QPSolution(Status.UNKNOWN, z=pair.z, z_lower=pair.z_lower, z_upper=pair.z_upper)
        own, left = way(own), np.zeros(m + program.n_equalities)
        left[rows] = pair.left
        assert own.z is not None
        assert own.z_lower is not None
        assert own.z_upper is not None
        return found, FeasiblePair(pair.x, pair.y, own.z, own.z_lower, own.z_upper, left)


def repaired(program: QuadraticProgram, solution: QPSolution) -> Iterator[QPSolution]:
    """Yield solutions near a given one that satisfy rows and bounds.

    First with the multipliers as they are, then with those that a bound on the optimum is about.
    Nothing where x, y or z is missing.
    """
    if solution.x is None or solution.z is None or solution.y is None:
        return
    pair = bound(program, solution.x, solution.z, solution.y)[1]
    yield solution.replace(x=pair.x)
    # a second time, with reduced costs at the point that satisfies the rows
    pair = bound(program, pair.x, pair.z, pair.y)[1]
    yield solution.replace(x=pair.x, z=pair.z, y=pair.y, z_lower=pair.z_lower, z_upper=pair.z_upper)


def _bound(
    program: QuadraticProgram, inexact: Vector, x: Vector, z: Vector, y: Vector
) -> tuple[ProgramBound, FeasiblePair, int | None]:
    """Bound the optimum of a program without rows that are bounds; name a row that is missed."""
    product = program.P.product_with_error(x)
    quadratic = 0.5 * float(x @ product[0])
    objective = quadratic + float(program.q @ x)
    scale = objective_scale(program, x, quadratic)
    restrictions = primal_restrictions(program)
    point = prove_rows(restrictions, nearest_feasible(restrictions, x))
    points, rounding = [(x, product)], 0.0
    if not np.array_equal(point.point, x):
        points.append((point.point, program.P.product_with_error(point.point)))
    for at, (of_it, error) in points:  # the objectives of both are part of the gap
        sizes = EPS * (np.abs(of_it) + np.abs(program.q)) + 0.5 * error
        rounding += float(np.abs(at) @ sizes)
    x, product = points[-1]
    Px = product[0]
    upper = 0.5 * float(x @ Px) + float(program.q @ x)
    change = np.abs(point.change)  # of unknown signs
    rounding += float(np.abs(Px + program.q) @ change)
    if change.any():
        rounding += 0.5 * float(change @ program.P.term_sizes(change))
    z = np.where(np.isfinite(program.h), np.maximum(z, 0.0), 0.0)
    found = _stationary(program, x, y, z, product, scale)
    w, y, z, g, error, moved, variables = found
    z_lower = np.where(np.isfinite(program.lb), np.maximum(g, 0.0), 0.0)
    z_upper = np.where(np.isfinite(program.ub), np.maximum(-g, 0.0), 0.0)
    pair = FeasiblePair(x, y, z, z_lower, z_upper, point.left)
    lower, gain, reason = -math.inf, 0.0, ""
    if moved.blocked is not None:
        j = int(variables[moved.blocked])
        reason = f"no multipliers near those given make x[{j}] stationary"
    elif point.blocked is None:
        gap, of_gap = complementarity_gap(program, x, w.half_square(x), z, g, error)
        rounding += of_gap + _gap_increase_from_rounding(program, x, found, point)
        # of a program whose rows contradict each other by the rounding of their numbers
        rounding += float(np.concatenate([z, np.abs(y)]) @ point.left)
        if moved.left.any():  # of reduced costs that cannot all be zero: infinite without bounds
            ends = implied_bounds(program)
            distances = np.maximum(np.maximum(x - ends[0], ends[1] - x), 0.0)[variables]
            # NaN has no finite bound
            costs = np.where(moved.left == 0.0, 0.0, distances * moved.left)
            rounding += float(np.sum(costs))
            if not np.isfinite(costs).all():
                j = int(variables[np.argmax(costs)])
                reason = f"no multipliers near those given make x[{j}] stationary, but for rounding"
        rounding += float(np.abs(g) @ inexact)  # quotients are rounded inwards
        gain = hidden_curvature_gain(program, w.w, y, z, (g, error))
        lower = upper - gap - gain
        if not math.isfinite(gain):
            reason = "P has curvature that rounding hides, in variables without bounds"
    proof = ProgramBound(objective, upper, lower, rounding, gain, scale, reason)
    return proof, pair, point.blocked


def complementarity_gap(
    program: QuadraticProgram, x: Vector, square: float, z: Vector, g: Vector, error: Vector
) -> tuple[float, float]:
    """Sum up the duality gap by complementarity; return it with a bound on its rounding.

    Parameters
    ----------
    program : QuadraticProgram
    x : array of shape (n,)
        A feasible point.
    square : float
        ``1/2 (x - w)'P(x - w)`` for the point w at which the multipliers are stationary.
    z : array of shape (m,)
        Multipliers of the inequalities, at least 0.
    g, error : arrays of shape (n,)
        Reduced costs, which are the multipliers of the bounds, and their rounding.
    """
    below, above = x - program.lb, program.ub - x
    known = np.isfinite(program.h)
    slack = np.maximum(np.where(known, program.h - program.G @ x, 0.0), 0.0)
    sizes = abs(program.G) @ np.abs(x) + np.where(known, np.abs(program.h), 0.0)
    of_bounds = np.sum(box_gap_terms(x, g, program.lb, program.ub))
    gap = float(of_bounds) + float(z @ slack) + square
    steps = terms_per_row(program.G) + 2.0
    # a reduced cost within its rounding may press on the other bound
    distances = np.where(np.abs(g) <= error, _widest(program, x), np.where(g > 0.0, below, above))
    return gap, float(error @ _finite(distances)) + 0.5 * EPS * float((z * steps) @ sizes)


def _finite(distance: Vector) -> Vector:
    """Replace infinite and NaN entries of distances by zero."""
    return np.where(np.isfinite(distance), distance, 0.0)


def _widest(program: QuadraticProgram, x: Vector) -> Vector:
    """Distance of every variable from its farther finite bound, 0 without any."""
    return np.maximum(_finite(x - program.lb), _finite(program.ub - x))


def _gap_increase_from_rounding(
    program: QuadraticProgram, x: Vector, found: _Stationary, point: NearestPoint
) -> float:
    """Bound on the gap's increase from the computed point to the exactly feasible one.

    Beside (x, w, y, z) in double precision there are real numbers that satisfy the rows exactly.
    How far away these are is known for every variable, in which direction is not.
    """
    if not (point.change.any() or found.moved.change.any()):
        return 0.0
    G, known, dx = abs(program.G), np.isfinite(program.h), np.abs(point.change)
    n_w, p = len(found.point.coordinates), program.n_equalities
    dw, dy, dz = np.split(np.abs(found.moved.change), [n_w, n_w + p])
    row_change = np.asarray(G @ dx)
    slack = np.abs(np.where(known, program.h - program.G @ x, 0.0)) + row_change
    dg = row_gradient_sizes(program, dz, dy)
    if dw.any():
        dg = dg + found.point.product_change(dw)
    curved = found.point.half_square_change(x, dx, dw)
    of_bounds = np.abs(found.g) @ dx + dg @ (_widest(program, x) + dx)
    return float(of_bounds + found.z @ row_change + dz @ slack) + curved


# --- stationarity --------------------------------------------------------------------------------


def _reduced_costs(
    program: QuadraticProgram, product: tuple[Vector, Vector], y: Vector, z: Vector
) -> tuple[Vector, Vector]:
    """Reduced costs where ``Pw`` is known with its rounding, and bounds on their own.

    Thousands of terms that are added one after the other may all be rounded the same way.
    """
    Pw, Pw_error = product
    steps = terms_per_row(program.A.T) + terms_per_row(program.G.T) + 3.0
    terms = np.abs(Pw) + np.abs(program.q) + row_gradient_sizes(program, z, y)
    g = Pw + program.q + row_gradient(program, z, y)
    return np.asarray(g), np.asarray(Pw_error + 0.5 * EPS * steps * terms)


def _newton_step(
    program: QuadraticProgram, x: Vector, y: Vector, z: Vector, product: tuple[Vector, Vector]
) -> tuple[Vector, Vector, Vector, Vector]:
    """Choose the point w of stationarity: x, or a Newton step from it where that is better.

    A small reduced cost of a variable far inside its bounds costs its size times the distance
    of a bound. One step makes it zero, and costs the square of ``x - w`` instead. The result
    is (w, y), the reduced costs, and their rounding; ``product`` is ``Px`` with its own.
    """
    g, error = _reduced_costs(program, product, y, z)
    width, size = program.ub - program.lb, float(np.max(np.abs(program.q))) or 1.0
    room = np.minimum(x - program.lb, program.ub - x)
    S = np.flatnonzero(np.isfinite(width) & (room * size > np.abs(g) * width))
    distance = np.where(g > 0.0, x - program.lb, program.ub - x)[S]
    terms = abs(float(program.q @ x)) + abs(float(x @ (g - program.q)))
    is_worth = float(np.abs(g[S]) @ distance) > NEGLIGIBLE * terms
    if not is_worth or len(S) > MOVABLE_SIZE:
        return x, y, g, error
    A = as_dense(program.A[:, S])
    system = np.block([[program.P.block(S, S), A.T], [A, np.zeros((len(A), len(A)))]])
    right = np.concatenate([-g[S], np.zeros(len(A))])
    best = x, y, g, error
    gap, rounding = complementarity_gap(program, x, 0.0, z, g, error)
    least = gap + rounding
    # the equations may depend on each other; a long step along hidden curvature would enter the gap
    for solved in (np.linalg.solve, _shortest)[int(program.convexity.shift.any()) :]:
        try:
            step = solved(system, right)
        except np.linalg.LinAlgError:
            continue
        w, moved_y = x.copy(), y + step[len(S) :]
        w[S] += step[: len(S)]
        costs = _reduced_costs(program, program.P.product_with_error(w), moved_y, z)
        square = PlainPoint(w, w[S], program.P, S).half_square(x)
        gap, gap_error = complementarity_gap(program, x, square, z, *costs)
        if gap + gap_error < least:
            best, least = (w, moved_y, *costs), gap + gap_error
        left = float(np.abs(costs[0][S]) @ distance)
        if left <= NEGLIGIBLE * terms and gap_error <= 2.0 * rounding:  # nothing is left to gain
            break
    return best


def _shortest(matrix: Dense, right: Vector) -> Vector:
    return np.asarray(np.linalg.lstsq(matrix, right)[0])


def _stationary(
    program: QuadraticProgram,
    x: Vector,
    y: Vector,
    z: Vector,
    product: tuple[Vector, Vector],
    scale: float,
) -> _Stationary:
    """Move (w, y, z) to stationarity."""
    w, y, g, error = _newton_step(program, x, y, z, product)
    is_lower, is_upper = np.isfinite(program.lb), np.isfinite(program.ub)
    far = is_lower & is_upper & (np.abs(g) <= error)
    far &= error * _widest(program, x) > NEGLIGIBLE * scale
    is_zero = (~is_lower & ~is_upper) | far
    below, above = is_lower & ~is_upper, is_upper & ~is_lower
    wrong = (below & (g < error)) | (above & (g > -error))
    none = np.zeros(0, dtype=np.intp)
    if not (is_zero | wrong).any():
        nothing = np.zeros(len(y) + len(z))
        moved = NearestPoint(np.concatenate([y, z]), nothing, np.zeros(0))
        still = PlainPoint(w, np.zeros(0), program.P, none)
        return _Stationary(still, y, z, g, error, moved, none)
    rows = np.flatnonzero(is_zero | below | above)
    signs = np.where(is_lower & ~is_zero, -1.0, 1.0)[rows]
    point = point_at(program.P, w, rows)
    restrictions, rounded = _restricted(program, point, rows, signs, is_zero[rows])
    start = np.concatenate([point.coordinates, y, z])
    moved = prove_rows(restrictions, nearest_feasible(restrictions, start), allow_residuals=True)
    if rounded.any():
        moved = replace(moved, left=moved.left + rounded)
    n_w = len(point.coordinates)
    of_w, y, z = np.split(moved.point, [n_w, n_w + len(y)])
    point = point.moved(of_w)
    g, error = _reduced_costs(program, point.product(), y, z)
    # a real neighbour has these reduced costs on the right side of zero
    exact = rows[is_zero[rows]]
    g[exact], error[exact] = 0.0, 0.0
    g = np.where(below, np.maximum(g, 0.0), np.where(above, np.minimum(g, 0.0), g))
    return _Stationary(point, y, z, g, error, moved, rows)


def _restricted(
    program: QuadraticProgram, point: HessianPoint, rows: Index, signs: Vector, is_equality: Mask
) -> tuple[Restrictions, Vector]:
    """Express the signs that reduced costs need for optimality as linear constraints.

    An inequality is asked for as much more as rounding may hide of it; what it may hide of an
    equality is returned as well.
    """
    fixed, rounded = point.rest(rows)
    matrix = scaled_rows(signs, stationarity_rows(program, rows, point.columns(rows)))
    free = np.full(len(point.coordinates) + program.n_equalities, np.inf)
    constant = program.q[rows] + fixed
    rounded = np.where(rounded > 0.0, rounded + EPS * np.abs(constant), 0.0)
    restrictions = Restrictions(
        fast_rows(matrix),
        -signs * constant - np.where(is_equality, 0.0, rounded),
        is_equality,
        np.concatenate([-free, np.zeros(program.n_inequalities)]),
        np.concatenate([free, np.where(np.isfinite(program.h), np.inf, 0.0)]),
    )
    return restrictions, np.where(is_equality, rounded, 0.0)
