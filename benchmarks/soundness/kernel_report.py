"""The section of ``docs/soundness.md`` on kernel values, from the results of its hunts alone."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).with_name("results")
KIND, ANSWERS, CLAIM = "mutation", "answer", "claim"
"""Axes: every machine once, the answers among them, and false statements of certificates."""
REFUSALS = "ordinary samples, C up to 1e4, eps 1e-8"
PASSED, REFUSED, FALSE = "passed, harmless", "refused, harmless", "FALSE PASS"
UNSOLVED = "refused"
TABLES = {"samples": "samples", "kernel": "kernel", "offset": "common offset", "family": "family"}
"""Axes of the last table, with what they are called."""

HEAD = """## Kernel values that are rounding

The verdict is about the kernel function on the float64 samples as given. For samples with a common
offset or an outlier, or with an extreme width or degree, kernel values computed in float64 may not
have a single correct digit. `--part "kernel values"` draws such problems:

- 4 to 9 samples (some 10 to 30) of 1 to 4 features (some up to 40), dense, sparse and float32;
- common offsets up to 1e9 times the spread, clusters that far apart, samples on both sides of the
  origin whose sums cancel, outliers of 1e6 to 1e15, single long samples, scales of samples or
  columns from 1e-8 to 1e8, some from 1e-165 to 1e150, samples that are equal or differ in the last
  bit;
- linear, RBF and polynomial kernels; gamma from 1e-6 to 1e6, or fitted to the distance of two
  samples; degrees 1 to 9, some with terms that cancel; C from 1e-3 to 1e6; eps from 1e-6 to 1e-10.

Half of the problems are *ordinary*: standard normal samples with a common offset, a width near the
spread, C from 0.1 to 1e4, eps 1e-8.

Backends, estimators, paths, covers of a range of C, `polish`, audits of scikit-learn's models,
machines on samples in chunks, and pairs of classes beside a third class are asked for the optimum.
Then come mutants of the optimum and of the answer, and the answer for the same samples in another
container.

The judge (`kernel_machines.py`) shares no code with the library. Inner products and squared
distances are rational numbers, and exp is computed to 80 digits. A program with rounded kernel
values (140 bits or more) is solved in rational numbers; the cost of its machine and the value of
its dual point for the kernel itself agree to 1e-25 of the cost, or the problem counts as not
judged. A PASS or an OPTIMAL is false if the machine, with the coefficients and the intercept that
it predicts with, exceeds the optimum by more than `eps` (1 + 1e-6), rounding included. An upper
bound on the gap is false if it is below the gap, and a bound on a decision value, intercept or
label if the optimum contradicts it.
"""


def files() -> Iterator[Path]:
    """Every hunt among kernel values there is."""
    return iter(sorted(RESULTS.glob("kernel-values-*.json")))


def section(hunts: list[dict[str, Any]]) -> str:
    """The section as text; empty without a hunt."""
    if not hunts:
        return ""
    hunts = sorted(hunts, key=lambda hunt: int(hunt["seed"]))
    lines = ["", HEAD, *_hunts(hunts), *_answers(hunts), *_refusals(hunts), *_tables(hunts)]
    return "\n".join([*lines, *_again(hunts)]) + "\n"


def _cells(hunts: list[dict[str, Any]], axis: str) -> dict[str, Counter[str]]:
    """Outcomes by name along an axis."""
    found: dict[str, Counter[str]] = {}
    for hunt in hunts:
        for _, along, name, outcome, n in hunt["cells"]:
            if along == axis:
                found.setdefault(name, Counter())[outcome] += n
    return dict(sorted(found.items()))


def _hunts(hunts: list[dict[str, Any]]) -> Iterator[str]:
    yield "| search | problems | machines | FALSE PASS | false statements | not judged | code |"
    yield "|---|---|---|---|---|---|---|"
    for hunt in hunts:
        outcomes = sum(_cells([hunt], KIND).values(), Counter())
        claims = sum(_cells([hunt], CLAIM).values(), Counter())
        unknown = sum(n for why, n in hunt["rejected"].items() if "judge" in why)
        yield (
            f"| seed {hunt['seed']} | {hunt['count']:,} | {outcomes.total():,} | "
            f"{outcomes[FALSE]:,} | {claims.total():,} | {unknown:,} | {hunt['code'][:8]} |"
        )
    last = hunts[-1]
    seconds = sum(hunt["seconds"] for hunt in hunts)
    yield f"\n{last['machine']}, Python {last['python']}; {seconds / 60:.0f} minutes.\n"
    rows = [row for hunt in hunts for row in hunt["suspicious"]]
    for row in rows[:10]:
        yield f"```json\n{json.dumps(row, indent=1)}\n```\n"


def _answers(hunts: list[dict[str, Any]]) -> Iterator[str]:
    yield "### Answers\n"
    yield (
        "*refused*: within eps of the optimum and not called optimal. *not solved*: farther away,\n"
        "and not called optimal.\n"
    )
    yield from _table("asked", _cells(hunts, ANSWERS))


def _refusals(hunts: list[dict[str, Any]]) -> Iterator[str]:
    yield f"### True answers refused: {REFUSALS}\n"
    yield from _table("kernel and offset", _cells(hunts, REFUSALS))


def _tables(hunts: list[dict[str, Any]]) -> Iterator[str]:
    yield "### All machines, mutants included\n"
    for axis, name in TABLES.items():
        yield from _table(name, _cells(hunts, axis))


def _table(name: str, rows: dict[str, Counter[str]]) -> Iterator[str]:
    yield f"| {name} | optimal | FALSE | refused | not solved | refused of true ones |"
    yield "|---|---|---|---|---|---|"
    for of, n in rows.items():
        share = n[REFUSED] / max(n[PASSED] + n[REFUSED], 1)
        counts = " | ".join(f"{n[key]:,}" for key in (PASSED, FALSE, REFUSED, UNSOLVED))
        yield f"| {of} | {counts} | {share:.1%} |"
    yield ""


def _again(hunts: list[dict[str, Any]]) -> Iterator[str]:
    yield "```text"
    for hunt in hunts:
        yield (
            f'python -m benchmarks.soundness.hunt --part "kernel values" --count {hunt["count"]} '
            f"--seeds {hunt['seed']} --jobs 2"
        )
    yield "```"
