"""Rare features with large values: a few samples alone determine the weight of each."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest

import qpsvm
from qpsvm.chunked import chunked
from qpsvm.chunked.contents import ChunkSettings
from qpsvm.qp import Status
from tests.chunked.large import MEMORY, assert_continued, small_samples
from tests.strategies import listed

N = 20_000


@cache
def samples() -> tuple[Any, Any]:
    """Two common features, and eight that one sample in 500 has; the sample of rows has few."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(N, 10))
    rare = rng.random(size=(N, 8)) < 0.002
    X[:, 2:] = rare * (20.0 + rng.normal(size=(N, 8))) + 0.01 * rng.normal(size=(N, 8))
    effect = rng.normal(size=8) / 20.0
    f = X[:, 0] - 0.5 * X[:, 1] + X[:, 2:] @ effect
    return X, np.where(f + rng.logistic(size=N) > 0.0, 1, -1)


def solution(**options: Any) -> tuple[Any, Any]:
    X, y = samples()
    with small_samples(6000):
        problem = qpsvm.SoftMargin(C=1.0).dual(chunked(X, y, rows=2000))
    return problem, qpsvm.solve(problem, eps=1e-9, options=MEMORY | options)


def test_the_optimum_is_found_in_few_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, found = solution()
    assert found.status is Status.OPTIMAL
    assert qpsvm.verify(problem, found, eps=1.01e-9).passed
    X, y = samples()
    whole = qpsvm.SoftMargin(C=1.0).dual(X, y)
    expected = qpsvm.certify(whole, qpsvm.solve(whole, eps=1e-10)).primal_objective
    np.testing.assert_allclose(found.certificate.primal_objective, expected, rtol=2e-9)
    assert found.statistics.passes <= 8
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", qpsvm.exceptions.ToleranceNotReachedWarning)
        monkeypatch.setattr("qpsvm.chunked.guess.CHUNKS", ChunkSettings(leverage_features=1))
        equal = solution(max_passes=8)[1]
    assert equal.status is Status.ITERATION_LIMIT


@listed("passes", [3, 5, 2, 4, 6], quick=3)
def test_a_checkpoint_has_all_of_the_state(tmp_path: Any, passes: int) -> None:
    """Leverages, machines on the way of a step, and what became of the step."""
    path = tmp_path / "state.npz"
    problem, whole = solution()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", qpsvm.exceptions.ToleranceNotReachedWarning)
        part = solution(checkpoint=path, max_passes=passes)[1]
    assert part.status is Status.ITERATION_LIMIT
    resumed = qpsvm.solve(problem, eps=1e-9, options=MEMORY | {"resume": path})
    assert resumed.status is Status.OPTIMAL
    assert_continued(resumed, whole)
