"""Settings of the interior-point engine's linear algebra.

Long vectors are divided into chunks that fit a processor's cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from qpsvm.numerics.arrays import IN_CACHE
from qpsvm.numerics.precision import EPS


@dataclass(frozen=True)
class FactorSettings:
    """Settings of the interior-point method's linear algebra, which users cannot set.

    Attributes
    ----------
    dependent_rows : float
        Added to the diagonal of rows of A, as a share of it: they may depend on each other, or be
        zero. Hundreds of roundings, as ``rank`` is.
    rank : float
        Singular values below that share of the largest are rounding.
    pivot : float
        First addition to the diagonal, as a share of each entry, where rounding left a matrix
        indefinite; ten times as much follows until it can be factored.
    dense_share : float
        Share of nonzero entries above which a factor is stored as an array: its products are then
        faster than those of a sparse matrix.
    equal_bounds : float
        Bounds that are no further apart, as a share of them, are one value: two roundings each.
    vectors_in_cache : int
        Vectors that a loop over variables touches, at most: chunks are so long that all stay in
        the cache.
    seed : int
        Of random projections; any does.
    """

    dependent_rows: float = 1e-13
    rank: float = 1e-13
    pivot: float = 1e-15
    dense_share: float = 0.3
    equal_bounds: float = 4.0 * EPS
    vectors_in_cache: int = 16
    seed: int = 0


FACTORS = FactorSettings()
"""Settings of linear algebra that every solve of the engine uses."""


CHUNK = IN_CACHE // (FACTORS.vectors_in_cache * np.dtype(np.float64).itemsize)
"""Number of variables in a piece of a loop over vectors, so that its vectors stay in the cache."""


def chunks(n: int) -> Iterator[slice]:
    """Slices that cover ``range(n)``."""
    return (slice(i, i + CHUNK) for i in range(0, n, CHUNK))
