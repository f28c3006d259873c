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


def backward_error(
    missed: Vector, rows: Matrix, x: Vector, right: Vector, unit: float = 0.0
) -> Vector:
    """Relative violation of every row: ``missed_j / (sum_k |R_jk x_k| + |right_j|)``.

    Zero where nothing is missed. With a unit of x the divisor is at least ``max_k |R_jk| unit``.
    """
    terms = np.asarray(abs(rows) @ np.abs(x)) + np.where(np.isfinite(right), np.abs(right), 0.0)
    if unit > 0.0:
        terms = np.maximum(terms, unit * row_norms(rows))
    return np.where(missed == 0.0, 0.0, missed / np.where(terms > 0.0, terms, 1.0))


def bound_scale(bound: Vector, width: Vector, x: Vector, unit: float = 0.0) -> Vector:
    """Size of every bound of a variable, which its violation is relative to.

    ``min(width_i, max(v, |bound_i|))`` with v the unit of x, ``min(1, max_i |x_i|)`` for 0.
    """
    if unit == 0.0:
        largest = float(np.max(np.abs(x)))
        unit = min(1.0, largest) if largest > 0.0 else 1.0
    size = np.maximum(unit, np.where(np.isfinite(bound), np.abs(bound), unit))
    return np.where(width > 0.0, np.minimum(width, size), size)
