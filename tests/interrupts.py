"""Ctrl-C in tests: the point that an interrupt carries, and programs that get a real signal."""

from __future__ import annotations

import json
import signal
import sys
import textwrap
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import pytest

from qpsvm.numerics.interrupts import best_known
from tests.processes import PATIENCE, started

Result = TypeVar("Result")

ROOT = Path(__file__).resolve().parents[1]

ALLOWED = 1.0
"""Seconds from Ctrl-C to the end of a call."""


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
    found = {{"left": True, "at": time.time(), "attached": hasattr(error, "solution")}}
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
        Seconds after the call begins at which the signal is sent.
    after : str
        Statements after the interrupt; they may read ``solution`` and write to ``found``.

    Returns
    -------
    dict
        ``left``: whether a KeyboardInterrupt came out; ``seconds`` after the signal; ``attached``:
        whether the exception has a solution; and what ``after`` adds.
    """
    if sys.platform == "win32":
        pytest.skip("POSIX signals")
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
        time.sleep(wait)
        sent = time.time()
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=PATIENCE)
    assert output, errors
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    found["seconds"] = found.get("at", time.time()) - sent
    found["ended"] = time.time() - sent
    return found
