"""Write the tables of ``docs/ablation.md`` from the rows, between the two marks.

Usage: ``python -m benchmarks.ablation.report``
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias

from benchmarks.ablation.heuristics import HEURISTICS
from benchmarks.ablation.measure import SUITES

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "ablation.md"
BEGIN, END = "<!-- measured -->\n", "<!-- /measured -->\n"
TITLES = {
    "ipm": "Interior-point solver (`ipm`)",
    "ipm-again": "Interior-point solver, other rules",
    "active-set": "Active-set solver (`active-set`)",
    "active-set-large": "Active-set solver, larger programs",
    "active-set-second": "Active-set solver, second round",
    "active-set-second-large": "Active-set solver, second round, larger programs",
    "active-set-other": "Active-set solver, programs that LIBSVM does not solve, and regressions",
}
SOLVED = "optimal"
Key: TypeAlias = tuple[str, int]
"""A program, and the run that it was measured in: with the baseline of that run it is compared."""


def main() -> None:
    """Rewrite the page."""
    head, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    tables = "\n".join(table(backend) for backend in SUITES)
    PAGE.write_text(
        head + BEGIN + "\n" + tables + "\n" + END + rest.split(END)[1], encoding="utf-8"
    )


def table(backend: str) -> str:
    """Every heuristic with its gain in the geometric mean, its best and its worst program."""
    text = (HERE / f"rows-{backend}.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    seconds = _by_program(rows)
    base = {program: median(of["baseline"]) for program, of in seconds.items()}
    pairs = [of["baseline"] for of in seconds.values() if len(of["baseline"]) > 1]
    programs = {program for program, _ in base}
    noise = _mean([median(own[::2]) / median(own[1::2]) for own in pairs] or [1.0])
    total = sum(median(base[key] for key in base if key[0] == program) for program in programs)
    answers = _answers(rows)
    lines = [
        f"## {TITLES[backend]}\n",
        f"{len(programs)} programs{_of_suite(backend)}, "
        f"{total:.0f} s together; "
        f"the baseline against itself: {_percent(noise)}.\n",
        "| heuristic | without it | gain | best program | worst program | solved only with it | "
        "verdict |",
        "|---|---|---|---|---|---|---|",
    ]
    for heuristic in HEURISTICS[backend]:
        times = {
            p: median(of[heuristic.name]) / base[p]
            for p, of in seconds.items()
            if of[heuristic.name]
        }
        if answers:
            other = {p for p, of in answers.items() if of[heuristic.name] - of["baseline"]}
            times = {p: time if p in other else 1.0 for p, time in times.items()}
        best, worst = max(times, key=lambda p: times[p]), min(times, key=lambda p: times[p])
        only = (_solved(rows, "baseline") & times.keys()) - _solved(rows, heuristic.name)
        lines.append(
            f"| {heuristic.name} | {heuristic.without} | {_percent(_mean(list(times.values())))} | "
            f"{_named(times, best)} | {_named(times, worst)} | {len(only)} | "
            f"{heuristic.verdict} |"
        )
    return "\n".join(lines) + "\n"


def _of_suite(backend: str) -> str:
    return "" if SUITES[backend] is None else f" of the suite `{SUITES[backend]}`"


def _by_program(rows: list[dict[str, Any]]) -> dict[Key, dict[str, list[float]]]:
    seconds: dict[Key, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        seconds[_key(row)][row["heuristic"]].append(row["seconds"])
    return seconds


def _key(row: dict[str, Any]) -> Key:
    return row["program"], row.get("run", 0)


def _named(times: dict[Key, float], key: Key) -> str:
    """A program's time with its name, unless it takes the same way."""
    return "none" if times[key] == 1.0 else f"{times[key]:.2f} ({key[0]})"


def _answers(rows: list[dict[str, Any]]) -> dict[Key, dict[str, set[str]]]:
    """The digests of the answers to every program; empty where none were kept."""
    answers: dict[Key, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for row in rows:
        if "answer" in row:
            answers[_key(row)][row["heuristic"]].add(row["answer"])
    return answers


def _solved(rows: list[dict[str, Any]], heuristic: str) -> set[Key]:
    """The programs that are always solved with these settings."""
    own = [row for row in rows if row["heuristic"] == heuristic]
    missed = {_key(row) for row in own if row["outcome"] != SOLVED}
    return {_key(row) for row in own} - missed


def _mean(ratios: list[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def _percent(ratio: float) -> str:
    return f"{100.0 * (ratio - 1.0):+.1f} %"


if __name__ == "__main__":
    main()
