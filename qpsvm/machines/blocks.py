"""Named slices of a program's vectors, and NaN for vectors that a solver left out."""

from __future__ import annotations

import numpy as np

from qpsvm.numerics.arrays import Vector


def blocks(sizes: dict[str, int]) -> dict[str, slice]:
    """Consecutive slices of the given sizes, without the empty ones."""
    ends = np.cumsum([0, *sizes.values()]).tolist()
    parts = zip(sizes, ends[:-1], ends[1:], strict=True)
    return {name: slice(begin, end) for name, begin, end in parts if end > begin}


def vector_or_nan(vector: Vector | None, size: int) -> Vector:
    """The vector as float64; NaN where it is missing or has another shape."""
    if vector is None or vector.shape != (size,):
        return np.full(size, np.nan)
    return np.asarray(vector, dtype=np.float64)
