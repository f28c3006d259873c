"""Progress lines of a running solve, and capture of the output that solvers print."""

from __future__ import annotations

import functools
import importlib
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TextIO

from qpsvm.backends.settings import Callback, Progress

FIRST_LINES, LINES_PER_SECOND = 100, 20.0
"""How many iterations are printed at once, and how many a second after these. What comes faster is
left out: nobody reads thousands of lines a second, and writing them can take longer than solving
does."""


def line_of(event: Progress) -> str:
    """Return one line of text about an event of a solve.

    Examples
    --------
    >>> line_of(Progress("solve", "ipm", 7, 0.25, objective=-3.5, gap=1e-3))
    'ipm: iteration 7, objective -3.500000e+00, gap 1.0e-03, 0.25 s'
    >>> line_of(Progress("start", "cvxpy:CLARABEL", n_variables=1200, n_rows=400))
    'cvxpy:CLARABEL: start, 1200 variables, 400 rows, 0.00 s'
    """
    parts = [event.stage if event.iteration is None else f"iteration {event.iteration}"]
    if event.n_variables is not None:
        parts.append(f"{event.n_variables} variables, {event.n_rows} rows")
    for name, value, style in (
        ("objective", event.objective, ".6e"),
        ("gap", event.gap, ".1e"),
        ("residual", event.residual if event.gap is None else None, ".1e"),
    ):
        if value is not None:
            parts.append(f"{name} {value:{style}}")
    return f"{event.backend}: {', '.join(parts)}, {event.seconds:.2f} s"


class Printed:
    """Callback that prints the progress of a solver, and hands every event to another callback.

    Parameters
    ----------
    callback : callable or None
        The caller's own.
    """

    def __init__(self, callback: Callback | None) -> None:
        self._callback = callback
        self._lines = 0

    def __call__(self, event: Progress) -> object:
        if self._lines < FIRST_LINES + LINES_PER_SECOND * event.seconds:
            self._lines += 1
            print(line_of(event), flush=True)
        return None if self._callback is None else self._callback(event)


# --- silence -------------------------------------------------------------------------------------


class _WithoutThreads:
    """Text stream that keeps back the output of some threads and passes on everything else."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.kept: list[tuple[int, list[str]]] = []

    def write(self, text: str) -> int:
        me = threading.get_ident()
        for thread, texts in reversed(self.kept):
            if thread == me:
                texts.append(text)
                return len(text)
        return int(self.stream.write(text))

    def __getattr__(self, name: str) -> object:
        return getattr(self.stream, name)


_lock = threading.Lock()


@contextmanager
def silenced(*, unless: bool = False) -> Iterator[list[str]]:
    """Keep back this thread's output to ``sys.stdout``; other threads print as before.

    For solvers that print although they were told to print nothing: OSQP says "Polishing not
    needed", and prints its errors.

    Parameters
    ----------
    unless : bool
        Keep back nothing.

    Yields
    ------
    list of str
        The texts that were kept back so far, for messages; empty with ``unless``.
    """
    texts = list[str]()
    if unless:
        yield texts
        return
    mine = threading.get_ident(), texts
    with _lock:
        if not isinstance(sys.stdout, _WithoutThreads):
            sys.stdout = _WithoutThreads(sys.stdout)
        stream = sys.stdout
        stream.kept.append(mine)
    try:
        yield texts
    finally:
        with _lock:
            stream.kept = [entry for entry in stream.kept if entry[1] is not texts]
            if not stream.kept and sys.stdout is stream:
                sys.stdout = stream.stream


def with_output(reason: object, texts: Iterable[str]) -> str:
    r"""Append what a solver printed to the message of its failure.

    Examples
    --------
    >>> with_output("code 4", ["ERROR: The problem\n", "seems to be non-convex.\n"])
    'code 4 (the solver printed: ERROR: The problem seems to be non-convex.)'
    >>> with_output("code 4", [])
    'code 4'
    """
    printed = " ".join("".join(texts).split())
    return f"{reason} (the solver printed: {printed})" if printed else str(reason)


@functools.cache
def silence_highs_banner() -> None:
    """Prevent the two lines that HiGHS prints when a process makes its first HiGHS model.

    CVXPY and qpsolvers switch the output off after the constructor of ``highspy.Highs``, which has
    printed by then (highspy 1.16). The lines belong to the first model that runs in a process, so
    one that runs without a console uses them up.
    """
    highspy = importlib.import_module("highspy")
    model = highspy.Highs.__base__()  # the C++ class, whose constructor prints nothing
    model.setOptionValue("log_to_console", False)
    model.run()
