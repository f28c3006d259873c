"""The exact factors of the prices C_i, for proofs that need sums of prices without rounding.

A price such as ``C x weight / sum of weights`` is rounded. Bounds allow for that; whether the
prices of some samples add up to *exactly* as much as those of others does not survive it: with
``OneClass(nu=0.1)`` and ten samples, ``1/(nu n)`` is 1 in double precision, and less than 1 for the
number that 0.1 is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from qpsvm.display import short_repr
from qpsvm.numerics.arrays import Array, Index, Vector


@short_repr
@dataclass(frozen=True, eq=False)
class PriceFactors:
    """``C_i = scale x weights_i x factor of the class of i [/ sum of weights]``, without rounding.

    Attributes
    ----------
    scale : Fraction
        C, or 1/nu.
    weights : array of shape (n,)
        Sample weights.
    average : bool
        Whether prices are divided by the sum of the sample weights.
    codes : array of int of shape (n,), optional
        The class of every sample; None where all have the factor 1.
    factors : sequence of float or None
        One for every class. None: "balanced", ``W / (k W_c)`` with the sums W_c of sample weights.
    above, below : Fraction
        A condition that is violated has the slope ``above C_i``, one that has room left the slope
        ``-below C_i``.
    """

    scale: Fraction
    weights: Vector
    average: bool = False
    codes: Index | None = None
    factors: Sequence[float] | None = None
    above: Fraction = Fraction(1)
    below: Fraction = Fraction(0)

    @property
    def are_relative(self) -> bool:
        """Return whether a price depends on the weights of other samples."""
        return self.average or (self.codes is not None and self.factors is None)

    @property
    def are_plain(self) -> bool:
        """Return whether every ``C_i`` equals C: no sample or class weights, no average."""
        ones = bool((self.weights == 1.0).all())
        return ones and not self.average and self.codes is None

    def sum_of_slopes(self, signs: Vector, violated: Array) -> Fraction:
        """``sum_k s_k slope_k``, exactly.

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
        return [Fraction(factor) for factor in self.factors]


def _sum(values: Vector) -> Fraction:
    return sum(map(Fraction, values.tolist()), start=Fraction(0))
