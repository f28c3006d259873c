"""The bits of a solution depend neither on the scheduler nor on workers that live or die."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.passes.faults import main
from tests.passes.large import ROWS, samples
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
    command = [sys.executable, "-m", "tests.passes.faults", str(folder), *arguments]
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


@pytest.mark.parametrize(
    "number", ["3", *(pytest.param(k, marks=pytest.mark.exhaustive) for k in ("1", "2", "5"))]
)
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
