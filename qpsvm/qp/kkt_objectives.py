"""Primal and dual objective of a quadratic program at a candidate with multipliers."""

from __future__ import annotations

import numpy as np

from qpsvm.numerics.arrays import Vector
from qpsvm.qp.program import QuadraticProgram, finite_dot
from qpsvm.qp.row_gradient import row_gradient


def objectives(
    program: QuadraticProgram,
    Px: Vector,
    x: Vector,
    z: Vector,
    y: Vector,
    z_lower: Vector,
    z_upper: Vector,
) -> tuple[float, float]:
    """Compute the objective ``1/2 x'Px + q'x`` and the dual one, for given multipliers."""
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
