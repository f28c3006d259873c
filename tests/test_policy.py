"""The solve policy: one deadline, all seconds counted, and another backend where one misses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_blobs

import qpsvm
from qpsvm.backends import Backend, Capabilities, Settings, registry
from qpsvm.machines.problem import TrainingProblem
from qpsvm.numerics.interrupts import NEVER, Deadline
from qpsvm.qp import QPSolution, QuadraticProgram, Status
from qpsvm.solving import policy, solve_with
from qpsvm.solving.attempts import POLICY, BackendRun, Result, distance
from qpsvm.solving.policy import STEPS, solve_by_policy
from tests.strategies import numbered

X, Y = make_blobs(40, centers=2, cluster_std=2.5, random_state=0)
PROGRAM = QuadraticProgram(np.eye(2), [-1.0, 0.0], A=[[1.0, 1.0]], b=[1.0], lb=0.0)

AFTER = 40
"""Readings of the clock after the deadline, at most: a few for each step that is left out, and the
verification of the answer. Nothing that iterates may read it more often."""


class Ticking:
    """A clock that goes one second on whenever it is read: time is the number of checks."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> float:
        self.now += 1
        return float(self.now)


def timed(problem: Any, limit: float | None, backend: Any = "auto") -> tuple[Result, Ticking]:
    clock = Ticking()
    settings = Settings(deadline=Deadline.after(limit, clock))
    return solve_by_policy(problem, backend, settings), clock


