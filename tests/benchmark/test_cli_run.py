"""``python -m benchmarks run`` and ``python -m benchmarks list``: what they print, and where."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from contextlib import suppress

import pytest
from typer.testing import CliRunner

from benchmarks.cli import app
from benchmarks.store import open_store, read_results
from tests.processes import PATIENCE, started

SUITE = """
name = "tiny"
description = "Two programs."
[[grid]]
family = ["SoftMargin(C=1.0)", "SoftMargin(C=10.0)"]
data = ["iris"]
contestants = ["sklearn:SVC"]
eps = [1e-2]
"""


@pytest.fixture
def suite(tmp_path):
    path = tmp_path / "tiny.toml"
    path.write_text(SUITE)
    return path


def bench(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


@pytest.mark.exhaustive
def test_run_measures_what_was_chosen_and_says_what_is_next(tmp_path, suite):
    store = tmp_path / "s.jsonl"
    only = ("--only", "C=10.0", "--contestant", "osqp(form='primal')")
    done = bench("run", suite, "--store", store, *only)
    assert done.exit_code == 0, done.output
    assert "osqp primal" in done.stdout
    assert "rows in" in done.stderr
    assert f"Next: python -m benchmarks report {store}" in done.stderr
    rows = read_results(store).rows
    assert {row.cell.instance.family for row in rows} == {"SoftMargin(C=10.0)"}
    assert len({row.contestant for row in rows}) == 2

    again = bench("run", suite, "--store", store)
    assert again.exit_code == 2
    assert again.stderr.startswith("Error: The store")
    assert "--resume" in again.stderr
    assert len(read_results(store).rows) == len(rows) == 2


@pytest.mark.exhaustive
def test_a_retry_measures_again(tmp_path, suite):
    store, only = tmp_path / "s.jsonl", ("--only", "C=10.0")
    assert bench("run", suite, "--store", store, *only).exit_code == 0
    rows = read_results(store).rows
    once_more = bench("run", suite, "--store", store, *only, "--resume", "--retry", "optimal")
    assert once_more.exit_code == 0
    repeated = read_results(store).rows
    assert {row.cell for row in repeated} == {row.cell for row in rows}
    assert all(row.total_seconds not in {r.total_seconds for r in rows} for row in repeated)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "no-such-suite", "--store", "s"), "There is no suite 'no-such-suite'"),
        (("run", "SUITE", "--store", "s", "--only", "nothing"), "has no cell with nothing"),
        (("run", "SUITE", "--store", "s", "--contestant", "nobody"), "no contestant 'nobody'"),
        (("run", "SUITE", "--store", "s", "--retry", "bad luck"), "no outcome 'bad luck'"),
        (("run", "SUITE", "--store", "no/such/folder/s"), "Cannot write the store"),
        (("list", "no-such-suite"), "There is no suite"),
    ],
)
def test_wrong_usage_is_one_line(tmp_path, monkeypatch, suite, arguments, words):
    monkeypatch.chdir(tmp_path)
    done = bench(*(suite if a == "SUITE" else a for a in arguments))
    assert done.exit_code == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert sorted(os.listdir(tmp_path)) == ["tiny.toml"]


def test_a_store_in_use_is_refused(tmp_path, suite):
    with open_store(tmp_path / "s.jsonl"):
        done = bench("run", suite, "--store", tmp_path / "s.jsonl", "--resume")
    assert done.exit_code == 2
    assert "Another process is writing" in done.stderr


def test_list_counts_and_one_suite_in_full(suite):
    everything = bench("list")
    assert everything.exit_code == 0
    one = bench("list", suite)
    assert "tiny: Two programs." in one.output
    for word in ("SoftMargin(C=10.0), iris, linear", "sklearn:SVC", "0.01"):
        assert word in one.output
    (content,) = json.loads(bench("list", suite, "--json").stdout)
    assert content["cells"] == 2
    assert content["contestants"] == ["sklearn:SVC"]
    assert len(content["programs"]) == 2


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform == "win32", reason="POSIX terminals")
def test_progress_is_drawn_in_a_terminal(tmp_path, suite):
    import pty

    ours, theirs = pty.openpty()
    command = ["run", str(suite), "--store", str(tmp_path / "s"), "--only", "C=1.0"]
    with started(
        [sys.executable, "-m", "benchmarks", *command],
        stdout=subprocess.DEVNULL, stderr=theirs, env={**os.environ, "TERM": "xterm"},
    ) as process:  # fmt: skip
        os.close(theirs)
        drawn = b""
        with suppress(OSError):  # how a terminal says that its other end is closed
            while select.select([ours], [], [], PATIENCE)[0] and (part := os.read(ours, 65536)):
                drawn += part
        os.close(ours)
        assert process.wait(PATIENCE) == 0
    assert b"\x1b" in drawn
    assert b" s left" in drawn
    assert b"1 rows in" in drawn
