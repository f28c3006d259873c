"""Divisors that make residuals of the optimality conditions relative.

The table of all scales, and why they are what they are, is in ``kkt``.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from qpsvm.numerics.arrays import Matrix, Vector
from qpsvm.qp.program import QuadraticProgram


def objective_unit(program: QuadraticProgram) -> float:
    """Unit of an objective: its largest coefficient, at most 1; 1 for an objective of zeros."""
    largest = max(
        float(np.max(np.abs(program.q))), float(np.max(np.abs(program.P.diagonal()), initial=0.0))
    )
    return min(1.0, largest) if largest > 0.0 else 1.0


def row_norms(matrix: Matrix) -> Vector:
    """Largest absolute entry of every row of a matrix, shape (m,)."""
    if matrix.shape[0] == 0:
        return np.zeros(0)
    if sp.issparse(matrix):
        return np.asarray(abs(matrix).max(axis=1).toarray()).ravel()
    return np.asarray(np.max(np.abs(matrix), axis=1))


def positive(scale: Vector) -> Vector:
    """Replace zeros among divisors by 1."""
    return np.where(scale > 0.0, scale, 1.0)


def backward_error(missed: Vector, rows: Matrix, x: Vector, right: Vector) -> Vector:
    """Relative violation of every row: ``missed_j / (sum_k |R_jk x_k| + |right_j|)``.

    Zero where nothing is missed.
    """
    terms = np.asarray(abs(rows) @ np.abs(x)) + np.where(np.isfinite(right), np.abs(right), 0.0)
    return np.where(missed == 0.0, 0.0, missed / np.where(terms > 0.0, terms, 1.0))


def variable_unit(x: Vector) -> float:
    """Unit of the variables: the largest entry of x, at most 1; 1 for a point of zeros."""
    largest = float(np.max(np.abs(x)))
    return min(1.0, largest) if largest > 0.0 else 1.0


def bound_scale(bound: Vector, width: Vector, unit: float) -> Vector:
    """Size of every bound of a variable, ``min(width_i, max(unit, |bound_i|))``."""
    size = np.maximum(unit, np.where(np.isfinite(bound), np.abs(bound), unit))
    return np.where(width > 0.0, np.minimum(width, size), size)
