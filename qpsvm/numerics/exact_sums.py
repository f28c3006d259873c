"""Residuals ``R x - r`` of linear rows, rounded once.

Whether a point satisfies a row whose entries differ by many orders of magnitude is decided by
digits that an ordinary product of matrices rounds away. Here every product is split into two
numbers that add up to it exactly, and the sum of all of them is rounded once.

Source: Dekker, "A floating-point technique for extending the available precision", *Numerische
Mathematik* 18 (1971), sections 5 and 6, for the products; ``math.fsum`` for the sums.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from qpsvm.numerics.arrays import Dense, Index, Mask, Matrix, Vector, is_sparse
from qpsvm.numerics.precision import EPS
from qpsvm.numerics.rows import largest_in_rows, scaled_rows

SPLITTER = 2.0**27 + 1.0
"""Cuts a double into two halves of 26 bits (Dekker, section 5)."""


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


def product_parts(a: Vector, b: Vector) -> tuple[Vector, Vector]:
    """``(p, e)`` with ``p + e = a b`` exactly, entry by entry, unless something underflows.

    Examples
    --------
    >>> p, e = product_parts(np.array([1.0 + 2.0**-30]), np.array([1.0 + 2.0**-30]))
    >>> p[0], e[0] == 2.0**-60
    (np.float64(1.0000000018626451), np.True_)
    """
    p = a * b
    high_a, high_b = _upper_half(a), _upper_half(b)
    low_a, low_b = a - high_a, b - high_b
    e = low_a * low_b - (((p - high_a * high_b) - low_a * high_b) - high_a * low_b)
    return p, e


def _upper_half(a: Vector) -> Vector:
    c = SPLITTER * a
    return np.asarray(c - (c - a))


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


def exact_sum(terms: list[float]) -> float:
    """The sum of some numbers, rounded once; infinite where it overflows or is not defined.

    Examples
    --------
    >>> exact_sum([1e16, 1.0, -1e16])
    1.0
    """
    try:
        return math.fsum(terms)
    except (OverflowError, ValueError):
        return math.inf


def _sum(terms: list[float]) -> float:
    try:
        return math.fsum(terms)
    except OverflowError:
        return math.nan
