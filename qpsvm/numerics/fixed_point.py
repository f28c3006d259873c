"""Inner products and squared distances of samples with digits to spare, by exact matrix products.

All numbers are cut into the same digits, whole multiples of ``2^(e - s b)`` for s = 1, 2, ...::

    x  =  x_1 + x_2 + ... + x_S  +  rest,        |x| < 2^e

With d terms and b bits a digit, ``2 b + log2(4 S d) <= 53``, the sums ``sum_(s + t = r) x_s'z_t``
of one level r are exact in double precision, in whatever order a library adds them; and so is
``|x - z|^2`` level by level. Where two samples are near each other the leading levels are zero:
nothing cancels but zeros, whatever offset the samples share.

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
    ascending, descending : arrays of shape (n, S d)
        The digits side by side, the leading ones first, and last.
    squares : array of shape (S, n)
        The levels of ``|x_i|^2``.
    """

    ascending: Dense
    descending: Dense
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
        S.
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
        for n_digits in range(2, most_digits + 1):
            bits = (53 - math.ceil(math.log2(4 * n_digits * max(1, n_features)))) // 2
            chosen = cls(e, bits, n_digits, n_features)
            if bits > 0 and chosen.error <= smallest:
                return chosen
        return None

    @property
    def error(self) -> float:
        """Bound on what the digits that are left out change in a product or squared distance."""
        left_out = 8.0 * (self.n_digits + 4) * self.n_features
        return math.ldexp(left_out, 2 * self.exponent - self.bits * self.n_digits)

    def digits(self, x: DoubleDouble) -> Digits:
        """Cut numbers ``hi + lo`` of shape (n, d) into digits."""
        hi, lo, pieces = x.hi, x.lo, list[Dense]()
        for s in range(1, self.n_digits + 1):
            shift = math.ldexp(1.5, 52 + self.exponent - self.bits * s)
            piece = (hi + shift) - shift
            pieces.append(piece)
            hi, lo = two_sum(hi - piece, lo)
        squares = np.zeros((self.n_digits, len(x.hi)))
        for r in range(self.n_digits):
            for s in range(r + 1):
                squares[r] += np.einsum("ij,ij->i", pieces[s], pieces[r - s])
        return Digits(np.hstack(pieces), np.hstack(pieces[::-1]), squares)

    def _levels(self, x: Dense, z: Dense) -> Iterator[Dense]:
        d, total = self.n_features, self.n_features * self.n_digits
        for r in range(1, self.n_digits + 1):
            yield x[:, : r * d] @ z[:, total - r * d :].T

    def products(self, x: Digits, z: Digits) -> DoubleDouble:
        """``x_i'z_j`` of two arrays of shape (m, d) and (n, d) on this scale, shape (m, n)."""
        return _added_up(self._levels(x.ascending, z.descending))

    def squared_distances(self, x: Digits, z: Digits) -> DoubleDouble:
        """``|x_i - z_j|^2`` of two arrays of shape (m, d) and (n, d), shape (m, n)."""
        return _added_up(
            (own[:, None] - 2.0 * level) + other
            for own, level, other in zip(
                x.squares, self._levels(x.ascending, z.descending), z.squares, strict=True
            )
        )


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