def barely_infeasible(seed: int, *, by_equalities: bool) -> QuadraticProgram:
    """Rows that contradict each other by 1e-12 to 1e-8, in two or three variables."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 4)), int(rng.integers(1, 4))
    root, a, x = rng.standard_normal((n, n)), rng.standard_normal((m, n)), rng.standard_normal(n)
    apart, h, q = 10.0 ** rng.integers(-12, -7), a @ x, rng.standard_normal(n)
    if by_equalities:
        twice = np.vstack([a, a]), np.concatenate([h, h + apart])
        return QuadraticProgram(np.eye(n), q, A=twice[0], b=twice[1])
    rows = np.vstack([a, -a]), np.concatenate([h, -h - apart])
    return QuadraticProgram(root @ root.T, q, G=rows[0], h=rows[1])


def problems() -> Iterator[tuple[str, Any]]:
    yield "quadratic", PROGRAM
    yield "linear", QuadraticProgram(np.zeros((2, 2)), [1.0, 2.0], [[-1.0, -1.0]], [-1.0], lb=0.0)
    yield "infeasible", QuadraticProgram(np.eye(2), [0, 0], A=[[1, 1]], b=[3], lb=0.0, ub=1.0)
    for seed in (5, 12, 24, 25):
        yield f"barely {seed}", barely_infeasible(seed, by_equalities=bool(seed % 2))
    for form in ("primal", "dual"):
        yield f"linear {form}", getattr(qpsvm.SoftMargin(C=10.0), form)(X, Y)
        yield f"kernel {form}", getattr(qpsvm.SoftMargin(C=10.0), form)(X, Y, kernel="rbf")
    yield "hard margin", qpsvm.HardMargin().dual(X, Y)
    data, labels = load_iris(return_X_y=True)
    yield "joint", qpsvm.CrammerSinger(C=1.0).dual(data[::5], labels[::5])


PROBLEMS = dict(problems())


# --- the list ------------------------------------------------------------------------------------


def test_the_docstring_lists_the_steps_of_the_code() -> None:
    listed = re.findall(r"^ +(\d+)\. \*([a-z ]+)\*:", qpsvm.solve.__doc__ or "", re.MULTILINE)
    assert listed == [(str(k), step) for k, step in enumerate(STEPS, start=1)]


# --- one deadline --------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [1.0, 5.0, 12.0, 30.0, 100.0])
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_limit_is_that_of_the_whole_call(name: str, limit: float) -> None:
    _, clock = timed(PROBLEMS[name], limit)
    assert clock.now <= limit + AFTER


@pytest.mark.parametrize("name", PROBLEMS)
def test_after_the_deadline_the_answer_is_verified_and_nothing_else(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured, searched = [], []
    measure, find_certificate = BackendRun.attempt, BackendRun.find_certificate
    deadline = Deadline(at=0.0, clock=lambda: 1.0)  # has passed before the backend is asked

    def counted(run: BackendRun, solution: QPSolution) -> Any:
        measured.append(solution)
        return measure(run, solution)

    def noted(run: BackendRun, *arguments: Any) -> Any:
        searched.append(arguments)
        return find_certificate(run, *arguments)

    monkeypatch.setattr(BackendRun, "attempt", counted)
    monkeypatch.setattr(BackendRun, "find_certificate", noted)
    result = solve_by_policy(PROBLEMS[name], "auto", Settings(deadline=deadline))
    assert len(measured) == 1
    assert not searched
    assert len(result.solution.statistics.asked) == 1


@pytest.mark.parametrize("backend", ["ipm", "active-set", "cvxopt"])
def test_an_engine_stops_after_as_many_checks_as_the_limit_has_seconds(backend: str) -> None:
    result, _ = timed(qpsvm.SoftMargin(C=10.0).dual(X, Y), 4.0, backend)
    assert result.solution.status is Status.TIME_LIMIT
    assert (result.solution.statistics.iterations or 0) <= 4


def test_the_parts_of_a_reduction_have_one_limit() -> None:
    data, labels = load_iris(return_X_y=True)
    problem = qpsvm.OneVsOne(qpsvm.SoftMargin(C=1.0)).dual(data, labels)
    clock = Ticking()
    settings = Settings(deadline=Deadline.after(10.0, clock))
    assert solve_with(problem, "auto", settings).shortfalls
    assert clock.now <= 10.0 + AFTER * len(problem.problems)


def test_without_a_limit_nobody_asks_whether_it_has_passed() -> None:
    def never() -> float:
        raise AssertionError("the clock was read")

    deadline = Deadline.after(None, never)
    assert not deadline.has_passed()
    assert deadline.remaining() == np.inf
    assert deadline.share(0.5) is deadline
    assert not NEVER.is_set


def test_a_share_of_a_deadline_ends_no_later() -> None:
    clock = Ticking()
    deadline = Deadline.after(30.0, clock)
    for part in (0.0, 0.5, 1.0):
        assert deadline.share(part).at <= deadline.at + 1.0
    assert deadline.share(0.5).at < deadline.at


# --- all seconds ---------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [None, 20.0])
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_seconds_of_the_steps_add_up_to_those_of_the_call(
    name: str, limit: float | None
) -> None:
    problem = PROBLEMS[name]
    result, clock = timed(problem, limit)
    statistics = result.solution.statistics
    began = 3.0 if limit is not None else 1.0  # a limit is set up, and looked at once
    assert sum(statistics.seconds.values()) == clock.now - began
    assert statistics.total_seconds == clock.now - began
    assert set(statistics.seconds) <= set(STEPS)
    assert min(statistics.seconds.values()) > 0.0
    own = result.machine.qp if isinstance(problem, TrainingProblem) else result.machine
    assert own.statistics == statistics


def test_the_seconds_after_the_last_step_count(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, result_of = Ticking(), policy.result_of

    def lasting(state: Any, **figures: Any) -> Result:
        clock.now += 100
        return result_of(state, **figures)

    monkeypatch.setattr(policy, "result_of", lasting)
    settings = Settings(deadline=Deadline.after(None, clock))
    statistics = solve_by_policy(PROGRAM, "cvxopt", settings).solution.statistics
    assert statistics.total_seconds == clock.now - 1.0 > 100.0


# --- one backend after another -------------------------------------------------------------------


class Slow(Backend):
    """Reaches a limit of iterations of its own, from nowhere."""

    name = "slow"
    licence = "none"
    distribution = "numpy"
    required_modules = ()
    capabilities = Capabilities(sparse=True, bounds=True, time_limit=True)
    watches_progress = True
    asked: list[Settings]

    def __init__(self) -> None:
        self.asked = []

    def _solve(self, program: QuadraticProgram, settings: Settings) -> QPSolution:
        del program
        self.asked.append(settings)
        return QPSolution(Status.ITERATION_LIMIT)


class Lost(Slow):
    """Finds nothing."""

    name = "lost"
    watches_progress = False

    def _solve(self, program: QuadraticProgram, settings: Settings) -> QPSolution:
        del program
        self.asked.append(settings)
        return QPSolution(Status.UNKNOWN)


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let ``"auto"`` choose these two backends."""

    def choose(first: Backend, second: Backend) -> None:
        made = dict(registry.BUILT_IN) | {b.name: (lambda b=b: b) for b in (first, second)}
        monkeypatch.setattr(registry, "BUILT_IN", made)
        monkeypatch.setattr(registry, "choose", lambda *_: (first.name, "it is the first"))
        monkeypatch.setattr(registry, "choose_again", lambda *_: (second.name, "the second"))

    return choose


