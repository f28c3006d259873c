"""The runner: whatever happens to a process is a row, and nobody waits for it."""

from __future__ import annotations

import math
import os
import re
import time
from pathlib import Path

import joblib
import pytest

from benchmarks import runner
from benchmarks.cells import Cell, Instance
from benchmarks.process import THREADS, measure_apart
from benchmarks.rows import OUTCOMES
from benchmarks.suite import suite_of
from benchmarks.worker import measure
from qpsvm.exceptions import StoreError, SuiteError

TROUBLED = Path(__file__).with_name("troubled.py")
IRIS = Instance("SoftMargin(C=1.0)", "iris")


def suite(contestants, eps=(1e-2,), **settings):
    grid = {"family": [IRIS.family], "data": [IRIS.data]}
    grid |= {"contestants": list(contestants), "eps": list(eps)}
    return suite_of({"name": "tiny", "time_limit": 20.0, "grid": [grid], **settings})


def troubled(kind, **arguments):
    inside = ", ".join(f"{k}={v!r}" for k, v in {"kind": kind, **arguments}.items())
    return f"{TROUBLED}({inside})"


# --- what becomes of a process ------------------------------------------------------------------

ENDS = {
    "segfault": ("crash", "SIGSEGV while fitting"),
    "abort": ("crash", "SIGABRT while fitting: terminate called: the tableau is upside down"),
    "abort_without_memory": ("memory limit", "SIGABRT while fitting: .*std::bad_alloc"),
    "crash_when_asked": ("crash", "SIGABRT while answering"),
    "tamper": ("error", "QPSVMError: the contestant changed the samples"),
    "leave": ("crash", "exit code 3 while fitting"),
    "hang": ("time limit", "ended while fitting"),
    "overrun": ("time limit", "ended after the limit"),
    "allocate": ("memory limit", "MemoryError: Unable to allocate 7.45 GiB"),
    "fail": ("error", "RuntimeError: no pivot"),
    "refuse": ("unsupported", "UnsupportedProgramError: not on Saturdays"),
    "shout": ("inaccurate", ""),
}


RARE = tuple(kind for kind in ENDS if kind != "hang")
KINDS = [("hang",), pytest.param(RARE, marks=pytest.mark.exhaustive)]


@pytest.fixture(scope="module", params=KINDS, ids=["hang", "rare"])
def ends(tmp_path_factory, request):
    chosen = suite(map(troubled, request.param), time_limit=1.0, memory_limit=4e9)
    began = time.perf_counter()
    results = runner.run(chosen, tmp_path_factory.mktemp("ends") / "s.jsonl", jobs=2)
    assert time.perf_counter() - began < 300.0
    found = {re.search("kind='(.*?)'", row.contestant)[1]: row for row in results.rows}
    assert set(found) == set(request.param)
    return found


@pytest.mark.exhaustive
def test_every_end_is_a_row(ends):
    for kind, row in ends.items():
        outcome, message = ENDS[kind]
        assert row.outcome == outcome, kind
        assert re.match(message, row.message), row.message


def test_rows_of_processes_that_never_answered_say_what_was_measured(ends):
    for row in ends.values():
        assert (row.suite, row.n, row.d, row.density) == ("tiny", 150, 4, 1.0)
        assert row.outcome in OUTCOMES
        assert row.problem_hash
        assert row.machine["cores"] >= 1
        assert row.qpsvm
    if "hang" in ends:
        assert math.isnan(ends["hang"].total_seconds)
        return
    # it was fitted before it crashed
    assert ends["crash_when_asked"].total_seconds < 1.0
    assert 1.2 <= ends["overrun"].total_seconds < 2.1
    assert ends["overrun"].cpu_seconds < 0.6  # it slept


# --- what a row says ------------------------------------------------------------------------------


def test_in_a_process_of_its_own_or_here_the_row_is_the_same():
    cell = Cell(IRIS, "cvxopt(form='dual')", 1e-8)
    apart, here = measure_apart(cell), measure(cell)
    # the same arithmetic in the same order: to the last bit
    for name in ("outcome", "verified", "gap", "primal", "dual", "iterations", "problem_hash"):
        assert getattr(apart, name) == getattr(here, name), name
    assert here.outcome == "optimal"
    assert here.form == "dual"
    assert here.settings["reltol"] <= 1e-8
    for row in (apart, here):
        parts = row.build_seconds + row.setup_seconds + row.solve_seconds
        assert 0.0 < row.solve_seconds <= parts <= row.total_seconds
        assert row.cpu_seconds > 0.0
        assert row.data_bytes == 150 * 4 * 8
        assert row.peak_bytes > 1e7


def test_a_package_that_is_missing_and_a_name_in_the_data_that_is_wrong():
    missing = measure(Cell(IRIS, "cvxpy:GUROBI", 1e-8))
    assert missing.outcome == "not installed"
    unknown = measure(Cell(Instance(IRIS.family, "atlantis"), "cvxopt", 1e-8))
    assert unknown.outcome == "not measured"  # which says nothing about cvxopt
    assert "atlantis" in unknown.message


