"""Ctrl-C and deadlines: compiled calls that can be left, and the best point so far.

Python raises ``KeyboardInterrupt`` in the main thread, between two instructions: a compiled call
ends first. Long ones are therefore made in another thread (``interruptible``), which the main
thread can leave. Threads that work for the main thread hear of Ctrl-C by a ``Leave``, which
``Deadline.has_passed`` and ``interruptible`` look at.

An exception that passes through several layers carries a function that builds the best point so
far; each layer adds its own way back (``keep_best``). The function is called when the point is
read: to evaluate a machine may take longer than anybody waits after Ctrl-C.
"""

from __future__ import annotations

import contextvars
import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self, TypeVar

Result = TypeVar("Result")
Solution = TypeVar("Solution")

POLL_SECONDS = 0.1
"""Seconds between two looks at a call in another thread, where waiting itself ignores Ctrl-C, as
on Windows; elsewhere waiting ends at once."""


def keep_best(error: KeyboardInterrupt, best: Callable[[], object]) -> None:
    """Let an interrupt carry a function that builds the best point so far.

    Parameters
    ----------
    error : KeyboardInterrupt
    best : callable
        Called when the point is read, after the interrupt has left the call.
    """
    vars(error)["_best"] = best


def best_known(error: KeyboardInterrupt) -> Callable[[], Any] | None:
    """Return the function that builds the best point so far; None if there is no point yet."""
    best: Callable[[], Any] | None = vars(error).get("_best")
    return best


def map_best(error: KeyboardInterrupt, way: Callable[[Any], object]) -> None:
    """Map the best point so far that an interrupt carries, if there is one."""
    best = best_known(error)
    if best is not None:
        keep_best(error, lambda: way(best()))


def drop_best(error: KeyboardInterrupt) -> None:
    """Drop the best point so far, where it is of no use to the caller."""
    vars(error).pop("_best", None)


def attach_solution(error: KeyboardInterrupt, kind: type[Any]) -> None:
    """Make the best point so far the attribute ``solution`` of an interrupt; None without one.

    Parameters
    ----------
    error : KeyboardInterrupt
    kind : type
        The type of the solution.
    """
    best = vars(error).pop("_best", None)
    vars(error)["solution"] = None if best is None else deferred(kind, best)


@contextmanager
def without_solution() -> Iterator[None]:
    """Give an interrupt of a computation that has no single best point the solution None.

    That of a solve within it stays.
    """
    try:
        yield
    except KeyboardInterrupt as error:
        drop_best(error)
        vars(error).setdefault("solution", None)
        raise


def deferred(kind: type[Solution], build: Callable[[], Solution]) -> Solution:
    """Return an object that is built when it is first used, and then is of exactly that type.

    Parameters
    ----------
    kind : type
        A class without slots.
    build : callable
        Returns an object of that class.
    """

    class Deferred(kind):  # type: ignore[misc, valid-type]
        def __getattribute__(self, name: str) -> Any:
            built = build()
            object.__getattribute__(self, "__dict__").update(vars(built))
            object.__setattr__(self, "__class__", type(built))
            return getattr(self, name)

    for name in ("__name__", "__qualname__", "__module__"):
        setattr(Deferred, name, getattr(kind, name))
    result: Solution = object.__new__(Deferred)
    return result


class Leave:
    """Signal to worker threads that Ctrl-C has ended the call that started them.

    A copy in another process is a signal of its own: processes are ended.
    """

    def __init__(self) -> None:
        self._event = threading.Event()

    def __reduce__(self) -> tuple[type[Self], tuple[()]]:
        return type(self), ()

    def set(self) -> None:
        """Tell the threads to leave what they do."""
        self._event.set()

    def is_set(self) -> bool:
        """Return whether the threads are to leave what they do."""
        return self._event.is_set()


_LEAVE: contextvars.ContextVar[Leave | None] = contextvars.ContextVar("leave", default=None)


@contextmanager
def working_for(leave: Leave) -> Iterator[None]:
    """Let this thread work for a call that is left when the signal is given."""
    token = _LEAVE.set(leave)
    try:
        yield
    finally:
        _LEAVE.reset(token)


