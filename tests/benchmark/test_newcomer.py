"""The page's promise: one file of under 40 lines puts a solver into the comparison."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks import runner
from benchmarks.suite import suite_of

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "benchmark_solver.py"
PAGE = ROOT / "docs" / "benchmark.md"


def test_the_file_is_short_and_the_page_shows_it() -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    assert len(text.splitlines()) < 40
    shown = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert text in shown


@pytest.mark.exhaustive
def test_the_newcomer_is_compared(tmp_path: Path) -> None:
    """Beside a solver that is known, in processes of their own, and judged like everybody."""
    programs = ["SoftMargin(C=0.1, intercept='none')", "SoftMargin(C=0.1)"]
    common = {"data": ["wine"], "eps": [1e-6]}
    suite = suite_of(
        {
            "name": "newcomer",
            "targets": [1e-6],
            "grid": [
                {"family": programs, "contestants": [str(EXAMPLE)]} | common,
                {"family": programs[:1], "contestants": ["cvxopt"]} | common,
            ],
        }
    )
    rows = runner.run(suite, tmp_path / "store.jsonl").rows
    mine = {(r.instance.family, r.cell.eps): r for r in rows if r.contestant == str(EXAMPLE)}
    theirs = [r for r in rows if r.contestant == "cvxopt"]
    assert mine[programs[0], 1e-6].outcome == "optimal"
    assert mine[programs[0], 1e-6].gap <= 1e-6
    assert mine[programs[0], 1e-6].primal >= max(r.dual for r in theirs)
    assert mine[programs[0], 1e-6].total_seconds > 0.0
    assert mine[programs[1], 1e-6].outcome == "unsupported"
