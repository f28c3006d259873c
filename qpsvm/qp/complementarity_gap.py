"""The duality gap of a feasible point as a sum of non-negative terms, with its rounding.

At a feasible x, and multipliers that are stationary at w::

    gap = sum_j distance of x_j from the bound that its multiplier presses on  x  that multiplier
          + z'(h - Gx) + 1/2 (x - w)'P(x - w)

In this form nothing cancels: the two objectives may be far larger than their difference.
"""

from __future__ import annotations

import numpy as np

from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.precision import EPS
from qpsvm.numerics.rows import terms_per_row
from qpsvm.qp.program import QuadraticProgram


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
