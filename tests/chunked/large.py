"""Problems with many more samples than the first guess sees, and than may be undecided at a
time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import qpsvm
from qpsvm.chunked import chunked
from qpsvm.chunked.contents import ChunkSettings

N, D, ROWS = 12_000, 4, 1000
MEMORY = {"memory_limit": 1}
"""Options that allow 1000 undecided conditions, the least."""


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
    with patch("qpsvm.chunked.totals.CHUNKS", ChunkSettings(sample_rows=rows)):
        yield


def problem(family: Any = None, *, y: Any = None, rows: int = ROWS, sample: int = 300) -> Any:
    """The problem in chunks; y None for the labels of ``samples``."""
    X, labels = samples()
    family = qpsvm.SoftMargin(C=1.0) if family is None else family
    with small_samples(sample):
        return family.dual(chunked(X, labels if y is None else y, rows=rows))


def bits(solution: Any) -> bytes:
    """All numbers of a solution that a scheduler could have changed."""
    c, gaps = solution.certificate, [gap for _, gap, _ in solution.statistics.trace]
    bounds = np.array([c.primal_objective, c.dual_objective, c.rounding, *gaps])
    return bits_of_machines(solution) + bounds.tobytes()


def bits_of_machines(solution: Any) -> bytes:
    """The numbers of a solution but for its bounds: machine, dual point, the course of passes."""
    point, trace = solution.dual, solution.statistics.trace
    numbers = [
        solution.coef,
        [solution.intercept, solution.width],
        point.centre.vector,
        *point.numbers,
        *point.open,
        [len(trace), solution.statistics.n_bytes],
        [band for _, _, band in trace],
    ]
    return b"".join(np.asarray(v, dtype=np.float64).tobytes() for v in numbers)


def assert_continued(resumed: Any, whole: Any) -> None:
    """A resumed solve takes the same steps; what it measured anew differs by rounding."""
    assert bits_of_machines(resumed) == bits_of_machines(whole)
    assert resumed.status is whole.status
    own, other = resumed.certificate, whole.certificate
    rounding = own.rounding + other.rounding
    assert abs(own.primal_objective - other.primal_objective) <= rounding
    assert abs(own.dual_objective - other.dual_objective) <= rounding
    for (kind, gap, _), (before, expected, _) in zip(
        resumed.statistics.trace, whole.statistics.trace, strict=True
    ):
        assert kind == before
        assert gap == pytest.approx(expected, abs=2.0 * rounding / own.scale, rel=1e-6)
