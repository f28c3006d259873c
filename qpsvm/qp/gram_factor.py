"""Factor of a stored Hessian that is a Gram matrix up to rounding, with what rounding left.

NumPy's ``yy' o (X X')`` has eigenvalues of ``-1e-17`` beside those of the Gram matrix. A pivoted
Cholesky factorisation finds its rank and a factor F; the remainder ``E = P - F F'`` is computed
with digits to spare, and ``P + s I`` is semidefinite for every s that ``-E`` does not exceed.

Sources: Higham, *Accuracy and Stability of Numerical Algorithms* (2002), section 10.3, for the
factorisation with pivots; ``numerics.compensated`` for the remainder.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from qpsvm.numerics.arrays import Dense
from qpsvm.numerics.compensated import BITS, Total
from qpsvm.numerics.precision import EPS

GRAM_SIZE = 1500
"""Up to so many variables a factor is looked for: a second or less."""


@dataclass(frozen=True, eq=False)
class GramFactor:
    """A factor of a matrix, and a shift that makes the matrix semidefinite.

    Attributes
    ----------
    F : array of shape (n, r)
        ``P = F F'`` but for rounding.
    shift : float
        ``P + shift I`` is positive semidefinite.
    """

    F: Dense
    shift: float


def gram_factor(matrix: Dense) -> GramFactor | None:
    """Factor a symmetric matrix of shape (n, n); None where it is too large or nothing is left.

    Parameters
    ----------
    matrix : array of shape (n, n)
        Semidefinite up to rounding, with numbers near 1 in size.

    Examples
    --------
    >>> X = np.array([[1.0, 0.3], [0.2, 0.1], [0.7, 0.9]])
    >>> found = gram_factor(X @ X.T)
    >>> found.F.shape, found.shift < 1e-15
    ((3, 2), True)
    """
    from scipy.linalg.lapack import dpstrf

    n = len(matrix)
    if n > GRAM_SIZE:
        return None
    lower, pivots, rank, _ = dpstrf(matrix, lower=1)
    if rank == 0:
        return None
    F = np.zeros((n, rank))
    F[pivots - 1] = np.tril(lower)[:, :rank]
    remainder = Total((n, n))
    remainder.add_terms(matrix)
    remainder.add(F, -F.T)
    E = remainder.value
    lowest = float(np.linalg.eigvalsh(0.5 * (E + E.T))[0])
    rounding = 4.0 * n * EPS * float(np.linalg.norm(E)) + _product_rounding(F)
    shift = max(0.0, -lowest) + rounding
    return GramFactor(F, shift) if math.isfinite(shift) else None


def _product_rounding(F: Dense) -> float:
    """Bound on the rounding of ``F F'`` in ``Total``, in the Frobenius norm."""
    r = F.shape[1]
    bits = (BITS - math.ceil(math.log2(max(2, r)))) // 2
    largest, sums = np.max(np.abs(F), axis=1), np.sum(np.abs(F), axis=1)
    size = float(np.linalg.norm(largest)) * float(np.linalg.norm(sums))
    return math.ldexp((r + 16.0) * size, 2 - BITS - bits)
