"""Ctrl-C leaves every public call: real signals, sent to processes of their own."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qpsvm
from qpsvm.backends.base import Settings
from qpsvm.estimators.base import solve_in_parallel
from qpsvm.exceptions import InvalidParameterError
from qpsvm.qp import Status
from tests.interrupts import ALLOWED, after_a_signal, processor_seconds, worked_for
from tests.processes import PATIENCE, started

DATA = """
import warnings
warnings.simplefilter("ignore")
import numpy as np, qpsvm
from sklearn.datasets import make_classification
X, y = make_classification({n}, 20, n_informative=10, flip_y=0.2, random_state=0)
"""

KERNEL = DATA.format(n=8000) + (
    "problem = qpsvm.SoftMargin(C=1000.0).dual(X, y, kernel=qpsvm.kernels.RBF(gamma=0.05))"
)

MANY = DATA.format(n=8000) + "from qpsvm.estimators import SVC"

MEASURED = """
if solution is not None:
    found |= {"status": solution.status.value, "type": type(solution).__name__}
    found["gap"] = qpsvm.certify(problem, solution).relative_gap
"""

ESTIMATOR = """
found["fitted"] = [name for name in vars(machine) if name.endswith("_")]
"""

CALLS = {
    "solve by parts": (KERNEL, "qpsvm.solve(problem)", 0.6, MEASURED),
    "solve by working sets": (KERNEL, "qpsvm.solve(problem)", 3.0, MEASURED),
    "classical": (
        DATA.format(n=2000) + "problem = qpsvm.SoftMargin(C=1e3).dual(X, y, kernel='rbf')",
        "qpsvm.solve(problem, 'classical:smo', max_iterations=10**9)",
        1.0,
        MEASURED,
    ),
    "osqp": (
        DATA.format(n=1500) + "problem = qpsvm.SoftMargin(C=1e4).dual(X, y, kernel='rbf')",
        "qpsvm.solve(problem, 'osqp', options={'max_iter': 10**8})",
        1.5,
        MEASURED,
    ),
    "cvxopt": (
        DATA.format(n=2500) + "problem = qpsvm.SoftMargin(C=1e3).dual(X, y, kernel='rbf').qp",
        "qpsvm.solve(problem, 'cvxopt')",
        3.0,
        "",
    ),
    "fit": (MANY, "machine = SVC(C=1000.0)\nmachine.fit(X, y)", 1.5, ESTIMATOR),
    "fit pairs in threads": (
        MANY + "\ny = np.arange(len(y)) % 4",
        "machine = SVC(C=1000.0, n_jobs=2)\nmachine.fit(X, y)",
        2.0,
        ESTIMATOR,
    ),
    "grid": (
        MANY + "\nfrom sklearn.model_selection import GridSearchCV",
        "machine = GridSearchCV(SVC(), {'C': [1000.0, 2000.0]}, cv=2)\nmachine.fit(X, y)",
        3.0,
        "",
    ),
    "search": (
        MANY + "\nfrom qpsvm.selection import SVCSearch",
        "machine = SVCSearch(C=[100.0, 1000.0], gamma=[0.01, 0.05])\nmachine.fit(X, y)",
        3.0,
        ESTIMATOR,
    ),
    "path": (
        DATA.format(n=4000),
        "qpsvm.paths.svm_path(X, y, kernel='rbf', values=np.geomspace(1.0, 1e4, 40))",
        2.0,
        "",
    ),
    "leave-one-out": (
        DATA.format(n=4000) + "problem = qpsvm.SoftMargin(C=100.0).dual(X, y, kernel='rbf')",
        "qpsvm.selection.leave_one_out(problem)",
        2.0,
        "",
    ),
}

QUICK = ("fit",)


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[] if n in QUICK else [pytest.mark.exhaustive]) for n in CALLS],
)
def test_ctrl_c_leaves_a_call_within_a_second(name: str) -> None:
    setup, call, wait, after = CALLS[name]
    found = after_a_signal(setup, call, wait, after=after)
    assert found["left"], "the call ended before the signal or swallowed it"
    assert found["seconds"] <= ALLOWED
    assert found["attached"]
    assert found.get("fitted", []) == []
    if "status" in found:
        assert found["status"] == "interrupted"
        assert found["gap"] >= 0.0


def test_an_unhandled_interrupt_ends_a_program_as_python_does() -> None:
    """The process ends by the signal itself, so that shells stop their loops."""
    program = [sys.executable, "-c", KERNEL + "\nprint('ready', flush=True)\nqpsvm.solve(problem)"]
    with started(program) as process:
        assert process.stdout is not None
        process.stdout.readline()
        worked_for(process.pid, 0.3)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGINT
    assert errors.rstrip().endswith("KeyboardInterrupt")


@pytest.mark.exhaustive
def test_ctrl_c_ends_qpsvm_fit_with_130(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6000, 8))
    y = np.sign(X[:, 0] + 2.0 * rng.standard_normal(6000)).astype(int)
    names = ",".join("abcdefgh")
    lines = [names + ",label", *(",".join(map(str, [*x, s])) for x, s in zip(X, y, strict=True))]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    command = [sys.executable, "-m", "qpsvm", "fit", "SVC", "a.csv", "--label", "label"]
    more = ["--C", "1000", "--model", "m.npz"]
    with started([*command, *more], cwd=tmp_path) as process:
        sent = worked_for(process.pid, 6.0)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=PATIENCE)
    del sent
    assert process.returncode == 130, output + errors
    assert "Traceback" not in errors
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def interrupted_after(n: int) -> Any:
    calls = []

    def callback(event: object) -> None:
        calls.append(event)
        if len(calls) == n:
            raise KeyboardInterrupt

    return callback


def small() -> Any:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 4))
    return qpsvm.SoftMargin(C=10.0).dual(X, np.sign(X[:, 0] + rng.standard_normal(120)))


@pytest.mark.parametrize("backend", ["auto", "ipm", "active-set", "classical:smo"])
def test_who_asks_for_the_point_gets_it(backend: str) -> None:
    problem = small()
    with pytest.warns(qpsvm.exceptions.ToleranceNotReachedWarning, match="on_interrupt='return'"):
        solution = qpsvm.solve(
            problem, backend, callback=interrupted_after(3), on_interrupt="return"
        )
    assert solution.status is Status.INTERRUPTED
    proof, best = qpsvm.certify(problem, solution), qpsvm.certify(problem, qpsvm.solve(problem))
    assert proof.dual_objective <= best.primal_objective
    assert proof.primal_objective >= best.dual_objective


def test_where_there_is_no_point_the_interrupt_is_raised() -> None:
    with pytest.raises(KeyboardInterrupt) as caught:
        qpsvm.solve(small(), callback=interrupted_after(1), on_interrupt="return")
    assert vars(caught.value)["solution"] is None


def test_the_point_of_an_interrupt_is_a_solution_like_any_other() -> None:
    problem = small()
    with pytest.raises(KeyboardInterrupt) as caught:
        qpsvm.solve(problem, "active-set", callback=interrupted_after(3))
    assert type(caught.value) is KeyboardInterrupt  # by which Python ends a program
    solution = vars(caught.value)["solution"]
    assert isinstance(solution, problem.solution_type)
    assert solution.status is Status.INTERRUPTED
    assert type(solution) is problem.solution_type
    again = qpsvm.solve(problem, warm_start=solution)
    assert again.status is Status.OPTIMAL


def test_a_reduction_that_is_interrupted_has_no_solution() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 3)), np.arange(60) % 3
    problem = qpsvm.OneVsOne(qpsvm.SoftMargin()).dual(X, y)
    with pytest.raises(KeyboardInterrupt) as caught:
        qpsvm.solve(problem, callback=interrupted_after(4), on_interrupt="return")
    assert vars(caught.value)["solution"] is None


def test_the_machine_of_one_pair_is_no_machine_for_all_classes() -> None:
    """Whether or not the pairs are solved by workers, as estimators do."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((120, 3)), np.arange(120) % 3
    problem = qpsvm.OneVsOne(qpsvm.SoftMargin(C=10.0)).dual(X, y)
    settings = Settings(callback=interrupted_after(3)).started()
    with pytest.raises(KeyboardInterrupt) as caught:
        solve_in_parallel(problem, "active-set", settings, None, n_jobs=1)
    assert vars(caught.value)["solution"] is None


def test_a_path_that_is_interrupted_is_kept_as_far_as_it_goes() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    y, seen = np.sign(X[:, 0] + rng.standard_normal(60)), []

    def callback(*machine: object) -> None:
        seen.append(machine)
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        qpsvm.paths.svm_path(X, y, values=np.geomspace(0.1, 10.0, 6), callback=callback)
    path = vars(caught.value)["solution"]
    assert len(path.solutions) == 3


def test_on_interrupt_is_one_of_two_words() -> None:
    with pytest.raises(InvalidParameterError, match="on_interrupt is 'stop'"):
        qpsvm.solve(small(), on_interrupt="stop")


def test_seconds_of_the_processor_grow() -> None:
    with started([sys.executable, "-c", "while True: pass"]) as process:
        assert worked_for(process.pid, 0.2) <= processor_seconds(process.pid)
