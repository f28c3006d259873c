"""The glossary names what is there, and every concept once."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from pkgutil import resolve_name

import pytest

import qpsvm

PAGE = Path(__file__).parents[1] / "docs" / "glossary.md"
ROWS = [
    [cell.strip() for cell in line.strip("|\n").split("|")]
    for line in PAGE.read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and not line.startswith(("| term |", "|---"))
]
RESULTS = (qpsvm.SVMSolution, qpsvm.KKTReport, qpsvm.Certificate)


def names(cell: str) -> list[str]:
    """What stands between backticks."""
    return re.findall(r"`([^`]+)`", cell)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_the_names_of_a_concept_are_in_the_code(row: list[str]) -> None:
    for name in names(row[2]):
        if name.startswith("qpsvm"):
            resolve_name(name)
        else:
            kinds = [c for kind in RESULTS for c in kind.__mro__[:-1]]
            declared = any(name in vars(c) or name in c.__annotations__ for c in kinds)
            assert declared, f"{name} is neither a path nor an attribute of a result"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_every_term_has_a_definition(row: list[str]) -> None:
    """Words beside names of the code and sources, which begin with the names of authors."""
    words = re.sub(r"`[^`]*`", "", row[3]).split(";")[0]
    source = re.match(r"\s*[A-Z][\w-]+(,| and|\s+et al|\s*\(\d{4})", words)
    assert source is None, row[3]
    assert len(words.split()) >= 3, row[3]


def test_every_term_stands_once() -> None:
    terms = Counter(row[0] for row in ROWS)
    assert max(terms.values()) == 1
    assert len(terms) > 40
