"""The installed program in its own process: pipes, interrupts, speed of ``--help``."""

from __future__ import annotations

import os
import signal
import sys

import pytest

import qpsvm
from tests.processes import PATIENCE, run, started, wait_until
from tests.strategies import listed

QPSVM = [sys.executable, "-m", "qpsvm"]

NOTING = """
from pathlib import Path
from qpsvm.backends.classical import SLSQPBackend
from qpsvm.cli import main

solve = SLSQPBackend._solve

def noted(self, *arguments):
    Path({note!r}).touch()  # from here on the process is busy
    return solve(self, *arguments)

SLSQPBackend._solve = noted
main()
"""


def qpsvm_command(*arguments, **options):
    return run([*QPSVM, *map(str, arguments)], **options)


def test_version():
    result = qpsvm_command("--version")
    assert result.returncode == 0
    assert result.stdout.strip() == f"qpsvm {qpsvm.__version__}"


def test_help_imports_nothing_heavy():
    code = (
        "import sys, contextlib\n"
        "from qpsvm.cli import main\n"
        "sys.argv = ['qpsvm', '--help']\n"
        "with contextlib.suppress(SystemExit):\n"
        "    main()\n"
        "heavy = {'sklearn', 'matplotlib', 'jinja2', 'cvxpy', 'cvxopt', 'osqp', 'pandas'}\n"
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)\n"
    )
    result = run([sys.executable, "-c", code])
    assert result.returncode == 0, result.stderr


@listed("command", ["solve", "demo"], quick=1)
def test_output_is_plain_in_a_pipe_even_in_ascii(tmp_path, command):
    data = tmp_path / "data.csv"
    data.write_text("a,b,y\n" + "".join(f"{i},{i % 3},{i > 9}\n" for i in range(20)))
    small = ("--samples", 40, "--backend", "cvxopt", "--report", tmp_path / "d.json")
    result = qpsvm_command(
        command, *(small if command == "demo" else (data,)),
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "\x1b" not in result.stdout + result.stderr
    assert result.stdout.isascii()


def test_closed_pipe_is_no_crash():
    with started([*QPSVM, "backends"]) as process:
        process.stdout.close()
        process.stdout = None  # or communicate would read it
        _, errors = process.communicate(timeout=PATIENCE)
    assert "Traceback" not in errors


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.exhaustive)],
)
def test_signals_leave_nothing_half_written(tmp_path, tmp_path_factory, number, code):
    note = tmp_path_factory.mktemp("note") / "solving"
    program = [sys.executable, "-c", NOTING.format(note=str(note))]
    # SLSQP needs minutes here
    command = [*program, "demo", "--backend", "slsqp", "--seconds", "100"]
    with started(command, cwd=tmp_path) as process:
        wait_until(note.exists, "the first solve")
        process.send_signal(number)
        output, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == code, output + errors
    assert "Traceback" not in errors
    assert os.listdir(tmp_path) == []
    if number == signal.SIGINT:
        assert errors.splitlines()[-1] == "Error: Interrupted; nothing half-written was left."
