"""The part ``G'z + A'y`` of the Lagrangian's gradient, which belongs to the rows of a program."""

from __future__ import annotations

import numpy as np

from qpsvm.numerics.arrays import Matrix, Vector
from qpsvm.qp.program import QuadraticProgram


def row_gradient(program: QuadraticProgram, z: Vector, y: Vector) -> Vector:
    """Compute ``G'z + A'y``, the constraints' part of the Lagrangian's gradient, shape (n,)."""
    return _transposed(program.G, z) + _transposed(program.A, y)


def row_gradient_sizes(program: QuadraticProgram, z: Vector, y: Vector) -> Vector:
    """Compute ``|G|'|z| + |A|'|y|``, the sums of absolute terms of ``G'z + A'y``, shape (n,)."""
    return _sizes(program.G, z) + _sizes(program.A, y)


def _transposed(rows: Matrix, multipliers: Vector) -> Vector:
    # most programs have no rows of one kind, and SciPy takes as long for none as for a hundred
    return np.asarray(rows.T @ multipliers) if len(multipliers) else np.zeros(rows.shape[1])


def _sizes(rows: Matrix, multipliers: Vector) -> Vector:
    if not len(multipliers):
        return np.zeros(rows.shape[1])
    return np.asarray(abs(rows).T @ np.abs(multipliers))