def test_a_backend_that_ends_at_a_limit_of_its_own_is_followed_by_another(stage: Any) -> None:
    stage(Slow(), registry.get("cvxopt"))
    solution = qpsvm.solve(PROGRAM)
    assert solution.status is Status.OPTIMAL
    assert solution.statistics.asked == ("slow", "slow", "cvxopt")


@pytest.mark.parametrize("second", ["cvxopt", "lost"])
def test_a_limit_of_the_callers_is_the_end(stage: Any, second: str) -> None:
    slow = Slow()
    stage(slow, Lost() if second == "lost" else registry.get(second))
    with pytest.warns(qpsvm.exceptions.ToleranceNotReachedWarning):
        solution = qpsvm.solve(PROGRAM, max_iterations=7)
    assert solution.status is Status.ITERATION_LIMIT
    assert solution.statistics.asked == ("slow",)


def test_a_backend_asked_for_by_name_is_followed_by_no_other(stage: Any) -> None:
    stage(Slow(), registry.get("cvxopt"))
    with pytest.warns(qpsvm.exceptions.ToleranceNotReachedWarning):
        solution = qpsvm.solve(PROGRAM, "slow")
    assert solution.status is Status.ITERATION_LIMIT
    assert solution.statistics.asked == ("slow", "slow")


def test_the_first_backend_of_auto_has_a_share_of_the_limit(stage: Any) -> None:
    first, second = Lost(), Lost()
    second.name = "second"  # type: ignore[misc]
    stage(first, second)
    timed(PROGRAM, 300.0)
    limits = [settings.time_limit or np.inf for settings in first.asked]
    assert 0.0 < limits[0] <= POLICY.first_share * 300.0
    assert second.asked[0].deadline is not None
    assert second.asked[0].deadline.at == 301.0
    named = Lost()
    timed(PROGRAM, 300.0, named)
    assert named.asked[0].deadline is not None
    assert named.asked[0].deadline.at == 301.0


# --- near infeasibility --------------------------------------------------------------------------


@pytest.mark.parametrize("by_equalities", [False, True])
@numbered("seed", 12, quick=4)
def test_little_is_measured_where_rows_contradict_each_other_by_little(
    seed: int, by_equalities: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    measure, measured = BackendRun.attempt, []

    def counted(run: BackendRun, solution: QPSolution) -> Any:
        measured.append(solution)
        return measure(run, solution)

    monkeypatch.setattr(BackendRun, "attempt", counted)
    program = barely_infeasible(seed, by_equalities=by_equalities)
    result = solve_by_policy(program, "auto", Settings())
    assert result.solution.status in (Status.PRIMAL_INFEASIBLE, Status.INACCURATE, Status.OPTIMAL)
    assert len(measured) <= 10  # every one is a search for a point that satisfies the rows


def test_of_two_answers_without_a_bound_the_one_with_smaller_residuals_is_nearer() -> None:
    program = QuadraticProgram(np.eye(1), [0.0], A=[[1.0], [1.0]], b=[1.0, 1.0 + 1e-6])
    near, far = (
        qpsvm.verify(
            program,
            QPSolution(Status.UNKNOWN, x=[x], z=[], y=[-x, 0.0], z_lower=[0.0], z_upper=[0.0]),
        )
        for x in (1.0, 2.0)
    )
    assert near.worst == far.worst == np.inf
    assert 1.0 <= distance(near) < distance(far) < np.inf
