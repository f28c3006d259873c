"""Measure one cell: in this process by ``measure``, in a process of its own by ``main``.

``python -m benchmarks.worker FD CELL`` writes a message to the file descriptor FD at the
beginning of each phase: stdout and stderr belong to the solvers. It lives as long as stdin is open.
"""

from __future__ import annotations

import gc
import hashlib
import importlib
import json
import math
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import TypeVar

import numpy as np

import qpsvm
from benchmarks import machine
from benchmarks.cells import Cell
from benchmarks.contestants import registry
from benchmarks.contestants.base import Answer, Contestant, Task
from benchmarks.data import Samples, load_samples
from benchmarks.judge import judge
from benchmarks.programs import formulation_of, kernel_of
from benchmarks.rows import FALSE, Row, calls
from benchmarks.sets import Matrix, Vector
from qpsvm.data import fingerprint
from qpsvm.exceptions import (
    BackendNotInstalledError,
    MissingPackageError,
    QPSVMError,
    UnsupportedProgramError,
)

PREPARING, LOADING, WARMING = "preparing", "loading", "warming up"
FITTING, ANSWERING, JUDGING, DONE = "fitting", "answering", "judging", "done"

Result = TypeVar("Result")

Tell = Callable[[str, Row], None]

_WARM_UP_SAMPLES = 5
"""Samples of each class in the fit that warms up."""


def measure(cell: Cell, tell: Tell = lambda *_: None) -> Row:
    """Measure a cell: load the samples, fit the contestant, judge its answer.

    ``total_seconds`` is the wall clock of ``contestant.fit(task)`` and nothing else: modules are
    imported and libraries initialised before, by a fit of a few samples.

    Parameters
    ----------
    cell : Cell
        Its limits are for a process that somebody watches, except that the contestant is told the
        time limit.
    tell : callable, optional
        Called with the phase that begins and what is known by then.

    Returns
    -------
    Row
        Whatever happens: what raises is a row too.
    """
    row = Row(
        cell,
        "error",
        machine=machine.describe(),
        qpsvm=qpsvm.__version__,
        load=machine.load(),
    )
    phase = PREPARING
    try:
        contestant = registry.get(cell.contestant)
        form = getattr(contestant, "form", "")
        row = replace(row, version=contestant.version(), form=form)
        for module in contestant.required_modules:
            importlib.import_module(module)
        phase = LOADING
        samples = load_samples(cell.instance.data)
        phase = PREPARING
        task = _task(cell, samples.X, samples.y)
        row = _described(row, task, samples)
        if refusal := contestant.refusal(task):
            return replace(row, outcome="unsupported", message=refusal)
        tell(WARMING, row)
        _warm_up(contestant, cell, samples)
        # a new one: what was evaluated of the program so far is part of what is timed
        task = _task(cell, samples.X, samples.y)
        given = _digest(samples)
        tell(FITTING, row)
        wall, cpu, fitted = _timed(lambda: contestant.fit(task))
        row = replace(row, total_seconds=wall, cpu_seconds=cpu, peak_bytes=machine.peak_bytes())
        tell(ANSWERING, row)
        answer = contestant.answer(task, fitted)
        tell(JUDGING, row)
        began = time.perf_counter()
        if _digest(samples) != given:
            raise QPSVMError("the contestant changed the samples it was given")
        phase = JUDGING
        # of its own: nothing that the contestant had in its hands
        row = _judged(row, _task(cell, samples.X, samples.y), answer)
        return replace(row, judge_seconds=time.perf_counter() - began)
    except Exception as error:  # noqa: BLE001 - anything a solver raises is a row
        return _failed(row, error, phase)


_FAILURES: tuple[tuple[tuple[type[Exception], ...], str], ...] = (
    ((BackendNotInstalledError, MissingPackageError, ModuleNotFoundError), "not installed"),
    ((UnsupportedProgramError,), "unsupported"),
    ((MemoryError,), "memory limit"),
)


def _failed(row: Row, error: Exception, phase: str) -> Row:
    """Return the row of an exception; samples and judge are no doing of the contestant's.

    A ``QPSVMError`` of the judge is of what the contestant did: another arithmetic.
    """
    outcome = next((word for kinds, word in _FAILURES if isinstance(error, kinds)), "error")
    if phase == LOADING or (phase == JUDGING and not isinstance(error, QPSVMError)):
        outcome = "not measured"
    peak = machine.peak_bytes() if isinstance(error, MemoryError) else row.peak_bytes
    return replace(
        row,
        outcome=outcome,
        message=f"{type(error).__name__}: {error}",
        traceback=calls(error) if outcome in ("error", "not measured") else "",
        peak_bytes=peak,
    )


