"""The benchmark of samples in chunks, small: its data, solves, rows, other learners and report."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import qpsvm
from benchmarks.chunked import datasets, measure, peers, pictures, report, spark_peer
from qpsvm.chunked.machine import Machine

ROWS = 30_000


@pytest.mark.exhaustive
def test_a_small_run_passes_and_stores_what_it_measured(tmp_path: Path) -> None:
    folder = tmp_path / "synthetic"
    datasets.write("synthetic", ROWS, folder)
    row = measure.measured(folder, 1.0, workers=None)
    assert row["passed"]
    assert row["rows"] == ROWS
    assert row["passes"] == len(row["kinds"]) + 1
    assert json.loads(json.dumps(row)) == row


def test_rows_depend_on_the_number_of_their_file_alone() -> None:
    X, y = datasets.synthetic(100, 3)
    again, labels = datasets.synthetic(100, 3)
    other, _ = datasets.synthetic(100, 4)
    assert (again == X).all()
    assert (y == labels).all()
    assert not (other == X).all()


def small_problem() -> Any:
    X, y = datasets.synthetic(300, 0)
    return qpsvm.SoftMargin(C=2.0).dual(qpsvm.chunked.chunked(X, y, rows=100), None)


def machine_of(w: float) -> Machine:
    return Machine(np.full(datasets.FEATURES, w), 0.1, 0.0)


def clocked(monkeypatch: pytest.MonkeyPatch, durations: list[float]) -> None:
    """Every second look at the clock is so much later, and no time passes in between."""

    def times() -> Iterator[float]:
        now = 0.0
        for duration in durations:
            yield now
            now += duration
            yield now

    monkeypatch.setattr(peers, "time", SimpleNamespace(perf_counter=times().__next__))


def test_the_gap_is_that_of_the_objective_written_out() -> None:
    problem, machine = small_problem(), machine_of(0.05)
    X, y = datasets.synthetic(300, 0)
    losses = np.maximum(0.0, 1.0 - np.where(y, 1.0, -1.0) * (X @ machine.coef + 0.1))
    objective = 0.5 * float(machine.coef @ machine.coef) + 2.0 * float(losses.sum())
    bound = 0.25 * objective
    assert peers.gap(problem, machine, bound) == pytest.approx(0.75, rel=1e-6)


def test_spark_is_asked_for_the_same_program() -> None:
    n, C = 300, 2.0
    found = spark_peer.parameters(C, n, 7)
    X, y = datasets.synthetic(n, 0)
    w = machine_of(0.05).coef
    losses = np.maximum(0.0, 1.0 - np.where(y, 1.0, -1.0) * (X @ w))
    theirs = losses.mean() + 0.5 * found["regParam"] * float(w @ w)
    assert C * n * theirs == pytest.approx(0.5 * float(w @ w) + C * losses.sum())
    assert found["maxIter"] == 7
    assert found["fitIntercept"]
    assert not found["standardization"]


def test_fits_end_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    clocked(monkeypatch, [1.0, 2.0, 4.0])
    asked = []

    def fit(iterations: int) -> tuple[Machine, int]:
        asked.append(iterations)
        return machine_of(float(iterations)), iterations

    rows = list(peers.fit_after_fit(fit, lambda machine: float(machine.coef[0]), 3.0))
    assert rows == [
        {"seconds": 1.0, "gap": 1.0, "iterations": 1},
        {"seconds": 2.0, "gap": 2.0, "iterations": 2},
    ]
    assert asked == list(peers.ITERATIONS[:3])


def test_a_fit_that_stops_by_itself_is_the_last() -> None:
    rows = list(peers.fit_after_fit(lambda most: (machine_of(0.0), min(most, 4)), abs_of, 1e9))
    assert [row["iterations"] for row in rows] == [1, 2, 3, 4]


def abs_of(machine: Machine) -> float:
    return float(np.abs(machine.coef).sum())


def test_learners_of_chunks_are_judged_once_for_each_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    clocked(monkeypatch, [1.0] * 7)
    learned = []

    def learn(X: np.ndarray, y: np.ndarray) -> None:
        assert len(X) == len(y)
        learned.append(len(X))

    learner = SimpleNamespace(name="name", learn=learn, machine=lambda: machine_of(0.0))
    judge = partial(peers.gap, small_problem(), bound=0.0)
    rows = list(peers.chunk_after_chunk(small_problem(), learner, judge, [2.0, 7.0]))
    assert [(row["seconds"], row["gap"]) for row in rows] == [(2.0, 1.0), (7.0, 1.0)]
    assert learned == [100] * 7


def test_the_report_takes_the_best_fit_within_each_time() -> None:
    shared = {"data": "s3m", "C": 1.0}
    own = {**shared, "name": "qpsvm", "seconds": 6.0, "gap": 1e-7}
    pairs = [(5.0, 1e-2), (5.5, 1e-3), (6.5, 1e-5), (59.0, 2e-9), (50.0, 1e-9), (61.0, 1e-10)]
    fits = [
        {**shared, "name": "other", "iterations": k, "seconds": seconds, "gap": gap}
        for k, (seconds, gap) in enumerate(pairs)
    ]
    elsewhere = {**fits[0], "data": "s1m", "gap": 1e-12}
    assert report.within([own, *fits, elsewhere]) == [own, fits[1], fits[4]]
    assert report.within([own, *fits[2:4]]) == [own, fits[3]], "nothing ends within the first"


def test_the_report_is_that_of_the_stored_rows() -> None:
    stored = (report.HERE / "README.md").read_text(encoding="utf-8")
    assert stored == report.page(), "run: python -m benchmarks.chunked.report"


def test_pictures_show_every_size_and_every_learner(tmp_path: Path) -> None:
    solves = pictures.of_growth(report.rows("rows.jsonl"))
    assert [row["rows"] for row in solves] == [3_000_000, 30_000_000, 100_000_000]
    pictures.draw_growth(solves, tmp_path / "growth.svg")
    stored = report.rows("peers.jsonl")
    assert {row["name"] for row in stored} == set(pictures.COLOURS)
    pictures.draw_peers(stored, tmp_path / "peers.svg")
    for name in ("growth.svg", "peers.svg"):
        assert "<svg" in (tmp_path / name).read_text(encoding="utf-8")
        assert (report.HERE / name).exists()
