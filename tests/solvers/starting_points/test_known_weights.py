"""Starts next to known weights: optima whatever the weights."""

from __future__ import annotations

import numpy as np
import pytest

import qpsvm
from qpsvm.qp.solution import Status
from qpsvm.solvers.linear.program import FactorProgram, Point
from qpsvm.solvers.linear.proximal import solve_by_proximal_steps
from qpsvm.solvers.linear.search import Search
from qpsvm.solvers.linear.solver import solve
from qpsvm.solvers.linear.translate import PrimalForm

EPS = 1e-8


def program(C: float, intercept: str = "free") -> FactorProgram:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 4))
    y = np.where(X[:, 0] + rng.normal(0.0, 0.7, 300) > 0.0, 1, -1)
    problem = qpsvm.SoftMargin(C=C, intercept=intercept).dual(X, y)
    return PrimalForm(problem.qp).structured()


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
    found = solve_by_proximal_steps(own, Point.of(p, np.clip(at.x, p.lower, p.upper), at.y, at.w))
    assert found.status is Status.OPTIMAL
    assert own.measured(found.x, found.y)[2] <= EPS
    alone = solve(p, EPS, 1000, lambda *_: None)
    difference = own.measured(found.x, found.y)[1] - own.measured(alone.x, alone.y)[1]
    assert abs(difference) <= 2.0 * EPS * abs(own.measured(alone.x, alone.y)[1])


@pytest.mark.parametrize("seed", range(5))
def test_no_weights_lead_to_a_wrong_claim(seed) -> None:
    rng, p = np.random.default_rng(seed), program(1.0)
    own = search(p)
    w = 10.0 ** rng.uniform(-3.0, 3.0) * rng.normal(size=4)
    found = solve_by_proximal_steps(own, Point.of(p, p.upper, np.ones(1), w))
    if found.status is Status.OPTIMAL:
        assert own.measured(found.x, found.y)[2] <= EPS
