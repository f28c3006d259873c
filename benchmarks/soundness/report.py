"""``docs/soundness.md`` from the results of the hunts, and from nothing else.

Usage: ``python -m benchmarks.soundness.report > docs/soundness.md``
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.soundness import kernel_report

RESULTS = Path(__file__).with_name("results")
COLUMNS = ("refused", "refused, harmless", "passed, harmless", "FALSE PASS")
KIND = "mutation"
"""The axis that every mutant is counted on once."""
SHOWN = 20
"""Suspicious draws that the page shows in full."""
Cells = Counter[tuple[str, str, str, str]]
"""By (part of the hunt, axis, name, outcome)."""

HEAD = """# The search for a false PASS

A false PASS is a wrong answer that the verifier passes. To find one,
`benchmarks/soundness/hunt.py` draws random problems with a known optimum, corrupts their
solutions at random (the results are called mutants), and calls `qpsvm.verify` at `eps=1e-8`. A
judge that is independent of the verifier and of the certificates decides whether a mutant is
harmful.

A search finds what its draws reach. Reading the code found false passes that it had not: of bare
programs whose Hessian has directions without curvature that rounding hides, of points far out along
these, and of rows that contradict each other by less than such a point is rounded. They are mended
and stated by tests; [the changes](../CHANGELOG.md) list them.
"""

PARTS = {
    "families": """**Families**: training problems of every family, both forms, all kernels and
intercepts, constraints, weights and sparse samples; synthetic and real data; features from 1e-3 to
1e3 and C from 1e-3 to 1e5. The mutants are derived from solutions certified to 1e-10 and judged in
extended precision.
""",
    "exact machines": """**Exact machines**: three to nine samples with extreme floats:
constraints from every builder on columns of magnitude 1e0 to 1e12, common offsets of 1e2 to 1e8
times the spread, weights such as 1/3, denormal prices, weights and features. Mutants: the optimum
without one of the constraints, points between two machines, perturbed weights and alphas,
multipliers set to zero, a violation in a small column next to a large one, machines at a given
multiple of eps from the optimum, objects that store the optimum but predict something else, and the
answers of backends. The optimum is known in rational numbers.
""",
    "bare programs": """**Bare programs**: up to eight variables, rows and columns of magnitude 1e0
to 1e12, nearly flat directions, redundant rows, rows of zeros, unbounded directions, directions
with a curvature of -1e-10 to -1e-18, free variables, programs that become unbounded when one
coefficient changes by 1e-12 to 1e-6, rows that contradict each other by 1e-11 or more, rows of
magnitude 1e-150 to 1e-320, and equalities with a right-hand side of zero. Mutants: perturbed and
clipped points, multipliers that are set to zero, scaled or given the wrong sign, the optimum
without one of the rows, and the answers of backends. The optimum is known in rational numbers.
""",
    "audits": """**Audits**: models of scikit-learn, fitted to four to twelve samples at
tolerances of 1e-12 to 0.1, some of them with changed coefficients or intercepts, or with a
`predict` of their own. The statements and counts of the audit are compared with the optimum in
rational numbers.
""",
}

FAMILIES_JUDGE = """## The judge of the families

The judge computes the textbook's primal objective ("cost") of the mutant, for the weights with
which it predicts, and the textbook's dual objective of its alpha. Both are computed in extended
precision (64-bit mantissa), including the kernels (`benchmarks/soundness/textbook.py`, with the
formulas of `tests/families.py`). The optimum lies between the cost and the dual objective of the
solution that was mutated; problems for which this interval is wider than 1e-9 of the objective are
not used. A mutant is harmful if any of the following is true:

- its cost exceeds the optimum by more than `eps`, relative to its own cost or the documented floor,
  plus the certificate's estimate of the rounding, which the verifier also limits to `eps`;
- it violates a hard margin by more than `eps`, or a constraint by `eps (sum_j |g_j w_j| + |h|)`;
- no feasible alpha within sqrt(eps) of its own (the documented tolerance of the repair) is within
  `eps` of the optimum. The verifier's repaired alpha is the candidate; its feasibility
  and objective are computed in extended precision;
- `decision_function` or `predict` on new samples differ from the machine that was judged (by more
  than 1e-11 of the terms);
- its slack, expansion or intercept interval does not follow from its weights or alpha to within
  `eps` in the library's units (an interval that is too narrow is not judged);
- its solution of the program violates a condition in the table of `qpsvm/qp/kkt.py` by more than
  `eps`, evaluated densely in extended precision.

Tolerances are multiplied by 1 + 1e-6, because the verifier computes in float64. *Refused, harmless*
counts mutants that the verifier refused although the judge found no error; a verifier should err on
this side. (The KKT cases of samples and the natural residuals are checked by the verifier only.)

