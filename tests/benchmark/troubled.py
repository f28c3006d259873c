"""A contestant that does what real ones do on bad days."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.contestants.base import Answer, Contestant, Task
from qpsvm.exceptions import UnsupportedProgramError
from qpsvm.qp import Status

WARM_UP = 20
"""Samples; all sets of the tests are larger."""


class Troubled(Contestant):
    """Every trouble by name."""

    name = "troubled"

    def __init__(self, kind: str, note: str = "") -> None:
        self.kind = kind
        self.note = note

    def fit(self, task: Task) -> None:
        if task.X.shape[0] > WARM_UP:
            if self.note:
                Path(self.note).write_text(str(os.getpid()))
            getattr(self, self.kind)()
            if self.kind == "tamper":
                task.X[:] *= 2.0

    def answer(self, task: Task, fitted: None) -> Answer:
        del task, fitted
        if self.kind == "crash_when_asked":
            os.abort()
        return Answer(Status.UNKNOWN, native_status="tired")

    def crash_when_asked(self) -> None:
        """Later."""

    def segfault(self) -> None:
        os.kill(os.getpid(), signal.SIGSEGV)

    def abort(self) -> None:
        os.write(2, b"terminate called: the tableau is upside down\n")
        os.abort()

    def abort_without_memory(self) -> None:
        os.write(2, b"terminate called after throwing an instance of 'std::bad_alloc'\n")
        os.abort()

    def leave(self) -> None:
        os._exit(3)

    def hang(self) -> None:
        """In C, with the interpreter's lock: no thread of this process runs any more."""
        re.match(r"(a+)+$", "a" * 64 + "b")

    def overrun(self) -> None:
        time.sleep(1.2)

    def allocate(self) -> None:
        np.ones(10**9)

    def tamper(self) -> None:
        """See ``fit``, which has the samples."""

    def fail(self) -> None:
        raise RuntimeError("no pivot")

    def refuse(self) -> None:
        raise UnsupportedProgramError("not on Saturdays")

    def shout(self) -> None:
        for _ in range(20_000):
            print("iteration 1", file=sys.stderr)
            print('{"phase": "done"}')