def test_a_judge_that_fails_is_nobodys_failure(monkeypatch):
    def fails(*_):
        raise MemoryError("of the judge")

    monkeypatch.setattr("benchmarks.worker.judge", fails)
    row = measure(Cell(IRIS, "cvxopt", 1e-8))
    assert row.outcome == "not measured"
    assert "of the judge" in row.message
    assert row.total_seconds > 0.0


def test_threads_are_what_the_cell_says(tmp_path):
    """Read by the libraries when they load, so the process begins with them."""
    spy = tmp_path / "spy.py"
    spy.write_text(
        "import os\n"
        "from benchmarks.contestants.base import Answer, Contestant\n"
        "from qpsvm.qp import Status\n"
        "class Spy(Contestant):\n"
        "    name = 'spy'\n"
        "    def fit(self, task): return {k: os.environ.get(k) for k in sorted(os.environ)}\n"
        "    def answer(self, task, fitted):\n"
        "        return Answer(Status.UNKNOWN, settings=fitted)\n"
    )
    row = measure_apart(Cell(IRIS, str(spy), 1e-2, threads=3))
    assert {name: row.settings[name] for name in THREADS} == dict.fromkeys(THREADS, "3")
    assert os.environ.get("OMP_NUM_THREADS") != "3"


@pytest.mark.exhaustive
def test_a_file_that_is_called_like_a_package_is_not_that_package(tmp_path, monkeypatch):
    (tmp_path / "cvxopt.py").write_text("raise RuntimeError('a script of the user')\n")
    monkeypatch.chdir(tmp_path)
    assert measure_apart(Cell(IRIS, "cvxopt(form='dual')", 1e-6)).outcome == "optimal"


# --- runs -----------------------------------------------------------------------------------------


@pytest.mark.exhaustive
@pytest.mark.parametrize("backend", ["multiprocessing", "loky"])
def test_a_joblib_backend_runs_a_suite_unchanged(tmp_path, backend):
    """Loky hands rows back one by one, multiprocessing (and Ray) only when all are there."""
    chosen = suite(["sklearn:SVC", troubled("segfault")])
    with joblib.parallel_config(backend=backend, n_jobs=2):
        results = runner.run(chosen, tmp_path / "s.jsonl")
    assert {row.cell for row in results.rows} == set(chosen.cells)
    assert sorted(row.outcome for row in results.rows) == ["crash", "optimal"]


@pytest.mark.exhaustive
def test_progress_counts_every_row_and_the_time_left_ends_at_zero(tmp_path):
    events = []
    chosen = suite(["cvxopt(form='dual')"], repeats=2, targets=[1e-14])
    results = runner.run(chosen, tmp_path / "s.jsonl", callback=events.append)
    assert [event.row.cell for event in events] == [row.cell for row in results.rows]
    assert len(results.rows) == 2
    assert all(0.0 <= event.seconds_left < math.inf for event in events)
    assert events[-1].seconds_left == 0.0
    assert results.header["suite"]["targets"] == [1e-14]
    again = runner.run(chosen, tmp_path / "s.jsonl", resume=True, callback=events.append)
    assert len(again.rows) == len(events) == 2
    with pytest.raises(StoreError, match="--resume"):
        runner.run(chosen, tmp_path / "s.jsonl")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"contestants": ["nobody"]}, "nobody"),
        ({"family": ["SoftMargin(D=1)"]}, "SoftMargin"),
        ({"kernel": ["magic"]}, "magic"),
    ],
)
def test_a_wrong_name_ends_the_run_before_it_begins(tmp_path, change, message):
    grid = {"family": [IRIS.family], "data": [IRIS.data], "contestants": ["cvxopt"], "eps": [1e-2]}
    with pytest.raises(SuiteError, match=message):
        runner.run(suite_of({"grid": [grid | change]}), tmp_path / "s.jsonl")
    assert not (tmp_path / "s.jsonl").exists()


@pytest.mark.exhaustive
def test_a_contestant_added_later_or_that_failed_is_all_that_is_measured(tmp_path):
    store, flag = tmp_path / "s.jsonl", tmp_path / "repaired"
    moody = tmp_path / "moody.py"
    moody.write_text(
        "from pathlib import Path\n"
        "from benchmarks.contestants.base import Answer, Contestant\n"
        "from qpsvm.qp import Status\n"
        "class Moody(Contestant):\n"
        f"    def fit(self, task): Path({str(flag)!r}).read_text()\n"
        "    def answer(self, task, fitted): return Answer(Status.UNKNOWN)\n"
    )
    small = suite(["sklearn:SVC"])
    (first,) = runner.run(small, store).rows
    chosen = small.with_contestants([str(moody)])
    before = runner.run(chosen, store, resume=True).rows
    assert [row.cell for row in before] == list(chosen.cells)
    assert before[0].total_seconds == first.total_seconds
    assert [row.outcome for row in before] == ["optimal", "error"]
    flag.write_text("")
    after = runner.run(chosen, store, resume=True, retry=["error"]).rows
    assert [row.outcome for row in after] == ["optimal", "inaccurate"]
    assert after[0].total_seconds == before[0].total_seconds
