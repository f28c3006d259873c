"""Ctrl-C in tests: the point that an interrupt carries, and programs that get a real signal."""

from __future__ import annotations

import json
import os
import signal
import sys
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import pytest

from qpsvm.numerics.interrupts import best_known
from tests.processes import PATIENCE, started, wait_until

Result = TypeVar("Result")

ROOT = Path(__file__).resolve().parents[1]

ALLOWED = 1.0
"""Seconds of the processor from Ctrl-C to the end of a call: the clock's, if nothing else runs."""


def interrupted_point(call: Callable[[], object]) -> Any:
    """The point that the KeyboardInterrupt of a call carries; of a call that ends, its result."""
    try:
        return call()
    except KeyboardInterrupt as error:
        best = best_known(error)
        assert best is not None
        return best()


PROGRAM = """
import json, sys, time
{setup}
print("ready", flush=True)
found = {{"left": False}}
try:
{call}
except KeyboardInterrupt as error:
    found = {{"left": True, "at": time.process_time(), "attached": hasattr(error, "solution")}}
    solution = getattr(error, "solution", None)
{after}
print(json.dumps(found), flush=True)
"""


def after_a_signal(
    setup: str,
    call: str,
    wait: float,
    *,
    after: str = "",
    env: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Interrupt a call in a process of its own by SIGINT.

    Parameters
    ----------
    setup, call : str
        Statements before the call, and the call.
    wait : float
        Seconds of the processor that the call has before the signal is sent.
    after : str
        Statements after the interrupt; they may read ``solution`` and write to ``found``.

    Returns
    -------
    dict
        ``left``: whether a KeyboardInterrupt came out; ``seconds`` of the processor after the
        signal, which do not depend on how busy the machine is; ``attached``: whether the exception
        has the attribute ``solution``; and what ``after`` adds.
    """
    if not sys.platform.startswith("linux"):
        pytest.skip("reads /proc")
    program = PROGRAM.format(
        setup=textwrap.dedent(setup),
        call=textwrap.indent(textwrap.dedent(call), "    "),
        after=textwrap.indent(textwrap.dedent(after), "    "),
    )
    with started([sys.executable, "-c", program], cwd=ROOT, env=env) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        if line.strip() != "ready":
            _, errors = process.communicate(timeout=PATIENCE)
            raise AssertionError(errors)
        sent = worked_for(process.pid, wait)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=PATIENCE)
    assert output, errors
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    if found["left"]:
        found["seconds"] = found["at"] - sent
    return found


def worked_for(pid: int, seconds: float) -> float:
    """Wait until a process has used the processor for so long from now; return what it has used.

    A process that ends before that is not waited for.
    """
    until = processor_seconds(pid) + seconds
    wait_until(
        lambda: processor_seconds(pid) >= until or has_ended(pid), f"{seconds} s of the processor"
    )
    return processor_seconds(pid)


def has_ended(pid: int) -> bool:
    """Return whether a process has ended that nobody has waited for yet."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


def processor_seconds(pid: int) -> float:
    """Seconds of the processor that a running process has used, in all of its threads."""
    ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
