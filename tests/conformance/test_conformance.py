"""One suite, every backend: what it claims is measured with the verifier, never believed."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import qpsvm
from qpsvm.backends import Progress, Settings, get
from qpsvm.exceptions import UnsupportedProgramError
from qpsvm.qp import (
    KernelQuadratic,
    LowRankQuadratic,
    QPSolution,
    QuadraticProgram,
    SampleGram,
    SparseQuadratic,
    Status,
    residuals,
)
from qpsvm.qp.infeasibility import farkas_violation, ray_violation
from tests.conformance import programs
from tests.conformance.backends import ALL, CONSTRAINED, DEFINITE_ONLY, LINEAR, QUADRATIC, REQUIRED
from tests.strategies import grid
from tests.tolerances import (
    ASKED,
    CERTIFICATE,
    CLOSED_FORM,
    CLOSED_FORM_BY,
    REACHED,
    REACHED_BY,
)

pytestmark = [
    # qpsolvers reports every run that did not end at an optimum with a UserWarning of its own,
    # and so announces that it solves programs without constraints itself
    pytest.mark.filterwarnings("ignore::UserWarning:qpsolvers"),
]


def reached(backend: str) -> float:
    return REACHED_BY.get(backend, REACHED)


def solve(backend: str, program: QuadraticProgram, **settings: object) -> QPSolution:
    return get(backend).solve(program, Settings(eps=ASKED).replace(**settings))


def assert_optimal(backend: str, program: QuadraticProgram, solution: QPSolution) -> None:
    measured = residuals(program, solution)
    assert not measured.problems
    assert measured.passed(reached(backend)), measured


@pytest.mark.parametrize("backend", REQUIRED)
def test_required_backends_are_installed(backend: str) -> None:
    made = get(backend)
    assert made.missing_modules() == (), f"run: {made.install_command()}"


@pytest.mark.parametrize("case", programs.OPTIMAL)
@pytest.mark.parametrize("backend", QUADRATIC)
def test_known_optimum(backend: str, case: str) -> None:
    known = programs.OPTIMAL[case]
    if backend in DEFINITE_ONLY and case in programs.SINGULAR:
        with pytest.raises(UnsupportedProgramError, match="positive definite"):
            solve(backend, known.program)
        return
    if backend in CONSTRAINED and case == "no constraints":
        with pytest.raises(UnsupportedProgramError, match="at least one constraint"):
            solve(backend, known.program)
        return
    solution = solve(backend, known.program)
    assert_optimal(backend, known.program, solution)
    assert solution.statistics.backend == get(backend).label
    assert known.program.objective(solution.x) == pytest.approx(
        known.objective, abs=10 * reached(backend)
    )
    close = CLOSED_FORM_BY.get(backend, CLOSED_FORM)
    if known.x is not None:
        np.testing.assert_allclose(solution.x, known.x, atol=close)
    if known.y is not None:
        np.testing.assert_allclose(solution.y, known.y, atol=close)


@pytest.mark.parametrize("case", programs.LINEAR)
@pytest.mark.parametrize("backend", LINEAR)
def test_linear_program(backend: str, case: str) -> None:
    known = programs.LINEAR[case]
    solution = solve(backend, known.program)
    assert_optimal(backend, known.program, solution)
    np.testing.assert_allclose(solution.x, known.x, atol=CLOSED_FORM_BY.get(backend, CLOSED_FORM))


@pytest.mark.parametrize("backend", sorted(DEFINITE_ONLY.intersection(ALL)))
def test_linear_program_refused(backend: str) -> None:
    with pytest.raises(UnsupportedProgramError, match="linear"):
        solve(backend, programs.LINEAR["linear"].program)


@pytest.mark.parametrize("backend", QUADRATIC)
def test_duals_have_our_signs(backend: str) -> None:
    """Every kind of multiplier is non-zero here, with the sign that stationarity gives it."""
    program = QuadraticProgram(
        np.eye(4),
        [1.0, -3.0, 2.0, -2.0],
        G=[[-1.0, 0.0, 0.0, -1.0]],  # x1 + x4 >= 4
        h=[-4.0],
        A=[[0.0, 0.0, 1.0, 1.0]],
        b=[2.0],
        lb=[-np.inf, 0.0, 0.0, -np.inf],
        ub=[np.inf, 1.0, 5.0, np.inf],
    )
    # x2 = 1 at its upper bound, x3 = 0 at its lower, so x4 = 2, x1 = 2
    solution = solve(backend, program)
    assert_optimal(backend, program, solution)
    close = CLOSED_FORM_BY.get(backend, CLOSED_FORM)
    np.testing.assert_allclose(solution.x, [2.0, 1.0, 0.0, 2.0], atol=close)
    np.testing.assert_allclose(solution.z, [3.0], atol=close)
    np.testing.assert_allclose(solution.y, [3.0], atol=close)
    np.testing.assert_allclose(solution.z_lower, [0.0, 0.0, 5.0, 0.0], atol=close)
    np.testing.assert_allclose(solution.z_upper, [0.0, 2.0, 0.0, 0.0], atol=close)


# --- no optimum ------------------------------------------------------------------------------


@pytest.mark.parametrize("case", programs.INFEASIBLE)
@pytest.mark.parametrize("backend", QUADRATIC)
def test_infeasible(backend: str, case: str) -> None:
    program = programs.INFEASIBLE[case]
    solution = solve(backend, program, max_iterations=2000)
    assert not residuals(program, solution).passed(reached(backend))
    # CVXPY's interfaces of some solvers keep no multipliers
    kept = solution.z is not None and solution.y is not None
    claimed = solution.status is Status.PRIMAL_INFEASIBLE
    if claimed and kept and get(backend).capabilities.certificates:
        assert farkas_violation(program, solution) <= CERTIFICATE
    assert solution.status is not Status.DUAL_INFEASIBLE


@pytest.mark.parametrize("case", programs.UNBOUNDED)
@pytest.mark.parametrize("backend", QUADRATIC)
def test_unbounded(backend: str, case: str) -> None:
    program = programs.UNBOUNDED[case]
    try:
        solution = solve(backend, program, max_iterations=2000)
    except UnsupportedProgramError:
        assert backend in DEFINITE_ONLY or (backend in CONSTRAINED and case == "line")
        return
    assert not residuals(program, solution).passed(reached(backend))
    claimed = solution.status is Status.DUAL_INFEASIBLE and solution.x is not None
    if claimed and get(backend).capabilities.certificates:
        assert ray_violation(program, solution) <= CERTIFICATE
    assert solution.status is not Status.PRIMAL_INFEASIBLE


MAIN = ("cvxopt", "osqp", "cvxpy", "slsqp")


@grid("backend, case", product(MAIN, programs.INFEASIBLE))
def test_solving_proves_infeasibility_whatever_the_solver_says(backend: str, case: str) -> None:
    program = programs.INFEASIBLE[case]
    solution = qpsvm.solve(program, backend)
    assert solution.status is Status.PRIMAL_INFEASIBLE
    assert farkas_violation(program, solution) <= CERTIFICATE


@grid("backend, case", product(MAIN, programs.UNBOUNDED))
def test_solving_proves_unboundedness_whatever_the_solver_says(backend: str, case: str) -> None:
    program = programs.UNBOUNDED[case]
    solution = qpsvm.solve(program, backend)
    assert solution.status is Status.DUAL_INFEASIBLE
    assert ray_violation(program, solution) <= CERTIFICATE


# --- limits, hooks, warm starts ------------------------------------------------------------------


COUNTING = [name for name in QUADRATIC if get(name).capabilities.iteration_limit]
TIMED = [name for name in QUADRATIC if get(name).capabilities.time_limit]


def test_the_main_backends_have_limits() -> None:
    assert set(COUNTING) >= {"cvxopt", "osqp", "cvxpy", "slsqp"}
    assert set(TIMED) >= {"cvxopt", "osqp", "slsqp"}


@pytest.mark.parametrize("backend", COUNTING)
def test_iteration_limit(backend: str) -> None:
    program = programs.larger()
    solution = solve(backend, program, max_iterations=1)
    assert solution.status is not Status.OPTIMAL
    assert not residuals(program, solution).passed(1e-8)


@pytest.mark.parametrize("backend", TIMED)
def test_time_limit(backend: str) -> None:
    program = programs.larger()
    solution = solve(backend, program, time_limit=1e-9)
    # some look at the clock too late to stop; none may hide that it stopped
    if solution.status is Status.OPTIMAL:
        assert_optimal(backend, program, solution)
    else:
        assert solution.status in {Status.TIME_LIMIT, Status.ITERATION_LIMIT, Status.INACCURATE}


@pytest.mark.parametrize("backend", ["cvxopt", "osqp", "slsqp"])
def test_own_time_limit_stops(backend: str) -> None:
    assert solve(backend, programs.larger(), time_limit=1e-9).status is Status.TIME_LIMIT


@pytest.mark.parametrize("backend", [b for b in QUADRATIC if get(b).capabilities.callback])
def test_callback_sees_events(backend: str) -> None:
    events: list[Progress] = []
    program = programs.larger()
    silent = solve(backend, program)
    watched = solve(backend, program, callback=events.append)
    assert_optimal(backend, program, watched)
    np.testing.assert_allclose(watched.x, silent.x, atol=CLOSED_FORM)
    assert events
    assert all(event.stage == "solve" and event.backend == backend for event in events)
    counts = [event.iteration for event in events]
    assert counts == sorted(set(counts))


@pytest.mark.parametrize("backend", [b for b in QUADRATIC if get(b).capabilities.callback])
def test_callback_stops(backend: str) -> None:
    calls = []

    def stop(event: Progress) -> bool:
        calls.append(event)
        return False

    program = programs.larger()
    solution = solve(backend, program, callback=stop, max_iterations=20)
    assert len(calls) == 1
    assert solution.status in {Status.INTERRUPTED, Status.OPTIMAL}
    if solution.status is Status.OPTIMAL:  # it was over before it could be stopped
        assert_optimal(backend, program, solution)


@pytest.mark.parametrize("backend", [b for b in QUADRATIC if get(b).capabilities.warm_start])
def test_warm_start(backend: str) -> None:
    program = programs.larger()
    cold = solve(backend, program)
    warm = solve(backend, program, warm_start=cold)
    assert_optimal(backend, program, warm)
    assert program.objective(warm.x) == pytest.approx(program.objective(cold.x), abs=1e-5)


def test_warm_start_saves_iterations() -> None:
    program = programs.larger()
    cold = solve("osqp", program)
    assert cold.statistics.iterations is not None
    warm = solve("osqp", program, warm_start=cold)
    assert warm.statistics.iterations is not None
    assert warm.statistics.iterations < cold.statistics.iterations


# --- the four Hessians, and what must stay as it was --------------------------------------------


@pytest.mark.parametrize("backend", QUADRATIC)
def test_every_hessian_type_gives_the_same_answer(backend: str) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(12, 3))
    signs = np.where(rng.random(12) < 0.5, 1.0, -1.0)
    factor = signs[:, None] * X
    diag = np.full(12, 0.5)
    dense = factor @ factor.T + np.diag(diag)
    hessians = {
        "dense": dense,
        "sparse": SparseQuadratic(_csc(dense)),
        "low rank": LowRankQuadratic(factor, diag),
        "kernel": KernelQuadratic(SampleGram(lambda A, B: A @ B.T, X), signs, diag=diag),
    }
    points = {}
    for name, P in hessians.items():
        program = QuadraticProgram(P, -np.ones(12), A=signs[None], b=[0.0], lb=0.0, ub=1.0)
        solution = solve(backend, program)
        assert_optimal(backend, program, solution)
        points[name] = solution.x
    close = CLOSED_FORM_BY.get(backend, CLOSED_FORM)
    for name, x in points.items():
        np.testing.assert_allclose(x, points["dense"], atol=close, err_msg=name)


def _csc(dense: np.ndarray) -> object:
    import scipy.sparse as sp

    return sp.csc_array(dense)


@pytest.mark.parametrize("backend", QUADRATIC)
def test_sparse_primal(backend: str) -> None:
    program = programs.sparse_primal()
    if backend in DEFINITE_ONLY:
        with pytest.raises(UnsupportedProgramError, match="positive definite"):
            solve(backend, program)
        return
    assert_optimal(backend, program, solve(backend, program))


@pytest.mark.parametrize("backend", QUADRATIC)
def test_nothing_global_changes(backend: str) -> None:
    import cvxopt.solvers
    import qpsolvers  # noqa: F401 - its import changes an option of CVXOPT, once and for all

    before = dict(cvxopt.solvers.options)
    random_state = np.random.get_state()[1].copy()  # noqa: NPY002 - it is what must not move
    program = programs.larger()
    fingerprint = program.fingerprint()
    solve(backend, program)
    assert cvxopt.solvers.options == before
    assert (np.random.get_state()[1] == random_state).all()  # noqa: NPY002
    assert program.fingerprint() == fingerprint


@pytest.mark.parametrize("backend", QUADRATIC)
def test_silent_unless_verbose(backend: str, capfd: pytest.CaptureFixture[str]) -> None:
    solve(backend, programs.larger())
    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err == ""


@pytest.mark.parametrize("backend", ["cvxopt", "osqp", "slsqp", "cvxpy:CLARABEL"])
def test_same_bits_twice(backend: str) -> None:
    program = programs.larger()
    first, second = solve(backend, program), solve(backend, program)
    assert first.x.tobytes() == second.x.tobytes()
