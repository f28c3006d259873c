"""Threads over pieces: BLAS is given back as it was, and no bit depends on their number."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import qpsvm
from qpsvm.numerics import threads
from qpsvm.numerics.threads import for_each, one_blas_thread
from qpsvm.paths import svm_path
from tests import processes
from tests.strategies import listed

WAIT = 60.0


def blas_threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def processors() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@pytest.fixture
def two_threads() -> Any:
    with threadpool_limits(2, user_api="blas"):
        if blas_threads() != {2}:
            pytest.skip("BLAS has no second thread here")
        yield


@pytest.mark.usefixtures("two_threads")
def test_blas_is_held_at_one_thread_and_given_back() -> None:
    with one_blas_thread():
        with one_blas_thread():
            assert blas_threads() == {1}
        assert blas_threads() == {1}
    assert blas_threads() == {2}


@pytest.mark.usefixtures("two_threads")
def test_blas_is_given_back_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError), one_blas_thread():
        for_each(lambda k: 1 / k, [1, 0, 2])
    assert blas_threads() == {2}


@pytest.mark.usefixtures("two_threads")
def test_threads_that_hold_blas_share_its_threads() -> None:
    is_held, is_done = threading.Event(), threading.Event()
    shares = []

    def hold() -> None:
        with one_blas_thread():
            shares.append(threads._BLAS.share)
            is_held.set()
            is_done.wait(WAIT)

    with one_blas_thread():
        assert threads._BLAS.share == 2
        other = threading.Thread(target=hold)
        other.start()
        assert is_held.wait(WAIT)
        is_done.set()
        other.join(WAIT)
        assert shares == [1]
        assert threads._BLAS.share == 2
        assert blas_threads() == {1}
    assert blas_threads() == {2}


@pytest.mark.usefixtures("two_threads")
def test_blas_stays_held_where_the_first_thread_to_hold_it_ends_first() -> None:
    is_held, may_end = threading.Event(), threading.Event()

    def hold() -> None:
        with one_blas_thread():
            is_held.set()
            may_end.wait(WAIT)

    first = threading.Thread(target=hold)
    first.start()
    assert is_held.wait(WAIT)
    with one_blas_thread():
        may_end.set()
        first.join(WAIT)
        assert blas_threads() == {1}
    assert blas_threads() == {2}


@pytest.mark.skipif(processors() < 2, reason="there is one processor")
def test_blas_is_held_beside_a_library_with_a_blas_of_one_thread() -> None:
    code = """
import cvxopt, numpy, scipy.linalg
from threadpoolctl import threadpool_info, threadpool_limits
from qpsvm.numerics.threads import one_blas_thread, usable_threads
counts = lambda: [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
with threadpool_limits(2, user_api="blas"):
    before = counts()
    with one_blas_thread():
        assert set(counts()) == {1} and usable_threads() == max(before), (before, counts())
    assert counts() == before
"""
    child = processes.run([sys.executable, "-c", code], env=dict(os.environ))
    assert child.returncode == 0, child.stderr


@pytest.mark.usefixtures("two_threads")
def test_every_piece_is_done_once_with_the_callers_error_state() -> None:
    done, states = np.zeros(40, dtype=int), set()

    def work(k: int) -> None:
        done[k] += 1
        states.add(np.geterr()["over"])

    with one_blas_thread(), np.errstate(over="raise"):
        for_each(work, range(40))
    assert (done == 1).all()
    assert states == {"raise"}


@pytest.mark.usefixtures("two_threads")
def test_a_loop_inside_a_piece_stays_in_its_thread() -> None:
    threads_of: dict[int, set[int]] = {k: set() for k in range(8)}

    def work(k: int) -> None:
        for_each(lambda _: threads_of[k].add(threading.get_ident()), range(4))

    with one_blas_thread():
        for_each(work, range(8))
    assert all(len(own) == 1 for own in threads_of.values())


@pytest.mark.usefixtures("two_threads")
def test_threads_are_kept_while_blas_is_held_and_no_longer() -> None:
    before, used = set(threading.enumerate()), set[threading.Thread]()
    with one_blas_thread():
        for _ in range(20):
            for_each(lambda _: used.add(threading.current_thread()), range(4))
    assert 1 <= len(used) <= 2
    assert set(threading.enumerate()) == before


@pytest.mark.usefixtures("two_threads")
def test_no_piece_runs_on_after_an_error() -> None:
    runs, started = threading.Event(), threading.Event()
    ended = list[int]()

    def work(k: int) -> None:
        if k == 0:
            assert started.wait(WAIT)
            runs.set()
            raise ZeroDivisionError
        started.set()
        assert runs.wait(WAIT)
        ended.append(k)

    with one_blas_thread():
        with pytest.raises(ZeroDivisionError):
            for_each(work, range(2))
        assert ended == [1]  # it had begun, and was waited for
        for_each(ended.append, [5, 6])
    assert sorted(ended) == [1, 5, 6]


def _holders_of_child(queue: Any) -> None:
    queue.put(threads._BLAS.share)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of forking beside threads
def test_a_forked_process_starts_anew() -> None:
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    with one_blas_thread():
        child = context.Process(target=_holders_of_child, args=(queue,))
        child.start()
        assert queue.get(timeout=WAIT) == 1
        child.join(WAIT)


@listed("C", [1.0, 100.0], quick=1)
def test_solutions_have_the_same_bits_whatever_the_number_of_threads(
    C: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2500, 5))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=len(X)) > 0.0, 1, -1)
    found = []
    for number in (1, 2, 8):
        monkeypatch.setattr(threads._BlasThreads, "share", number)
        problem = qpsvm.SoftMargin(C).dual(X, y, kernel=qpsvm.kernels.RBF(0.2))
        solution = qpsvm.solve(problem, "active-set")
        gap = qpsvm.certify(problem, solution).relative_gap
        found.append((solution.alpha.tobytes(), solution.decision_function(X).tobytes(), gap))
    assert found[0] == found[1] == found[2]


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_paths_have_the_same_bits_whatever_the_number_of_threads(
    monkeypatch: pytest.MonkeyPatch, kernel: str
) -> None:
    monkeypatch.setattr("qpsvm.paths.training.solve_with", None)  # machines share their work
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 40))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=len(X)) > 0.0, 1, -1)

    def bits(number: int) -> list[tuple[bytes, float | None]]:
        with threadpool_limits(number, user_api="blas"):
            path = svm_path(X, y, kernel=kernel, values=[0.01, 0.1, 1.0], eps=1e-6)
        return [(solution.alpha.tobytes(), solution.intercept) for solution in path.solutions]

    assert bits(1) == bits(2)


@pytest.mark.skipif(processors() < 2, reason="there is one processor")
@pytest.mark.skipif(blas_threads() == {2}, reason="this process has two threads of BLAS itself")
def test_these_tests_pass_where_blas_has_two_threads() -> None:
    command = [sys.executable, "-m", "pytest", "--numprocesses=0", "-q", __file__]
    command += ["-k", "not test_solutions"]  # they set the number themselves
    names = ("OMP", "OPENBLAS", "MKL", "BLIS", "VECLIB_MAXIMUM")
    child = processes.run(command, env=os.environ | {f"{name}_NUM_THREADS": "2" for name in names})
    assert child.returncode == 0, child.stdout
    assert "1 skipped" in child.stdout  # this one
