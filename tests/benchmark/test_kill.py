"""A run that is killed or interrupted, and what is left of it: processes none, rows all."""

from __future__ import annotations

import signal
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from benchmarks import runner
from benchmarks.store import open_store, read_results
from benchmarks.suite import load_suite
from qpsvm.exceptions import StoreError
from tests.processes import PATIENCE, started, wait_until

BENCHMARK = [sys.executable, "-m", "benchmarks"]
TROUBLED = Path(__file__).with_name("troubled.py")
SUITE = """
time_limit = 600.0
targets = [1e-14]
[[grid]]
family = ["SoftMargin(C=1.0)"]
data = ["iris"]
contestants = [{contestants}]
eps = [{eps}]
"""

in_proc = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="looks processes up in /proc"
)


def write(path, contestants, eps="1e-2"):
    names = ", ".join(f'"{name}"' for name in contestants)
    path.write_text(SUITE.format(contestants=names, eps=eps))
    return path


def bench_run(suite, store, *options):
    return started([*BENCHMARK, "run", str(suite), "--store", str(store), *options])


def count(store):
    try:
        return len(read_results(store).rows)
    except StoreError:  # not there yet
        return 0


def alive(pid):
    """Whether a process runs; one that ended and that nobody has waited for does not."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


@pytest.mark.exhaustive
def test_killed_half_way_and_resumed_every_cell_is_there_once(tmp_path):
    suite = write(tmp_path / "s.toml", ["cvxopt(form='dual')", "sklearn:SVC"], "1e-2, 1e-8")
    store = tmp_path / "s.jsonl"
    asked = set(load_suite(suite).cells)

    with bench_run(suite, store, "--jobs", "2") as process:
        wait_until(lambda: count(store) >= 2, "half of the run")
        process.kill()
    before = store.read_bytes()
    assert 2 <= count(store) < len(asked)

    with bench_run(suite, store, "--jobs", "2", "--resume") as process:
        output, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors
    after = read_results(store).rows
    assert store.read_bytes().startswith(before[: before.rfind(b"\n") + 1])
    assert {row.cell for row in after} == asked
    # nothing was measured a second time: a row for each cell, and a line for each session
    assert store.read_bytes().count(b"\n") == len(asked) + 2
    assert {row.outcome for row in after} <= {"optimal", "above eps"}
    assert "cvxopt dual 2 optimal" in " ".join(output.split())
    assert "\x1b" not in output + errors


@in_proc
@pytest.mark.parametrize(
    ("number", "code", "jobs"),
    [
        pytest.param(signal.SIGINT, 130, "2", marks=pytest.mark.exhaustive),
        pytest.param(signal.SIGKILL, -signal.SIGKILL, "1", marks=pytest.mark.exhaustive),
        pytest.param(signal.SIGINT, 130, "1", marks=pytest.mark.exhaustive),
        pytest.param(signal.SIGTERM, 128 + signal.SIGTERM, "2", marks=pytest.mark.exhaustive),
    ],
)
def test_no_process_outlives_its_run(tmp_path, number, code, jobs):
    """Not even one that keeps the interpreter's lock and hears of nothing."""
    note = tmp_path / "pid"
    hanging = f"{TROUBLED}(kind='hang', note='{note}')"
    suite, store = write(tmp_path / "s.toml", ["sklearn:SVC", hanging]), tmp_path / "s.jsonl"
    with bench_run(suite, store, "--jobs", jobs) as process:
        wait_until(lambda: note.exists() and note.read_text() and count(store), "the hang")
        child = int(note.read_text())
        assert alive(child)
        process.send_signal(number)
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == code
    wait_until(lambda: not alive(child), "the end of the child")
    assert "Traceback" not in errors
    if number == signal.SIGINT:
        assert errors.startswith("Error: Interrupted; every row that was measured is stored.")
    # the store can be read, and nobody holds it
    with open_store(store, resume=True) as free:
        assert [row.contestant for row in free.read().rows] == ["sklearn:SVC"]


@pytest.mark.exhaustive
@in_proc
@pytest.mark.filterwarnings("ignore:.* tasks which were still being processed")
def test_no_process_outlives_a_run_that_raises(tmp_path):
    """Where this process goes on, as in a notebook."""
    note = tmp_path / "pid"
    hanging = f"{TROUBLED}(kind='hang', note='{note}')"
    suite = load_suite(write(tmp_path / "s.toml", ["sklearn:SVC", hanging]))

    def give_up(event):
        wait_until(lambda: note.exists() and note.read_text(), "the hang")
        raise RuntimeError(f"enough of {event.row.contestant}")

    with pytest.raises(RuntimeError, match="enough of sklearn:SVC"):
        runner.run(suite, tmp_path / "s.jsonl", jobs=2, callback=give_up)
    wait_until(lambda: not alive(int(note.read_text())), "the end of the child")
    assert count(tmp_path / "s.jsonl") == 1
