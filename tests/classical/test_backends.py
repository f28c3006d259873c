"""The classical backends: programs of a box and one row, and everything a backend promises."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import qpsvm
from qpsvm.backends import Progress, Settings, available, get
from qpsvm.exceptions import InvalidParameterError, UnknownBackendError, UnsupportedProgramError
from qpsvm.qp import QuadraticProgram, Status, residuals
from tests.classical.cases import optimum, problem
from tests.conformance import programs
from tests.conformance.backends import CLASSICAL
from tests.tolerances import SAME_OBJECTIVE

METHODS = ("dual-ascent", "smo", "coordinate-descent", "frank-wolfe", "admm", "slsqp")


def given(backend: str) -> Any:
    """A training problem that the backend takes."""
    alone = backend.endswith("coordinate-descent")
    return problem("cancer", intercept="penalized" if alone else "free", C=0.1)


def test_all_of_them_are_listed() -> None:
    assert set(CLASSICAL) == {f"classical:{name}" for name in METHODS}
    infos = {info.name: info for info in available()}
    for name in CLASSICAL:
        assert infos[name].installed
        assert infos[name].licence == "Apache-2.0"
        assert get(name.upper()).label == name
    with pytest.raises(UnknownBackendError, match="classical:smo"):
        get("classical:simplex")


@pytest.mark.filterwarnings("ignore::qpsvm.exceptions.ToleranceNotReachedWarning")
@pytest.mark.parametrize("backend", CLASSICAL)
def test_solve_takes_them_like_any_other(backend: str) -> None:
    of = given(backend)
    solution = qpsvm.solve(of, backend, eps=1e-6, max_iterations=500)
    assert solution.qp.statistics.backend == backend
    report = qpsvm.verify(of, solution, eps=1e-6)
    assert report.passed is (solution.status is Status.OPTIMAL)
    assert solution.status is Status.OPTIMAL  # the polish ends what a first-order method began
    cost = qpsvm.certify(of, solution).primal_objective
    assert cost == pytest.approx(optimum(of), rel=2e-6)


@pytest.mark.parametrize("backend", CLASSICAL)
def test_what_is_claimed_is_true(backend: str) -> None:
    of = given(backend)
    settings = Settings(eps=1e-2)
    solution = get(backend).solve(of.qp, settings)
    assert solution.status is Status.OPTIMAL
    best = optimum(of)
    assert abs(of.qp.objective(solution.x) + best) <= 1e-2 * best * (1.0 + SAME_OBJECTIVE)
    proof = qpsvm.certify(of, of.recover(solution))
    assert proof.relative_gap_upper <= 1.02e-2  # relative to the primal objective, not the dual
    assert residuals(of.qp, solution).problems == ()


@pytest.mark.parametrize("backend", CLASSICAL)
def test_limits_and_callbacks(backend: str) -> None:
    qp = given(backend).qp
    run = get(backend).solve
    cut = run(qp, Settings(max_iterations=1))
    assert cut.status is Status.ITERATION_LIMIT
    assert run(qp, Settings(time_limit=1e-9)).status is Status.TIME_LIMIT
    events: list[Progress] = []
    silent = run(qp, Settings(eps=1e-2, max_iterations=100))
    heard = run(qp, Settings(eps=1e-2, max_iterations=100, callback=events.append))
    np.testing.assert_array_equal(heard.x, silent.x)
    counts = [event.iteration for event in events]
    assert counts == sorted(set(counts))
    assert all(event.backend == backend for event in events)
    assert run(qp, Settings(callback=lambda _: False)).status is Status.INTERRUPTED


@pytest.mark.parametrize("backend", CLASSICAL)
def test_a_warm_start_saves_steps(backend: str) -> None:
    qp = given(backend).qp
    cold = get(backend).solve(qp, Settings(eps=1e-2))
    warm = get(backend).solve(qp, Settings(eps=1e-2, warm_start=cold))
    assert warm.statistics.iterations <= cold.statistics.iterations
    assert warm.status is Status.OPTIMAL


@pytest.mark.parametrize("case", programs.OPTIMAL)
@pytest.mark.parametrize("backend", CLASSICAL)
def test_programs_of_every_kind_are_solved_or_refused(backend: str, case: str) -> None:
    known = programs.OPTIMAL[case]
    try:
        solution = get(backend).solve(known.program, Settings(eps=1e-8, max_iterations=2_000))
    except UnsupportedProgramError:
        return
    if solution.status is Status.OPTIMAL:
        assert known.program.objective(solution.x) == pytest.approx(known.objective, abs=1e-6)
    else:
        assert solution.status in {Status.ITERATION_LIMIT, Status.INACCURATE}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("case", [*programs.UNBOUNDED, *programs.INFEASIBLE])
@pytest.mark.parametrize("backend", CLASSICAL)
def test_programs_without_optimum_are_never_called_optimal(backend: str, case: str) -> None:
    program = {**programs.UNBOUNDED, **programs.INFEASIBLE}[case]
    try:
        solution = get(backend).solve(program, Settings(max_iterations=500))
    except UnsupportedProgramError:
        return
    assert solution.status is not Status.OPTIMAL
    assert not residuals(program, solution).passed(1e-6)


def test_rows_that_are_no_equality_are_refused() -> None:
    program = QuadraticProgram(np.eye(2), [1.0, 1.0], G=[[1.0, 1.0]], h=[1.0], lb=0.0)
    for backend in CLASSICAL:
        with pytest.raises(UnsupportedProgramError, match=r"box|bounds|row"):
            get(backend).solve(program, Settings())


def test_options_are_those_of_the_settings() -> None:
    qp = problem("cancer").qp
    slow = get("classical:dual-ascent").solve(
        qp, Settings(max_iterations=50, options={"rate": 1e-6})
    )
    assert slow.statistics.settings["rate"] == 1e-6
    fast = get("classical:dual-ascent").solve(qp, Settings(max_iterations=50))
    assert qp.objective(fast.x) < qp.objective(slow.x)
    with pytest.raises(InvalidParameterError, match="did you mean 'rate'"):
        get("classical:dual-ascent").solve(qp, Settings(options={"rat": 1.0}))
    with pytest.raises(InvalidParameterError, match="check_growth"):
        get("classical:smo").solve(qp, Settings(options={"check_growth": 0.5}))


def test_the_trace_and_the_backend_are_one_method() -> None:
    of = problem("cancer")
    traced = qpsvm.classical.smo(of, max_steps=200, eps=1e-12)
    asked = get("classical:smo").solve(of.qp, Settings(max_iterations=200, eps=1e-12))
    np.testing.assert_allclose(traced.solution.alpha, asked.x, atol=1e-12)
