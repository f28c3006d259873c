"""The installed program in its own process: pipes, interrupts, speed of ``--help``."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

import qpsvm

QPSVM = [sys.executable, "-c", "from qpsvm.cli import main; main()"]


def run(*arguments, **options):
    return subprocess.run(
        [*QPSVM, *map(str, arguments)],
        capture_output=True, text=True, timeout=120, check=False, **options,
    )  # fmt: skip


def test_version():
    result = run("--version")
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
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert result.returncode == 0, result.stderr


def test_import_of_the_package_stays_light():
    code = (
        "import sys, qpsvm\n"
        "heavy = {'sklearn', 'matplotlib', 'jinja2', 'typer', 'rich', 'cvxpy'}\n"
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("command", ["demo", "solve"])
def test_output_is_plain_in_a_pipe_even_in_ascii(tmp_path, command):
    data = tmp_path / "data.csv"
    data.write_text("a,b,y\n" + "".join(f"{i},{i % 3},{i > 9}\n" for i in range(20)))
    small = ("--samples", 40, "--backend", "cvxopt", "--report", tmp_path / "d.json")
    result = run(
        command, *(small if command == "demo" else (data,)),
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "\x1b" not in result.stdout + result.stderr
    assert result.stdout.isascii()


def test_closed_pipe_is_no_crash():
    process = subprocess.Popen(
        [*QPSVM, "backends"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    process.wait(timeout=60)
    assert "Traceback" not in errors


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_leave_nothing_half_written(tmp_path, number, code):
    process = subprocess.Popen(
        [*QPSVM, "demo", "--backend", "slsqp", "--seconds", "100"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    time.sleep(4.0)  # SLSQP needs minutes here
    process.send_signal(number)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == code, output + errors
    assert "Traceback" not in errors
    assert os.listdir(tmp_path) == []
    if number == signal.SIGINT:
        assert errors.strip() == "Error: Interrupted; nothing half-written was left."
