"""The README's figures are those of the committed rows."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "benchmarks" / "svc"


@pytest.fixture(scope="module")
def generator():
    return runpy.run_path(str(FOLDER / "report.py"))


def test_the_readme_is_what_the_generator_writes(generator):
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    assert generator["filled"](page) == page


def test_every_figure_of_the_table_is_a_row(generator):
    lines = (FOLDER / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    latest = {(row["C"], row["what"]): row["relative_gap"] for row in map(json.loads, lines)}
    cells = [line.split("|")[1:-1] for line in generator["table"]().splitlines()[2:]]
    shown = {float(value) for row in cells for value in row[1:]}
    assert len(latest) == 9
    assert shown == {float(f"{gap:.1e}") for gap in latest.values()}


def test_the_table_of_fits_is_that_of_the_rows():
    made = runpy.run_path(str(ROOT / "benchmarks" / "estimators" / "twelve.py"))
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    assert made["filled"](page) == page


def test_the_count_of_attempts_is_that_of_the_search_for_a_false_pass():
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    found = (ROOT / "docs" / "soundness.md").read_text(encoding="utf-8")
    passed, harmful, attempts = re.search(
        r"\*\*(\d+) of ([\d,]+) harmful mutants passed\*\* \(([\d,]+) mutants", found
    ).groups()
    assert f"**{attempts} attempts**" in page
    assert f"{passed} of {harmful} harmful ones passed" in page
    assert f"[{attempts} attempts" in page


def test_the_ratio_of_the_search_is_a_row():
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = (ROOT / "benchmarks" / "selection" / "README.md").read_text(encoding="utf-8")
    searches = lines.partition("# Searches")[2].splitlines()
    cells = next(line.split("|") for line in searches if line.startswith("| splice | 1000 |"))
    assert f"takes {cells[6].strip()} of the processor time" in page
    assert cells[10].strip() == "yes"
