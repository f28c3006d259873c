"""Modifiers of sets of samples: parts, copies, and columns on other scales."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import scipy.sparse as sp

from benchmarks.arrays import Matrix, Vector


def distinct_samples(X: Matrix, y: Vector) -> tuple[Matrix, Vector]:
    """Return the first of all equal samples, in the given order."""
    table = np.column_stack([X.toarray() if sp.issparse(X) else X, y])
    _, first = np.unique(table, axis=0, return_index=True)
    kept = np.sort(first)
    return X[kept], y[kept]


def random_part(X: Matrix, y: Vector, n: int, seed: int = 0) -> tuple[Matrix, Vector]:
    """Return n samples, drawn without replacement."""
    if not 0 < n <= len(y):
        raise ValueError(f"n is {n}, and the set has {len(y)} samples")
    kept = np.random.default_rng(seed).permutation(len(y))[:n]
    return X[kept], y[kept]


def _collinear(X: Matrix, y: Vector, collinear: float) -> tuple[Matrix, Vector]:
    X = X.toarray() if sp.issparse(X) else X
    noise = np.random.default_rng(0).standard_normal(X.shape)
    return np.hstack([X, X + collinear * np.std(X, axis=0) * noise]), y


def _spread(X: Matrix, y: Vector, spread: float) -> tuple[Matrix, Vector]:
    factors = np.geomspace(spread**-0.5, spread**0.5, X.shape[1])
    return (sp.csr_array(X * factors[None, :]) if sp.issparse(X) else X * factors), y


def _scale(X: Matrix, y: Vector, scale: float) -> tuple[Matrix, Vector]:
    return X * float(scale), y


def _copies(X: Matrix, y: Vector, copies: int) -> tuple[Matrix, Vector]:
    rows = np.repeat(np.arange(len(y)), copies)
    return X[rows], y[rows]


MODIFIERS: Mapping[str, Callable[..., tuple[Matrix, Vector]]] = {
    "collinear": _collinear,
    "spread": _spread,
    "scale": _scale,
    "copies": _copies,
}
"""Modifiers by name, in the order in which they are applied."""
