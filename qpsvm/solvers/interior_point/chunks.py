"""Division of long vectors into chunks that fit a processor's cache."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from qpsvm.numerics.arrays import IN_CACHE
from qpsvm.solvers.interior_point.factor_settings import FACTORS

CHUNK = IN_CACHE // (FACTORS.vectors_in_cache * np.dtype(np.float64).itemsize)
"""Variables taken at once: all vectors of a loop, of that length, stay in the cache."""


def chunks(n: int) -> Iterator[slice]:
    """Slices that cover ``range(n)``."""
    return (slice(i, i + CHUNK) for i in range(0, n, CHUNK))
