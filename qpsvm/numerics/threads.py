"""Threads over the pieces of a computation, with BLAS held at one thread meanwhile.

A product of small matrices is slower with several BLAS threads than with one, and the passes over a
kernel matrix between products are not threaded at all. So a solve holds BLAS at one thread and
gives whole pieces of its large loops to as many threads as BLAS had. The pieces do not depend on
the number of threads, and each writes to a place of its own: results have the same bits whatever
that number is.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np

from qpsvm.numerics.arrays import row_blocks
from qpsvm.numerics.interrupts import Leave, limit_of_work, working_for, working_until

Piece = TypeVar("Piece")

BLOCK = 2**23
"""Bytes of kernel values that a thread evaluates or combines at a time."""


class _BlasThreads:
    """The number of BLAS threads of this process, and how many threads hold it at one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._controller: Any = None
        self._limit: Any = None
        self._holders = 0
        self._allowed = 1
        self._own = threading.local()

    @property
    def share(self) -> int:
        """Threads for each of the threads that hold BLAS at one; 1 if none does, or in a piece."""
        if getattr(self._own, "has_piece", False):
            return 1
        with self._lock:
            return max(1, self._allowed // self._holders) if self._holders else 1

    def enter_piece(self) -> None:
        """Note that this thread works on a piece: loops inside it are not divided again."""
        self._own.has_piece = True

    @contextmanager
    def single_threaded(self) -> Iterator[None]:
        """Hold BLAS at one thread."""
        if getattr(self._own, "holds", False):
            yield
            return
        with self._lock:
            if self._holders == 0:
                self._limit = self._limited()
            self._holders += 1
        self._own.holds = True
        try:
            yield
        finally:
            self._own.holds = False
            self._end_pool()
            with self._lock:
                self._holders -= 1
                if self._holders == 0 and self._limit is not None:
                    self._leave_control()
                    self._limit.restore_original_limits()
                    self._leave_control()

    def pool(self, n_threads: int) -> ThreadPoolExecutor:
        """Return the pool of worker threads that the calling thread keeps while it holds BLAS.

        Starting threads takes longer than many of the loops that use them.
        """
        kept: ThreadPoolExecutor | None = getattr(self._own, "pool", None)
        if kept is None or self._own.pool_size != n_threads:
            self._end_pool()
            kept = ThreadPoolExecutor(n_threads, initializer=self.enter_piece)
            self._own.pool, self._own.pool_size = kept, n_threads
        return kept

    def _end_pool(self) -> None:
        pool: ThreadPoolExecutor | None = getattr(self._own, "pool", None)
        self._own.pool = None
        if pool is not None:
            pool.shutdown(cancel_futures=True)

    def map(
        self,
        work: Callable[[Piece], object],
        pieces: Sequence[Piece],
        n_threads: int,
        leave: Leave,
    ) -> None:
        """Call a function with every piece of a computation, in several threads.

        After an error or Ctrl-C the pieces that have begun are waited for, and no other begins.
        """
        is_done = False
        try:
            for _ in self.pool(n_threads).map(work, pieces):
                pass
            is_done = True
        except KeyboardInterrupt:
            leave.set()
            raise
        finally:
            if not (is_done and getattr(self._own, "holds", False)):
                self._end_pool()

    def current(self) -> int:
        """Return the number of threads that BLAS has."""
        if self._controller is None:  # looking for the libraries takes a millisecond
            from threadpoolctl import ThreadpoolController

            self._controller = ThreadpoolController().select(user_api="blas")
        libraries = self._controller.lib_controllers
        # the most: CVXOPT comes with a BLAS of its own that has one thread
        return max([library.get_num_threads() for library in libraries], default=1)

    def _limited(self) -> Any:
        """Limit BLAS to one thread, and note how many threads it had.

        Returns threadpoolctl's limiter, which gives the threads back; None if BLAS has one thread.
        """
        self._allowed = self.current()
        if self._allowed <= 1:
            return None
        self._leave_control()
        return self._controller.limit(limits=1)

    def _leave_control(self) -> None:
        """Let any thread of this process set the number of BLAS threads through threadpoolctl.

        From version 3.8 on threadpoolctl ignores all threads but the first one that did, which may
        have ended its work before the others.
        """
        for library in self._controller.lib_controllers:
            leave = getattr(library, "clear_controlling_thread", None)
            if leave is not None:
                leave(force=True)


_BLAS = _BlasThreads()


def _forget_holders() -> None:
    """Start anew in a forked process, where the threads that held BLAS do not exist."""
    global _BLAS  # noqa: PLW0603 - of this process
    _BLAS = _BlasThreads()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_holders)


