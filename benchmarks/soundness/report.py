"""``docs/soundness.md`` from the results of the hunts, and from nothing else.

Usage: ``python benchmarks/soundness/report.py > docs/soundness.md``
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).with_name("results")
COLUMNS = ("refused", "refused, harmless", "passed, harmless", "FALSE PASS")

HEAD = """# The hunt for a false PASS

What a PASS is worth is shown by trying to get one that is wrong. `benchmarks/soundness/hunt.py`
draws random training problems (every family, both forms, all kernels and intercepts, constraints,
weights, sparse samples; synthetic and real data; features from 1e-3 to 1e3, C from 1e-3 to 1e5),
takes a solution certified to 1e-10, changes it at random, and asks `qpsvm.verify` at `eps=1e-8`.
A judge that believes neither the verifier nor the certificates says whether the change did harm.
"""

JUDGE = """## The judge

The textbook's cost of the mutant as it predicts, and of its alpha the textbook's dual objective,
both in extended precision (64-bit mantissa), kernels included
(`benchmarks/soundness/textbook.py`, formulas of `tests/families.py`). The optimum is between the
cost and the repaired alpha of the solution the mutant was made from; problems where that bracket
is wider than 1e-9 of the objective are no starting points. A mutant is harmful if any of these is
true:

- it costs more than `eps` above the optimum, relative to its own cost or the documented floor,
  plus the certificate's estimate of the rounding, which the verifier holds below `eps` as well;
- it misses a hard margin or a constraint by more than `eps`, in the size of the constraint;
- no feasible alpha within sqrt(eps) of its own (the documented tolerance of the repair) is within
  `eps` of the optimum: the verifier's repaired alpha is taken as a candidate, whose feasibility
  and value are computed in extended precision;
- `decision_function` or `predict` on new samples give something else than the machine that was
  judged (1e-11 of the terms);
- its slack, expansion or intercept interval is not what its weights or alpha imply, to `eps` in
  the library's units (that a stated interval is too narrow is not judged);
- its solution of the program misses a condition in the table of `qpsvm/qp/kkt.py` by more than
  `eps`, evaluated densely in extended precision.

Tolerances are met to a factor of 1 + 1e-6: the verifier computes in float64. *Refused, harmless*:
the judge found nothing wrong, the verifier did; that is the side to err on (samples' KKT cases
and natural residuals are checked by the verifier alone).

