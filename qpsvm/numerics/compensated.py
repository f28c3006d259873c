"""Compensated products ``A V``: sums whose terms cancel keep about 20 digits.

A decision value is a sum of terms ``alpha_j k(x_i, x_j)`` that may be 10^8 times as large as it is,
and a product of matrices loses that many of its 16 digits. Here entries are cut in parts of so few
bits that products of the leading ones, and the sums of these, are exact in whatever order a
library adds them::

    A = A_1 + A_2,   V = V_1 + V_2 + V_3,     A V = A_1 V_1 + (A_1 V_2 + A_1 V_3 + A_2 V)

With k terms each of the first two parts has ``(53 - log2 k) / 2`` bits: 20 for 8192 terms. What is
rounded is 2^20 times smaller than the largest term, and never larger than without cuts.

Source: Ozaki, Ogita, Oishi and Rump, "Error-free transformations of matrix multiplication by using
fast routines of matrix multiplication and its applications", *Numerical Algorithms* 59 (2012),
section 3; the sum of exact blocks: Knuth, *The Art of Computer Programming* 2, section 4.2.2,
theorem B.
"""

from __future__ import annotations

import math

import numpy as np

from qpsvm.numerics.arrays import IN_CACHE, Dense, Index, Mask, Vector, row_blocks

BITS = 53
"""Of a double."""

WITHIN = 300
"""Largest and smallest power of two for which nothing here overflows or underflows; beyond it sums
are those of any product."""


def product(A: Dense, V: Dense) -> Dense:
    """``A V`` for A of shape (m, k) and V of shape (k, p); NaN where entries are not finite."""
    total = Total((len(A), V.shape[1]))
    total.add(A, V)
    return total.value


def rounding_bound(A: Dense, v: Vector) -> Vector:
    """Bound on the rounding error that ``Total.add`` makes with ``A v``, shape (m,).

    Digits of A below the leading ones are multiplied and added in plain double precision, at most
    k + 16 roundings of terms that are smaller than the largest by ``2^(1 - bits)``.
    """
    k = len(v)
    bits = (BITS - math.ceil(math.log2(max(2, k)))) // 2
    largest, sizes = np.maximum.reduce(np.abs(A), axis=1, initial=0.0), np.abs(v)
    are_cut = _is_safe(largest) & _is_safe(np.maximum.reduce(sizes, initial=0.0))
    terms = (k + 16.0) * 2.0**-BITS * largest * float(np.add.reduce(sizes))
    return np.asarray(np.where(are_cut, 2.0 ** (2 - bits) * terms, terms))


def summation_errors(sizes: Dense, weights: Dense, largest: Vector) -> Dense:
    """Bound the rounding errors of ``product(A, V)``, shape (m, p) or (m,), without A.

    Parameters
    ----------
    sizes : array of shape (m, p) or (m,)
        At least ``|A| |V|``.
    weights : array of shape (k, p) or (k,)
        ``|V|``.
    largest : array of shape (m,)
        At least the largest magnitude of each row of A.
    """
    k = len(weights)
    bits = (BITS - math.ceil(math.log2(max(2, k)))) // 2
    sums = np.sum(weights, axis=0)
    are_cut = _is_safe(np.max(weights, axis=0, initial=0.0))
    reach = np.where(largest <= 2.0**WITHIN, largest, np.inf)
    cut = np.multiply.outer(reach, np.where(are_cut, 2.0 ** (2 - bits) * sums, np.inf))
    return np.asarray((k + 16.0) * 2.0**-BITS * np.minimum(sizes, cut))


def precise_product(A: Dense, v: Vector) -> tuple[Vector, Vector, Vector]:
    """``A v`` as two numbers that add up to it, with a bound on the error of their sum.

    Examples
    --------
    >>> hi, lo, error = precise_product(np.array([[1.0, 1e-20]]), np.ones(2))
    >>> hi[0], lo[0], bool(error[0] < 1e-19)
    (np.float64(1.0), np.float64(1e-20), True)
    """
    total = Total((len(A), 1))
    total.add(A, v[:, None])
    hi, lo = total.parts
    return hi[:, 0], lo[:, 0], rounding_bound(A, v)


