"""Solvers in a child process, which Ctrl-C and time limits can end.

A solver of another package is one compiled call: many keep Python's lock, so that nothing is heard
until it ends, and some have no time limit. Their calls are made in a child process, which is killed
where the caller leaves. A child that has answered is kept for the next call: starting one takes a
second. Children end with the process that started them, and nobody else can write to their
connection.

The environment variable ``QPSVM_CHILDREN=0`` has all calls made in the process itself, as they are
on Windows.
"""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
import threading
import warnings
from abc import abstractmethod
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe
from multiprocessing.reduction import ForkingPickler
from pickle import PicklingError
from typing import Any

from qpsvm.backends.base import Backend, Settings, Stop
from qpsvm.backends.settings import OVERRUN
from qpsvm.numerics.interrupts import NEVER, POLL_SECONDS, Deadline, raise_if_left
from qpsvm.numerics.threads import blas_threads
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution, Status

_START = "from qpsvm.backends.child import serve; serve"


class ChildBackend(Backend):
    """Base class of backends whose solver runs in a child process.

    A subclass implements ``_solve_here``, and can be pickled. A call with a callback, which a
    solver hears of between its iterations, is made in the process itself.
    """

    def load(self) -> None:
        if _may_start():
            _put_back(_taken())

    def _solve(self, program: QuadraticProgram, settings: Settings) -> QPSolution:
        hears = settings.callback is not None and self.capabilities.callback
        if hears or not _may_start():
            return self._solve_here(program, settings)
        deadline = settings.deadline
        if deadline.has_passed():
            raise Stop(Status.TIME_LIMIT)
        P = program.P  # of a kernel, it may have a function that cannot be sent
        stored = program.replace(P=P.to_sparse() if P.prefers_sparse else P.to_dense())
        plain = settings.started().replace(deadline=NEVER, callback=None)
        try:
            message = ForkingPickler.dumps((self, stored, plain, blas_threads()))
        except (PicklingError, TypeError, AttributeError):  # an option that is a function
            return self._solve_here(program, settings)
        child = _taken()
        try:
            answer = child.answer(message, deadline)
        except BaseException:
            child.kill()
            raise
        _put_back(child)
        if isinstance(answer, BaseException):
            raise answer
        solution: QPSolution = answer
        return solution

    @abstractmethod
    def _solve_here(self, program: QuadraticProgram, settings: Settings) -> QPSolution:
        """Solve as ``Backend._solve`` in this process."""


def _may_start() -> bool:
    is_wanted = os.environ.get("QPSVM_CHILDREN", "1") != "0"
    return is_wanted and sys.platform != "win32" and bool(sys.executable)


class _Child:
    """A process that solves one program after the other."""

    def __init__(self) -> None:
        self._sender: threading.Thread | None = None
        self.connection, other = Pipe()
        with other:
            command = [sys.executable, "-P", "-c", f"{_START}({other.fileno()})"]
            path = os.pathsep.join(entry for entry in sys.path if entry)
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": path},
                pass_fds=(other.fileno(),),
            )

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def answer(self, message: memoryview, deadline: Deadline) -> Any:
        """Solve a quadratic program in a child process, which is ended soon after the time limit.

        Raises
        ------
        Stop
            At the deadline.
        RuntimeError
            The process has ended, as after an access violation.
        """
        # a child that still starts does not read yet
        self._sender = threading.Thread(target=self._send, args=(message,), daemon=True)
        self._sender.start()
        try:
            while not self.connection.poll(POLL_SECONDS):
                raise_if_left()
                if deadline.is_set and deadline.clock() >= deadline.at + OVERRUN:
                    raise Stop(Status.TIME_LIMIT)
            return self.connection.recv()
        except (EOFError, ConnectionError):
            code = self.process.wait()
            how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            raise RuntimeError(f"the process of the solver ended with {how}") from None

    def _send(self, message: memoryview) -> None:
        with suppress(OSError):  # of a process that has ended
            self.connection.send_bytes(message)

    def kill(self) -> None:
        """End the process at once."""
        self.process.kill()
        self.process.wait()
        if self._sender is not None:
            self._sender.join()
        self.connection.close()


_IDLE: list[_Child] = []
_LOCK = threading.Lock()


def _taken() -> _Child:
    """Take an idle child, or start one."""
    with _LOCK:
        while _IDLE:
            child = _IDLE.pop()
            if child.is_alive:
                return child
            child.kill()
    return _Child()


def _put_back(child: _Child) -> None:
    """Keep a child for the next call."""
    with _LOCK:
        _IDLE.append(child)


def _forget_children() -> None:
    """Start anew in a forked process, whose parent's children answer the parent."""
    global _IDLE, _LOCK
    _IDLE, _LOCK = [], threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_children)


@atexit.register
def _end_children() -> None:
    with _LOCK:
        while _IDLE:
            _IDLE.pop().kill()


def serve(descriptor: int) -> None:
    """Run a child process: solve what arrives at a connection, by its number, until it closes."""
    # Ctrl-C goes to all processes of a terminal; the parent decides what it means
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore")  # what solvers warn about is the verifier's business
    from threadpoolctl import threadpool_limits

    connection = Connection(descriptor)
    while True:
        try:
            backend, program, settings, threads = connection.recv()
        except EOFError:
            return
        try:
            with threadpool_limits(threads, user_api="blas"):
                answer: object = backend._solve_here(program, settings)
        except Exception as error:  # noqa: BLE001 - raised again in the parent
            answer = error
        try:
            message = ForkingPickler.dumps(answer)
            ForkingPickler.loads(message)  # some exceptions only seem to be sendable
        except Exception:  # noqa: BLE001
            message = ForkingPickler.dumps(RuntimeError(f"{type(answer).__name__}: {answer}"))
        del backend, program, settings, answer
        with suppress(BrokenPipeError):
            connection.send_bytes(message)
