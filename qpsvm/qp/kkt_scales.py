"""Sizes by which residuals of the optimality conditions are divided, to make them relative.

The table of all of them, with the reason for each, is in ``kkt``.

The objectives of the primal and dual program at a candidate are here, too.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from qpsvm.numerics.arrays import Matrix, Vector
from qpsvm.numerics.rows import entries_of
from qpsvm.qp.bound_rows import rows_as_bounds
from qpsvm.qp.program import QuadraticProgram, finite_dot
from qpsvm.qp.row_gradient import row_gradient

SHARE_OF_NATURAL = 1e-6
"""Share of a variable's natural objective that an optimum of zero is measured in: as far
as the objective is quadratic, that of a thousandth of the variable's natural size. At the default
eps a gap of fifty roundings of the natural objective is allowed."""


def objective_unit(program: QuadraticProgram) -> float:
    """Return the largest coefficient of the objective, at most 1; 1 if all are zero."""
    largest = float(np.max(np.abs(program.q)))
    if not largest >= 1.0:  # the diagonal of P costs a pass over the samples
        largest = max(largest, float(np.max(np.abs(program.P.diagonal()), initial=0.0)))
    return min(1.0, largest) if largest > 0.0 else 1.0


def objective_terms(program: QuadraticProgram, x: Vector, quadratic: float) -> float:
    """Return ``1/2 x'Px + |q'x|``, the two terms of the objective at x; the first one is given."""
    return max(quadratic, 0.0) + abs(float(program.q @ x))


def objective_scale(program: QuadraticProgram, x: Vector, quadratic: float) -> float:
    """Return what gaps of a bare program are relative to: ``1/2 x'Px + |q'x|``, or a floor.

    The two terms of the objective at x, and never a 1 in place of them: a program and the same one
    with its objective times 1e-12 have the same verdict. Where the optimum is zero, no gap is small
    beside the terms. The floor is a millionth of the objective of the one variable that matters
    most, ``|q_j| s_j + 1/2 P_jj s_j^2``, at its natural size ``s_j``: the smallest that its bounds,
    the terms of its rows and its own curvature suggest, at most ``max(1, |x_j|)``.

    Parameters
    ----------
    program : QuadraticProgram
    x : array of shape (n,)
    quadratic : float
        ``1/2 x'Px``.
    """
    terms = objective_terms(program, x, quadratic)
    q, curvature = np.abs(program.q), np.maximum(program.P.diagonal(), 0.0)
    if not (q.any() or curvature.any()):
        return max(terms, 1.0)  # an objective without terms has no unit of its own
    sizes = _natural_sizes(rows_as_bounds(program)[0], x)
    is_curved = (q > 0.0) & (curvature > 0.0)
    preferred = np.divide(q, curvature, out=np.full(len(q), np.inf), where=is_curved)
    sizes = np.minimum(sizes, preferred)
    own = q * sizes + 0.5 * curvature * sizes * sizes
    return max(terms, SHARE_OF_NATURAL * float(np.max(own)))


def _natural_sizes(program: QuadraticProgram, x: Vector) -> Vector:
    """Size of each variable that its bounds and the terms of its rows suggest.

    At most ``max(1, |x_j|)``, and ``|x_j|`` where neither bounds nor rows suggest any.
    """
    sizes = np.full(len(x), np.inf)
    for bound in (program.lb, program.ub):
        is_number = np.isfinite(bound) & (bound != 0.0)
        sizes = np.where(is_number, np.minimum(sizes, np.abs(bound)), sizes)
    for rows, right in ((program.G, program.h), (program.A, program.b)):
        if not len(right):
            continue
        is_finite = np.isfinite(right)
        terms = np.asarray(abs(rows) @ np.abs(x)) + np.where(is_finite, np.abs(right), 0.0)
        terms = np.where(is_finite & (terms > 0.0), terms, np.inf)
        if sp.issparse(rows):
            row, column, values = entries_of(rows)
            np.minimum.at(sizes, column, terms[row] / np.abs(values))
        else:
            with np.errstate(divide="ignore"):
                sizes = np.minimum(sizes, np.min(terms[:, None] / np.abs(rows), axis=0))
    return np.minimum(np.where(np.isfinite(sizes), sizes, np.abs(x)), np.maximum(np.abs(x), 1.0))


def relative_to(values: Vector, scale: float) -> Vector:
    """Divide figures by a scale that may be zero: zero figures are zero, others infinite."""
    return np.asarray(np.where(values == 0.0, 0.0, values / np.float64(scale)))


def positive(scale: Vector) -> Vector:
    """Replace zeros among divisors by 1."""
    return np.where(scale > 0.0, scale, 1.0)


def backward_error(missed: Vector, rows: Matrix, x: Vector, right: Vector) -> Vector:
    """Divide violations of rows by the sizes of their terms, ``sum_k |R_jk x_k| + |right_j|``.

    The quotient is zero where the violation is.
    """
    if not missed.any():
        return missed
    terms = np.asarray(abs(rows) @ np.abs(x)) + np.where(np.isfinite(right), np.abs(right), 0.0)
    return np.where(missed == 0.0, 0.0, missed / np.where(terms > 0.0, terms, 1.0))


def variable_unit(x: Vector) -> float:
    """Return the largest absolute entry of x, at most 1; 1 if all are zero."""
    largest = float(np.max(np.abs(x)))
    return min(1.0, largest) if largest > 0.0 else 1.0


def bound_scale(bound: Vector, width: Vector, unit: float) -> Vector:
    """Return the scale of violations of a bound, ``min(width_i, max(unit, |bound_i|))``."""
    size = np.maximum(unit, np.where(np.isfinite(bound), np.abs(bound), unit))
    return np.where(width > 0.0, np.minimum(width, size), size)


def objectives(
    program: QuadraticProgram,
    Px: Vector,
    x: Vector,
    z: Vector,
    y: Vector,
    z_lower: Vector,
    z_upper: Vector,
) -> tuple[float, float]:
    """Compute the primal and the dual objective of a quadratic program at a given candidate."""
    quadratic = 0.5 * float(x @ Px)
    primal = quadratic + float(program.q @ x)
    # D = -1/2 x'Px - h'z - b'y + lb'z_lower - ub'z_upper, finite bounds only
    dual = -quadratic - finite_dot(program.h, z) - float(program.b @ y)
    dual += finite_dot(program.lb, z_lower) - finite_dot(program.ub, z_upper)
    return primal, dual


def repaired_dual_objective(
    program: QuadraticProgram, Px: Vector, x: Vector, z: Vector, y: Vector
) -> float:
    """The dual objective of z clipped at zero, with bound multipliers that balance the gradient."""
    z = np.where(np.isfinite(program.h), np.maximum(z, 0.0), 0.0)
    gradient = Px + program.q + row_gradient(program, z, y)
    z_lower = np.where(np.isfinite(program.lb), np.maximum(gradient, 0.0), 0.0)
    z_upper = np.where(np.isfinite(program.ub), np.maximum(-gradient, 0.0), 0.0)
    return objectives(program, Px, x, z, y, z_lower, z_upper)[1]
