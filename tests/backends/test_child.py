"""Solvers in child processes: the same answers, ended by deadlines, lost without harm."""

from __future__ import annotations

import os
import signal
import sys
import time
import warnings
from typing import Any

import numpy as np
import pytest

import qpsvm
from qpsvm.backends import Settings, child, get
from qpsvm.exceptions import SolverFailedError
from qpsvm.numerics.interrupts import Deadline
from qpsvm.qp import QuadraticProgram, Status

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="solvers run in the process")

PROGRAM = QuadraticProgram(np.eye(2), np.array([1.0, -1.0]), lb=0.0)


def endless() -> QuadraticProgram:
    """A program on which ProxQP runs for minutes."""
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    return qpsvm.SoftMargin(C=1e3).dual(X, y).qp


@pytest.mark.parametrize("backend", ["qpsolvers:quadprog", "cvxpy:CLARABEL", "slsqp"])
def test_the_process_changes_no_answer(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    apart = get(backend).solve(PROGRAM, Settings())
    monkeypatch.setenv("QPSVM_CHILDREN", "0")
    here = get(backend).solve(PROGRAM, Settings())
    assert np.array_equal(apart.x, here.x)
    assert apart.native_status == here.native_status
    assert apart.statistics.settings == here.statistics.settings


def test_a_child_is_kept_and_takes_the_next_program() -> None:
    get("qpsolvers:quadprog").solve(PROGRAM, Settings())
    kept = child._taken()
    child._put_back(kept)
    get("qpsolvers:piqp").solve(PROGRAM, Settings())
    again = child._taken()
    child._put_back(again)
    assert kept is again


def test_a_solver_without_a_time_limit_has_one() -> None:
    solver, program = get("qpsolvers:proxqp"), endless()
    solver.load()
    began = time.perf_counter()
    found = solver.solve(program, Settings(time_limit=0.5))
    assert found.status is Status.TIME_LIMIT
    assert began + 0.5 <= time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solution = qpsvm.solve(program, "qpsolvers:proxqp", time_limit=0.5)
    assert solution.status is Status.TIME_LIMIT


def test_a_solver_that_breaks_its_process_breaks_no_other() -> None:
    """As after an access violation; the next call gets a process of its own."""
    lost = child._taken()
    os.kill(lost.process.pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match="SIGKILL"):
        lost.answer(memoryview(b""), Deadline())
    lost.kill()
    assert get("qpsolvers:quadprog").solve(PROGRAM, Settings()).status is Status.OPTIMAL


def test_what_a_solver_raises_is_named() -> None:
    with pytest.raises(SolverFailedError, match="raised"):
        get("qpsolvers:daqp").solve(PROGRAM, Settings(options={"iter_limit": "many"}))


def test_an_option_that_cannot_be_sent_is_used_here() -> None:
    heard: list[Any] = []
    solver = get("slsqp")
    solution = solver.solve(PROGRAM, Settings(callback=heard.append))
    assert solution.status is Status.OPTIMAL
    assert heard
