"""Programs whose optimum was there first: every main backend must find it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import qpsvm
from qpsvm.backends import Settings, get
from qpsvm.exceptions import UnsupportedProgramError
from qpsvm.qp import QPSolution, QuadraticProgram, Status, multipliers_at, residuals
from tests.strategies import examples, manufactured_program
from tests.tolerances import (
    ASKED,
    EXACT,
    MANUFACTURED,
    MANUFACTURED_OBJECTIVE,
)

EXAMPLES = settings(
    max_examples=examples(100),
    # the first example imports the solver
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)

Manufactured = tuple[QuadraticProgram, QPSolution]


@EXAMPLES
@given(made=manufactured_program(strict=False))
def test_the_manufactured_solution_is_exact(made: Manufactured) -> None:
    program, exact = made
    measured = residuals(program, exact)
    assert measured.worst <= EXACT, measured


@pytest.mark.parametrize("backend", ["cvxopt", "osqp", "cvxpy", "cvxpy:CLARABEL", "qpsolvers:piqp"])
@EXAMPLES
@given(made=manufactured_program())
def test_backend_finds_the_optimum(backend: str, made: Manufactured) -> None:
    _require_found(backend, made)


@pytest.mark.parametrize("backend", ["slsqp", "qpsolvers:daqp"])
@EXAMPLES
@given(made=manufactured_program(definite=True))
def test_backend_finds_the_definite_optimum(backend: str, made: Manufactured) -> None:
    _require_found(backend, made)


def _require_found(backend: str, made: Manufactured) -> None:
    program, exact = made
    solution = get(backend).solve(program, Settings(eps=ASKED))
    measured = residuals(program, solution)
    if not measured.passed(MANUFACTURED):  # the tolerance contract asks twice
        solution = get(backend).solve(program, Settings(eps=ASKED, attempt=1))
        measured = residuals(program, solution)
    if backend == "osqp" and solution.status is Status.ITERATION_LIMIT:
        # linear programs can take a first-order method any number: it says so, and is polished
        solution = qpsvm.solve(program, backend, eps=MANUFACTURED)
        measured = residuals(program, solution)
    assert measured.passed(MANUFACTURED), (solution.native_status, measured)
    best = program.objective(exact.x)
    assert program.objective(solution.x) == pytest.approx(
        best, abs=MANUFACTURED_OBJECTIVE * max(1.0, abs(best))
    )


@pytest.mark.parametrize(
    "backend", ["qpsolvers:proxqp", "qpsolvers:highs", "qpsolvers:quadprog", "cvxpy:SCS"]
)
@pytest.mark.filterwarnings("ignore::qpsvm.exceptions.ToleranceNotReachedWarning")
@pytest.mark.filterwarnings("ignore::UserWarning:qpsolvers")
@EXAMPLES
@given(made=manufactured_program(definite=True))
def test_solvers_that_err_are_never_believed(backend: str, made: Manufactured) -> None:
    """These call some feasible programs infeasible, or stop early: what we say must be true."""
    program, exact = made
    try:
        solution = qpsvm.solve(program, backend, max_iterations=10_000)
    except UnsupportedProgramError:
        return
    assert solution.status not in (Status.PRIMAL_INFEASIBLE, Status.DUAL_INFEASIBLE)
    if solution.status is Status.OPTIMAL:
        best = program.objective(exact.x)
        assert program.objective(solution.x) == pytest.approx(
            best, abs=MANUFACTURED_OBJECTIVE * max(1.0, abs(best))
        )


@EXAMPLES
@given(made=manufactured_program())
def test_multipliers_are_recovered_from_the_point(made: Manufactured) -> None:
    program, exact = made
    recovered: Any = multipliers_at(program, exact.x)
    np.testing.assert_array_equal(recovered.x, exact.x)
    assert residuals(program, recovered).passed(MANUFACTURED)
