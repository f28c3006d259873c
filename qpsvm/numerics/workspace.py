"""Arrays that are written to again and again."""

from __future__ import annotations

import numpy as np

from qpsvm.numerics.arrays import Dense, Vector


class Memory:
    """Arrays by name. What nobody wrote to yet takes no memory.

    To write into fresh memory takes longer than to evaluate a kernel, or to factor a matrix of
    thousands: pages are found and zeroed first.
    """

    def __init__(self) -> None:
        self._arrays: dict[str, Vector] = {}

    def matrix(self, name: str, rows: int, columns: int) -> Dense:
        """The array of that name, in that shape; what was in it may be."""
        size = rows * columns
        self.reserve(name, size)
        return self._arrays[name][:size].reshape(rows, columns)

    def reserve(self, name: str, size: int) -> None:
        """Make sure that the array of that name has so many entries."""
        if name not in self._arrays or len(self._arrays[name]) < size:
            self._arrays[name] = np.empty(size)

    def shrink(self, name: str, size: int) -> None:
        """Nobody needs more than so many entries of that array any more."""
        if len(self._arrays[name]) > size:
            del self._arrays[name]
