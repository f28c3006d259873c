"""Work arrays that are reused instead of allocated anew."""

from __future__ import annotations

import numpy as np

from qpsvm.numerics.arrays import Dense, Vector


class Memory:
    """Named work arrays; pages that were never written take no memory.

    To write into fresh memory takes longer than to evaluate a kernel, or to factor a matrix of
    thousands: pages are found and zeroed first.
    """

    def __init__(self) -> None:
        self._arrays: dict[str, Vector] = {}

    def matrix(self, name: str, rows: int, columns: int) -> Dense:
        """Return the named array in a shape; its contents are arbitrary."""
        size = rows * columns
        self.reserve(name, size)
        return self._arrays[name][:size].reshape(rows, columns)

    def reserve(self, name: str, size: int, room: int = 0) -> None:
        """Enlarge a named array to ``size`` entries; a new one gets ``room`` entries more."""
        if name not in self._arrays or len(self._arrays[name]) < size:
            self._arrays[name] = np.empty(size + room)

    def shrink(self, name: str, size: int) -> None:
        """Release the named array if it has more than ``size`` entries."""
        if len(self._arrays[name]) > size:
            del self._arrays[name]
