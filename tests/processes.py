"""Processes that tests start: every wait for one ends, however busy the machine is."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

PATIENCE = 300.0
"""Seconds: some twenty times what the slowest of them takes on two busy cores."""


def run(
    command: list[str], *, check: bool = False, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end and return what it printed; ``options`` are subprocess.run's."""
    usual = {"capture_output": True, "text": True, "timeout": PATIENCE}
    return subprocess.run(command, check=check, **usual | options)


@contextmanager
def started(command: list[str], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """A running process, killed at the end of the block if it still runs."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes | options) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def wait_until(condition: Callable[[], object], what: str) -> None:
    """Return when the condition holds; an error after ``PATIENCE``."""
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until, f"{what} did not happen"
        time.sleep(0.02)
