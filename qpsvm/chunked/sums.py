"""Compensated sums over conditions, with the same bits in every process that computes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Self

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

    @classmethod
    def over(cls, parts: Sequence[Sum]) -> Self:
        """Add up sums in their order, with the roundings that they kept."""
        total = cls(parts[0].high.shape)
        for part in parts:
            total.add(part.high)
            total.low = total.low + part.low
        return total

    @property
    def value(self) -> Dense:
        """The sum of all arrays that were added."""
        return np.asarray(self.high + self.low)


class Sums:
    """Base class of results whose attributes are sums."""

    @classmethod
    def over(cls, parts: Sequence[Self]) -> Self:
        """Add up the sums of all chunks, in their order."""
        names = [own.name for own in fields(cls)]  # type: ignore[arg-type] # of a dataclass
        return cls(*(Sum.over([getattr(part, name) for part in parts]) for name in names))


@dataclass(frozen=True, eq=False)
class Decided(Sums):
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
    def empty(cls, d: int) -> Self:
        """Sums over no conditions, of d features."""
        return cls(Sum((2, d)), Sum((2,)), Sum((2,)), Sum((2,)), Sum((2,)), Sum((3,)))

    def add(self, X: Matrix, terms: Terms, a: Dense, squares: Vector) -> None:
        """Add the conditions on the rows of X, all sides, with dual variables a."""
        ra, linear, quadratic = terms.signs * a, a * terms.required, terms.curvature * a * a
        groups = np.stack([ra < 0.0, ra > 0.0])
        # the sides of one sample are in different groups, so nothing is rounded here
        by_row = np.where(groups, ra, 0.0).sum(axis=1)
        self.weights.add(np.asarray((X.T @ by_row.T).T))
        self.signed.add(by_row.sum(axis=1))
        self.total.add(np.where(groups, a, 0.0).sum(axis=(1, 2)))
        self.linear.add(np.where(groups, linear, 0.0).sum(axis=(1, 2)))
        self.quadratic.add(np.where(groups, quadratic, 0.0).sum(axis=(1, 2)))
        sizes = np.abs(a).sum(axis=0)
        terms_of_sums = [
            float(np.sum(sizes)),
            float(sizes @ np.sqrt(squares)),
            float(np.sum(np.abs(linear)) + np.sum(quadratic)),
        ]
        self.rounding.add(rounding_unit(a.size, X.shape[1]) * np.array(terms_of_sums))


def rounding_unit(n: int, d: int) -> float:
    """Bound on the rounding of a sum over a block of n conditions, relative to its terms.

    Whatever the order of the sum, each of its terms takes part in at most n - 1 additions; |x|^2 of
    d features may be one of its factors; sums of blocks are compensated.
    Source: Higham, *Accuracy and Stability of Numerical Algorithms* (2002), section 4.2.
    """
    return 1.0625 * (n + d + 16) * EPS


@dataclass(frozen=True, eq=False)
class Losses:
    """Sums of the losses of a machine on one chunk.

    Attributes
    ----------
    losses : array of shape (m,)
        At every machine asked for.
    loss_rounding : float
        Bound on the rounding of the first of them.
    """

    losses: Vector
    loss_rounding: float
