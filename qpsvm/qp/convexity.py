"""Test whether a Hessian is semidefinite, with the diagonal shift that rounding requires.

A stored matrix is seldom semidefinite to the last bit: a rounded Gram matrix has eigenvalues of
``-1e-17``. Three answers are possible, in this order:

1. *certain*: the type guarantees it (``F F' + diag(d)``), the matrix is diagonal, the Cholesky
   factorisation of ``P - c I`` succeeds, or the matrix falls into small blocks that are factored in
   rational numbers. Here ``c = 8 u |P|_F`` is what rounding may do to an eigenvalue, with the unit
   roundoff ``u = 2^-53`` and the root ``|P|_F`` of the sum of squares;
2. *within rounding*: the Cholesky factorisation of ``P + c I`` succeeds. P then counts as
   semidefinite, but ``x'Px`` down to ``-2 c |x|^2`` is not excluded, and whoever bounds an optimum
   has to pay for that (``hidden_curvature``). A dense P has a factor F then, and what is left of
   ``P - F F'`` replaces c where it is smaller;
3. *no*.

The tolerance is relative to the rounding of P: a matrix ``diag(-1e-10, 1)`` is not convex.

Source: Higham, *Accuracy and Stability of Numerical Algorithms* (2002), section 10.1, for the
rounding of a Cholesky factorisation.

A stored Hessian that is a Gram matrix up to rounding has a factor: NumPy's ``yy' o (X X')`` has
eigenvalues of ``-1e-17`` beside those of the Gram matrix. A pivoted Cholesky factorisation finds
its rank and a factor F; the remainder ``E = P - F F'`` is computed with digits to spare, and ``P +
s I`` is semidefinite for every s that ``-E`` does not exceed.

Sources: Higham, *Accuracy and Stability of Numerical Algorithms* (2002), section 10.3, for the
factorisation with pivots; ``numerics.compensated`` for the remainder.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from qpsvm.numerics.arrays import EIGENVALUE_SIZE, Dense, Index, Matrix, Sparse, Vector
from qpsvm.numerics.compensated import Total, rounded_share, roundings
from qpsvm.numerics.independence import is_definite
from qpsvm.numerics.precision import EPS, TINY


class GramFactor(NamedTuple):
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
    if n > EIGENVALUE_SIZE:
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
    largest, sums = np.max(np.abs(F), axis=1), np.sum(np.abs(F), axis=1)
    size = float(np.linalg.norm(largest)) * float(np.linalg.norm(sums))
    return roundings(r) * rounded_share(r) * size


@dataclass(frozen=True, eq=False)
class Convexity:
    """Result of a test of convexity: the verdict, and a diagonal that makes P semidefinite.

    Attributes
    ----------
    is_convex : bool
        Positive semidefinite, as far as double precision can tell.
    shift : array of shape (n,)
        ``P + diag(shift)`` is positive semidefinite; zero where P itself is, infinite where it
        is not.
    factor : array of shape (n, r) or None
        F with ``P = F F'`` but for rounding, of a dense matrix that is semidefinite within
        rounding.
    """

    is_convex: bool
    shift: Vector
    factor: Dense | None = None

    @classmethod
    def proven(cls, n: int) -> Convexity:
        """The result for a matrix known to be positive semidefinite."""
        return cls(True, np.zeros(n))

    @classmethod
    def refuted(cls, n: int) -> Convexity:
        """The result for a matrix known not to be positive semidefinite."""
        return cls(False, np.full(n, np.inf))


def of_matrix(matrix: Matrix) -> Convexity:
    """Test a stored symmetric matrix, dense or sparse, of shape (n, n).

    Examples
    --------
    >>> of_matrix(np.diag([1.0, 0.0])).shift
    array([0., 0.])
    >>> of_matrix(np.diag([1.0, -1e-16])).is_convex
    False
    """
    n, factor = matrix.shape[0], None
    if not sp.issparse(matrix):  # where it is certain there is no need to look at its blocks
        scaled, _, rounding = _of_size_one(matrix)
        if is_definite(scaled, -rounding):
            return Convexity.proven(n)
    shift = np.zeros(n)
    for index, block in _blocks(matrix):
        found = _shift_of(block)
        if found is None:
            return Convexity.refuted(n)
        if found > 0.0 and not sp.issparse(block):
            found, of_block = _by_factor(block, found)
            factor = of_block if len(index) == n else None
        shift[index] = found
    return Convexity(True, shift, factor)


def _by_factor(block: Dense, shift: float) -> tuple[float, Dense | None]:
    """The shift that a factor of the matrix leaves, if it is smaller than a known one; with F."""
    exponent = 2 * (math.frexp(float(np.max(np.abs(block))))[1] // 2)
    found = gram_factor(np.ldexp(block, -exponent))
    if found is None:
        return shift, None
    F = np.ldexp(found.F, exponent // 2)
    return min(shift, math.ldexp(found.shift, exponent)), F


def negative_bound(matrix: Dense, tolerance: float) -> float:
    """Bound on how far eigenvalues of a symmetric matrix may be below zero; 0 where it is proven.

    Parameters
    ----------
    matrix : array of shape (n, n)
    tolerance : float
        The result for a matrix that is indefinite beyond rounding; the caller knows that it is
        positive semidefinite up to this.

    Examples
    --------
    >>> negative_bound(np.array([[2.0, 1.0], [1.0, 2.0]]), 1e-10)
    0.0
    >>> negative_bound(np.array([[1.0, 1.0 + 1e-12], [1.0 + 1e-12, 1.0]]), 1e-10)
    1e-10
    """
    shift = _shift_of(matrix) if len(matrix) else 0.0
    return tolerance if shift is None else min(shift, max(tolerance, 0.0))


def _shift_of(block: Matrix) -> float | None:
    """Shift that makes a matrix semidefinite: 0, or its rounding; None if neither does."""
    n, is_sparse = block.shape[0], sp.issparse(block)
    if n == 1:
        return 0.0 if block[0, 0] >= 0.0 else None
    scaled, exponent, rounding = _of_size_one(block)
    # a factorisation in rational numbers takes a hundredth of a second
    if is_definite(scaled, -rounding) or (
        n <= 32 and not is_sparse and is_semidefinite_exactly(block)
    ):
        return 0.0
    return math.ldexp(2.0 * rounding, exponent) if is_definite(scaled, rounding) else None


def _of_size_one(block: Matrix) -> tuple[Matrix, int, float]:
    """Scale a matrix by a power of two so that squares do not overflow.

    Returns
    -------
    scaled : array or sparse matrix
    exponent : int
    rounding : float
        Bound on the rounding error of its eigenvalues, scaled.
    """
    entries = block.data if sp.issparse(block) else block
    exponent = math.frexp(float(np.max(np.abs(entries), initial=0.0)))[1]
    entries = np.asarray(np.ldexp(entries, -exponent))
    rounding = max(4.0 * EPS * float(np.linalg.norm(entries)), TINY)
    if not sp.issparse(block):
        return entries, exponent, rounding
    scaled: Sparse = block.copy()
    scaled.data = entries
    return scaled, exponent, rounding


def _blocks(matrix: Matrix) -> Iterator[tuple[Index, Matrix]]:
    """Yield the diagonal blocks of P up to permutation: their variables, and the matrix."""
    from scipy.sparse.csgraph import connected_components

    sparse = sp.csr_array(matrix)
    count, label = connected_components(sparse, directed=False)
    order = np.argsort(label, kind="stable")
    ends = np.cumsum(np.bincount(label, minlength=count))
    for begin, end in zip([0, *ends[:-1]], ends, strict=True):
        index = order[begin:end]
        if len(index) == matrix.shape[0] and not sp.issparse(matrix):
            yield np.arange(len(index)), matrix
        else:
            block = sparse[index][:, index]
            # blocks up to this size are factored as dense ones
            yield index, block.toarray() if len(index) <= 4000 else block


def is_semidefinite_exactly(matrix: Dense) -> bool:
    """Return whether a small symmetric matrix is semidefinite, in rational numbers.

    Symmetric elimination: every pivot must be positive, or zero with a row of zeros.

    Examples
    --------
    >>> is_semidefinite_exactly(np.array([[1.0, 1.0], [1.0, 1.0]]))
    True
    >>> is_semidefinite_exactly(np.array([[1.0, 1.0], [1.0, 1.0 - 2.0**-50]]))
    False
    """
    n = len(matrix)
    rows = [[Fraction(value) for value in row] for row in matrix.tolist()]
    for k in range(n):
        pivot = rows[k][k]
        if pivot < 0 or (pivot == 0 and any(rows[k][j] != 0 for j in range(k + 1, n))):
            return False
        if pivot == 0:
            continue
        for i in range(k + 1, n):
            if rows[i][k] == 0:
                continue
            factor = rows[i][k] / pivot
            for j in range(i, n):
                rows[i][j] -= factor * rows[k][j]
                rows[j][i] = rows[i][j]
    return True
