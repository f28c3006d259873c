"""Balls: arrays with a bound on their errors, and arithmetic that includes rounding.

A ball is ``{x : |x - mid| <= rad}``, entry by entry. mid is computed as always; rad grows by an
a-priori bound of what rounding can have done to it. Nothing switches the rounding mode, so any BLAS
and any number of threads will do. The lemmas named here are proved in ``docs/rounding.md``.

Sources: Higham, *Accuracy and Stability of Numerical Algorithms* (2002), sections 2.2 and 3.1;
Rump, "Fast and parallel interval arithmetic", *BIT* 39 (1999).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from qpsvm.numerics.arrays import Dense, Matrix, is_sparse, row_blocks
from qpsvm.numerics.rows import row_squares as squared_rows
from qpsvm.numerics.single_precision import Stored

U = 2.0**-53
"""u: rounding to nearest changes a number by at most u times itself."""

UNDERFLOW = 2.0**-1000
"""More than underflow can take from a sum of products: 2^-1075 from each of them."""

SUM_ROUNDING = 1.0 + 2.0**-30
"""Factor that covers the rounding of a sum, inner product or norm of up to eight million
non-negative numbers, as far as none of them underflows: ``UNDERFLOW`` is added for that."""

SLACK = 1.0 + 2.0**-48
"""More than ``(1 - u)^-16``."""

Value = TypeVar("Value", float, Dense)
"""A number, or an array of numbers."""


def gamma(k: int) -> float:
    """Upper bound of ``k u / (1 - k u)``, the relative error of k roundings in a row (lemma 1)."""
    return SLACK * (k * U / (1.0 - k * U)) if k * U < 0.5 else math.inf


def outward(x: Value) -> Value:
    """Upper bound of the exact value of x, a result of 15 steps on non-negative terms (lemma 2)."""
    return x * SLACK + UNDERFLOW


def up(x: Value) -> Value:
    """The next larger float64: an upper bound of the exact value that x correctly rounds."""
    result: Value = np.nextafter(x, np.inf)
    return result


def down(x: Value) -> Value:
    """The next smaller float64: a lower bound of the exact value that x correctly rounds."""
    result: Value = np.nextafter(x, -np.inf)
    return result


def root(x: Value) -> Value:
    """Upper bound of the square root; of zero where x is negative."""
    result: Value = outward(np.sqrt(np.maximum(x, 0.0)))
    return result


def sum_upper(terms: npt.ArrayLike) -> float:
    """Upper bound of the exact sum; infinite if a term is not a finite number."""
    values = np.ravel(terms)
    if not np.isfinite(values).all():
        return math.inf
    try:
        return float(up(math.fsum(values.tolist())))
    except OverflowError:
        return math.inf


def sum_lower(terms: npt.ArrayLike) -> float:
    """Lower bound of the exact sum; minus infinity if a term is not a finite number."""
    return -sum_upper(-np.asarray(terms))


@dataclass(frozen=True, eq=False)
class Ball:
    """An array with a bound on the error of every entry.

    Attributes
    ----------
    mid, rad : arrays of one shape, or numbers
        Every exact entry is within rad of mid. Where rad is NaN or infinite, nothing is known.
    """

    mid: Any  # numbers and arrays alike, which the stubs of NumPy have no common type for
    rad: Any

    @classmethod
    def exact(cls, x: Any) -> Ball:
        """A ball of radius zero."""
        return cls(x, np.zeros(np.shape(x)))

    @property
    def upper(self) -> Dense:
        """Upper bounds of the exact entries."""
        return up(self.mid + self.rad)

    @property
    def lower(self) -> Dense:
        """Lower bounds of the exact entries."""
        return down(self.mid - self.rad)

    @property
    def magnitude(self) -> Dense:
        """Upper bounds of the absolute values of the exact entries."""
        return outward(np.abs(self.mid) + self.rad)

    def __neg__(self) -> Ball:
        return Ball(-self.mid, self.rad)

    def __add__(self, other: Ball) -> Ball:
        mid = self.mid + other.mid
        return Ball(mid, outward(self.rad + other.rad + U * np.abs(mid)))

    def __sub__(self, other: Ball) -> Ball:
        return self + (-other)

    def __mul__(self, other: Ball) -> Ball:
        mid = self.mid * other.mid
        spread = np.abs(self.mid) * other.rad + self.rad * (np.abs(other.mid) + other.rad)
        return Ball(mid, outward(spread + U * np.abs(mid)))

    def __getitem__(self, index: object) -> Ball:
        return Ball(self.mid[index], self.rad[index])


def within(x: Dense, k: int) -> Ball:
    """Ball around x that contains the exact result if each entry went through k roundings."""
    return Ball(x, outward(gamma(k) * np.abs(x)))


# --- products (lemma 3) --------------------------------------------------------------------------


def n_terms(A: Stored) -> int:
    """Largest number of terms in the product of a vector with a row of A."""
    return int(np.max(np.diff(A.indptr), initial=0)) if is_sparse(A) else int(A.shape[1])


def product(A: Stored, x: Ball) -> Ball:
    """``A x`` for exact A of shape (m, n), dense or CSR, and x of shape (n,) or (n, c)."""
    k = n_terms(A) if is_sparse(A) else n_steps(A.shape[1])
    weights = outward(gamma(k) * np.abs(x.mid) + x.rad)
    if is_sparse(A):
        mid, size = A @ x.mid, abs(A) @ weights
    else:
        shape = (A.shape[0], *np.shape(x.mid)[1:])
        mid, size = np.empty(shape), np.empty(shape)
        for rows in row_blocks(*A.shape):
            mid[rows] = in_chunks(A[rows], x.mid)
            size[rows] = in_chunks(np.abs(A[rows]), weights)
    return Ball(mid, outward(size * (1.0 + 2.0 * gamma(k))))


def transposed_product(A: Stored, x: Ball) -> Ball:
    """``A'x`` for exact A of shape (m, n), dense or CSR, and x of shape (m,) or (m, c)."""
    k = n_steps(A.shape[0])
    shape = (A.shape[1], *np.shape(x.mid)[1:])
    mid, size = np.zeros(shape), np.zeros(shape)
    weights = outward(gamma(k) * np.abs(x.mid) + x.rad)
    for rows in chunks_of(A.shape[0]):
        transposed = A[rows].T
        mid += transposed @ x.mid[rows]
        size += abs(transposed) @ weights[rows]
    return Ball(mid, outward(size * (1.0 + 2.0 * gamma(k))))


