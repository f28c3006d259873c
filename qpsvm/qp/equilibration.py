"""Programs whose variables or rows differ by many orders of magnitude, scaled to like sizes.

Substituting ``x = D x'`` and multiplying rows by E changes no optimum. D and E are those of Ruiz:
every row and column of ::

    [ P  M' ]
    [ M  0  ]     with M = [G; A]

is divided by the square root of its largest entry, again and again, until all are near one. The
factors are rounded to powers of two, so that the way there and the way back round nothing.

Source: Ruiz, "A scaling algorithm to equilibrate both rows and columns norms in matrices",
RAL-TR-2001-034, section 2.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from qpsvm.numerics.arrays import Sparse, Vector
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.scaling import scale
from qpsvm.qp.stored_quadratic import SparseQuadratic
from qpsvm.qp.transforms import Identity, Reversible

BAD_SPREAD = 1e6
"""Ratio of the largest to the smallest column, or row, of the constraints from which a program is
scaled. Below it solvers that scale for themselves keep digits enough, and ordinary data (unscaled
features of sizes 1e-2 to 1e3) are left as they are."""

PASSES = 20
"""Repetitions of the scaling; each halves the exponents that are left."""

LARGEST_EXPONENT = 300
"""Of a factor, as a power of two: products of two factors stay far from overflow."""


LIMITS = math.ldexp(1.0, -LARGEST_EXPONENT), math.ldexp(1.0, LARGEST_EXPONENT)
"""Smallest and largest factor by which a row or a variable of a program is scaled."""


def equilibrate(
    program: QuadraticProgram, bad_spread: float = BAD_SPREAD
) -> tuple[QuadraticProgram, Reversible]:
    """Scale badly scaled rows and variables of a program; return well-scaled programs as they are.

    Parameters
    ----------
    program : QuadraticProgram
        Scaled only if P is sparse: the columns of the factor of a structured P are no variables.
    bad_spread : float
        Ratio of sizes from which rows or variables count as badly scaled.
    """
    if not (len(program.h) + len(program.b) and isinstance(program.P, SparseQuadratic)):
        return program, Identity()
    parts = sp.csc_array(program.G), sp.csc_array(program.A)
    columns = np.maximum(*(_largest(part, 0) for part in parts))
    rows = np.concatenate([_largest(part, 1) for part in parts])
    if max(_spread(columns), _spread(rows)) < bad_spread:
        return program, Identity()
    M = abs(sp.csc_array(sp.vstack(parts)))
    D, E = _factors(abs(sp.csc_array(program.P.to_sparse())), M)
    m = program.n_inequalities
    return scale(program, D, E[:m], E[m:])


def _factors(P: Sparse, M: Sparse) -> tuple[Vector, Vector]:
    """Scaling factors of variables and rows, powers of two."""
    D, E = np.ones(M.shape[1]), np.ones(M.shape[0])
    for _ in range(PASSES):
        scaled_M = sp.csc_array(_diagonal(E) @ M @ _diagonal(D))
        scaled_P = sp.csc_array(_diagonal(D) @ P @ _diagonal(D))
        D *= _root(np.maximum(_largest(scaled_M, 0), _largest(scaled_P, 0)))
        E *= _root(_largest(scaled_M, 1))
        for factors in (D, E):  # rows of denormal numbers would need larger ones than there are
            np.clip(factors, *LIMITS, out=factors)
    return _power_of_two(D), _power_of_two(E)


def _root(sizes: Vector) -> Vector:
    return np.asarray(1.0 / np.sqrt(np.where(sizes > 0.0, sizes, 1.0)))


def _power_of_two(values: Vector) -> Vector:
    exponents = np.clip(np.rint(np.log2(values)), -LARGEST_EXPONENT, LARGEST_EXPONENT)
    return np.asarray(np.ldexp(1.0, exponents.astype(int)))


def _largest(M: Sparse, axis: int) -> Vector:
    """Largest magnitude in every column (axis 0) or row (axis 1) of a CSC array."""
    entries, largest = np.abs(M.data), np.zeros(M.shape[1 - axis])
    if axis:
        np.maximum.at(largest, M.indices, entries)
    else:
        used = np.flatnonzero(np.diff(M.indptr))
        if len(used):
            largest[used] = np.maximum.reduceat(entries, M.indptr[used])
    return largest


def _spread(sizes: Vector) -> float:
    used = sizes[sizes > 0.0]
    if len(used) == 0:
        return 1.0
    with np.errstate(over="ignore"):  # of denormal numbers: infinitely far apart
        return float(np.max(used) / np.min(used))


def _diagonal(values: Vector) -> Sparse:
    return sp.dia_array((values[None], [0]), shape=(len(values), len(values)))
