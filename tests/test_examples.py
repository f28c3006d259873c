"""Every example runs as it stands, without a warning."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from tests.strategies import listed

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@listed("path", EXAMPLES, quick=1)  # the site's build runs all of them, too
def test_example(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        runpy.run_path(str(path), run_name="__main__")
    finally:
        plt.close("all")  # Matplotlib warns of more than twenty figures
    assert capsys.readouterr().out


def test_the_lines_of_the_readme(capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    estimator, program = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(estimator, {})
    score, gap, share_proven = map(float, capsys.readouterr().out.split())
    assert score > 0.98
    assert gap <= 1e-8
    assert share_proven == 1.0
    exec(program, {})
    assert "PASS at eps=1e-08" in capsys.readouterr().out


def test_there_are_examples_and_they_are_short() -> None:
    assert EXAMPLES
    for path in EXAMPLES:
        assert len(path.read_text(encoding="utf-8").splitlines()) < 80
