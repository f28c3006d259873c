"""Compiled calls that are left, and points that are built when they are read."""

from __future__ import annotations

import pickle
import threading
import time
from dataclasses import dataclass, replace

import numpy as np
import pytest

from qpsvm.numerics.interrupts import (
    NEVER,
    Leave,
    TimeIsUp,
    attach_solution,
    best_known,
    deferred,
    drop_best,
    interruptible,
    keep_best,
    map_best,
    without_solution,
    working_for,
    working_until,
)
from qpsvm.numerics.threads import in_parallel


@dataclass(frozen=True)
class Point:
    """A point with a default, which is an attribute of the class as well."""

    x: float
    name: str = "default"


def test_a_point_is_built_once_and_then_is_one() -> None:
    calls = list[int]()

    def build() -> Point:
        calls.append(1)
        return Point(2.0, "built")

    point = deferred(Point, build)
    assert not calls
    assert point.name == "built"
    assert type(point) is Point
    assert (point.x, len(calls)) == (2.0, 1)
    assert point == Point(2.0, "built")


@pytest.mark.parametrize("use", [repr, lambda p: p == Point(1.0), lambda p: replace(p, x=3.0)])
def test_any_use_builds_a_point(use) -> None:
    assert use(deferred(Point, lambda: Point(1.0))) == use(Point(1.0))


def test_a_point_is_stored_as_what_it_becomes() -> None:
    point = deferred(Point, lambda: Point(1.0))
    assert isinstance(point, Point)
    assert pickle.loads(pickle.dumps(point)) == Point(1.0)


def test_the_way_back_is_the_chain_of_all_layers() -> None:
    error = KeyboardInterrupt()
    map_best(error, lambda _: pytest.fail("there is no point"))
    assert best_known(error) is None
    keep_best(error, lambda: 2)
    map_best(error, lambda k: k + 1)
    map_best(error, lambda k: Point(float(k)))
    attach_solution(error, Point)
    assert vars(error)["solution"] == Point(3.0)
    keep_best(error, lambda: 2)
    drop_best(error)
    attach_solution(error, Point)
    assert vars(error)["solution"] is None


def test_an_interrupt_keeps_the_solution_of_a_solve_within() -> None:
    for given in (None, Point(1.0)):
        error = KeyboardInterrupt()
        if given is not None:
            vars(error)["solution"] = given
        with pytest.raises(KeyboardInterrupt), without_solution():
            raise error
        assert vars(error)["solution"] is given


def test_a_call_in_another_thread_returns_and_raises_as_it_does_here() -> None:
    # in the error state of this thread
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        interruptible(lambda: np.ones(1) / 0.0)
    assert interruptible(threading.current_thread) is not threading.current_thread()


def test_the_deadline_leaves_a_call() -> None:
    ended = threading.Event()
    with pytest.raises(TimeIsUp), working_until(lambda: True):
        interruptible(lambda: ended.wait(60.0))
    ended.set()


def test_threads_leave_what_they_do_where_their_call_was_left() -> None:
    leave, left, began = Leave(), list[bool](), threading.Event()

    def work() -> None:
        with working_for(leave):
            try:
                began.set()
                while not NEVER.has_passed():
                    time.sleep(0.01)
            except KeyboardInterrupt:
                left.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    assert began.wait(60.0)
    leave.set()
    thread.join(60.0)
    assert left == [True]
    assert not pickle.loads(pickle.dumps(leave)).is_set()


def test_an_interrupt_in_one_of_several_calls_ends_the_others() -> None:
    left = list[int]()

    def stopped() -> None:
        time.sleep(0.2)
        raise KeyboardInterrupt

    def waiting() -> None:
        try:
            while not NEVER.has_passed():
                time.sleep(0.01)
        except KeyboardInterrupt:
            left.append(1)
            raise

    with pytest.raises(KeyboardInterrupt):
        in_parallel([waiting, stopped], 2)
    until = time.monotonic() + 60.0
    while not left and time.monotonic() < until:
        time.sleep(0.01)
    assert left == [1]
    assert in_parallel([lambda: 1, lambda: 2], 2) == [1, 2]
