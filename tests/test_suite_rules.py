"""What holds for the suite itself: what the quick run keeps, threads, waits."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import threadpoolctl
from hypothesis import settings

from tests.families import settings as every_setting
from tests.strategies import drawn, examples, grid, in_parts, numbered, product_of, spared

HERE = Path(__file__).resolve().parent
WAITS = re.compile(r"\bsubprocess\b|\.(wait|communicate)\b")
ENDLESS = {"run", "call", "check_call", "check_output", "wait", "communicate"}


# --- the quick run ------------------------------------------------------------------------------


def kept(mark: pytest.MarkDecorator) -> tuple[list[tuple[object, ...]], list[tuple[object, ...]]]:
    """All values of a parametrised test, and those of the quick run."""
    names, parameters = mark.args
    single = "," not in names
    values = [(p.values[0] if single else p.values, p.marks) for p in parameters]
    return [v for v, _ in values], [v for v, marks in values if not marks]


@pytest.mark.parametrize("together", [1, 2])
@pytest.mark.parametrize("names", ["setting", "name, form, kernel, intercept"])
def test_a_grid_loses_no_values_that_occur_together(names: str, together: int) -> None:
    settings = list(every_setting())
    exhaustive, quick = kept(grid(names, settings, together=together))
    assert set(quick) < set(exhaustive) <= set(settings)
    assert len(quick) < len(settings) / 3

    def covered(chosen: list[tuple[object, ...]], size: int) -> set[tuple[object, ...]]:
        return {part for s in chosen for part in combinations(enumerate(s), size)}

    assert covered(quick, together) == covered(settings, together)
    assert covered(exhaustive, together + 1) == covered(settings, together + 1)


def test_of_a_grid_that_needs_all_of_its_settings_all_are_kept() -> None:
    settings = list(product("abc", "xy"))
    assert kept(grid("one, other", settings, together=2)) == (settings, settings)


def test_numbered_cases_begin_with_the_quick_ones() -> None:
    marks = [getattr(p, "marks", ()) for p in numbered("k", 5, quick=2).args[1]]
    assert [bool(m) for m in marks] == [False, False, True, True, True]
    assert [bool(getattr(p, "marks", ())) for p in in_parts.args[1]].count(False) == 1


@dataclass
class Place:
    """An item of pytest, as far as parameters go."""

    callspec: Any
    marks: list[pytest.Mark]

    def iter_markers(self, _: str) -> list[pytest.Mark]:
        return self.marks


def items_of(*lists: Sequence[object], fixture: Sequence[object] = ()) -> list[Place]:
    """The tests that a product of parameters makes, and one of a fixture's."""
    names = [f"p{k}" for k in range(len(lists))]
    marks = [pytest.mark.parametrize(n, v).mark for n, v in zip(names, lists, strict=True)]
    names += ["own"] if fixture else []
    every = product(*lists, *([fixture] if fixture else []))
    return [Place(SimpleNamespace(params=dict(zip(names, p, strict=True))), marks) for p in every]


def test_of_a_product_of_parameters_every_value_is_kept() -> None:
    lists = ["a", "b", "c", "d", "e"], [1, 2, 3], [[], {}]
    every = items_of(*lists, fixture=[None, "own"])
    gone = spared(every)
    kept = [item.callspec.params for item in every if item not in gone]
    assert len(kept) == 5
    assert {p["p0"] for p in kept} == set(lists[0])
    assert {p["p1"] for p in kept} == set(lists[1])
    assert [] in [p["p2"] for p in kept]
    assert {} in [p["p2"] for p in kept]
    assert {p["own"] for p in kept} == {None, "own"}


def test_of_one_list_of_parameters_nothing_is_spared() -> None:
    assert [product_of(item) for item in items_of(["a", "b"])] == [(), ()]


def test_every_test_is_drawn_by_some_text_and_one_in_so_many_by_each() -> None:
    names = [f"tests/test_a.py::test_b[{k}]" for k in range(2000)]
    shares = [{name for name in names if drawn(name, 8, str(draw))} for draw in range(80)]
    assert all(150 < len(share) < 350 for share in shares)
    assert set().union(*shares) == set(names)
    assert all(drawn(name, 1, "") for name in names)


def test_examples_are_a_share_of_what_the_exhaustive_run_draws() -> None:
    share = settings.default.max_examples
    assert share in (5, 100)
    assert examples(200) == 2 * share
    assert examples(1) >= 1


# --- threads --------------------------------------------------------------------------------------


def test_linear_algebra_has_one_thread_unless_the_user_says_otherwise() -> None:
    limit = max(int(os.environ[f"{name}_NUM_THREADS"]) for name in ("OMP", "OPENBLAS", "MKL"))
    libraries = threadpoolctl.threadpool_info()
    assert libraries
    assert all(library["num_threads"] <= limit for library in libraries), libraries


# --- waits ----------------------------------------------------------------------------------------


def endless_waits(source: str) -> Iterator[int]:
    """Lines of calls that wait for a process, with no limit."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        name, of = node.func.attr, ast.unparse(node.func.value)
        starts = of == "subprocess" and name in ENDLESS
        waits = name in {"wait", "communicate"} and not node.args
        limited = any(keyword.arg in {"timeout", None} for keyword in node.keywords)
        if (starts or waits) and not limited:
            yield node.lineno


def test_every_wait_for_a_process_ends() -> None:
    """``tests.processes`` has ``run``, ``started`` and ``PATIENCE`` for that."""
    found = [
        f"{path.relative_to(HERE)}:{line}"
        for path in HERE.rglob("*.py")
        if WAITS.search(source := path.read_text(encoding="utf-8"))  # to parse all takes seconds
        for line in endless_waits(source)
    ]
    assert found == []


def test_an_endless_wait_is_seen() -> None:
    assert list(endless_waits("import subprocess\nsubprocess.run([])")) == [2]
    assert list(endless_waits("process.wait()\nprocess.wait(3)\nprocess.wait(timeout=3)")) == [1]