def kernel_blocks(rows: int, columns: int) -> list[slice]:
    """Slices that cut the rows of a kernel matrix into blocks for threads."""
    # rows at least: what all rows share is computed anew for every block
    return row_blocks(rows, columns, max(BLOCK, 256 * 8 * columns))


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS at one thread; ``for_each`` may use the others meanwhile.

    Calls may be nested, and made in several threads at a time: these share the threads that there
    are. The first one limits BLAS, and the last one to end gives it back: given back earlier, BLAS
    would add up in another order in the threads that still count on one thread.
    """
    with _BLAS.single_threaded():
        yield


def blas_threads() -> int:
    """Return the number of threads that BLAS has now."""
    return _BLAS.current()


def usable_threads() -> int:
    """Return the number of threads that a loop of the calling thread may use."""
    return _BLAS.share


def for_each(work: Callable[[Piece], object], pieces: Sequence[Piece]) -> None:
    """Call ``work`` with every piece, in several threads inside ``one_blas_thread``.

    A loop inside a piece runs in the thread of that piece.

    Parameters
    ----------
    work : callable
        Must not write to anything that another piece reads or writes.
    pieces : sequence
        The same whatever the number of threads. Each should take a millisecond or more.
    """
    n_threads = min(_BLAS.share, len(pieces))
    if n_threads <= 1:
        for piece in pieces:
            work(piece)
        return
    # every thread has its own
    state, leave, limit = np.geterr(), Leave(), limit_of_work()

    def with_state(piece: Piece) -> None:
        with np.errstate(**state), working_for(leave), working_until(limit):
            work(piece)

    _BLAS.map(with_state, pieces, n_threads, leave)


# --- independent calls in several workers --------------------------------------------------------


Result = TypeVar("Result")


def in_parallel(
    calls: Iterable[Callable[[], Result]], n_jobs: int | None, **options: Any
) -> list[Result]:
    """Make calls without arguments by joblib, and return their values in the same order.

    Parameters
    ----------
    calls : iterable of callables
        Made as they are needed.
    n_jobs : int or None
        As joblib has it: None is 1, unless a ``joblib.parallel_config`` says otherwise. Threads by
        default: they share the kernel values.
    options : dict
        Other arguments of ``joblib.Parallel``.

    Raises
    ------
    KeyboardInterrupt
        Ctrl-C, which all workers hear of: at the next look at their deadline.
    """
    from joblib import Parallel, delayed

    leave = Leave()
    parallel = Parallel(n_jobs=n_jobs, prefer="threads", **options)
    try:
        return list(parallel(delayed(_Working(leave, call))() for call in calls))
    except KeyboardInterrupt:
        leave.set()
        raise


class _Working(Generic[Result]):
    """A call that hears of Ctrl-C, under the name of its function: Dask shows it."""

    def __init__(self, leave: Leave, call: Callable[[], Result]) -> None:
        self.leave, self.call = leave, call
        function: Any = call
        while isinstance(function, partial):
            function = function.func
        self.__name__ = str(getattr(function, "__name__", type(function).__name__))

    def __call__(self) -> Result:
        with working_for(self.leave):
            return self.call()
