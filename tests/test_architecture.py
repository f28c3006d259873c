"""Every path and name on the page about the architecture exists."""

from __future__ import annotations

import re
from importlib import import_module
from operator import attrgetter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PLACES = sorted(set(re.findall(r"`([A-Za-z_][\w.]*)` in\s+`([\w/]+\.py)`", PAGE)))
"""(name, path) wherever the page says "`name` in `path`"."""


def paths(line: str) -> list[Path]:
    """Paths between backticks; a short one may be inside a folder named before it on the line."""
    found, folders = list[Path](), [ROOT, ROOT / "qpsvm"]
    for text in re.findall(r"`([\w./]+(?:\.py|\.toml|/))`", line):
        options = [folder / text for folder in reversed(folders)]
        path = next((option for option in options if option.exists()), options[0])
        folders.append(path if path.is_dir() else path.parent)
        found.append(path)
    return found


LINES = [line for line in PAGE.splitlines() if paths(line)]


@pytest.mark.parametrize("line", LINES, ids=lambda line: line[:50])
def test_every_path_exists(line: str) -> None:
    assert [path for path in paths(line) if not path.exists()] == []


@pytest.mark.parametrize(("name", "path"), PLACES)
def test_every_name_is_in_its_module(name: str, path: str) -> None:
    module = import_module("qpsvm." + path.removesuffix(".py").replace("/", "."))
    assert attrgetter(name)(module) is not None


def test_the_page_has_ten_questions_with_an_answer_each() -> None:
    tour = PAGE.partition("## Ten questions\n")[2].partition("\n## ")[0]
    answers = re.split(r"^### \d+\. .*\?$", tour, flags=re.MULTILINE)[1:]
    assert len(answers) == 10
    for answer in answers:
        assert re.search(r"` in\s+`", answer), answer


def test_names_and_paths_that_do_not_exist_are_found_out() -> None:
    assert not paths("`solvers/nothing.py`")[0].exists()
    assert not paths("`solvers/box/curvature.py`, `nothing.py`")[1].exists()
    with pytest.raises(AttributeError):
        test_every_name_is_in_its_module("nothing", "solving/calls.py")
