"""Sizes by which residuals of the optimality conditions are divided, to make them relative.

The table of all of them, with the reason for each, is in ``kkt``.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from qpsvm.numerics.arrays import Matrix, Vector
from qpsvm.qp.program import QuadraticProgram


def objective_unit(program: QuadraticProgram) -> float:
    """Return the largest coefficient of the objective, at most 1; 1 if all are zero."""
    largest = float(np.max(np.abs(program.q)))
    if not largest >= 1.0:  # the diagonal of P costs a pass over the samples
        largest = max(largest, float(np.max(np.abs(program.P.diagonal()), initial=0.0)))
    return min(1.0, largest) if largest > 0.0 else 1.0


def row_norms(matrix: Matrix) -> Vector:
    """Return the largest absolute entry of every row of a matrix, shape (m,)."""
    if matrix.shape[0] == 0:
        return np.zeros(0)
    if sp.issparse(matrix):
        entries = sp.csc_array(matrix)
        norms = np.zeros(matrix.shape[0])
        np.maximum.at(norms, entries.indices, np.abs(entries.data))
        return norms
    return np.asarray(np.max(np.abs(matrix), axis=1))


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
