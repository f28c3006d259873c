"""Measure a cell in a process of its own, within limits of time and memory."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import IO, Any, Self

from benchmarks import machine
from benchmarks.cells import Cell
from benchmarks.rows import Row, shortened

CHECKOUT = Path(__file__).resolve().parents[1]
"""Folder of the checkout that this code is part of."""

THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "RAYON_NUM_THREADS",
)
"""Environment variables for threads, which libraries read when they are loaded."""

HERE = {"QPSVM_CHILDREN": "0"}
"""Environment in which solvers of other packages run in the process of the cell: its memory and
time are measured."""

PATIENCE = 600.0
"""Time limit of loading the samples, and of judging, seconds; neither is measured."""

_NO_MEMORY = ("bad_alloc", "memory allocation", "MemoryError", "out of memory")
"""Words that libraries print before they abort because an allocation failed."""

_LAST_WORDS = 4000
"""Bytes of stderr that are kept, from its end."""


class Children:
    """All processes of one run, which can be ended together.

    A copy in another process knows none of them: they end with the process that started them.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[int] = set()
        self._ended = False

    def __reduce__(self) -> tuple[type[Self], tuple[()]]:
        return type(self), ()

    def add(self, pid: int) -> None:
        """Add a process that has begun; after ``end`` it is killed at once."""
        with self._lock:
            self._running.add(pid)
            if self._ended:
                _kill(pid)

    def remove(self, pid: int) -> None:
        """Remove a process that has ended."""
        with self._lock:
            self._running.discard(pid)

    def end(self) -> None:
        """Kill all processes, and any that begins later."""
        with self._lock:
            self._ended = True
            for pid in self._running:
                _kill(pid)


def measure_apart(cell: Cell, children: Children | None = None) -> Row:
    """Measure a cell in a process of its own, within its limits.

    Parameters
    ----------
    cell : Cell
        ``time_limit`` is for the fit alone. A process that has not ended a tenth and a second
        later is ended; solvers that mind the limit themselves have that long to hand out the best
        they have.
    children : Children, optional
        Told of the process.

    Returns
    -------
    Row
        Also when the process crashed or was ended.
    """
    children = children or Children()
    load = machine.load()
    reader, writer = Pipe(duplex=False)
    with reader, tempfile.TemporaryFile() as errors:
        with writer:
            process = subprocess.Popen(
                _command(cell, writer),
                # nothing is written: that it closes tells the process that this one is dead
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                env=_environment(cell),
                pass_fds=(writer.fileno(),),
                start_new_session=True,
            )
        children.add(process.pid)
        try:
            with process:
                try:
                    return replace(_listen(cell, process, reader, errors), load=load)
                finally:
                    # its group, and before it is waited for: until then its number is its own
                    _kill(process.pid)
        finally:
            children.remove(process.pid)


def _command(cell: Cell, channel: Connection) -> list[str]:
    # -P: a file here that is called like a package is not that package
    python = [sys.executable, "-P", "-m", "benchmarks.worker"]
    return [*python, str(channel.fileno()), json.dumps(cell.to_dict())]


def _environment(cell: Cell) -> dict[str, str]:
    """The environment of a measuring process, which finds the benchmark from any folder."""
    threads = dict.fromkeys(THREADS, str(cell.threads))
    path = os.pathsep.join(filter(None, (str(CHECKOUT), os.environ.get("PYTHONPATH"))))
    return {**os.environ, **threads, **HERE, "PYTHONPATH": path}


def _listen(
    cell: Cell, process: subprocess.Popen[bytes], reader: Connection, errors: IO[bytes]
) -> Row:
    """Return the row that the process sends, or a row with the reason why it sent none."""
    fit = 1.1 * cell.time_limit + 1.0
    allowed = {"warming up": fit, "fitting": fit}
    phase = "loading"
    row = Row(cell, "crash", machine=machine.describe())
    while reader.poll(allowed.get(phase, PATIENCE)):
        try:
            message: Any = json.loads(reader.recv_bytes().decode("utf-8"))
        except EOFError:
            return _crashed(row, phase, process, errors)
        phase, row = message["phase"], Row.from_dict(message["row"])
        if phase == "done":
            return row
    if phase in allowed:
        return replace(row, outcome="time limit", message=f"ended while {phase}")
    outcome = "error" if phase == "answering" else "not measured"
    return replace(row, outcome=outcome, message=f"{phase} took more than {PATIENCE:g} s")


def _crashed(row: Row, phase: str, process: subprocess.Popen[bytes], errors: IO[bytes]) -> Row:
    try:
        code = process.wait(timeout=5.0)
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    except subprocess.TimeoutExpired:
        how = "closed its end and did not end"
    words = _last_words(errors)
    if how == signal.SIGKILL.name:
        how += " (the system ends processes so when memory runs out)"
    outcome = "memory limit" if any(word in words for word in _NO_MEMORY) else "crash"
    if phase == "judging":  # no doing of the contestant's
        outcome = "not measured"
    message = f"{how} while {phase}: {words}".rstrip(": ")
    return replace(row, outcome=outcome, message=message, traceback=_tail(errors))


def _tail(errors: IO[bytes]) -> str:
    end = errors.seek(0, os.SEEK_END)
    errors.seek(max(0, end - _LAST_WORDS))
    return shortened(errors.read().decode("utf-8", "replace"))


def _last_words(errors: IO[bytes]) -> str:
    lines = _tail(errors).splitlines()
    # a traceback's indented lines are places in files
    words = [line for line in lines if line.strip() and not line[0].isspace()]
    return " | ".join(words)[-500:]


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