def raise_if_left() -> None:
    """Raise KeyboardInterrupt in a thread whose call was left."""
    leave = _LEAVE.get()
    if leave is not None and leave.is_set():
        raise KeyboardInterrupt


class TimeIsUp(KeyboardInterrupt):
    """Raised to leave a compiled call at a deadline, with the best point so far as after Ctrl-C.

    Whoever sets the deadline by ``working_until`` catches it.
    """


_IS_OVER: contextvars.ContextVar[Callable[[], bool] | None] = contextvars.ContextVar(
    "is_over", default=None
)


@contextmanager
def working_until(is_over: Callable[[], bool] | None) -> Iterator[None]:
    """Let ``interruptible`` leave compiled calls with TimeIsUp once a condition holds."""
    token = _IS_OVER.set(is_over)
    try:
        yield
    finally:
        _IS_OVER.reset(token)


def limit_of_work() -> Callable[[], bool] | None:
    """Return the condition of ``working_until``, for threads that work for this one."""
    return _IS_OVER.get()


def interruptible(call: Callable[[], Result]) -> Result:
    """Run a compiled function in a thread, so that Ctrl-C is not delayed until it returns.

    The call is made by another thread, and left to it after Ctrl-C: it goes on unseen until it ends
    by itself, so it must not write to anything that is used again. It must release the
    interpreter's lock, as NumPy, LIBSVM and LIBLINEAR do. A thread that neither receives Ctrl-C nor
    works for one that does makes the call itself.

    Parameters
    ----------
    call : callable
        Without arguments.

    Raises
    ------
    KeyboardInterrupt
        Ctrl-C.
    TimeIsUp
        At the deadline of ``working_until``.
    """
    is_main = threading.current_thread() is threading.main_thread()
    is_over = _IS_OVER.get()
    if not (is_main or is_over is not None or _LEAVE.get() is not None):
        return call()
    context = contextvars.copy_context()  # NumPy's error state is in it
    future = Future[Result]()

    def run() -> None:
        try:
            future.set_result(context.run(call))
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            future.set_exception(error)

    threading.Thread(target=run, name="qpsvm-compiled", daemon=True).start()
    while not wait([future], POLL_SECONDS).done:
        raise_if_left()
        if is_over is not None and is_over():
            raise TimeIsUp
    return future.result()


# --- deadlines -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Deadline:
    """Moment by which a computation has to end, shared by all of its parts.

    Attributes
    ----------
    at : float
        Reading of the clock at which the time is over; infinite without a limit.
    clock : callable
        Seconds from any origin, never falling.

    Examples
    --------
    >>> Deadline.after(None).remaining()
    inf
    >>> Deadline.after(60.0, clock=lambda: 5.0)
    Deadline(at=65.0)
    """

    at: float = math.inf
    clock: Callable[[], float] = time.perf_counter

    @classmethod
    def after(
        cls, seconds: float | None, clock: Callable[[], float] = time.perf_counter
    ) -> Deadline:
        """The deadline so many seconds from now; one that never passes for None."""
        return cls(
            math.inf if seconds is None else clock() + float(min(seconds, sys.float_info.max)),
            clock,
        )

    @property
    def is_set(self) -> bool:
        """Return whether there is a limit at all."""
        return self.at < math.inf

    def remaining(self) -> float:
        """Seconds left: zero once the deadline has passed, infinite without a limit."""
        return max(self.at - self.clock(), 0.0) if self.is_set else math.inf

    def has_passed(self) -> bool:
        """Return whether the time limit has passed; without a limit the clock is not read.

        Raises
        ------
        KeyboardInterrupt
            In a thread that works for a call that Ctrl-C has left: all loops look here.
        """
        raise_if_left()
        return self.is_set and self.clock() >= self.at

    def share(self, part: float) -> Deadline:
        """The deadline after a part of the seconds that are left."""
        return Deadline(self.clock() + part * self.remaining(), self.clock) if self.is_set else self

    def __repr__(self) -> str:
        return f"Deadline(at={self.at!r})"


NEVER = Deadline()
"""The deadline of a computation without a limit."""
