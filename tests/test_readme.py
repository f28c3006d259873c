"""The README's figures are those of the committed rows."""

from __future__ import annotations

import json
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
