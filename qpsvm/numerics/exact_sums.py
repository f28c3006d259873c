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

from qpsvm.numerics.arrays import Index, Mask, Matrix, Vector
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
    m = rows.shape[0]
    value, rational_error = np.empty(m), np.zeros(m)
    with np.errstate(all="ignore"):  # what overflows is infinite
        size: Vector = np.asarray(abs(rows) @ np.abs(x)) + np.abs(right)
    if sp.issparse(rows):
        matrix = sp.csr_array(rows)
        entries, ends, factors = matrix.data, matrix.indptr, x[matrix.indices]
    else:
        entries, ends = rows.ravel(), np.arange(m + 1) * rows.shape[1]
        factors = np.broadcast_to(x, rows.shape).ravel()
    with np.errstate(all="ignore"):
        parts = np.stack(product_parts(entries, factors), axis=1)
    is_known: Mask = np.isfinite(right)
    is_finite = np.isfinite(parts)
    if not is_finite.all():
        is_known = is_known & (_count(~is_finite.all(axis=1), ends) == 0)
    underflows = size < 2.0**TINY_TERM
    for begin, end in _blocks(ends):
        first, constants = ends[begin], (-right[begin:end]).tolist()
        terms = parts[first : ends[end]].ravel().tolist()
        places = (2 * (ends[begin : end + 1] - first)).tolist()
        for k in range(begin, end):
            own = slice(ends[k], ends[k + 1])
            if underflows[k]:
                value[k], rational_error[k] = _rational_sum(
                    entries[own], factors[own], float(right[k])
                )
            elif is_known[k]:
                i = k - begin
                value[k] = _sum([*terms[places[i] : places[i + 1]], constants[i]])
            else:
                value[k] = math.nan
    with np.errstate(all="ignore"):
        is_tiny = np.abs(parts[:, 0]) < TINY_PRODUCT
        error = 0.5 * EPS * np.abs(value)
        if is_tiny.any():
            is_tiny &= (entries != 0.0) & (factors != 0.0)
            error += _count(is_tiny, ends) * 2.0**-1072
    return RowResiduals(value, size, np.where(underflows, rational_error, error))


def _count(chosen: Mask, ends: Vector) -> Vector:
    """The number of chosen entries in every row."""
    return np.diff(np.concatenate([[0], np.cumsum(chosen)])[ends])


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