Certificates are held to the truth too, of every mutant that has one, optimal or not: the gap may
not be below the true suboptimality nor the lower bound above the optimum (beyond rounding: 512 of
its own estimates, since one kernel value has an error of 1e-13), and bounds on decision values
and intercept, proven labels and proven statuses of alphas may not contradict those of the
certified solution.
"""


def main() -> None:
    """Print the page."""
    print(page([json.loads(path.read_text(encoding="utf-8")) for path in sorted(files())]), end="")


def files() -> Iterator[Path]:
    """Every hunt there is."""
    return RESULTS.glob("seed-*.json")


def page(hunts: list[dict[str, Any]]) -> str:
    """The page as text."""
    cells = Counter[tuple[str, ...]]()
    for hunt in hunts:
        cells.update({tuple(cell[:5]): cell[5] for cell in hunt["cells"]})
    suspicious = [row for hunt in hunts for row in hunt["suspicious"]]
    parts = [HEAD, *_result(hunts, cells, suspicious), *_sharp(cells), "", JUDGE]
    return "\n".join([*parts, *_tables(hunts, cells), *_again(hunts)])


def _result(
    hunts: list[dict[str, Any]], cells: Counter[tuple[str, ...]], suspicious: list[Any]
) -> Iterator[str]:
    count = sum(cells.values())
    outcomes = _by(cells, 4)
    yield "## Result\n"
    yield "| hunt | mutants | problems | certificates checked | FALSE PASS | contradictions |"
    yield "|---|---|---|---|---|---|"
    for hunt in hunts:
        false = sum(n for *_, outcome, n in hunt["cells"] if outcome == "FALSE PASS")
        wrong = sum(bool(row.get("contradictions")) for row in hunt["suspicious"])
        yield (
            f"| seed {hunt['seed']} | {hunt['count']:,} | {hunt['problems']:,} | "
            f"{hunt['certificates']:,} | {false} | {wrong} |"
        )
    yield ""
    harmful = outcomes["refused"] + outcomes["FALSE PASS"]
    yield (
        f"- **{outcomes['FALSE PASS']} of {harmful:,} harmful mutants passed** "
        f"({count:,} mutants in all)."
    )
    worst = max((excess for hunt in hunts for excess in hunt["worst"].values()), default=0.0)
    yield (
        f"- {outcomes['passed, harmless']:,} passed and are as good as the certified solution; "
        f"the worst of them costs {worst:.4f} eps more than the optimum."
    )
    yield f"- {outcomes['refused, harmless']:,} were refused although the judge found no harm."
    errors = sum("error" in row for row in suspicious)
    if errors:
        yield f"- {errors} problems ended with an error of the hunt itself."
    last = hunts[-1]
    versions = ", ".join(f"{name} {v}" for name, v in last["versions"].items())
    seconds = sum(hunt["seconds"] for hunt in hunts)
    yield (
        f"- {last['machine']}, Python {last['python']}, {versions}; {last['digits']}; "
        f"{seconds / 60:.0f} minutes.\n"
    )
    for row in suspicious:
        yield f"```json\n{json.dumps(row, indent=1)}\n```\n"


def _sharp(cells: Counter[tuple[str, ...]]) -> Iterator[str]:
    yield "## How sharp it is\n"
    yield (
        "Machines whose every part fits (weights, slack, interval, program), moved along a random "
        "direction until cost\nor alpha is a given multiple of eps from the optimum:\n"
    )
    yield "| distance from the optimum | mutants | passed | refused, harmless |"
    yield "|---|---|---|---|"
    kinds = {key[3] for key in cells if key[3].startswith("fits, ")}
    for kind in sorted(kinds, key=lambda kind: float(kind.split()[1])):
        of = Counter({o: _count(cells, 3, kind, o) for o in COLUMNS})
        passed = of["passed, harmless"] + of["FALSE PASS"]
        harmless = of["refused, harmless"]
        yield f"| {kind.split()[1]} eps | {of.total():,} | {passed:,} | {harmless:,} |"
    yield "\nThe others below eps are refused for something that the judge finds wrong as well: a"
    yield "residual of the program, an expansion that a moved alpha does not imply. Distances are"
    yield "met to a tenth, and an alpha beyond eps is harmless if a feasible one beside it is not."


def _tables(hunts: list[dict[str, Any]], cells: Counter[tuple[str, ...]]) -> Iterator[str]:
    yield "## By mutation\n"
    yield "*worst*: the largest true suboptimality of those that passed, in eps.\n"
    yield f"| mutation | {' | '.join(COLUMNS)} | worst |"
    yield "|---|---|---|---|---|---|"
    for kind in sorted({key[3] for key in cells}):
        values = [hunt["worst"][kind] for hunt in hunts if kind in hunt["worst"]]
        worst = f"{max(values):.2g}" if values else ""
        yield f"| {kind} | {_counts(cells, 3, kind)} | {worst} |"
    for title, place in (("family", 0), ("form", 1), ("kernel", 2)):
        yield f"\n## By {title}\n"
        yield f"| {title} | {' | '.join(COLUMNS)} |"
        yield "|---|---|---|---|---|"
        for name in sorted({key[place] for key in cells}):
            yield f"| {name} | {_counts(cells, place, name)} |"
    yield "\n## The problems\n"
    yield "| trait | problems |"
    yield "|---|---|"
    traits = Counter[str]()
    rejected = Counter[str]()
    for hunt in hunts:
        traits.update(hunt["traits"])
        rejected.update(hunt["rejected"])
    for name, n in sorted(traits.items()):
        yield f"| {name} | {n:,} |"
    reasons = ", ".join(f"{name}: {n}" for name, n in sorted(rejected.items()))
    yield f"\nDrawn and not taken as starting points: {reasons}.\n"


def _again(hunts: list[dict[str, Any]]) -> Iterator[str]:
    yield "## Again\n"
    yield "```text"
    for hunt in hunts:
        yield (
            f"python -m benchmarks.soundness.hunt --count {hunt['count']} --seed {hunt['seed']} "
            "--jobs 2"
        )
    yield "python -m benchmarks.soundness.hunt --seed 0 --only 1234   # one draw, with its report"
    yield "python benchmarks/soundness/report.py > docs/soundness.md"
    yield "```\n"
    yield "The results are in `benchmarks/soundness/results`; another seed is another hunt.\n"


def _by(cells: Counter[tuple[str, ...]], place: int) -> Counter[str]:
    counts = Counter[str]()
    for key, n in cells.items():
        counts[key[place]] += n
    return counts


def _count(cells: Counter[tuple[str, ...]], place: int, name: str, outcome: str) -> int:
    return sum(n for key, n in cells.items() if key[place] == name and key[4] == outcome)


def _counts(cells: Counter[tuple[str, ...]], place: int, name: str) -> str:
    return " | ".join(f"{_count(cells, place, name, outcome):,}" for outcome in COLUMNS)


if __name__ == "__main__":
    main()
