"""Division of long vectors into chunks that fit a processor's cache."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from qpsvm.numerics.arrays import IN_CACHE

CHUNK = IN_CACHE // (16 * np.dtype(np.float64).itemsize)
"""Variables taken at once: sixteen vectors of that length stay in the cache."""


def chunks(n: int) -> Iterator[slice]:
    """Slices that cover ``range(n)``."""
    return (slice(i, i + CHUNK) for i in range(0, n, CHUNK))