The certificate of every mutant is judged as well, whether optimal or not. The gap must not be below
the true suboptimality, nor the lower bound above the optimum (beyond rounding, which is taken as
512 times the certificate's estimate, since a kernel value has an error of 1e-13). Bounds on
decision values and intercept, proven labels and proven statuses of alphas must not contradict those
of the certified solution.
"""


EXACT_JUDGE = """## The judge in rational numbers

`benchmarks/soundness/rational.py` does not use the library. The floats of a problem are
rational numbers. A program, or the textbook's dual of a machine, becomes a linear complementarity
problem, which Lemke's method solves by pivoting on integers, without any tolerance. The answer is
proven because the two objectives are *equal*. A PASS is false if any of the following is true in
rational numbers:

- a row is violated by more than `eps (sum_j |g_j x_j| + |h|)`, plus 32 roundings of that sum and
  of denormals; a bound by more than `eps` of its size, or of 1 if the point that is clipped to its
  bounds is good;
- the objective is not within `eps` of the optimum, above or below: for a bare program relative to
  its terms `x'Px / 2 + |q'x|`, at most `max(1, |P|)`, with a floor for optima of zero (plus 32
  roundings of all products); for a machine relative to its own objective or the documented floor
  (plus the rounding that the certificate states);
- the program has no optimum (programs whose objective decreases by less than 1e-12 of its terms
  along a ray are not drawn, because only their last digits make them unbounded);
- the weights are farther from the optimal weights than their cost allows, or `decision_function`
  and `predict` differ from the numbers that were judged.

Certificates must not contradict the exact optimum in any of their statements: the gap and the
bounds on the optimum, bounds on decision values and the intercept, certified labels, statuses of
alphas, uniqueness of the intercept. Figures that are not rigorous may be wrong by the rounding that
they state. An audit must not count a false statement as proven.
"""


def main() -> None:
    """Print the page."""
    print(whole_page(), end="")


def whole_page() -> str:
    """The page with its section on kernel values, from all results there are."""
    mixed, kernels = (
        [json.loads(path.read_text(encoding="utf-8")) for path in sorted(found)]
        for found in (files(), kernel_report.files())
    )
    return page(mixed) + kernel_report.section(kernels)


def files() -> Iterator[Path]:
    """Every hunt there is."""
    return RESULTS.glob("seed-*.json")


def cells_of(hunt: dict[str, Any]) -> Cells:
    """Counts of one hunt."""
    return Cells({tuple(names): n for *names, n in hunt["cells"]})


def page(hunts: list[dict[str, Any]]) -> str:
    """The page as text."""
    hunts = sorted(hunts, key=lambda hunt: int(hunt["seed"]))
    cells = sum((cells_of(hunt) for hunt in hunts), start=Cells())
    parts = [part for part in PARTS if any(key[0] == part for key in cells)]
    lines = [HEAD, *(PARTS[part] for part in parts), *_result(hunts, cells)]
    lines += [*_by_part(cells, parts), *_answers(cells)]
    if "families" in parts:
        lines += [*_sharp(cells), "", FAMILIES_JUDGE]
    if len(parts) > 1 or "families" not in parts:
        lines.append(EXACT_JUDGE)
    lines += _printed()
    for part in parts:
        lines += _tables(hunts, cells, part)
    return "\n".join([*lines, *_problems(hunts), *_again(hunts)])


PRINTED = {
    "missed-constraints.txt": """## Constraints whose columns differ by 1e6 to 1e12

`missed_constraints.py` gives the verifier machines that violate such constraints, and machines
close to these that do not: the optimum without the constraints, points between the two optima,
perturbed optima. An answer is harmful if, in rational numbers, it violates a row by more than `eps`
times the sum of its terms, or exceeds a rigorous upper bound on the optimum by more than `eps`. Its
output, by the ratio of the columns' magnitudes:
""",
    "constrained.txt": """`constrained.py` counts the statuses that `qpsvm.solve` returns for such
problems (backend `"auto"`, 10 s each, on a busy machine):
""",
    "left-out.txt": """## Left-out labels

`left_out.py` draws small training problems with ties, equal samples, common offsets, weights,
balanced classes and averaged losses, and solves the program without each sample in turn in rational
numbers. The optimal weights of such a program are unique, and all of its optimal intercepts are
known. A claim of `qpsvm.selection.leave_one_out` is false if some optimum predicts another label
than the decided one, or if the decision value of an optimum lies outside the radius. *finite*: a
finite radius; *unique labels*: all optima predict the same label. Its output, by kind of samples
and of prices:
""",
    "choices.txt": """## Covers and choices

`choices.py` computes covers of a range of C (`certified_path`) and searches (`SVCSearch`) for
problems of the same kind, and solves the programs behind them in rational numbers: those at the
ends of a machine's interval and at some C within it, and those of all folds and candidates. A claim
is false if a machine of a proven cover exceeds the optimum by more than `eps` at such a C, if the
score of an optimum lies outside the stated interval, or if a difference between two candidates that
is called proven or equal has another sign for some optima. Its output:
""",
    "audits.txt": """## Audits of models as fitted and edited

`sweep_audits.py` fits models of scikit-learn to dense and sparse samples with and without common
offsets and weights, edits some of the models, and compares every sentence and count of the audits
with the optimum in rational numbers. Its output:
""",
}
"""What other searches of this folder printed, with an introduction."""


def _printed() -> Iterator[str]:
    """Yield the output of other searches, as far as it is stored."""
    for name, introduction in PRINTED.items():
        path = RESULTS / name
        if path.exists():
            yield introduction
            yield f"```text\n{path.read_text(encoding='utf-8').rstrip()}\n```\n"


def _result(hunts: list[dict[str, Any]], cells: Cells) -> Iterator[str]:
    outcomes = _outcomes(cells, KIND)
    suspicious = [row for hunt in hunts for row in hunt["suspicious"]]
    yield "## Result\n"
    yield "| search | mutants | problems | certificates | FALSE PASS | contradictions | code |"
    yield "|---|---|---|---|---|---|---|"
    for hunt in hunts:
        false = _outcomes(cells_of(hunt), KIND)["FALSE PASS"]
        wrong = sum(bool(row.get("contradictions")) for row in hunt["suspicious"])
        yield (
            f"| seed {hunt['seed']} | {hunt['count']:,} | {_n_problems(hunt):,} | "
            f"{hunt['certificates']:,} | {false} | {wrong} | {hunt['code'][:8]} |"
        )
    yield "\n*code*: digest of the library and the search at the time.\n"
    harmful = outcomes["refused"] + outcomes["FALSE PASS"]
    yield (
        f"- **{outcomes['FALSE PASS']:,} of {harmful:,} harmful mutants passed** "
        f"({outcomes.total():,} mutants in all)."
    )
    worst = max((excess for hunt in hunts for excess in hunt["worst"].values()), default=0.0)
    yield (
        f"- {outcomes['passed, harmless']:,} mutants passed and are harmless; the worst of these "
        f"exceeds the optimum by {worst:.4f} eps."
    )
    n_refused = outcomes["refused, harmless"]
    yield f"- {n_refused:,} mutants were refused although the judge found no error."
    errors = sum("error" in row for row in suspicious)
    if errors:
        yield f"- {errors} problems ended with an error of the search itself."
    last = hunts[-1]
    versions = ", ".join(f"{name} {v}" for name, v in last["versions"].items())
    seconds = sum(hunt["seconds"] for hunt in hunts)
    yield (
        f"- {last['machine']}, Python {last['python']}, {versions}; {last['digits']}; "
        f"{seconds / 60:.0f} minutes.\n"
    )
    for row in suspicious[:SHOWN]:
        yield f"```json\n{json.dumps(row, indent=1)}\n```\n"
    if len(suspicious) > SHOWN:
        yield f"... and {len(suspicious) - SHOWN:,} more in the results.\n"


def _by_part(cells: Cells, parts: list[str]) -> Iterator[str]:
    if len(parts) < 2:
        return
    yield "| part | " + " | ".join(COLUMNS) + " |"
    yield "|---|---|---|---|---|"
    for part in parts:
        counts = _outcomes(cells, KIND, part)
        yield f"| {part} | " + " | ".join(f"{counts[o]:,}" for o in COLUMNS) + " |"
    yield ""


def _answers(cells: Cells) -> Iterator[str]:
    """What backends return for problems whose optimum is known exactly."""
    if not any(key[1] == "answer" for key in cells):
        return
    yield "## Answers of backends\n"
    yield "The columns count answers: OPTIMAL and within eps of the optimum, OPTIMAL but wrong, and"
    yield "with another status (the share is theirs). Errors are listed in lines of their own.\n"
    for part in ("exact machines", "bare programs"):
        names = sorted({key[2] for key in cells if key[:2] == (part, "answer")})
        yield f"| {part} | backend | OPTIMAL | wrong | not OPTIMAL | share |"
        yield "|---|---|---|---|---|---|"
        for name in sorted(names, key=lambda name: name.split(" | ")[::-1]):
            backend, trait = name.split(" | ")
            counts = _outcomes(cells, "answer", part, name)
            n = counts.total()
            right, wrong = counts["passed, harmless"], counts["FALSE PASS"]
            left = n - right - wrong
            yield f"| {trait} | {backend} | {right:,} | {wrong:,} | {left:,} | {left / n:.1%} |"
        yield ""


def _sharp(cells: Cells) -> Iterator[str]:
    yield "## Sensitivity\n"
    yield (
        "These mutants are consistent in all parts (weights, slack, interval, program). They were "
        "moved\nalong a random direction until their cost or alpha is a given multiple of eps from "
        "the optimum:\n"
    )
    yield "| distance from the optimum | mutants | passed | refused, harmless |"
    yield "|---|---|---|---|"
    part = "families"
    kinds = {key[2] for key in cells if key[:2] == (part, KIND) and key[2].startswith("fits, ")}
    for kind in sorted(kinds, key=lambda kind: float(kind.split()[1])):
        of = _outcomes(cells, KIND, part, kind)
        passed = of["passed, harmless"] + of["FALSE PASS"]
        harmless = of["refused, harmless"]
        yield f"| {kind.split()[1]} eps | {of.total():,} | {passed:,} | {harmless:,} |"
    yield "\nThe remaining mutants below eps are refused for an error that the judge also finds: a"
    yield "residual of the program, or an expansion that does not follow from the moved alpha."
    yield "Distances are accurate to 10%. An alpha beyond eps is harmless if a feasible alpha near"
    yield "it is within eps."


def _tables(hunts: list[dict[str, Any]], cells: Cells, part: str) -> Iterator[str]:
    yield f"## {part.capitalize()}\n"
    yield "*worst*: the largest true suboptimality of a mutant that passed, in eps.\n"
    yield f"| mutation | {' | '.join(COLUMNS)} | worst |"
    yield "|---|---|---|---|---|---|"
    for kind in sorted({key[2] for key in cells if key[:2] == (part, KIND)}):
        names = (kind, f"{part}: {kind}") if part == "families" else (f"{part}: {kind}",)
        values = [hunt["worst"][name] for hunt in hunts for name in names if name in hunt["worst"]]
        worst = f"{max(values):.2g}" if values else ""
        yield f"| {kind} | {_counts(cells, part, KIND, kind)} | {worst} |"
    for axis in dict.fromkeys(key[1] for key in sorted(cells) if key[0] == part):
        if axis in (KIND, "answer"):
            continue
        yield f"\n| {axis} | {' | '.join(COLUMNS)} |"
        yield "|---|---|---|---|---|"
        for name in sorted({key[2] for key in cells if key[:2] == (part, axis)}):
            yield f"| {name} | {_counts(cells, part, axis, name)} |"
    yield ""


def _problems(hunts: list[dict[str, Any]]) -> Iterator[str]:
    yield "## The problems\n"
    traits = Counter[str]()
    rejected = Counter[str]()
    for hunt in hunts:
        if isinstance(hunt["problems"], dict):
            traits.update(hunt["problems"])
        traits.update(hunt["traits"])
        rejected.update(hunt["rejected"])
    yield "| trait | problems |"
    yield "|---|---|"
    for name, n in sorted(traits.items()):
        yield f"| {name} | {n:,} |"
    reasons = ", ".join(f"{name}: {n}" for name, n in sorted(rejected.items()))
    yield f"\nProblems that were drawn but not used: {reasons}.\n"


def _again(hunts: list[dict[str, Any]]) -> Iterator[str]:
    yield "## Repeating the search\n"
    yield "```text"
    for hunt in hunts:
        yield (
            f"python -m benchmarks.soundness.hunt --count {hunt['count']} --seeds {hunt['seed']} "
            "--jobs 2"
        )
    yield "python -m benchmarks.soundness.hunt --seeds 0 --only 1234   # one draw, with its report"
    yield "python -m benchmarks.soundness.report > docs/soundness.md"
    yield "```\n"
    yield "The results are in `benchmarks/soundness/results`; each seed is a search of its own.\n"


def _n_problems(hunt: dict[str, Any]) -> int:
    problems = hunt["problems"]
    return sum(problems.values()) if isinstance(problems, dict) else int(problems)


def _outcomes(cells: Cells, axis: str, part: str = "", name: str = "") -> Counter[str]:
    counts = Counter[str]()
    for (of, along, what, outcome), n in cells.items():
        if along == axis and part in ("", of) and name in ("", what):
            counts[outcome] += n
    return counts


def _counts(cells: Cells, part: str, axis: str, name: str) -> str:
    return " | ".join(f"{cells[part, axis, name, outcome]:,}" for outcome in COLUMNS)


if __name__ == "__main__":
    main()
