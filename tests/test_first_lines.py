"""A docstring's first line is understood alone: it is no riddle about what, who or those."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BENCHMARK = ("", "contestants/", "metrics/", "report/")
SOURCES = [*ROOT.glob("qpsvm/**/*.py")]
SOURCES += [path for folder in BENCHMARK for path in ROOT.glob(f"benchmarks/{folder}*.py")]
RIDDLE = re.compile(
    r"(?:What|Who|Whose|Whom|Which|Those|These|That|They|Whoever|Whatever|Of|By how|How) "
    r"|.*\b(?:whoever|nobody|somebody|anybody|everybody)\b"
)


def first_lines(path: Path) -> Iterator[tuple[str, str]]:
    """(place, first line) of every docstring of a module, the module's own among them."""
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        text = ast.get_docstring(node) if isinstance(node, kinds) else None
        if text:
            place = path.relative_to(ROOT)
            yield f"{place}: {getattr(node, 'name', 'module')}", text.splitlines()[0]


def test_no_first_line_is_a_riddle() -> None:
    found = [
        f"{place}: {line}"
        for path in sorted(SOURCES)
        for place, line in first_lines(path)
        if RIDDLE.match(line)
    ]
    assert found == []


def test_riddles_are_found() -> None:
    assert RIDDLE.match("What rounding may hide.")
    assert RIDDLE.match("Of the objective, which gaps are relative to.")
    assert RIDDLE.match("The native status, trusted by nobody.")
    assert not RIDDLE.match("Bound on the rounding error of the duality gap.")
