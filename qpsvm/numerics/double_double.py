"""Numbers of twice the precision: unevaluated sums ``hi + lo`` of two doubles.

Every function takes and returns arrays, and rounds relative to ``2^-100`` or as it says, as long as
nothing overflows and no product underflows.

Sources: Dekker, "A floating-point technique for extending the available precision", *Numerische
Mathematik* 18 (1971); Knuth, *The Art of Computer Programming* 2, section 4.2.2, theorem B; for the
exponential, Tang, "Table-driven implementation of the exponential function in IEEE floating-point
arithmetic", *ACM TOMS* 15 (1989), with a table of double-double entries.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from qpsvm.numerics.arrays import Array, Dense
from qpsvm.numerics.exact_sums import product_parts


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
