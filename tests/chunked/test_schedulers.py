"""The bits of a solution depend neither on the scheduler nor on workers that live or die."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from distributed import Client
from pyarrow import parquet

import qpsvm
from qpsvm.chunked import chunked
from qpsvm.exceptions import ChunkError
from tests.chunked.faults import main
from tests.chunked.large import MEMORY, ROWS, problem, samples
from tests.processes import run

ROOT = Path(__file__).resolve().parents[2]


def stored(folder: Path) -> Path:
    """The samples as Parquet, two row groups to a file."""
    X, y = samples()
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y)
    parts = folder / "parts"
    parts.mkdir()
    for k, start in enumerate(range(0, len(X), 2 * ROWS)):
        table = pa.Table.from_pandas(frame.iloc[start : start + 2 * ROWS], preserve_index=False)
        parquet.write_table(table, parts / f"part-{k}.parquet", row_group_size=ROWS)
    return parts


def elsewhere(folder: Path, *arguments: str) -> Any:
    """What a process of its own found."""
    command = [sys.executable, "-m", "tests.chunked.faults", str(folder), *arguments]
    return json.loads(run(command, check=True, cwd=ROOT).stdout.splitlines()[-1])


def here(folder: Path, scheduler: str, capsys: Any) -> Any:
    main(str(folder), scheduler)
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def test_threads_and_the_order_of_tasks_change_no_bit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = stored(tmp_path)
    found = [here(folder, name, capsys) for name in ("synchronous", "threads", "shuffled")]
    assert found[0]["status"] == "optimal"
    assert [own["bits"] for own in found] == [found[0]["bits"]] * 3


@pytest.mark.parametrize(
    "workers",
    [
        pytest.param("1", marks=pytest.mark.exhaustive),
        pytest.param("2", marks=pytest.mark.exhaustive),
        pytest.param("4", marks=pytest.mark.exhaustive),
    ],
)
def test_the_number_of_workers_changes_no_bit(
    workers: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = stored(tmp_path)
    found = elsewhere(folder, workers)
    assert found["bits"] == here(folder, "synchronous", capsys)["bits"]
    assert found["lost"] == 0


@pytest.mark.exhaustive
@pytest.mark.parametrize("number", ["1", "2", "3", "5"])
def test_a_worker_that_is_killed_in_a_pass_changes_no_bit(
    number: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With SIGKILL, in the pass of that number; Dask's own retries suffice."""
    folder = stored(tmp_path)
    found = elsewhere(folder, "2", number)
    assert (tmp_path / f"read-{number}").exists()
    assert found["lost"] == 1
    assert found["bits"] == here(folder, "synchronous", capsys)["bits"]


@pytest.mark.exhaustive
@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_ctrl_c_in_a_pass_hands_out_what_was_reached(scheduler: str, tmp_path: Path) -> None:
    """A real signal, in the pass after the first dual point."""
    found = elsewhere(stored(tmp_path), scheduler, "5", "SIGINT")
    assert found["status"] == "interrupted"
    assert 1e-9 < found["gap"] < 1e-3


@pytest.mark.exhaustive
@pytest.mark.parametrize("workers", ["1", "2"])
def test_ctrl_c_with_a_client_ends_the_work_of_its_workers(workers: str, tmp_path: Path) -> None:
    """The best machine so far comes out while a worker still reads, and nothing else is begun."""
    command = [sys.executable, "-m", "tests.chunked.faults", str(stored(tmp_path)), workers]
    ended = run([*command, "5", "SIGINT"], check=True, cwd=ROOT)
    found = json.loads(ended.stdout.splitlines()[-1])
    assert found["status"] == "interrupted"
    assert 1e-9 < found["gap"] < 1e-3
    assert found["lost"] == 0
    assert "Traceback" not in ended.stderr


def test_verbose_shows_the_progress_of_a_client(capsys: pytest.CaptureFixture[str]) -> None:
    with Client(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"):
        solution = qpsvm.solve(problem(rows=3000), options=MEMORY, verbose=True)
    printed = capsys.readouterr().out
    passes = len(solution.statistics.trace)
    assert printed.count("objective") == passes
    assert printed.count("100% Completed") >= passes  # Dask's own bar


def test_an_error_in_a_chunk_comes_out_of_a_client_as_it_is(tmp_path: Path) -> None:
    folder = stored(tmp_path)
    rows = chunked(folder, "y", rows=ROWS)
    (folder / "part-1.parquet").unlink()
    with (
        Client(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"),
        pytest.raises(ChunkError, match="part-1"),
    ):
        qpsvm.SoftMargin(C=1.0).dual(rows)
