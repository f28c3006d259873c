"""Compensated sums over conditions, with the same bits in every process that computes them."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from qpsvm.chunked.template import Terms
from qpsvm.numerics.arrays import Dense, Matrix, Vector
from qpsvm.numerics.precision import EPS


class Sum:
    """A compensated sum of arrays of one shape; the rounding of every addition is kept beside it.

    Source: Knuth, *The Art of Computer Programming* 2, section 4.2.2, theorem B.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.high, self.low = np.zeros(shape), np.zeros(shape)

    def add(self, value: Vector | Dense | float) -> None:
        """Add an array."""
        before = self.high
        after = before + value
        added = after - before
        self.low = self.low + ((before - (after - added)) + (value - added))
        self.high = after

    def add_sum(self, other: Sum) -> None:
        """Add another sum, with the roundings that it kept."""
        self.add(other.high)
        self.low = self.low + other.low

    @property
    def value(self) -> Dense:
        """The sum of all arrays that were added."""
        return np.asarray(self.high + self.low)


@dataclass(frozen=True, eq=False)
class Decided:
    """Sums over conditions whose dual variables are decided, by the sign of ``r a``.

    Index 0 is for ``r a < 0``, index 1 for ``r a > 0``.

    Attributes
    ----------
    weights : Sum of shape (2, d)
        ``sum r a x``.
    signed, total, linear, quadratic : Sums of shape (2,)
        ``sum r a``, ``sum a``, ``sum p a`` and ``sum d a^2``.
    rounding : Sum of shape (3,)
        Bounds on the rounding of ``signed`` and ``total``, of ``weights`` (their norm), and of
        ``linear - quadratic / 2``, each of both groups together.
    """

    weights: Sum
    signed: Sum
    total: Sum
    linear: Sum
    quadratic: Sum
    rounding: Sum

    @classmethod
    def empty(cls, d: int) -> Decided:
        """Sums over no conditions, of d features."""
        return cls(Sum((2, d)), Sum((2,)), Sum((2,)), Sum((2,)), Sum((2,)), Sum((3,)))

    def add_sums(self, other: Decided) -> None:
        """Add the sums of another chunk."""
        for own in fields(self):
            getattr(self, own.name).add_sum(getattr(other, own.name))

    def add(self, X: Matrix, terms: Terms, a: Vector, squares: Vector) -> None:
        """Add conditions on the rows of X (repeated for each side) with dual variables a."""
        ra = terms.signs * a
        n, d = X.shape
        sides = len(a) // max(1, n)
        linear, quadratic = a * terms.required, terms.curvature * a * a
        groups = np.stack([ra < 0.0, ra > 0.0])
        # the sides of one sample are in different groups, so nothing is rounded here
        by_row = np.where(groups, ra, 0.0).reshape(2, sides, n).sum(axis=1)
        self.weights.add(np.asarray((X.T @ by_row.T).T))
        self.signed.add(by_row.sum(axis=1))
        self.total.add(np.where(groups, a, 0.0).sum(axis=1))
        self.linear.add(np.where(groups, linear, 0.0).sum(axis=1))
        self.quadratic.add(np.where(groups, quadratic, 0.0).sum(axis=1))
        size = np.abs(a)
        terms_of_sums = [
            float(np.sum(size)),
            float(size @ np.tile(np.sqrt(squares), sides)),
            float(np.sum(np.abs(linear)) + np.sum(quadratic)),
        ]
        self.rounding.add(rounding_unit(n * sides, d) * np.array(terms_of_sums))


def rounding_unit(n: int, d: int) -> float:
    """Bound on the rounding of a sum over a block of n conditions, relative to its terms.

    Whatever the order of the sum, each of its terms takes part in at most n - 1 additions; |x|^2 of
    d features may be one of its factors; sums of blocks are compensated.
    Source: Higham, *Accuracy and Stability of Numerical Algorithms* (2002), section 4.2.
    """
    return 1.0625 * (n + d + 16) * EPS
