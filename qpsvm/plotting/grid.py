"""The grid of points in a plane at which a machine's values are drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from qpsvm.numerics.arrays import Dense

ROOM = 0.06
"""Share of the range of the samples by which a picture extends beyond them."""


@dataclass(frozen=True, eq=False)
class Grid:
    """Both coordinates of the points of a grid, shape (side, side) each.

    Attributes
    ----------
    xx0, xx1 : arrays of shape (side, side)
    """

    xx0: Dense
    xx1: Dense

    @classmethod
    def around(cls, points: Dense, side: int, eps: float | None = None) -> Grid:
        """Build the grid around samples.

        Parameters
        ----------
        points : array of shape (n, 2)
        side : int
            Points along each axis.
        eps : float, optional
            By how much the grid extends beyond the samples; without it, by 6% of their range.

        Examples
        --------
        >>> Grid.around(np.array([[0.0, 0.0], [1.0, 2.0]]), 2, eps=1.0).xx0
        array([[-1.,  2.],
               [-1.,  2.]])
        """
        low, high = points.min(axis=0), points.max(axis=0)
        room = ROOM * np.where(high > low, high - low, 1.0) if eps is None else np.full(2, eps)
        ends = zip(low - room, high + room, strict=True)
        xx0, xx1 = np.meshgrid(*(np.linspace(a, b, side) for a, b in ends))
        return cls(xx0, xx1)

    def values(self, function: Callable[[Dense], npt.ArrayLike]) -> Dense:
        """Values of a function of (m, 2) arrays, shape (side, side) or (side, side, k)."""
        points = np.column_stack([self.xx0.ravel(), self.xx1.ravel()])
        found = np.asarray(function(points), dtype=np.float64)
        return found.reshape(*self.xx0.shape, *found.shape[1:])
