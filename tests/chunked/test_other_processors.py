"""Processors of another kind round products in their last bits: what is undecided stays so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import dask
import numpy as np
import pytest

import qpsvm
from qpsvm.chunked import chunked
from qpsvm.chunked.contents import ChunkSettings
from qpsvm.chunked.evaluation import within_band
from qpsvm.chunked.guess import band_of


def samples(seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    y = rng.random(4001) < 0.5
    X = rng.standard_normal((4001, int(rng.integers(3, 30))))
    X[:, 0] += np.where(y, 3.0, -3.0)
    return X, y


@pytest.mark.parametrize("seed", range(4))
def test_a_solution_is_verified_with_other_last_bits(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qpsvm.chunked.totals.CHUNKS", ChunkSettings(sample_rows=300))
    X, y = samples(seed)
    with dask.config.set(scheduler="synchronous"):
        problem = qpsvm.SoftMargin(C=1.0).dual(chunked(X, y, rows=1000))
        solution = qpsvm.solve(problem, options={"memory_limit": 1})
        centre = solution.dual.centre
        for factor in (1.0 - 4e-16, 1.0, 1.0 + 4e-16):
            moved = replace(centre, coef=factor * centre.coef, intercept=factor * centre.intercept)
            own = replace(solution, dual=replace(solution.dual, centre=moved))
            assert qpsvm.verify(problem, own, eps=1.01e-8).passed


def test_the_nearest_conditions_of_a_band_are_undecided() -> None:
    distances = np.array([[0.5, 0.1, np.nan], [0.3, 0.3, 0.2]])
    for most, expected in ((5, [0, 1, 3, 4, 5]), (4, [1, 3, 4, 5]), (3, [1, 3, 5]), (0, [])):
        assert within_band(distances, 1.0, most).tolist() == expected
    assert within_band(distances, 0.2, 5).tolist() == [1, 5]
    assert within_band(np.zeros(3), 0.0, 1).tolist() == [0]


def test_a_band_holds_as_many_conditions_as_asked_for() -> None:
    distances = np.array([0.5, 0.1, 0.3, 0.3, 0.2])
    shares = np.ones(5)
    for n_open, band in ((0.0, 0.0), (1.0, 0.1), (3.0, 0.3), (4.0, 0.3), (5.0, 0.5)):
        assert band_of(distances, shares, n_open) == band
