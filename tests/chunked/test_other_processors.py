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
from qpsvm.chunked.evaluation import narrowed
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


def test_a_band_that_is_narrowed_ends_between_two_conditions() -> None:
    distances = np.array([0.5, 0.1, 0.3, 0.3, 0.2])
    for most, low, high in ((4, 0.3, 0.5), (3, 0.2, 0.3), (2, 0.2, 0.3), (0, 0.0, 0.1)):
        assert low < narrowed(distances, 1.0, most) < high
    assert narrowed(np.array([1.0, np.nextafter(1.0, 2.0), 2.0]), 4.0, 1) == 1.0
    assert narrowed(np.zeros(3), 1.0, 1) < 0.0


def test_a_band_that_is_chosen_ends_between_two_conditions() -> None:
    distances = np.array([0.5, 0.1, 0.3, 0.3, 0.2])
    shares = np.ones(5)
    for n_open, low, high in ((1.0, 0.1, 0.2), (3.0, 0.3, 0.5), (4.0, 0.3, 0.5)):
        assert low < band_of(distances, shares, n_open) < high
    assert band_of(distances, shares, 5.0) >= 0.5
    assert band_of(distances, shares, 0.0) == 0.0
