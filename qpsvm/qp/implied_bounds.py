"""Bounds of variables implied by rows."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from qpsvm.numerics.arrays import Matrix, Vector
from qpsvm.qp.program import QuadraticProgram

PROPAGATIONS = 3
"""Passes over the rows in search of bounds that follow from them."""


def implied_bounds(program: QuadraticProgram) -> tuple[Vector, Vector]:
    """Bounds of x that follow from the rows and the bounds the program has.

    ``a'x <= r`` says of every x_j what the smallest value of the other terms leaves for it.
    """
    lower, upper = program.lb.copy(), program.ub.copy()
    rows = sp.coo_array(stacked(stacked(program.G, program.A), -program.A))
    right = np.concatenate([program.h, program.b, -program.b])
    k, j, a = rows.coords[0], rows.coords[1], rows.data
    k, j, a = k[a != 0.0], j[a != 0.0], a[a != 0.0]
    for _ in range(PROPAGATIONS):
        least = np.where(a > 0.0, a * lower[j], a * upper[j])
        infinite = np.isinf(least)
        known = np.bincount(k, np.where(infinite, 0.0, least), len(right))
        count = np.bincount(k, infinite, len(right))
        others = np.where(
            count[k] - infinite == 0, known[k] - np.where(infinite, 0.0, least), -np.inf
        )
        end = (right[k] - others) / a
        # what rounding may have done to an end is nothing beside a tenth of it
        end = end + np.where(a > 0.0, 0.1, -0.1) * np.abs(end)
        np.minimum.at(upper, j[a > 0.0], end[a > 0.0])
        np.maximum.at(lower, j[a < 0.0], end[a < 0.0])
    return lower, upper


def stacked(upper: Matrix, lower: Matrix) -> Matrix:
    """Two matrices below each other, dense or CSR."""
    if sp.issparse(upper) or sp.issparse(lower):
        return sp.csr_array(sp.vstack([sp.csr_array(upper), sp.csr_array(lower)]))
    return np.vstack([upper, lower])
