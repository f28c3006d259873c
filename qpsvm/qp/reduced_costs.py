"""Reduced costs ``Pw + q + A'y + G'z`` of a program, and the point w that makes them small.

Multipliers bound the optimum with the point w at which they are stationary, and that need not be
the feasible point x whose objective they are compared with (``bounds``).

With them the duality gap of a feasible point is a sum of non-negative terms. At a feasible x, and
multipliers that are stationary at w::

    gap = sum_j distance of x_j from the bound that its multiplier presses on  x  that multiplier
          + z'(h - Gx) + 1/2 (x - w)'P(x - w)

In this form nothing cancels: the two objectives may be far larger than their difference.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from qpsvm.numerics.arrays import Dense, Vector, as_dense
from qpsvm.numerics.precision import EPS
from qpsvm.numerics.rows import terms_per_row
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.row_gradient import row_gradient, row_gradient_sizes


def complementarity_gap(
    program: QuadraticProgram, x: Vector, w: Vector, z: Vector, g: Vector, error: Vector
) -> tuple[float, float]:
    """Sum up the duality gap by complementarity; return it with a bound on its rounding.

    Parameters
    ----------
    program : QuadraticProgram
    x, w : arrays of shape (n,)
        A feasible point, and the point at which the multipliers are stationary.
    z : array of shape (m,)
        Multipliers of the inequalities, at least 0.
    g, error : arrays of shape (n,)
        Reduced costs, which are the multipliers of the bounds, and their rounding.
    """
    below, above = x - program.lb, program.ub - x
    known = np.isfinite(program.h)
    slack = np.maximum(np.where(known, program.h - program.G @ x, 0.0), 0.0)
    sizes = abs(program.G) @ np.abs(x) + np.where(known, np.abs(program.h), 0.0)
    apart = x - w
    square = 0.5 * float(apart @ program.P.matvec(apart)) if apart.any() else 0.0
    pressed = np.where(g > 0.0, below, np.where(g < 0.0, above, 0.0)) * np.abs(g)
    gap = float(np.sum(pressed)) + float(z @ slack) + max(square, 0.0)
    steps = terms_per_row(program.G) + 2.0
    # a reduced cost within its rounding may press on the other bound
    unsure = np.abs(g) <= error
    reach = np.where(g > 0.0, below, above)
    reach = np.where(unsure, np.maximum(finite_or_zero(below), finite_or_zero(above)), reach)
    return gap, float(error @ finite_or_zero(reach)) + 0.5 * EPS * float((z * steps) @ sizes)


def finite_or_zero(distance: Vector) -> Vector:
    """Replace infinite and NaN entries of distances by zero."""
    return np.where(np.isfinite(distance), distance, 0.0)


MOVABLE_SIZE = 3000
"""Up to so many variables all entries of w may move to make stationarity hold; of more, where P is
not sparse, only those of the variables in question."""

NEGLIGIBLE = 1e-10
"""Share of the objective that the rounding of a reduced cost may contribute through one far bound;
a variable inside bounds further apart than that is made stationary like one without bounds."""


class ReducedCosts:
    """Reduced costs of one program, at any point and for any multipliers of its rows.

    Parameters
    ----------
    program : QuadraticProgram
    """

    def __init__(self, program: QuadraticProgram) -> None:
        self.program = program

    def at(self, w: Vector, y: Vector, z: Vector) -> tuple[Vector, Vector]:
        """Reduced costs ``Pw + q + A'y + G'z`` with bounds on their rounding."""
        return self.beside(self.program.P.product_with_error(w), y, z)

    def beside(self, product: tuple[Vector, Vector], y: Vector, z: Vector) -> tuple[Vector, Vector]:
        """Reduced costs where ``Pw`` is known, with a bound on its rounding."""
        program, (Pw, lost) = self.program, product
        g = Pw + program.q + row_gradient(program, z, y)
        terms = np.abs(Pw) + np.abs(program.q) + row_gradient_sizes(program, z, y)
        return np.asarray(g), np.asarray(lost + 0.5 * EPS * self._steps * terms)

    @cached_property
    def _steps(self) -> Vector:
        """The largest number of roundings of a term of each reduced cost beside Pw, shape (n,).

        Thousands of terms that are added one after the other may all be rounded the same way.
        """
        return terms_per_row(self.program.A.T) + terms_per_row(self.program.G.T) + 3.0

    def newton_step(
        self, x: Vector, y: Vector, z: Vector, product: tuple[Vector, Vector]
    ) -> tuple[Vector, Vector, Vector, Vector]:
        """Choose the point w of stationarity: x, or a Newton step from it where that is better.

        A small reduced cost of a variable far inside its bounds costs its size times the distance
        of a bound. One step makes it zero, and costs the square of ``x - w`` instead. The result
        is (w, y), the reduced costs, and their rounding; ``product`` is ``Px`` with its own.
        """
        program = self.program
        g, error = self.beside(product, y, z)
        width, size = program.ub - program.lb, float(np.max(np.abs(program.q))) or 1.0
        room = np.minimum(x - program.lb, program.ub - x)
        inside = np.isfinite(width) & (room * size > np.abs(g) * width)
        S = np.flatnonzero(inside)
        distance = np.where(g > 0.0, x - program.lb, program.ub - x)[S]
        terms = abs(float(program.q @ x)) + abs(float(x @ (g - program.q)))
        is_worth = float(np.abs(g[S]) @ distance) > NEGLIGIBLE * terms
        if not is_worth or len(S) > MOVABLE_SIZE:
            return x, y, g, error
        A = as_dense(program.A[:, S])
        system = np.block([[program.P.block(S, S), A.T], [A, np.zeros((len(A), len(A)))]])
        right = np.concatenate([-g[S], np.zeros(len(A))])
        gap, rounding = complementarity_gap(program, x, x, z, g, error)
        best, least = (x, y, g, error), gap + rounding
        # a long step along curvature that rounding hides would be priced
        is_definite = not program.convexity.shift.any()
        for solved in (np.linalg.solve, _least_squares)[0 if is_definite else 1 :]:
            try:
                step = solved(system, right)
            except np.linalg.LinAlgError:
                continue
            w, moved_y = x.copy(), y + step[len(S) :]
            w[S] += step[: len(S)]
            moved = w, moved_y, *self.at(w, moved_y, z)
            gap, lost = complementarity_gap(program, x, w, z, *moved[2:])
            best, least = (moved, gap + lost) if gap + lost < least else (best, least)
            left = float(np.abs(moved[2][S]) @ distance)
            if left <= NEGLIGIBLE * terms and lost <= 2.0 * rounding:  # nothing is left to gain
                break
        return best


def _least_squares(matrix: Dense, right: Vector) -> Vector:
    """The shortest solution of equations that may depend on each other, up to rounding."""
    return np.asarray(np.linalg.lstsq(matrix, right)[0])
