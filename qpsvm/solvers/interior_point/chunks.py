"""Division of long vectors into chunks that fit a processor's cache."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from qpsvm.numerics.arrays import IN_CACHE
from qpsvm.solvers.interior_point.factor_settings import FACTORS

CHUNK = IN_CACHE // (FACTORS.vectors_in_cache * np.dtype(np.float64).itemsize)
"""Number of variables in a piece of a loop over vectors, so that its vectors stay in the cache."""


def chunks(n: int) -> Iterator[slice]:
    """Slices that cover ``range(n)``."""
    return (slice(i, i + CHUNK) for i in range(0, n, CHUNK))
