"""Newton steps by conjugate gradients: squared hinges on many sparse features."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import qpsvm
from qpsvm.backends import registry
from qpsvm.backends.base import Settings
from qpsvm.solvers.starting_points import finite_newton


def words(n: int, d: int, seed: int = 0) -> tuple[Any, Any]:
    """Rows of a few words each, whose two classes overlap, each of length 1."""
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, d), density=12 / d, rng=rng, format="csr")
    X = sp.csr_array(X.multiply(1.0 / np.maximum(sp.linalg.norm(X, axis=1), 1e-12)[:, None]))
    score = X @ rng.normal(size=d) + 0.3 * rng.normal(size=n)
    return X, np.where(score > np.median(score), 1, -1)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Results of all runs of the method, None where it gave up."""
    found = list[Any]()
    original = finite_newton.by_finite_newton

    def noted(search: Any) -> Any:
        found.append(original(search))
        return found[-1]

    monkeypatch.setattr(finite_newton, "by_finite_newton", noted)
    return found


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", ["penalized", "none"])
@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
def test_it_finds_the_optimum_of_the_dense_method(
    C: float, intercept: Any, weighted: bool, runs: list[Any]
) -> None:
    X, y = words(900, 1500)
    weights = np.random.default_rng(1).integers(0, 4, len(y)).astype(float) if weighted else None
    family = qpsvm.SoftMargin(C, intercept, "squared_hinge")
    problem = family.dual(X, y, sample_weight=weights)
    solution = qpsvm.solve(problem)
    assert [run is not None for run in runs] == [True]
    assert qpsvm.verify(problem, solution, eps=1e-9).passed
    assert not solution.qp.statistics.polished
    dense = family.dual(X.toarray(), y, sample_weight=weights)
    other = qpsvm.solve(dense, eps=1e-10)
    assert len(runs) == 1
    np.testing.assert_allclose(solution.coef, other.coef, atol=1e-5)


def test_squared_tubes_and_bounds_are_left_to_other_methods(runs: list[Any]) -> None:
    X, y = words(900, 1500)
    t = X @ np.ones(1500)
    for problem in (
        qpsvm.SoftMargin(1.0, "penalized").dual(X, y),
        qpsvm.SoftMargin(1.0, "free", "squared_hinge").dual(X, y),
        qpsvm.SoftMargin(1.0, "none", "squared_hinge").dual(X[:50], y[:50]),
        qpsvm.EpsilonRegression(1.0, 0.1, "none", loss="epsilon_insensitive").dual(X, t),
    ):
        assert qpsvm.verify(problem, qpsvm.solve(problem)).passed
    assert not runs


def test_where_it_takes_too_long_another_method_goes_on(
    runs: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = words(900, 1500)
    problem = qpsvm.SoftMargin(1.0, "none", "squared_hinge").dual(X, y)
    allowed = iter([1000, 3])
    monkeypatch.setattr(finite_newton, "affordable", lambda _: next(allowed))
    assert qpsvm.verify(problem, qpsvm.solve(problem)).passed
    assert runs == [None]


def test_an_iteration_limit_ends_it() -> None:
    X, y = words(900, 1500)
    problem = qpsvm.SoftMargin(30.0, "none", "squared_hinge").dual(X, y)
    backend = registry.get("ipm")
    found = backend.solve(problem.qp, Settings(eps=1e-10, max_iterations=2).started())
    assert found.status is qpsvm.qp.Status.ITERATION_LIMIT
    assert found.statistics.iterations <= 2
