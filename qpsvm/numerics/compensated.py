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
from collections.abc import Iterator
from fractions import Fraction
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
    is_sparse,
    row_blocks,
)
from qpsvm.numerics.precision import EPS, product_parts
from qpsvm.numerics.rows import largest_in_rows, scaled_rows

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
    scale = np.where(largest <= 2.0**WITHIN, largest, np.inf)
    cut = np.multiply.outer(scale, np.where(are_cut, 2.0 ** (2 - bits) * sums, np.inf))
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


LONG_ROW = 100
"""Terms of a dense row that Python's own sum adds up faster than a few passes over all rows."""

MOST_SUMS = 8
"""Sums of leading bits into which the terms of rows are cut: 40 bits each, where rows are long."""

BLOCK = 50_000
"""Entries whose products are Python numbers at a time: a few megabytes."""

SMALLEST = 2.0**-1074
"""The smallest positive double."""

TINY_ROW = 2.0**-300
"""Rows whose entries are all smaller are scaled up before they are multiplied."""

TINY_TERM = -900
"""Binary exponent of a row's largest term below which products may underflow beside it."""

TINY_PRODUCT = 2.0**-960
"""Smaller products of two doubles may lose digits below the smallest double, 2^-1074."""


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
    exponents = np.where((largest < TINY_ROW) & (largest > 0.0), -np.frexp(largest)[1], 0)
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

    Where all terms of a row are so small that products underflow, the row is evaluated in rational
    numbers: 0 if it is met by less than one part in 2^60, NaN if it is not and float64 cannot say
    by how much.

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
    with np.errstate(all="ignore"):  # what overflows is infinite
        size: Vector = np.asarray(abs(rows) @ np.abs(x)) + np.abs(right)
        value, n_tiny = (_of_sparse if sp.issparse(rows) else _of_dense)(rows, x, right)
        error = 0.5 * EPS * np.abs(value) + n_tiny * 2.0**-1072
        for k in np.flatnonzero(size < 2.0**TINY_TERM).tolist():
            value[k], error[k] = _rational_sum(*_terms_of(rows, k, x), float(right[k]))
    return RowResiduals(value, size, error)


def _of_dense(rows: Dense, x: Vector, right: Vector) -> tuple[Vector, Vector]:
    """Residuals, NaN where a term overflows, and how many products of each row may lose digits."""
    p, e = product_parts(rows, x)
    terms = np.concatenate([p, e], axis=1)
    is_known = np.isfinite(right) & np.isfinite(terms).all(axis=1)
    if not is_known.all():
        terms, right = np.where(is_known[:, None], terms, 0.0), np.where(is_known, right, np.nan)
    if terms.shape[1] > LONG_ROW or terms.size > BLOCK:
        terms = with_few_terms(terms)
    sums = [_sum(row) for row in np.concatenate([terms, -right[:, None]], axis=1).tolist()]
    is_tiny = np.abs(p) < TINY_PRODUCT
    if is_tiny.any():
        is_tiny &= (rows != 0.0) & (x != 0.0)
    return np.array(sums, dtype=np.float64), np.add.reduce(is_tiny, axis=1, dtype=np.float64)


def _of_sparse(rows: sp.csr_array, x: Vector, right: Vector) -> tuple[Vector, Vector]:
    """Compute the residuals of sparse rows, block by block, and how many products lose digits."""
    entries, factors, ends = rows.data, x[rows.indices], rows.indptr
    parts = np.stack(product_parts(entries, factors), axis=1)
    n_infinite = _count(np.asarray(~np.isfinite(parts).all(axis=1)), ends)
    is_known, value = np.isfinite(right) & (n_infinite == 0.0), np.full(len(right), np.nan)
    for begin, end in _blocks(ends):
        first, constants = ends[begin], (-right[begin:end]).tolist()
        terms = parts[first : ends[end]].ravel().tolist()
        places = (2 * (ends[begin : end + 1] - first)).tolist()
        for i, constant in enumerate(constants):
            if is_known[begin + i]:
                value[begin + i] = _sum([*terms[places[i] : places[i + 1]], constant])
    is_tiny = (np.abs(parts[:, 0]) < TINY_PRODUCT) & (entries != 0.0) & (factors != 0.0)
    return value, _count(is_tiny, ends)


def _terms_of(rows: Matrix, k: int, x: Vector) -> tuple[Vector, Vector]:
    """Return the entries of one row, and the entries of x that they multiply."""
    if is_sparse(rows):
        own = slice(rows.indptr[k], rows.indptr[k + 1])
        return np.asarray(rows.data[own]), x[rows.indices[own]]
    return np.asarray(rows[k]), x


def with_few_terms(terms: Dense) -> Dense:
    """Replace long rows by rows of a few numbers with exactly the same sums, shape (m, l).

    A power of two that is added to all terms of a row and taken off again leaves their leading
    bits, of which so few are left that the sum of these is exact in any order. The other bits are
    summed in the same way, until none is left.

    Source: Rump, Ogita and Oishi, "Accurate floating-point summation, part I", *SIAM Journal on
    Scientific Computing* 31 (2008), section 3.

    Examples
    --------
    >>> with_few_terms(np.array([[1e16, 1.0, -1e16, 2.0**-60]]))
    array([[0.00000000e+00, 1.00000000e+00, 8.67361738e-19]])
    """
    bits = math.ceil(math.log2(terms.shape[1] + 2))
    sums, rest = list[Vector](), terms
    for _ in range(MOST_SUMS):
        largest = np.maximum.reduce(np.abs(rest), axis=1)
        if not largest.any():
            return np.stack(sums or [largest], axis=1)
        unit = np.ldexp(1.0, np.frexp(largest)[1] + bits)[:, None]
        leading = (rest + unit) - unit
        rest = rest - leading
        sums.append(np.add.reduce(leading, axis=1))
    return terms  # of too many orders of magnitude, or beside an overflow


def _count(chosen: Mask, ends: Vector) -> Vector:
    """The number of chosen entries in every row of a sparse matrix."""
    return np.asarray(np.diff(np.concatenate([[0.0], np.cumsum(chosen)])[ends]))


def _blocks(ends: Vector) -> Iterator[tuple[int, int]]:
    """Consecutive rows with some ``BLOCK`` entries together, as first and last row plus one."""
    begin, m = 0, len(ends) - 1
    while begin < m:
        end = int(np.searchsorted(ends, ends[begin] + BLOCK, side="right")) - 1
        end = min(max(end, begin + 1), m)
        yield begin, end
        begin = end


def _rational_sum(row: Vector, x: Vector, right: float) -> tuple[float, float]:
    """``row'x - right`` where float64 products underflow, and a bound on its error.

    NaN if the sum is neither small beside its terms nor a float64.
    """
    used = np.flatnonzero((row != 0.0) & (x != 0.0))
    products = [Fraction(float(row[j])) * Fraction(float(x[j])) for j in used]
    value = sum(products, start=-Fraction(right))
    if value == 0:
        return 0.0, 0.0
    if abs(value) <= sum(map(abs, products), start=abs(Fraction(right))) / 2**60:
        return 0.0, max(2.0 * float(abs(value)), SMALLEST)
    nearest = float(value)
    return (nearest if Fraction(nearest) == value else math.nan), 0.0


def _sum(terms: list[float]) -> float:
    try:
        return math.fsum(terms)
    except OverflowError:
        return math.nan
