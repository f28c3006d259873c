"""What a solve prints: nothing without ``verbose``, a line per iteration with it."""

from __future__ import annotations

import contextlib
import sys
import threading
from typing import Any

import numpy as np
import pytest

import qpsvm
from qpsvm.backends import Settings, get
from qpsvm.backends.output import FIRST_LINES, LINES_PER_SECOND, Printed, silenced
from qpsvm.backends.settings import Progress
from qpsvm.exceptions import UnsupportedProgramError
from qpsvm.qp import QuadraticProgram
from tests.conformance.backends import ALL
from tests.processes import run
from tests.strategies import listed

PROGRAMS = {
    "without active bounds": QuadraticProgram(np.eye(3), np.full(3, -0.5), lb=0.0, ub=1.0),
    "with active bounds": QuadraticProgram(np.eye(3), [-2.0, 0.5, -0.5], lb=0.0, ub=1.0),
    "linear": QuadraticProgram(None, [1.0, 1.0], A=[[1.0, 2.0]], b=[1.0], lb=0.0),
    "infeasible": QuadraticProgram(np.eye(2), [1.0, 1.0], G=[[1.0, 1.0]], h=[-1.0], lb=0.0),
}


def machine(n: int = 60) -> Any:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 4))
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(n) > 0.0, 1.0, -1.0)
    return qpsvm.SoftMargin(C=1.0).dual(X, y)


@pytest.mark.filterwarnings("ignore")  # qpsolvers warns where there is no optimum
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("backend", ALL)
def test_every_backend_is_silent(
    backend: str, program: str, capfd: pytest.CaptureFixture[str]
) -> None:
    get(backend).load()
    capfd.readouterr()
    for callback in (None, list[Progress]().append):
        with contextlib.suppress(UnsupportedProgramError):
            get(backend).solve(PROGRAMS[program], Settings(callback=callback))
    said = capfd.readouterr()
    assert said.out == ""
    assert said.err == ""


FIRST_SOLVES = """
import sys, warnings
from qpsvm.backends import Settings, get
from qpsvm.exceptions import UnsupportedProgramError
from qpsvm.qp import QuadraticProgram
warnings.simplefilter("ignore")
for name in sys.argv[1:]:
    for P in ([[1.0]], None):
        try:
            get(name).solve(QuadraticProgram(P, [1.0], lb=0.0, ub=1.0), Settings())
        except UnsupportedProgramError:
            pass
"""


@listed("bridge", ["qpsolvers", "cvxpy"], quick=1)
def test_a_process_s_first_solve_is_silent(bridge: str) -> None:
    """Some solvers print a banner once per process, from C code that buffers until the exit."""
    names = [name for name in ALL if name.partition(":")[0] == bridge]
    child = run([sys.executable, "-c", FIRST_SOLVES, *names], check=True)
    assert child.stdout == ""
    assert child.stderr == ""


@pytest.mark.parametrize("backend", ["ipm", "active-set", "slsqp"])
def test_solvers_without_lines_of_their_own_get_some(
    backend: str, capsys: pytest.CaptureFixture[str]
) -> None:
    events: list[Progress] = []
    solution = qpsvm.solve(machine(), backend, verbose=True, callback=events.append)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(events) <= FIRST_LINES + 1
    assert all(line.startswith(f"{backend}: ") for line in lines)
    assert events.pop(0).stage == "start"
    assert lines.pop(0).startswith(f"{backend}: start, 60 variables, 1 rows, ")
    iterations = [event for event in events if event.stage == "solve"]
    assert len(iterations) >= 1
    assert f"iteration {iterations[-1].iteration}," in lines[len(iterations) - 1]
    assert lines[-1].startswith(f"{backend}: done, objective ")
    assert solution.status.value == "optimal"
    qpsvm.solve(machine(), backend)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("backend", ["cvxpy:CLARABEL", "qpsolvers:piqp"])
def test_a_solver_without_a_callback_is_announced(
    backend: str, capsys: pytest.CaptureFixture[str]
) -> None:
    events: list[Progress] = []
    problem = qpsvm.SoftMargin(C=1.0).primal(np.eye(4), [1, 1, -1, -1])
    qpsvm.solve(problem, backend, callback=events.append)
    assert capsys.readouterr().out == ""
    start, *others = events
    assert (start.stage, start.backend, start.iteration) == ("start", backend, None)
    assert (start.n_variables, start.n_rows) == (problem.qp.n_variables, problem.qp.n_inequalities)
    assert others[-1].stage == "done"
    assert all(event.n_variables is None for event in others)
    qpsvm.solve(problem, backend, verbose=True)
    assert f"{backend}: start, {start.n_variables} variables" in capsys.readouterr().out


def test_fast_iterations_are_not_all_printed(capsys: pytest.CaptureFixture[str]) -> None:
    heard: list[Progress] = []
    printed = Printed(heard.append)
    n, seconds = 100_000, 3.0
    for i in range(n):
        printed(Progress("solve", "mine", i, seconds * i / n))
    lines = capsys.readouterr().out.splitlines()
    assert len(heard) == n
    assert FIRST_LINES < len(lines) <= FIRST_LINES + LINES_PER_SECOND * seconds + 1
    assert "iteration 0," in lines[0]


def test_the_caller_s_callback_still_ends_the_solve() -> None:
    problem = machine()
    with pytest.warns(qpsvm.exceptions.ToleranceNotReachedWarning):
        solution = qpsvm.solve(problem, "slsqp", verbose=True, callback=lambda _: False)
    assert solution.status.value == "interrupted"


def test_silence_is_of_one_thread(capsys: pytest.CaptureFixture[str]) -> None:
    before = sys.stdout
    other = threading.Thread(target=print, args=("heard",))
    with silenced():
        print("dropped")
        with silenced():
            print("dropped")
        print("dropped")
        other.start()
        other.join()
    assert sys.stdout is before
    print("back")
    assert capsys.readouterr().out.split() == ["heard", "back"]
