"""Sums that keep the digits which ordinary ones lose: products ``A V``, residuals ``R x - r``.

A decision value is a sum of terms ``alpha_j k(x_i, x_j)`` that may be 10^8 times as large as it is,
and a product of matrices loses that many of its 16 digits. Here entries are cut in parts of so few
bits that products of the leading ones, and the sums of these, are exact in whatever order a
library adds them, so that sums whose terms cancel keep about 20 digits::

    A = A_1 + A_2,   V = V_1 + V_2 + V_3,     A V = A_1 V_1 + (A_1 V_2 + A_1 V_3 + A_2 V)

With k terms each of the first two parts has ``(53 - log2 k) / 2`` bits: 20 for 8192 terms. What is
rounded is 2^20 times smaller than the largest term, and never larger than without cuts.

Whether a point satisfies a row whose entries differ by many orders of magnitude is decided by
digits that an ordinary product of matrices rounds away. There every product is split into two
numbers that add up to it exactly (``precision.product_parts``), and their sum is rounded once.

Source: Ozaki, Ogita, Oishi and Rump, "Error-free transformations of matrix multiplication by using
fast routines of matrix multiplication and its applications", *Numerical Algorithms* 59 (2012),
section 3; the sum of exact blocks: Knuth, *The Art of Computer Programming* 2, section 4.2.2,
theorem B; sums rounded once: ``math.fsum``.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from qpsvm.numerics.arrays import (
    IN_CACHE,
    Dense,
    Index,
    Mask,
    Matrix,
    Vector,
    row_blocks,
)
from qpsvm.numerics.precision import EPS, TINY, product_parts, two_sum
from qpsvm.numerics.rows import largest_in_rows, scaled_rows

BITS = 53
"""Of a double."""

WITHIN = 300
"""Largest and smallest power of two for which nothing here overflows or underflows; beyond it sums
are those of any product."""


FEW_TERMS = 512
"""Terms whose leading digits have 22 bits."""


def product(A: Dense, V: Dense) -> Dense:
    """``A V`` for A of shape (m, k) and V of shape (k, p); NaN where entries are not finite."""
    total = Total((len(A), V.shape[1]))
    total.add(A, V)
    return total.value


@lru_cache
def leading_bits(k: int) -> int:
    """Number of bits of the leading digits of factors, for sums of k products."""
    return (BITS - math.ceil(math.log2(max(2, k)))) // 2


@lru_cache
def roundings(k: int) -> float:
    """Bound on the rounding error of a sum of k products, relative to the sum of their sizes.

    The parts of an entry are together at most three times as large as it is. Times ``2 TINY`` it
    is at least what products lose that underflow: 2^-1075 each, at most six for each term.
    """
    return 4.0 * (k + 16.0) * 2.0**-BITS


@lru_cache
def rounded_share(k: int) -> float:
    """Bound the part of a sum of k products whose addition is not exact.

    It is relative to the largest entry of a row times the sum of the weights' sizes.
    """
    unit = 2.0 ** -leading_bits(k)
    return 2.0 * unit * (1.0 + k * unit)


def rounding_bound(A: Dense, v: Vector) -> Vector:
    """Bound on the rounding error that ``Total.add`` makes with ``A v``, shape (m,).

    Where more is added, ``Total.lost_rounding`` is a part of the error as well.
    """
    k, sizes = len(v), np.abs(v)
    largest = np.maximum.reduce(np.abs(A), axis=1, initial=0.0)
    is_safe = _is_safe(np.append(largest, np.maximum.reduce(sizes, initial=0.0)))
    are_cut = is_safe[:-1] & is_safe[-1]
    terms = largest * float(np.add.reduce(sizes))
    terms = np.where(are_cut, rounded_share(k) * terms, terms)
    return np.asarray(roundings(k) * (terms + 2.0 * TINY))


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
    k, sums = len(weights), np.sum(weights, axis=0)
    are_cut = _is_safe(np.max(weights, axis=0, initial=0.0))
    scale = np.where(largest <= 2.0**WITHIN, largest, np.inf)
    cut = np.multiply.outer(scale, np.where(are_cut, rounded_share(k) * sums, np.inf))
    return np.asarray(roundings(k) * (np.minimum(sizes, cut) + 2.0 * TINY))


class PreciseSums(NamedTuple):
    """Sums ``hi + lo`` with bounds on their errors.

    Attributes
    ----------
    hi, lo, error : arrays of shape (m,)
        The exact sums are within ``error`` of ``hi + lo``.
    """

    hi: Vector
    lo: Vector
    error: Vector


def precise_product(A: Dense, v: Vector) -> PreciseSums:
    """``A v`` as two numbers that add up to it, with a bound on the error of their sum.

    Terms are added up ``FEW_TERMS`` at a time: of more, fewer leading digits would be exact.

    Examples
    --------
    >>> hi, lo, error = precise_product(np.array([[1.0, 1e-20]]), np.ones(2))
    >>> hi[0], lo[0], bool(error[0] < 1e-19)
    (np.float64(1.0), np.float64(1e-20), True)
    """
    total, error = Total((len(A), 1)), np.zeros(len(A))
    for some in row_blocks(len(v), 1, 8 * FEW_TERMS):
        total.add(A[:, some], v[some, None])
        error += rounding_bound(A[:, some], v[some]) + total.lost_rounding[:, 0]
    sums = two_sum(*total.parts)
    return PreciseSums(sums.hi[:, 0], sums.lo[:, 0], error)


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

    @property
    def lost_rounding(self) -> Dense:
        """Bound the error that the last addition made in the compensating part of the sum."""
        return np.asarray(4.0 * EPS * np.abs(self._lost))

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
        bits = leading_bits(k)
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


# --- residuals ``R x - r`` of linear rows, rounded once ------------------------------------------


class RowResiduals(NamedTuple):
    """Residuals of linear rows, with the sizes of their terms.

    Attributes
    ----------
    value : array of shape (m,)
        ``R x - r``, each rounded once; NaN where a term overflows.
    size : array of shape (m,)
        ``sum_j |R_kj x_j| + |r_k|``.
    error : array of shape (m,)
        The exact residuals differ from ``value`` by at most that much.
    """

    value: Vector
    size: Vector
    error: Vector


def without_tiny_rows(
    rows: Matrix, right: Vector, largest: Vector | None = None
) -> tuple[Matrix, Vector, Index]:
    """The same rows, with those of tiny entries multiplied by powers of two, exactly.

    ``1e-200 x <= 0`` forbids every positive x, and ``1e-200 x`` is zero in float64 for many of
    them. Rows whose right-hand side would overflow stay as they are: beside it the others vanish.

    Parameters
    ----------
    rows : array or sparse matrix of shape (m, n)
    right : array of shape (m,)
    largest : array of shape (m,), optional
        The largest absolute entry of every row, where it is known.

    Returns
    -------
    rows, right : as given where no row is tiny
    exponents : array of int of shape (m,)
        Row k was multiplied by ``2 ** exponents[k]``.
    """
    if min(rows.shape) == 0:
        return rows, right, np.zeros(len(right), dtype=np.intp)
    if largest is None:
        largest = largest_in_rows(rows)
    # products with entries of this size may underflow
    exponents = np.where((largest < 2.0**-300) & (largest > 0.0), -np.frexp(largest)[1], 0)
    if not exponents.any():
        return rows, right, exponents
    with np.errstate(over="ignore"):
        exponents[np.isinf(np.ldexp(right, exponents))] = 0
    half = exponents // 2  # 2 ** 1074 is no float64
    factors = np.ldexp(1.0, half), np.ldexp(1.0, exponents - half)
    for factor in factors:
        rows = scaled_rows(factor, rows)
    return rows, np.ldexp(right, exponents), exponents


def row_residuals(rows: Matrix, x: Vector, right: Vector) -> RowResiduals:
    """``R x - r`` with one rounding per row.

    Each product that is so small that digits of it underflow may add 2^-1072 to the error.

    Parameters
    ----------
    rows : array or sparse matrix of shape (m, n)
    x : array of shape (n,)
    right : array of shape (m,)

    Examples
    --------
    >>> rows = np.array([[1e16, 1.0, -1e16]])
    >>> row_residuals(rows, np.ones(3), np.zeros(1)).value
    array([1.])
    """
    if sp.issparse(rows):
        rows = sp.csr_array(rows)
        entries, factors, ends = rows.data, x[rows.indices], rows.indptr
    else:
        m, n = rows.shape
        entries, factors, ends = rows.ravel(), np.tile(x, m), n * np.arange(m + 1)
    with np.errstate(all="ignore"):  # what overflows is infinite
        size: Vector = np.asarray(abs(rows) @ np.abs(x)) + np.abs(right)
        parts = np.stack(product_parts(entries, factors), axis=1)
        terms = zip(np.split(parts.ravel(), 2 * ends[1:])[:-1], -right, strict=True)
        value = np.array([_sum([*own.tolist(), constant]) for own, constant in terms], np.float64)
        # smaller products may lose digits below the smallest double, 2^-1074
        is_tiny = (np.abs(parts[:, 0]) < 2.0**-960) & (entries != 0.0) & (factors != 0.0)
        n_tiny = np.diff(np.append(0.0, np.cumsum(is_tiny))[ends])
        error = 0.5 * EPS * np.abs(value) + n_tiny * 2.0**-1072
    return RowResiduals(value, size, error)


def _sum(terms: list[float]) -> float:
    """The sum of some numbers, rounded once; NaN where it overflows or a term is not finite."""
    try:
        total = math.fsum(terms)
    except (OverflowError, ValueError):
        return math.nan
    return total if math.isfinite(total) else math.nan
