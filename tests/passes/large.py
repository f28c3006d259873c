"""Problems with many more samples than the first guess sees, and than may be open at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

import qpsvm
from qpsvm.chunked import chunked
from qpsvm.chunked.settings import FirstPassSettings

N, D, ROWS = 12_000, 4, 1000
MEMORY = {"memory_limit": 1}
"""Options that allow 1000 open conditions, the least."""


def samples(n: int = N) -> tuple[Any, Any]:
    """Two classes that overlap, and a column with a long tail."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, D))
    X[:, 3] = rng.standard_t(3, n) + 2.0
    y = np.where(X @ [1.0, -0.5, 0.3, 0.2] + 1.5 * rng.logistic(size=n) > 0.5, 1, -1)
    return X, y


@contextmanager
def small_samples(rows: int = 300) -> Iterator[None]:
    """The first pass chooses so many rows."""
    with patch("qpsvm.chunked.problem.FIRST_PASS", FirstPassSettings(sample_rows=rows)):
        yield


def problem(family: Any = None, *, y: Any = None, rows: int = ROWS, sample: int = 300) -> Any:
    """The problem in chunks; y None for the labels of ``samples``."""
    X, labels = samples()
    family = qpsvm.SoftMargin(C=1.0) if family is None else family
    with small_samples(sample):
        return family.dual(chunked(X, labels if y is None else y, rows=rows))


def bits(solution: Any) -> bytes:
    """All numbers of a solution that a scheduler could have changed."""
    point, c = solution.dual, solution.certificate
    numbers = [
        solution.coef,
        [solution.intercept, solution.width],
        point.centre.vector,
        point.bands,
        *point.open,
        [c.primal_objective, c.dual_objective, c.rounding],
        [len(solution.statistics.trace), solution.statistics.n_bytes],
        *[figures for _, *figures in solution.statistics.trace],
    ]
    return b"".join(np.asarray(v, dtype=np.float64).tobytes() for v in numbers)
