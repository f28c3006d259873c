"""Solvers that would go on for ever end at a limit that they are given."""

from __future__ import annotations

import numpy as np
import pytest

import qpsvm
from qpsvm.exceptions import QPSVMError
from qpsvm.qp import Status


@pytest.mark.parametrize("backend", ["qpsolvers:highs", "cvxpy:HIGHS"])
def test_highs_ends_where_its_active_set_goes_round_in_circles(backend: str) -> None:
    """Sixteen variables, on which HiGHS 1.16 makes iterations as long as it may."""
    rng = np.random.default_rng(7)
    n = int(rng.integers(2, 9))
    rng.integers(0, 4)
    d = int(rng.integers(1, 4))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4, size=d)
    rng.random(2)
    y = rng.choice([-1.0, 1.0], n)
    y[[0, -1]] = 1.0, -1.0
    problem = qpsvm.EpsilonRegression(C=0.01, epsilon=0.1).dual(X, y)
    try:
        solution = qpsvm.solve(problem, backend, time_limit=120.0)
    except QPSVMError:
        return
    assert solution.status is not Status.TIME_LIMIT
    assert qpsvm.verify(problem, solution).passed == (solution.status is Status.OPTIMAL)
