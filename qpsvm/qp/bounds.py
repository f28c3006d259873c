"""Bounds on the optimum of a quadratic program, from any point and any multipliers.

The objective of every feasible point is at least the optimum, and for multipliers ``z, z_lower,
z_upper >= 0`` and any w with ``Pw + q + G'z + A'y - z_lower + z_upper = 0`` the dual objective is
at most the optimum. What a solver returns satisfies neither condition exactly. So a feasible point
near x and feasible multipliers near z and y are found first (``nearest``); what they cost is part
of the bound. With them, at a feasible x and ``w``::

    objective - dual objective = sum_j distance of x_j from the bound that its multiplier presses on
                                 x that multiplier + z'(h - Gx) + 1/2 (x - w)'P(x - w)

which is evaluated in this form, because the two objectives may be far larger than their difference.
Multipliers of the bounds are read off stationarity. Stationarity in a variable without the bound
that it would press on is a condition on (w, y, z), one row of a system like ``Gx <= h``.

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

import numpy as np
import scipy.sparse as sp

from qpsvm.numerics.arrays import Index, Mask, Vector
from qpsvm.numerics.precision import EPS
from qpsvm.qp.bound_rows import BoundsAsRows, rows_as_bounds
from qpsvm.qp.hidden_curvature import hidden_curvature_price
from qpsvm.qp.implied_bounds import implied_bounds
from qpsvm.qp.kkt_scales import objective_scale
from qpsvm.qp.nearest import nearest_feasible
from qpsvm.qp.nearest_point import NearestPoint
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.program_bound import FeasiblePair, ProgramBound
from qpsvm.qp.reduced_costs import (
    MOVABLE_SIZE,
    NEGLIGIBLE,
    ReducedCosts,
    complementarity_gap,
    finite_or_zero,
)
from qpsvm.qp.restrictions import (
    MatrixRows,
    Restrictions,
    primal_restrictions,
    row_name,
    stationarity_rows,
)
from qpsvm.qp.row_gradient import row_gradient_sizes
from qpsvm.qp.row_proofs import prove_rows
from qpsvm.qp.solution import QPSolution


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
        return _Bounding(program).bound(x, z, y)


def repaired(program: QuadraticProgram, solution: QPSolution) -> Iterator[QPSolution]:
    """Yield solutions near a given one that satisfy rows and bounds.

    First with the multipliers as they are, then with those that a bound on the optimum is about.
    Nothing where x, y or z is missing.
    """
    if solution.x is None or solution.z is None or solution.y is None:
        return
    with np.errstate(all="ignore"):
        bounding = _Bounding(program)
        pair = bounding.bound(solution.x, solution.z, solution.y)[1]
        yield solution.replace(x=pair.x)
        # a second time, with reduced costs at the point that satisfies the rows
        pair = bounding.bound(pair.x, pair.z, pair.y)[1]
    yield solution.replace(x=pair.x, z=pair.z, y=pair.y, z_lower=pair.z_lower, z_upper=pair.z_upper)


class _Bounding:
    """Computation of bounds on the optimum of one program.

    Rows that are bounds are treated as bounds (``bound_rows``).
    """

    def __init__(self, program: QuadraticProgram) -> None:
        self.given = program
        self.program, self.way = rows_as_bounds(program)
        self.reduced_costs = ReducedCosts(self.program)

    def bound(self, x: Vector, z: Vector, y: Vector) -> tuple[ProgramBound, FeasiblePair]:
        if not isinstance(self.way, BoundsAsRows):
            return self._bound(x, z, y)
        # multipliers of bounds follow from those of the other rows
        found, pair = self._bound(x, z[self.way.kept], y)
        return found, pair.with_rows(self.way)

    def _bound(self, x: Vector, z: Vector, y: Vector) -> tuple[ProgramBound, FeasiblePair]:
        program = self.program
        product = program.P.product_with_error(x)
        quadratic = 0.5 * float(x @ product[0])
        objective = quadratic + float(program.q @ x)
        scale = objective_scale(program, x, quadratic)
        restrictions = primal_restrictions(program)
        point = prove_rows(restrictions, nearest_feasible(restrictions, x))
        if not np.array_equal(point.point, x):
            x, product = point.point, program.P.product_with_error(point.point)
        Px, lost = product
        gradient = Px + program.q
        upper = 0.5 * float(x @ Px) + float(program.q @ x)
        upper_rounding = float(np.abs(x) @ (EPS * (np.abs(Px) + np.abs(program.q)) + 0.5 * lost))
        upper_rounding += float(np.abs(gradient) @ np.abs(point.change))
        if point.change.any():
            change = np.abs(point.change)  # of unknown signs
            upper_rounding += 0.5 * float(change @ program.P.term_sizes(change))
        known = np.isfinite(program.h)
        z = np.where(known, np.maximum(z, 0.0), 0.0)
        w, y, z, g, error, moved = self._stationary(x, y, z, product, scale)
        z_lower = np.where(np.isfinite(program.lb), np.maximum(g, 0.0), 0.0)
        z_upper = np.where(np.isfinite(program.ub), np.maximum(-g, 0.0), 0.0)
        pair = FeasiblePair(x, w, y, z, z_lower, z_upper, point.left)
        if point.blocked is not None:
            reason = f"no point near x satisfies {self._name_of(point.blocked)}"
            return ProgramBound(objective, math.inf, -math.inf, 0.0, 0.0, scale, reason), pair
        if moved.blocked is not None:
            j = int(self._rows[moved.blocked])
            reason = f"no multipliers near those given make x[{j}] stationary"
            return ProgramBound(
                objective, upper, -math.inf, upper_rounding, 0.0, scale, reason
            ), pair
        gap, rounding = complementarity_gap(program, x, w, z, g, error)
        rounding += self._price(x, w, z, g, point, moved)
        # of a program whose rows contradict each other by the rounding of their numbers
        rounding += float(np.concatenate([z, np.abs(y)]) @ point.left)
        rounding += self._price_of_contradiction(x, moved.left)
        if isinstance(self.way, BoundsAsRows):  # quotients are rounded inwards
            rounding += float(np.abs(g) @ self.way.inexact)
        price = hidden_curvature_price(program, w, y, z, (g, error))
        reason = ""
        if not math.isfinite(price):
            reason = "P has curvature that rounding hides, in variables without bounds"
        return ProgramBound(
            objective, upper, upper - gap - price, upper_rounding + rounding, price, scale, reason
        ), pair

    def _name_of(self, row: int) -> str:
        """The name of a row of ``primal_restrictions`` in the program as given."""
        if isinstance(self.way, BoundsAsRows):
            kept, m = self.way.kept, self.given.n_inequalities
            row = int(kept[row]) if row < len(kept) else row - len(kept) + m
        return row_name(self.given, row)

    # --- stationarity ----------------------------------------------------------------------------

    def _stationary(
        self, x: Vector, y: Vector, z: Vector, product: tuple[Vector, Vector], scale: float
    ) -> tuple[Vector, Vector, Vector, Vector, Vector, NearestPoint]:
        """Move (w, y, z) to stationarity; return them, the reduced costs, and the move."""
        program = self.program
        w, y, g, error = self.reduced_costs.newton_step(x, y, z, product)
        is_lower, is_upper = np.isfinite(program.lb), np.isfinite(program.ub)
        free = ~is_lower & ~is_upper
        widest = np.maximum(finite_or_zero(x - program.lb), finite_or_zero(program.ub - x))
        allowed = NEGLIGIBLE * scale
        far = is_lower & is_upper & (np.abs(g) <= error) & (error * widest > allowed)
        is_equality = free | far
        one_sided = is_lower ^ is_upper
        wrong = (one_sided & is_lower & (g < error)) | (one_sided & is_upper & (g > -error))
        is_needed = bool((is_equality | wrong).any())
        self._rows: Index = np.flatnonzero((is_equality | one_sided) & is_needed)
        if not is_needed:
            return w, y, z, g, error, NearestPoint(np.zeros(0), np.zeros(0), np.zeros(0))
        is_equality, sides = is_equality[self._rows], np.where(is_lower & ~is_equality, -1.0, 1.0)
        none = np.zeros(0, dtype=np.intp)
        for movable in (none, self._movable()) if self._is_affordable() else (none,):
            restrictions = self._stationarity(w, movable, sides[self._rows], is_equality)
            moved = nearest_feasible(restrictions, np.concatenate([w[movable], y, z]))
            moved = prove_rows(restrictions, moved, prices=True)
            if moved.blocked is None and not moved.left.any():
                break
        n_w = len(moved.point) - len(y) - len(z)
        w = w.copy()
        w[movable], y, z = np.split(moved.point, [n_w, n_w + len(y)])
        g, error = self.reduced_costs.at(w, y, z)
        # a real neighbour has these reduced costs on the right side of zero
        g[self._rows[is_equality]] = 0.0
        g = np.where(one_sided & is_lower, np.maximum(g, 0.0), g)
        g = np.where(one_sided & is_upper, np.minimum(g, 0.0), g)
        error[self._rows[is_equality]] = 0.0
        return w, y, z, g, error, moved

    def _stationarity(
        self, w: Vector, movable: Index, sides: Vector, is_equality: Mask
    ) -> Restrictions:
        """Reduced costs on the right side of zero, as restrictions on (w[movable], y, z)."""
        program, rows = self.program, self._rows
        matrix = stationarity_rows(program, rows, movable)
        # what w contributes through the entries that stay where they are
        still = w.copy()
        still[movable] = 0.0
        constant = program.q[rows] + (program.P.matvec(still)[rows] if still.any() else 0.0)
        by_side = sp.diags_array(sides) @ matrix if sp.issparse(matrix) else matrix * sides[:, None]
        free = np.full(len(movable) + program.n_equalities, np.inf)
        return Restrictions(
            MatrixRows.of(by_side),
            -sides * constant,
            is_equality,
            np.concatenate([-free, np.zeros(program.n_inequalities)]),
            np.concatenate([free, np.where(np.isfinite(program.h), np.inf, 0.0)]),
        )

    def _is_affordable(self) -> bool:
        """Return whether the rows of P that moving w takes are few enough to be formed."""
        return self.program.P.prefers_sparse or len(self._rows) <= MOVABLE_SIZE

    def _movable(self) -> Index:
        program = self.program
        curved = program.P.diagonal() > 0.0
        if program.n_variables > MOVABLE_SIZE and not program.P.prefers_sparse:
            chosen = np.zeros(program.n_variables, dtype=bool)
            chosen[self._rows] = True
            curved &= chosen
        return np.flatnonzero(curved)

    def _price(
        self, x: Vector, w: Vector, z: Vector, g: Vector, point: NearestPoint, moved: NearestPoint
    ) -> float:
        """Bound on the gap's increase from the computed point to the exactly feasible one.

        Beside (x, w, y, z) in double precision there are real numbers that satisfy the rows
        exactly. How far away these are is known for every variable, in which direction is not.
        """
        program = self.program
        if not (point.change.any() or moved.change.any()):
            return 0.0
        dx, dw = np.abs(point.change), np.zeros(program.n_variables)
        n_w = len(moved.change) - program.n_equalities - program.n_inequalities
        dw_moved, dy, dz = np.zeros(0), np.zeros(program.n_equalities), np.zeros(len(z))
        if len(moved.change):
            ends = [n_w, n_w + program.n_equalities]
            dw_moved, dy, dz = np.split(np.abs(moved.change), ends)
        if n_w > 0:
            dw[self._movable()] = dw_moved
        P, G = program.P, abs(program.G)
        known = np.isfinite(program.h)
        reach = np.asarray(G @ dx)
        slack = np.abs(np.where(known, program.h - program.G @ x, 0.0)) + reach
        dg = row_gradient_sizes(program, dz, dy) + P.term_sizes(dw)
        widest = np.maximum(finite_or_zero(x - program.lb), finite_or_zero(program.ub - x)) + dx
        apart = dx + dw
        curved = float(np.abs(P.matvec(x - w)) @ apart) + 0.5 * float(apart @ P.term_sizes(apart))
        return float(np.abs(g) @ dx + z @ reach + dz @ slack + dg @ widest) + curved

    def _price_of_contradiction(self, x: Vector, left: Vector) -> float:
        """Bound on the increase of the duality gap by reduced costs that cannot all be zero.

        Infinite where such a variable is not bounded.
        """
        if not left.any():
            return 0.0
        lower, upper = implied_bounds(self.program)
        reach = np.maximum(np.maximum(x - lower, upper - x), 0.0)[self._rows]
        is_priced = left > 0.0
        return float(reach[is_priced] @ left[is_priced])