def _task(cell: Cell, X: Matrix, y: Vector | None) -> Task:
    return Task(
        formulation=formulation_of(cell.instance.family),
        X=X,
        y=y,
        kernel=kernel_of(cell.instance.kernel),
        eps=cell.eps,
        time_limit=cell.time_limit,
        seed=cell.seed,
        threads=cell.threads,
    )


def _described(row: Row, task: Task, samples: Samples) -> Row:
    X = samples.X
    n, d = X.shape
    entries = X.nnz if hasattr(X, "nnz") else np.count_nonzero(X)
    return replace(
        row,
        n=n,
        d=d,
        density=entries / max(n * d, 1),
        data_bytes=float(sum(array.nbytes for array in _arrays(X))),
        problem_hash=fingerprint(task.problem.data),
    )


def _arrays(X: Matrix) -> tuple[Matrix, ...]:
    """The arrays that hold the samples."""
    return (X.data, X.indices, X.indptr) if hasattr(X, "nnz") else (X,)


def _digest(samples: Samples) -> bytes:
    """Hash of the samples in memory."""
    digest = hashlib.blake2b(np.asarray(samples.y).tobytes())
    for array in _arrays(samples.X):
        digest.update(np.ascontiguousarray(array).data)
    return digest.digest()


def _warm_up(contestant: Contestant, cell: Cell, samples: Samples) -> None:
    """Fit a few samples before the clock starts: the first call loads and compiles code."""
    X, y = samples.X, samples.y
    chosen = np.arange(min(2 * _WARM_UP_SAMPLES, X.shape[0]))
    if y is not None:
        classes, members = np.unique(np.asarray(y), return_inverse=True)
        if len(classes) < len(y) / _WARM_UP_SAMPLES:
            first = [np.flatnonzero(members == k)[:_WARM_UP_SAMPLES] for k in range(len(classes))]
            chosen = np.sort(np.concatenate(first))
    # so few samples may be no program at all
    with suppress(Exception):
        contestant.fit(_task(cell, X[chosen], None if y is None else np.asarray(y)[chosen]))


def _timed(action: Callable[[], Result]) -> tuple[float, float, Result]:
    """Return wall clock, processor time and result; garbage is collected before, not meanwhile."""
    gc.collect()
    gc.disable()
    try:
        wall, cpu = time.perf_counter(), time.process_time()
        result = action()
        return time.perf_counter() - wall, time.process_time() - cpu, result
    finally:
        gc.enable()


def _judged(row: Row, task: Task, answer: Answer) -> Row:
    judged = judge(task, answer)
    judged = replace(judged, message=judged.message or answer.message)
    if row.total_seconds > row.cell.time_limit:
        words = f"ended after the limit: {judged.outcome}; {judged.message}".rstrip("; ")
        # what comes late is refuted none the less
        outcome = judged.outcome if judged.outcome in FALSE else "time limit"
        judged = replace(judged, outcome=outcome, message=words)
    return replace(
        row,
        **vars(judged),  # a row has every field of a judgement
        build_seconds=answer.build_seconds,
        setup_seconds=answer.setup_seconds,
        solve_seconds=answer.solve_seconds,
        iterations=answer.iterations,
        settings=answer.settings,
    )


# --- the process -----------------------------------------------------------------------------


def main(descriptor: int, cell: Cell) -> None:
    """Measure a cell, send its row, and end the process.

    Nothing is cleaned up at the end: a library that crashes on its way out has done its work.
    """
    channel = Connection(descriptor, readable=False)
    _end_with_parent()
    _limit_memory(cell.memory_limit)

    def tell(phase: str, row: Row) -> None:
        if phase == JUDGING:  # which is no work of the contestant's
            _limit_memory(math.inf)
        message = {"phase": phase, "row": row.to_dict()}
        channel.send_bytes(json.dumps(message).encode("utf-8"))

    tell(DONE, measure(cell, tell))
    os._exit(0)


def _end_with_parent() -> None:
    """Let the system end this process when the parent dies and its end of stdin closes.

    A thread that waits for that would wait for a solver that keeps the interpreter's lock.
    """
    import fcntl
    import select
    import signal

    signal.signal(signal.SIGIO, signal.SIG_DFL)  # which ends the process
    fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(0, fcntl.F_SETFL, fcntl.fcntl(0, fcntl.F_GETFL) | os.O_ASYNC)
    # it may have died before
    if select.select([0], [], [], 0)[0]:
        os._exit(1)


def _limit_memory(limit: float) -> None:
    import resource

    # not RLIMIT_AS: libraries reserve address space that they never use
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    soft = most if limit == math.inf else int(limit)
    resource.setrlimit(resource.RLIMIT_DATA, (soft, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    main(int(sys.argv[1]), Cell.from_dict(json.loads(sys.argv[2])))
