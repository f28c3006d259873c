"""Independent calls in several workers, which Ctrl-C ends together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Generic, TypeVar

from qpsvm.numerics.interrupts import Leave, working_for

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
