"""The benchmark of samples in chunks, small: its data, its solve and its row."""

import json
from pathlib import Path

import pytest

from benchmarks.chunked import datasets, measure

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
