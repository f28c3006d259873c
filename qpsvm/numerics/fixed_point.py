"""Inner products and squared distances of samples with digits to spare, by exact matrix products.

All numbers are cut into the same digits, whole multiples of ``2^(e - s b)`` for s = 1, ..., S, and
a rest below the last of them::

    x  =  x_1 + x_2 + ... + x_S  +  rest_S,        |x| < 2^e

With d terms and b bits a digit, ``2 b + log2(4 S d) <= 53``, the sums ``sum_(s + t = r) x_s'z_t``
of one level r are exact in double precision, in whatever order a library adds them; and so is
``|x - z|^2`` level by level. Where two samples are near each other the leading levels are zero:
nothing cancels but zeros, whatever offset the samples share. The terms of higher levels are
``2^(b S)`` times smaller, and one ordinary product adds them up::

    x_1'rest_S(z) + x_2'rest_(S-1)(z) + ... + x_S'rest_1(z) + rest_S(x)'z

Source: Ozaki, Ogita, Oishi and Rump, "Error-free transformations of matrix multiplication by using
fast routines of matrix multiplication and its applications", *Numerical Algorithms* 59 (2012).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from qpsvm.numerics.arrays import Dense, Vector
from qpsvm.numerics.double_double import DoubleDouble, two_sum

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
