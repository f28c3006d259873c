"""The store: nothing written is lost, nothing foreign is touched, one writer at a time."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.cells import Cell, Instance
from benchmarks.rows import OUTCOMES, Row
from benchmarks.store import open_store, read_results
from qpsvm.exceptions import StoreError
from tests.processes import run

INSTANCE = Instance("SoftMargin(C=1.0)", "iris", "rbf(gamma='scale')")


def row(repeat=0, **values):
    cell = Cell(INSTANCE, "cvxopt(form='dual')", 1e-6, repeat=repeat)
    return Row(cell, **{"outcome": "optimal", **values})


def known(row):
    """All fields but those that are NaN, which equals nothing."""
    return {key: value for key, value in vars(row).items() if value == value}


def fill(path, rows, *, resume=False):
    with open_store(path, resume=resume) as store:
        store.begin({"suite": {"name": "test"}})
        for each in rows:
            store.append(each)


numbers = st.floats(allow_nan=False)
texts = st.text(max_size=20) | st.sampled_from(["nan", "inf", "-inf", "NaN"])


@given(
    outcome=st.sampled_from(sorted(OUTCOMES)),
    gap=numbers,
    message=texts,
    iterations=st.none() | st.integers(0, 10**12),
    residuals=st.dictionaries(texts, numbers, max_size=3),
    settings=st.dictionaries(texts, st.booleans() | st.integers() | texts, max_size=3),
)
def test_a_row_comes_back_as_it_was(tmp_path_factory, **values):
    path = tmp_path_factory.mktemp("store") / "s.jsonl"
    written = row(**values)
    fill(path, [written])
    (found,) = read_results(path).rows
    assert known(found) == known(written)


def test_unknown_numbers_come_back_unknown(tmp_path):
    fill(tmp_path / "s", [row(gap=math.inf, primal=-math.inf, dual=math.nan)])
    (found,) = read_results(tmp_path / "s").rows
    assert (found.gap, found.primal) == (math.inf, -math.inf)
    assert math.isnan(found.dual)


def test_settings_of_any_kind_become_plain(tmp_path):
    """Estimators have arrays, functions and NumPy's numbers among their parameters."""
    settings = {"tol": np.float64(1e-3), "classes": np.arange(2), "loss": len, "shape": (1, 2)}
    fill(tmp_path / "s", [row(settings=settings)])
    (found,) = read_results(tmp_path / "s").rows
    assert found.settings["tol"] == 1e-3
    assert found.settings["shape"] == [1, 2]
    assert found.settings["classes"] == "array([0, 1])"
    assert "len" in found.settings["loss"]


@pytest.mark.parametrize("lost", [1, 2, 30, 200])
def test_a_torn_last_line_is_cut_and_the_rest_kept(tmp_path, lost):
    path = tmp_path / "s.jsonl"
    rows = [row(k) for k in range(3)]
    fill(path, rows)
    content = path.read_bytes()
    path.write_bytes(content[:-lost])
    assert [known(r) for r in read_results(path).rows] == [known(r) for r in rows[:2]]
    fill(path, [rows[2]], resume=True)
    assert [known(r) for r in read_results(path).rows] == [known(r) for r in rows]
    assert path.read_bytes().count(b"\n") == path.read_bytes().count(b'{"schema"')


def test_every_row_is_on_disk_when_append_returns(tmp_path):
    path = tmp_path / "s.jsonl"
    with open_store(path) as store:
        for k in range(3):
            store.append(row(k))
            assert len(read_results(path).rows) == k + 1


def test_a_store_with_rows_is_continued_only_on_request(tmp_path):
    path = tmp_path / "s.jsonl"
    fill(path, [row()])
    before = path.read_bytes()
    with pytest.raises(StoreError, match="already holds 1 rows; add --resume"), open_store(path):
        pass
    assert path.read_bytes() == before


def test_the_later_row_of_a_cell_counts(tmp_path):
    fill(tmp_path / "s", [row(0, gap=1.0), row(1), row(0, gap=0.5)])
    found = read_results(tmp_path / "s").rows
    assert [(r.cell.repeat, r.gap) for r in found] == [(1, math.inf), (0, 0.5)]


@pytest.mark.parametrize(
    "content",
    [
        b"no store",
        b"no store\n",
        b'{"libsvm": 1}',
        b'{"schema": 99, "session": {}}\n',
        b'{"schema": 1, "cell": 3}\n',
        b'{"schema": 1, "outcome": "optimal"}\n',
        b"\xff\xfe\n",
        b"[]\n",
    ],
)
@pytest.mark.parametrize("resume", [True, False])
def test_a_foreign_file_is_refused_and_left_alone(tmp_path, content, resume):
    path = tmp_path / "precious"
    path.write_bytes(content)
    with pytest.raises(StoreError, match="precious"):
        fill(path, [row()], resume=resume)
    assert path.read_bytes() == content


def test_a_folder_or_a_missing_one_is_refused(tmp_path):
    for path in (tmp_path, tmp_path / "missing" / "s.jsonl"):
        with pytest.raises(StoreError, match="Cannot write"), open_store(path):
            pass
        with pytest.raises(StoreError, match="Cannot read"):
            read_results(path)


def test_a_line_in_the_middle_that_is_no_row_is_named(tmp_path):
    path = tmp_path / "s.jsonl"
    fill(path, [row(0), row(1)])
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], lines[1][:-30] + b"\n", lines[2]]))
    with pytest.raises(StoreError, match="line 2"):
        read_results(path)


def test_two_writers_are_refused(tmp_path):
    path = tmp_path / "s.jsonl"
    code = f"from benchmarks.store import open_store\nwith open_store({str(path)!r}): pass"
    with open_store(path) as store:
        store.append(row())
        other = run([sys.executable, "-c", code])
        assert "Another process is writing" in other.stderr
        with pytest.raises(StoreError, match="Another process"), open_store(path, resume=True):
            pass
    fill(path, [row(1)], resume=True)
    assert len(read_results(path).rows) == 2
