"""Classes so rare that rows chosen at random have none of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import dask
import numpy as np
import pytest

import qpsvm
from qpsvm.chunked import chunked
from qpsvm.chunked.contents import ChunkSettings
from qpsvm.qp import Status

FAMILIES = {
    "hinge": qpsvm.SoftMargin(C=1.0),
    "average": qpsvm.SoftMargin(C=10.0, average_loss=True, class_weight="balanced"),
    "squared": qpsvm.SoftMargin(C=1.0, loss="squared_hinge"),
    "weighted nu": qpsvm.NuClassification(nu=0.3, class_weight={True: 500.0}),
}


def rare() -> tuple[Any, Any]:
    """Four samples of 4,000 are of the second class."""
    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((4000, 3)), np.arange(4000) % 1000 == 7
    X[y, 0] += 1.0
    return X, y


def chosen_labels(problem: Any) -> list[Any]:
    """Labels of the rows chosen in every chunk."""
    totals = problem.totals
    return np.split(totals.sample.y, np.cumsum(totals.n_chosen_by_chunk)[:-1])


@pytest.mark.parametrize("intercept", ["free", "penalized", "none"])
@pytest.mark.parametrize("name", FAMILIES)
def test_a_rare_class_is_learned(
    name: str, intercept: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qpsvm.chunked.totals.CHUNKS", ChunkSettings(sample_rows=400))
    X, y = rare()
    family = replace(FAMILIES[name], intercept=intercept)
    with dask.config.set(scheduler="synchronous"):
        problem = family.dual(chunked(X, y, rows=1000))
        assert all(y.any() for y in chosen_labels(problem))
        solution = qpsvm.solve(problem, eps=1e-9)
        assert solution.status is Status.OPTIMAL
        assert qpsvm.verify(problem, solution, eps=1.01e-9).passed
    whole = family.dual(X, y)
    exact = qpsvm.certify(whole, qpsvm.solve(whole, eps=1e-10))
    found = solution.certificate
    assert abs(found.primal_objective - exact.primal_objective) <= 2e-9 * found.scale


def test_a_guess_without_a_class_ends_no_solve(monkeypatch: pytest.MonkeyPatch) -> None:
    """The best intercept and width for no row of a class are not numbers."""
    none = ChunkSettings(sample_rows=20, rare_share=0.0)
    monkeypatch.setattr("qpsvm.chunked.totals.CHUNKS", none)
    X, y = rare()
    with dask.config.set(scheduler="synchronous"):
        problem = FAMILIES["weighted nu"].dual(chunked(X, y, rows=1000))
        assert not any(y.any() for y in chosen_labels(problem))
        assert qpsvm.solve(problem, eps=1e-9).status is Status.OPTIMAL
