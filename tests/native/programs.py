"""Random programs and samples for the tests of the core."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

FORMATS = (
    "f64",
    "f32",
    "f64 of a slice",
    "csr f64 i32",
    "csr f64 i64",
    "csr f32 i32",
    "csr f32 i64",
)
"""Every way in which samples may be stored."""


def stored(X: Any, kind: str) -> Any:
    """Samples of small integers in one of the formats: the same numbers in each."""
    if kind == "f64 of a slice":
        wide = np.full((len(X), X.shape[1] + 3), np.nan)
        wide[:, 1 : X.shape[1] + 1] = X
        return wide[:, 1 : X.shape[1] + 1]
    values = np.float32 if "f32" in kind else np.float64
    if not kind.startswith("csr"):
        return np.ascontiguousarray(X, values)
    matrix = sp.csr_array(np.asarray(X, values))
    index = np.int32 if kind.endswith("i32") else np.int64
    matrix.indices, matrix.indptr = matrix.indices.astype(index), matrix.indptr.astype(index)
    return matrix


def integers(rng: Any, *shape: int, size: int = 3) -> Any:
    """Random small integers as float64: their sums and products are exact."""
    return rng.integers(-size, size + 1, shape).astype(float)


def box(rng: Any, n: int) -> tuple[Any, Any]:
    """Bounds of small integers; a fifth of the boxes are points, a fifth have no upper end."""
    lower = integers(rng, n)
    upper = lower + rng.integers(1, 5, n)
    kind = rng.random(n)
    return lower, np.where(kind < 0.2, lower, np.where(kind > 0.8, np.inf, upper))