def sums_of_groups(group: Index, x: Vector, size: int) -> Vector:
    """``sum of x_i with group_i = g`` for every g below size, shape (size,).

    Thousands of equal numbers one after the other lose three digits.
    """
    bits = BITS - math.ceil(math.log2(max(2, len(x))))
    unit = _larger(x, bits, axis=0)
    leading = (x + unit) - unit
    rest = np.subtract(x, leading, where=np.isfinite(x), out=np.zeros(len(x)))
    sums = np.bincount(group, leading, size) + np.bincount(group, rest, size)
    return sums.astype(np.float64)


class Total:
    """A compensated sum of products: the rounding error of every addition is kept beside the sum.

    Parameters
    ----------
    shape : (m, p)
        That of every product; any other for sums of other terms.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._sum, self._lost = np.zeros(shape), np.zeros(shape)

    @property
    def value(self) -> Dense:
        """The sum so far."""
        return self._sum + self._lost

    @property
    def parts(self) -> tuple[Dense, Dense]:
        """The sum so far, as two numbers that add up to it: the second has the lost digits."""
        return self._sum, self._lost

    def add(self, A: Dense, V: Dense) -> None:
        """Add ``A V``."""
        with np.errstate(invalid="ignore", over="ignore"):  # of numbers that are not finite
            self._add_cut(A, V)

    def add_terms(self, B: Dense) -> None:
        """Add B, of the shape of the sum."""
        self._add(slice(None), B, 0.0)

    def add_total(self, other: Total) -> None:
        """Add another sum, with what its own additions lost."""
        self._add(slice(None), other._sum, other._lost)

    def _add_cut(self, A: Dense, V: Dense) -> None:
        k, p = V.shape
        bits = (BITS - math.ceil(math.log2(max(2, k)))) // 2
        unit = _larger(V, bits, axis=0)
        first = (V + unit) - unit
        rest = V - first
        unit = _larger(rest, bits, axis=0)
        second = (rest + unit) - unit
        parts, third = np.hstack([first, second]), rest - second
        columns = [
            (np.ascontiguousarray(v), np.ascontiguousarray(w))
            for v, w in zip(third.T, V.T, strict=True)
        ]
        blocks = row_blocks(len(A), k, IN_CACHE)
        # in the order of A, so that every pass goes through memory as it lies there
        leading = np.empty_like(A[blocks[0]]) if blocks else A
        others = np.empty_like(leading)
        for rows in blocks:
            block = A[rows]
            high, low = leading[: len(block)], others[: len(block)]
            unit = _larger(block, bits, axis=1)
            np.add(block, unit, out=high)
            np.subtract(high, unit, out=high)
            np.subtract(block, high, out=low)
            products = high @ parts
            # what is not exact column by column: the same bits whatever it is computed beside
            smallest = np.empty((len(block), p))
            for j, (v, w) in enumerate(columns):
                smallest[:, j] = high @ v + low @ w
            self._add(rows, products[:, :p], products[:, p:] + smallest)

    def _add(self, rows: slice, exact: Dense, small: Dense | float) -> None:
        before = self._sum[rows]
        after = before + exact
        added = after - before
        rounded = (before - (after - added)) + (exact - added)
        self._lost[rows] += rounded + small
        self._sum[rows] = after


def _larger(A: Dense, bits: int, axis: int) -> Dense:
    """Powers of two that, added to a row (axis 1) or column, cut its entries to their leading bits.

    Taking it off again is exact.
    """
    largest: Vector = np.maximum(
        np.maximum.reduce(A, axis, initial=0.0), -np.minimum.reduce(A, axis, initial=0.0)
    )
    is_safe = _is_safe(largest)
    exponents = np.frexp(np.where(is_safe, largest, 0.0))[1]
    larger = np.where(is_safe, np.ldexp(1.0, exponents + BITS - bits), 0.0)
    return larger[:, None] if axis else larger[None]


def _is_safe(largest: Vector) -> Mask:
    """Return whether rows or columns with these largest entries are cut, see ``WITHIN``."""
    is_finite = np.isfinite(largest)
    exponents = np.frexp(np.where(is_finite, largest, 0.0))[1]
    return np.asarray(is_finite & (np.abs(exponents) <= WITHIN))
