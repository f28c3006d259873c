"""Every python block of the documentation runs, and prints what the page says it prints."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from tests.strategies import listed

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "formulations.md"
PAGES = {
    "formulations": 10, "certificates": 6, "audit": 5, "report": 1, "polish": 1, "displays": 3,
    "index": 1, "five_objects": 5, "lagrangians": 1, "backends": 1, "faq": 21, "classical": 12,
    "model_selection": 1,
}  # fmt: skip
"""Pages with blocks, and how many of them print something at least."""
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(path):
    """(language, line number, text) of every fenced block, in order."""
    page = path.read_text(encoding="utf-8")
    for match in BLOCK.finditer(page):
        yield match[1], page.count("\n", 0, match.start(2)) + 1, match[2]


@listed("name", PAGES, quick=4)
def test_the_blocks_of_a_page_run_one_after_the_other(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = DOCS / f"{name}.md"
    names: dict[str, object] = {}
    compared = 0
    for (language, line, code), (following, _, printed) in pairwise([*blocks(path), ("", 0, "")]):
        if language != "python":
            continue
        exec(compile("\n" * (line - 1) + code, str(path), "exec"), names)
        seen = capsys.readouterr().out
        if following == "text":
            assert seen == printed, f"block in line {line}"
            compared += 1
        else:
            assert seen == "", f"block in line {line}"
    assert compared >= PAGES[name]


def test_every_formulation_has_its_section() -> None:
    import qpsvm

    classes = [name for name in qpsvm.__all__ if isinstance(getattr(qpsvm, name), type)]
    families = [name for name in classes if hasattr(getattr(qpsvm, name), "dual")]
    assert len(families) >= 11
    page = PAGE.read_text(encoding="utf-8")
    for name in families:
        assert re.search(rf"^## .*\b{name}\b", page, re.MULTILINE), name


def test_links_within_the_page_lead_somewhere() -> None:
    page = PAGE.read_text(encoding="utf-8")
    headings = {
        re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", "-")
        for title in re.findall(r"^#+ (.*)$", page, re.MULTILINE)
    }
    targets = set(re.findall(r"\]\(#([\w-]+)\)", page))
    assert targets
    assert targets <= headings
