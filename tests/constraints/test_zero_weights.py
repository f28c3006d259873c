"""Programs with constraints on (w, b) whose optimum is w = 0."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import qpsvm
from qpsvm import constraints as rules
from qpsvm.qp.solution import Status

RNG = np.random.default_rng(0)
X, T = RNG.normal(size=(10, 2)), 0.01 * RNG.normal(size=10)
ALLOWED = {
    "sign": [rules.nonnegative(0)],
    "bound": [rules.bounded(0, lower=-1.0, upper=1e-9)],
    "equality": rules.LinearConstraints(A=[[1.0, -1.0, 0.0]], b=[0.0]),
}


@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("name", ALLOWED)
def test_zero_passes_where_it_is_allowed_and_costs_nothing(name: str, form: str) -> None:
    family: Any = qpsvm.EpsilonRegression(1.0, 1.0)
    problem = getattr(family, form)(X, T, constraints=ALLOWED[name])
    solution = qpsvm.solve(problem)
    assert solution.status is Status.OPTIMAL
    exact = solution.replace(coef=np.zeros(2), alpha=np.zeros(20), intercept=0.0)
    zero = np.zeros(problem.model.n_constraints)
    assert qpsvm.certify(problem, exact.replace(constraint_multipliers=zero)).passed(1e-8)
    for wrong in (1e-4, 1e-2, 1.0):  # moves of a decision value in units of the tube
        moved = exact.replace(coef=np.array([wrong, wrong]))
        assert not qpsvm.verify(problem, moved).passed


@pytest.mark.parametrize(
    "constraints", [[rules.bounded(0, lower=1e-3)], [rules.fixed(1, 1e-6)]], ids=["bound", "value"]
)
def test_constraints_that_zero_violates_set_the_scale(constraints: Any) -> None:
    problem = qpsvm.EpsilonRegression(1.0, 1.0).dual(X, T, constraints=constraints)
    assert problem.model.objective_floor == 0.0
    solution = qpsvm.solve(problem, eps=1e-9)
    assert solution.status is Status.OPTIMAL
    larger = solution.replace(coef=1.001 * solution.coef)
    assert not qpsvm.verify(problem, larger).passed
