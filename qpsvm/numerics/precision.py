"""Constants of double precision, and numbers with digits to spare.

Numbers of twice the precision are unevaluated sums ``hi + lo`` of two doubles. Every function of
theirs takes and returns arrays, and rounds relative to ``2^-100`` or as it says, as long as nothing
overflows and no product underflows.

Inner products and squared distances of samples are exact but for digits that are known to be small.
All numbers are cut into the same digits, whole multiples of ``2^(e - s b)`` for s = 1, ..., S, and
a rest below the last of them::

    x  =  x_1 + x_2 + ... + x_S  +  rest_S,        |x| < 2^e

With d terms and b bits a digit, ``2 b + log2(4 S d) <= 53``, the sums ``sum_(s + t = r) x_s'z_t``
of one level r are exact in double precision, in whatever order a library adds them; and so is
``|x - z|^2`` level by level. Where two samples are near each other the leading levels are zero:
nothing cancels but zeros, whatever offset the samples share. The terms of higher levels are
``2^(b S)`` times smaller, and one ordinary product adds them up::

    x_1'rest_S(z) + x_2'rest_(S-1)(z) + ... + x_S'rest_1(z) + rest_S(x)'z

Sources: Dekker, "A floating-point technique for extending the available precision", *Numerische
Mathematik* 18 (1971), sections 5 and 6; Knuth, *The Art of Computer Programming* 2, section 4.2.2,
theorem B; for the exponential, Tang, "Table-driven implementation of the exponential function in
IEEE floating-point arithmetic", *ACM TOMS* 15 (1989), with a table of double-double entries; for
products of digits, Ozaki, Ogita, Oishi and Rump, "Error-free transformations of matrix
multiplication by using fast routines of matrix multiplication and its applications", *Numerical
Algorithms* 59 (2012).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from qpsvm.numerics.arrays import Array, Dense, Vector

EPS = float(np.finfo(np.float64).eps)
"""Distance from 1 to the next larger number, 2.2e-16: twice the largest relative rounding error."""

TINY = float(np.finfo(np.float64).tiny)
"""Smallest normal number, 2.2e-308: below it, rounding is no longer relative."""


def exact_sum(terms: Vector, *more: float) -> float:
    """The sum of some numbers, rounded once; infinite where it overflows or is not defined.

    Examples
    --------
    >>> exact_sum(np.array([1e16, 1.0]), -1e16)
    1.0
    """
    try:
        return math.fsum([*terms[terms != 0.0].tolist(), *more])
    except (OverflowError, ValueError):
        return math.inf


class DoubleDouble(NamedTuple):
    """The numbers ``hi + lo``, entry by entry.

    Attributes
    ----------
    hi, lo : arrays of one shape
        ``|lo|`` is of the order of the rounding of hi, or smaller.
    """

    hi: Array
    lo: Array


def two_sum(a: Array, b: Array) -> DoubleDouble:
    """``a + b`` exactly."""
    s = a + b
    t = s - a
    return DoubleDouble(s, (a - (s - t)) + (b - t))


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
    # two halves of 26 bits (Dekker, section 5)
    c = (2.0**27 + 1.0) * a
    return np.asarray(c - (c - a))


def plus(x: DoubleDouble, b: float) -> DoubleDouble:
    """``x + b`` for one double."""
    s, e = two_sum(x.hi, np.asarray(b))
    return _normalised(s, e + x.lo)


def times(x: DoubleDouble, y: DoubleDouble) -> DoubleDouble:
    """``x y``, relative error below ``2^-100``."""
    p, e = product_parts(x.hi, y.hi)
    return _normalised(p, e + (x.hi * y.lo + x.lo * y.hi))


def scaled(x: DoubleDouble, factor: float) -> DoubleDouble:
    """``factor x`` for one double."""
    p, e = product_parts(x.hi, np.asarray(factor, dtype=np.float64))
    return _normalised(p, e + x.lo * factor)


def power(x: DoubleDouble, exponent: int) -> DoubleDouble:
    """``x^exponent`` for a whole exponent from 1 on, by repeated squaring."""
    result, base, left = x, x, exponent - 1
    while left:
        if left % 2:
            result = times(result, base)
        left //= 2
        if left:
            base = times(base, base)
    return result


def _normalised(hi: Array, lo: Array) -> DoubleDouble:
    s = hi + lo
    return DoubleDouble(s, lo - (s - hi))


# --- the exponential -----------------------------------------------------------------------------

_BITS = 14
"""Binary logarithm of the number of table entries."""

_SMALLEST = -700.0
"""Smallest exponent that is distinguished: exp(-700) is 1e-304."""

EXP_ERROR = 2.0**-64
"""Bound on the relative error of ``exp``."""


@lru_cache(maxsize=1)
def _table() -> tuple[Dense, Dense, tuple[float, float, float]]:
    """``2^(i / 2^14)`` for every i, as hi and lo, and three parts of ``log(2) / 2^14``."""
    with localcontext() as context:
        context.prec = 60
        step, half = Decimal(2).ln() / 2**_BITS, 2 ** (_BITS // 2)
        # an entry is the product of a coarse and a fine one: exact decimals take 20 us each
        coarse, fine = (
            _rounded([(step * i * unit).exp() for i in range(half)]) for unit in (half, 1)
        )
        parts, rest = list[float](), step
        for bits in (26, 26):  # so few that their products with whole numbers are exact
            unit = Decimal(2) ** (-_BITS - bits * (len(parts) + 1))
            part = (rest / unit).to_integral_value() * unit
            parts.append(float(part))
            rest -= part
    table = times(
        DoubleDouble(*(np.repeat(part, half) for part in coarse)),
        DoubleDouble(*(np.tile(part, half) for part in fine)),
    )
    return table.hi, table.lo, (parts[0], parts[1], float(rest))


def _rounded(values: list[Decimal]) -> DoubleDouble:
    hi = [float(value) for value in values]
    lo = [float(value - Decimal(h)) for value, h in zip(values, hi, strict=True)]
    return DoubleDouble(np.array(hi), np.array(lo))


def exp(x: DoubleDouble) -> DoubleDouble:
    """``e^x`` for x at most 0, relative error below ``EXP_ERROR``.

    ``e^x = 2^m T_i e^r`` with a table T of ``2^(i / 2^14)`` and ``|r| < 2^-15``; exponents below
    -700 count as -700.
    """
    hi_table, lo_table, (first, second, third) = _table()
    hi = np.maximum(x.hi, _SMALLEST)
    rest = np.where(x.hi > _SMALLEST, x.lo, 0.0)
    steps = np.rint(hi * (1.0 / (first + second)))
    r = ((hi - steps * first) - steps * second) + (rest - steps * third)
    whole = np.where(np.isfinite(steps), steps, 0.0).astype(np.int64)
    index = whole & (2**_BITS - 1)
    # e^r - 1 with r + r^2/2 + r^3/6 + r^4/24: the next term is below 2^-81
    more = r + r * r * (0.5 + r * (1.0 / 6.0 + r * (1.0 / 24.0)))
    head, tail = hi_table[index], lo_table[index]
    low = head * more + tail
    scale = np.ldexp(1.0, (whole >> _BITS).astype(np.int32))
    s = head + low
    return DoubleDouble(s * scale, (low - (s - head)) * scale)


# --- inner products and squared distances by exact products of matrices --------------------------


SAFE_EXPONENT = 400
"""Binary exponents of samples up to which no product of digits overflows or underflows."""


@dataclass(frozen=True, eq=False)
class Digits:
    """Numbers of one array, cut into digits.

    Attributes
    ----------
    ascending : array of shape (n, (S + 1) d)
        The digits side by side, the leading ones first, and what is left of the numbers.
    descending : array of shape (n, S d)
        The digits, the leading ones last.
    rests : array of shape (n, (S + 1) d)
        What is left after S digits, after S - 1, ..., after none, each rounded once.
    squares : array of shape (S + 1, n)
        The levels of ``|x_i|^2``, and the sum of those that are not exact.
    """

    ascending: Dense
    descending: Dense
    rests: Dense
    squares: Dense


@dataclass(frozen=True)
class FixedPoint:
    """A common scale of samples: the exponent of the first digit, and the number of digits.

    Attributes
    ----------
    exponent : int
        e: all numbers are below ``2^e``.
    bits : int
        b, of a digit.
    n_digits : int
        S, those whose products are exact.
    n_features : int
        d.
    """

    exponent: int
    bits: int
    n_digits: int
    n_features: int

    @classmethod
    def of(
        cls, largest: float, n_features: int, smallest: float, most_digits: int
    ) -> FixedPoint | None:
        """Choose the number of digits; None where it would take too many of them.

        Parameters
        ----------
        largest : float
            Of all magnitudes.
        n_features : int
        smallest : float
            The error of squared distances and inner products is to be below this.
        most_digits : int
        """
        if not (math.isfinite(largest) and largest >= 0.0 and smallest > 0.0):
            return None
        e = math.frexp(largest)[1] + 1
        if abs(e) > SAFE_EXPONENT or math.frexp(smallest)[1] < -2 * SAFE_EXPONENT:
            return None
        for n_digits in range(1, most_digits + 1):
            bits = (53 - math.ceil(math.log2(4 * n_digits * max(1, n_features)))) // 2
            chosen = cls(e, bits, n_digits, n_features)
            if bits > 0 and chosen.error <= smallest:
                return chosen
        return None

    @property
    def error(self) -> float:
        """Bound on the error of a product or squared distance, beside ``2^-95`` of its size.

        Each of the terms that are not exact is below ``2^(2 e - S b - 1)``; they are rounded once,
        and added up in any order, four times for a distance. A sum of levels is within the next
        level of the result, and so rounded relative to the result alone.
        """
        terms = (self.n_digits + 1.0) * self.n_features
        return math.ldexp(
            2.0 * terms * (terms + 8.0), 2 * self.exponent - self.bits * self.n_digits - 53
        )

    def digits(self, x: DoubleDouble) -> Digits:
        """Cut numbers ``hi + lo`` of shape (n, d) into digits."""
        hi, lo, pieces, rests = x.hi, x.lo, list[Dense](), [x.hi + x.lo]
        for s in range(1, self.n_digits + 1):
            shift = math.ldexp(1.5, 52 + self.exponent - self.bits * s)
            piece = (hi + shift) - shift
            hi, lo = two_sum(hi - piece, lo)
            pieces.append(piece)
            rests.append(hi)
        squares = np.zeros((self.n_digits + 1, len(x.hi)))
        for r in range(self.n_digits):
            for s in range(r + 1):
                squares[r] += np.einsum("ij,ij->i", pieces[s], pieces[r - s])
        ascending, falling = np.hstack([*pieces, hi]), np.hstack(rests[::-1])
        np.einsum("ij,ij->i", ascending, falling, out=squares[-1])
        return Digits(ascending, np.hstack(pieces[::-1]), falling, squares)

    def _levels(self, x: Digits, z: Digits) -> Iterator[Dense]:
        d, total = self.n_features, self.n_features * self.n_digits
        for r in range(1, self.n_digits + 1):
            yield x.ascending[:, : r * d] @ z.descending[:, total - r * d :].T
        yield x.ascending @ z.rests.T

    def products(self, x: Digits, z: Digits) -> DoubleDouble:
        """``x_i'z_j`` of two arrays of shape (m, d) and (n, d) on this scale, shape (m, n)."""
        return _added_up(self._levels(x, z))

    def squared_distances(self, x: Digits, z: Digits) -> DoubleDouble:
        """``|x_i - z_j|^2`` of two arrays of shape (m, d) and (n, d), shape (m, n)."""
        levels = zip(x.squares, self._levels(x, z), z.squares, strict=True)
        return _added_up((own[:, None] - 2.0 * level) + other for own, level, other in levels)


def _added_up(levels: Iterator[Dense]) -> DoubleDouble:
    """Add exact levels, the largest first."""
    hi = next(levels)
    lo = np.zeros_like(hi)
    for level in levels:
        hi, rounded = two_sum(hi, level)
        lo += rounded
    return two_sum(hi, lo)


def centred(X: Dense, centre: Vector) -> DoubleDouble:
    """``X - c`` exactly, as hi and lo."""
    return two_sum(X, np.broadcast_to(-centre, X.shape))