def in_chunks(A: Matrix, x: Dense) -> Dense:
    """``A x``, summed in chunks; every term goes through ``n_steps`` roundings."""
    first, *others = chunks_of(A.shape[1])
    total = A[:, first] @ x[first]
    for terms in others:
        total += A[:, terms] @ x[terms]
    return total


def chunks_of(n: int) -> list[slice]:
    """Slices that divide n terms into chunks, at least one."""
    # a chunk of sqrt(n) terms rounds each 2 sqrt(n) times, and not n times
    size = max(64, math.isqrt(n))
    return [slice(start, min(n, start + size)) for start in range(0, max(n, 1), size)]


def n_steps(n: int) -> int:
    """Number of roundings that a term goes through in a sum of n terms taken in chunks."""
    chunks = chunks_of(n)
    return int(chunks[0].stop) + len(chunks) - 1


def squared_norm(x: Ball) -> float:
    """Upper bound of ``sum x^2``."""
    return sum_upper(outward(x.magnitude**2))


def row_squares(X: Stored) -> Ball:
    """Balls around ``|x_i|^2`` for every row of X, dense or CSR."""
    k, mid = n_terms(X), squared_rows(X)
    return Ball(mid, outward(gamma(k) * mid * (1.0 + 2.0 * gamma(k))))
