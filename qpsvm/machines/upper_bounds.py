"""Upper bounds ``C_i`` of the dual variables: C times the weights of a sample and of its class.

A bound such as ``C x weight / sum of weights`` is rounded. Programs and certificates allow for
that; whether the C_i of some samples add up to *exactly* as much as those of others does not
survive it: with ``OneClass(nu=0.1)`` and ten samples, ``1/(nu n)`` is 1 in double precision, and
less than 1 for the number that 0.1 is there. So the exact factors are kept beside the bounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from qpsvm.display import short_repr
from qpsvm.exceptions import InvalidDataError
from qpsvm.numerics.arguments import VectorLike
from qpsvm.numerics.arrays import Array, Index, Vector


@short_repr
@dataclass(frozen=True, eq=False)
class ExactUpperBounds:
    """``C_i = scale x weights_i x factor of the class of i [/ sum of weights]``, by its factors.

    Attributes
    ----------
    scale : Fraction
        C, or 1/nu.
    weights : array of shape (n,)
        Sample weights.
    average : bool
        Whether the ``C_i`` are divided by the sum of the sample weights.
    codes : array of int of shape (n,), optional
        The class of every sample; None where all have the factor 1.
    factors : array of shape (k,) or None
        One for every class. None: "balanced", ``W / (k W_c)`` with the sums W_c of sample weights.
    above, below : Fraction
        A condition that is violated has the slope ``above C_i``, one that has room left the slope
        ``-below C_i``.
    """

    scale: Fraction
    weights: Vector
    average: bool = False
    codes: Index | None = None
    factors: Vector | None = None
    above: Fraction = Fraction(1)
    below: Fraction = Fraction(0)

    @property
    def rounded(self) -> Vector:
        """``C_i`` in double precision, shape (n,).

        Raises
        ------
        InvalidDataError
            One is beyond the range of double precision.
        """
        try:
            scale = float(self.scale)
        except OverflowError:
            scale = math.inf
        with np.errstate(all="ignore"):
            total = np.sum(self.weights) if self.average else 1.0
            C = scaled_product([scale, self.weights, self.class_factors], total)
        return in_range(C)

    @property
    def class_factors(self) -> Vector:
        """The factor of the class of every sample in double precision, shape (n,)."""
        if self.codes is None:
            return np.ones(len(self.weights))
        if self.factors is not None:
            return np.asarray(self.factors)[self.codes]
        sums = np.bincount(self.codes, self.weights)
        return np.asarray((float(np.sum(sums)) / (len(sums) * sums))[self.codes])

    @property
    def are_relative(self) -> bool:
        """Return whether leaving out one sample changes the ``C_i`` of the others."""
        return self.average or (self.codes is not None and self.factors is None)

    @property
    def are_plain(self) -> bool:
        """Return whether every ``C_i`` equals C: no sample or class weights, no average."""
        ones = bool((self.weights == 1.0).all())
        return ones and not self.average and self.codes is None

    def sum_of_slopes(self, signs: Vector, violated: Array) -> Fraction:
        """Sum up ``sum_k s_k slope_k`` in rational arithmetic.

        Parameters
        ----------
        signs : array of shape (N,)
            -1, 0 or +1. Condition k is about sample ``k mod n``.
        violated : array of bool of shape (N,)
        """
        n = len(self.weights)
        codes = np.zeros(n, dtype=np.intp) if self.codes is None else self.codes
        classes = range(int(np.max(codes, initial=0)) + 1)
        sums = [_sum(self.weights[codes == c]) for c in classes]
        of_condition = np.resize(codes, len(signs))
        weights = np.resize(self.weights, len(signs))
        total = Fraction(0)
        for c, factor in zip(classes, self._class_factors(sums), strict=True):
            of_class = of_condition == c
            over, under = of_class & violated, of_class & ~violated
            total += factor * self.above * _sum((signs * weights)[over])
            total -= factor * self.below * _sum((signs * weights)[under])
        return self.scale * total / (sum(sums) if self.average else 1)

    def _class_factors(self, sums: list[Fraction]) -> list[Fraction]:
        if self.codes is None:
            return [Fraction(1)]
        if self.factors is None:
            return [sum(sums) / (len(sums) * of_class) for of_class in sums]
        return [Fraction(factor) for factor in self.factors.tolist()]


def _sum(values: Vector) -> Fraction:
    return sum(map(Fraction, values.tolist()), start=Fraction(0))


def scaled_product(factors: list[VectorLike], divisor: float | np.floating = 1.0) -> Vector:
    """Product of up to five non-negative numbers or arrays, over a divisor.

    Significands and exponents are multiplied apart: only the result can leave the range of double
    precision. A product that underflows on its way to an ordinary number would lose its digits.
    """
    with np.errstate(all="ignore"):
        significand, exponent = np.frexp(np.asarray(factors[0], dtype=np.float64))
        for factor in factors[1:]:
            m, e = np.frexp(np.asarray(factor, dtype=np.float64))
            significand, exponent = significand * m, exponent + e
        m, e = np.frexp(np.float64(divisor))
        return np.asarray(np.ldexp(significand / m, exponent - e))


def in_range(C: Vector) -> Vector:
    """Return C, or raise if an entry or its inverse overflows.

    Raises
    ------
    InvalidDataError
        One is not: too large, too small, or NaN.
    """
    with np.errstate(all="ignore"):
        bad = np.flatnonzero(~(np.isfinite(C) & np.isfinite(1.0 / C)))
    if bad.size:
        raise InvalidDataError(
            f"C times the weights of sample {bad[0]} is {C[bad[0]]} ({bad.size} such samples), "
            "beyond the range of double precision (its inverse counts, too); scale C or "
            "sample_weight."
        )
    return C
