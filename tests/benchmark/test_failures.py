"""A contestant that raises: what its row keeps, what the report says, and no first place."""

from __future__ import annotations

import io
import json
import math

import pytest
from rich.console import Console

from benchmarks import report
from benchmarks.cells import Cell, Instance
from benchmarks.metrics.rankings import ranking
from benchmarks.metrics.times import times_to
from benchmarks.report.document import document
from benchmarks.rows import LONGEST, Row, calls
from benchmarks.store import Results
from benchmarks.worker import measure
from qpsvm.reports.blocks import Table
from tests.benchmark import handmade
from tests.strategies import listed

SOLVER = """
from benchmarks.contestants.base import Contestant

def step_length(gradient):
    return 1.0 / gradient["norm"]

class Broken(Contestant):
    def fit(self, task):
        return step_length({})

    def answer(self, task, fitted):
        raise AssertionError
"""
WORDS = ("KeyError: 'norm'", "in step_length", 'return 1.0 / gradient["norm"]', "in fit")


@pytest.fixture(scope="module")
def row(tmp_path_factory):
    """Measured in this process; the tests of processes are elsewhere."""
    path = tmp_path_factory.mktemp("solvers") / "broken.py"
    path.write_text(SOLVER)
    return measure(Cell(Instance("SoftMargin(C=1.0)", "iris"), str(path), eps=1e-2))


def printed(rows):
    stream = io.StringIO()
    console = Console(file=stream, width=160, markup=False, emoji=False)
    report.print_summary(report.summarize(Results({}, tuple(rows))), console)
    return stream.getvalue()


def test_the_traceback_is_in_the_row(row):
    assert row.outcome == "error"
    for words in WORDS:
        assert words in row.traceback
    assert row.traceback.rstrip().endswith(row.message)
    assert "/broken.py" in row.traceback
    assert "/tmp" not in row.traceback
    assert Row.from_dict(json.loads(json.dumps(row.to_dict()))).traceback == row.traceback


def test_rows_of_older_stores_have_none(row):
    values = row.to_dict()
    del values["traceback"]
    assert Row.from_dict(values).traceback == ""


@pytest.mark.parametrize("suffix", ["html", "md"])
def test_every_report_shows_where_it_was_raised(row, suffix):
    shown = report.text_of(report.summarize(Results({}, (row, row))), suffix)
    shown = shown.replace("&#34;", '"').replace("&#39;", "'").replace("\\", "")
    for words in ("step_length", "1.0 / gradient", "norm", "2 cells", "broken.py:5"):
        assert words in shown
    text = printed((row, row))
    for words in ("KeyError: 'norm'", "step_length", 'return 1.0 / gradient["norm"]', "2 cells"):
        assert words in text
    assert text.count("step_length(") == 1  # once for both cells


def test_many_exceptions_are_counted_and_not_listed():
    rows = [
        handmade.failure("a", "error", instance=handmade.program(k), traceback=f"line {k}")
        for k in range(15)
    ]
    text = printed(rows)
    assert text.count(" raised ") == 10
    assert "5 exceptions more in the store's rows" in text


def test_a_long_traceback_keeps_its_end():
    def deeper(n):
        if n == 0:
            raise ValueError("the end")
        deeper(n - 1)

    with pytest.raises(ValueError, match="the end") as raised:
        deeper(200)
    kept = calls(raised.value)
    assert len(kept) <= LONGEST
    assert kept.endswith("ValueError: the end\n")


# --- nobody reached anything -----------------------------------------------------------------


def test_who_reached_nothing_has_no_place():
    rows = handmade.store({"never": ["error", "crash"], "once": [1.0, "time limit"]})
    ranks = ranking(times_to(rows, 1e-6)).ranks
    assert [rank.contestant for rank in ranks] == ["once", "never"]
    assert ranks[0].place.value == 1.0
    assert math.isnan(ranks[1].place.value)
    for rank in ranking(times_to(handmade.store({"a": ["error"], "b": ["crash"]}), 1e-6)).ranks:
        assert math.isnan(rank.place.value)


@listed("outcome", ["error", "unsupported", "crash", "time limit", "not installed"], quick=2)
def test_a_store_of_failures_says_so_under_its_headings(outcome):
    rows = handmade.store({"a": [outcome, outcome], "b": [outcome, outcome]})
    text = printed(rows)
    for heading in ("Outcomes", "Programs without a lower bound", "To a certified gap of 1e-06"):
        assert heading in text
    assert text.count("Nobody reached a certified gap of") == 3
    content = document(report.summarize(Results({}, rows)))
    for section in content.sections:
        for block in section.blocks:
            if isinstance(block, Table):
                assert any(block.rows), "a table of headings alone"
                headings = [column.title for column in block.columns]
                if "Place" in headings:
                    assert {line[headings.index("Place")].text for line in block.rows} == {"-"}
