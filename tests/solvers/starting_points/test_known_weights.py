"""Starts next to known weights: points of the central path, and optima whatever the weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import qpsvm
from qpsvm.qp.solution import Status
from qpsvm.solvers.interior_point.open_set import solve_near_weights
from qpsvm.solvers.interior_point.program import FactorProgram
from qpsvm.solvers.interior_point.search import Search
from qpsvm.solvers.interior_point.settings import InteriorPointSettings
from qpsvm.solvers.interior_point.smoothing import point_at
from qpsvm.solvers.interior_point.solver import solve
from qpsvm.solvers.interior_point.translate import PrimalForm

EPS = 1e-8
SETTINGS = InteriorPointSettings(slow_iterations=0)


def program(C: float, intercept: str = "free") -> FactorProgram:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 4))
    y = np.where(X[:, 0] + rng.normal(0.0, 0.7, 300) > 0.0, 1, -1)
    problem = qpsvm.SoftMargin(C=C, intercept=intercept).dual(X, y)
    return PrimalForm(problem.qp).structured(SETTINGS)


@pytest.fixture(autouse=True)
def _as_in_the_backend():
    with np.errstate(all="ignore"):
        yield


def search(p: FactorProgram) -> Search:
    return Search(p, EPS, 1000, lambda *_: None)


@pytest.mark.parametrize("intercept", ["free", "penalized", "none"])
@pytest.mark.parametrize("other", [0.5, 1.0, 2.0, 1000.0])
def test_the_optimum_is_found_from_the_weights_of_other_bounds(intercept, other) -> None:
    p = program(1.0, intercept)
    at = solve(program(other, intercept), EPS, 1000, lambda *_: None)
    own = search(p)
    found = solve_near_weights(own, at.w, at.y)
    assert found is not None
    assert found.status is Status.OPTIMAL
    assert own.measured(found.x, found.y)[3] <= EPS
    alone = solve(p, EPS, 1000, lambda *_: None)
    difference = own.measured(found.x, found.y)[2] - own.measured(alone.x, alone.y)[2]
    assert abs(difference) <= 2.0 * EPS * abs(own.measured(alone.x, alone.y)[2])


@pytest.mark.parametrize("seed", range(5))
def test_no_weights_lead_to_a_wrong_claim(seed) -> None:
    rng, p = np.random.default_rng(seed), program(1.0)
    own = search(p)
    found = solve_near_weights(own, 10.0 ** rng.uniform(-3.0, 3.0) * rng.normal(size=4), np.ones(1))
    if found is not None and found.status is Status.OPTIMAL:
        assert own.measured(found.x, found.y)[3] <= EPS


def test_curvature_and_missing_bounds_are_left_to_others() -> None:
    p, w, y = program(1.0), np.ones(4), np.ones(1)
    for other in (replace(p, d=p.d + 1.0), replace(p, upper=np.full(p.size, np.inf))):
        assert solve_near_weights(search(other), w, y) is None


@pytest.mark.parametrize("mu", [1e-6, 1.0, 1e6])
def test_a_point_of_the_central_path_has_equal_products(mu) -> None:
    p, rng = program(3.0), np.random.default_rng(1)
    w, y = rng.normal(size=4), rng.normal(size=1)
    it = point_at(p, w, y, mu)
    assert (it.s > 0.0).all()
    assert (it.t > 0.0).all()
    np.testing.assert_allclose(it.s * it.z, mu, rtol=1e-12)
    np.testing.assert_allclose(it.t * it.v, mu, rtol=1e-12)
    np.testing.assert_allclose(it.x - it.s, p.lower, atol=1e-12)
    np.testing.assert_allclose(it.s + it.t, p.upper - p.lower, rtol=1e-12)
    gradient = p.F.times(w, np.empty(p.size)) + p.q + p.A.T @ y
    size = np.maximum(np.abs(gradient), it.z + it.v)
    assert (np.abs(gradient - it.z + it.v) <= 1e-6 * size).all()
