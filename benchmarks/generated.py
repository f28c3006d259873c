"""Sets of samples generated from a seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from benchmarks.arrays import Matrix, Vector


def _synthetic(n: int, d: int, seed: int = 0) -> tuple[Matrix, Vector]:
    from sklearn.datasets import make_classification

    informative = max(2, d // 2)
    X, y = make_classification(
        n, d, n_informative=informative, n_redundant=0, flip_y=0.05, random_state=seed
    )
    return standardised(X), np.where(y == 1, 1.0, -1.0)


def _synthetic_targets(n: int, d: int, seed: int = 0) -> tuple[Matrix, Vector]:
    from sklearn.datasets import make_regression

    X, y = make_regression(n, d, n_informative=max(1, d // 2), random_state=seed)
    y = standardised(y) + 0.1 * np.random.default_rng(seed).standard_normal(n)
    return standardised(X), standardised(y)


def _synthetic_text(
    n: int, d: int, tokens: int = 80, flipped: float = 0.05, seed: int = 0
) -> tuple[Matrix, Vector]:
    """Documents of words drawn by Zipf's law, with labels of a linear machine.

    Word k has probability in proportion to 1 / k. Features are ``log(1 + count)``, rows have norm
    1. The labels are the signs of a normal weight for every word, about their median, and a share
    of them is flipped.
    """
    rng = np.random.default_rng(seed)
    shares = np.cumsum(1.0 / np.arange(1.0, d + 1.0))
    words = np.searchsorted(shares, shares[-1] * rng.random(n * tokens), side="right")
    words = np.minimum(words, d - 1).astype(np.int32)
    starts = np.arange(0, n * tokens + 1, tokens, dtype=np.int32)
    X = sp.csr_array((np.ones(n * tokens), words, starts), shape=(n, d))
    X.sum_duplicates()
    X.data = np.log1p(X.data)
    X.data /= np.repeat(np.sqrt(X.multiply(X).sum(axis=1)), np.diff(X.indptr))
    scores = X @ rng.standard_normal(d)
    y = np.where(scores > np.median(scores), 1.0, -1.0)
    return X, np.where(rng.random(n) < flipped, -y, y)


def _strip(n: int, d: int, margin: float, seed: int = 0) -> tuple[Matrix, Vector]:
    """Two classes with ``y_i x_i1 >= margin``, with equality for one sample of each class.

    For ``margin > 0`` the two that meet it differ in the first feature alone, so that the hard
    margin is known: ``w = e_1 / margin, b = 0``. Otherwise four samples on the first axis are, in
    this order, negative, positive, negative, positive (the middle two the same point for 0):
    nothing separates them.
    """
    if n < 4:
        raise ValueError(f"n is {n}, and the strip takes 4 samples")
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    X[:, 0] = y * (max(margin, 0.0) + np.abs(X[:, 0]))
    X[:4] = 0.0
    X[:4, 0] = [margin, -margin, abs(margin) + 1.0, -abs(margin) - 1.0]
    return X, y


GENERATED: Mapping[str, Callable[..., tuple[Matrix, Vector]]] = {
    "strip": _strip,
    "synthetic": _synthetic,
    "synthetic_targets": _synthetic_targets,
    "synthetic_text": _synthetic_text,
}


def standardised(values: ArrayLike) -> NDArray[np.float64]:
    """Shift and scale columns to mean 0 and variance 1; constant columns become 0."""
    array = np.asarray(values, dtype=np.float64)
    deviation = np.std(array, axis=0)
    shifted: NDArray[np.float64] = array - np.mean(array, axis=0)
    return shifted / np.where(deviation > 0.0, deviation, 1.0)
