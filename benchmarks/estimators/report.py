"""Make README.md from rows.jsonl: ``python -m benchmarks.estimators.report``."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent

HEAD = """# Estimators

`measure.py` times `SVC.fit` beside `qpsvm.solve` on the same problem, and beside scikit-learn's
`SVC` with its default tolerance; RBF kernel, `gamma="scale"`, medians of paired runs. `gap` is the
certified relative gap that each reaches. Wall clock, default number of BLAS threads on two cores.
Rows: `rows.jsonl`. `twelve.py` measures the table of the README (`twelve.jsonl`).

"""

FAMILIES = """## The other estimators

`families.py` times five further estimators on ten sets each, and `predict`, beside scikit-learn's;
medians of paired runs, processor time in milliseconds; of one thread and beside other work, but
for `predict` (default threads, nothing beside).
scikit-learn's `LinearSVR` ends by its tolerance, with objectives that it proves nothing about.
Rows: `families.jsonl`.

"""

ACCURACY = """## Accuracy

`accuracy.py` fits both with the same parameters (defaults; hinge loss and epsilon 0.1 for the
linear ones) and scores them on held-out samples: accuracy, or R^2. Regressions agree where
predictions differ by at most 0.01 standard deviations. Seconds were taken beside other work. Rows:
`accuracy.jsonl`.

"""


def main() -> None:
    """Write the page."""
    (HERE / "README.md").write_text(page(), encoding="utf-8")


def page() -> str:
    """The page as text."""
    found: dict[Any, dict[Any, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for line in (HERE / "rows.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        pair = row["fit"], row["other"]
        found[row["set"], row["n"], row["C"]][row["what"], row["threads"]].append(pair)
    lines = [
        "| set | n | C | fit, ms | more than solve, ms | scikit-learn, ms | ratio | gap "
        "| its gap |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    ratios, beyond = list[float](), []
    for (name, n, C), what in sorted(found.items()):
        fit, theirs = np.median(np.array(what["sklearn", "default"]), axis=0)
        ratios.append(fit / theirs)
        more = "-"  # not measured where one fit takes many seconds
        if what["overhead", "default"]:
            fits, solves = np.array(what["overhead", "default"]).T
            beyond.append(float(np.median(fits - 1.05 * solves)))
            more = f"{1e3 * np.median(fits - solves):.1f}"
        own, other = what["gap", "default"][-1]
        lines.append(
            f"| {name} | {n} | {C:g} | {1e3 * fit:.1f} | {more} | {1e3 * theirs:.1f} | "
            f"{ratios[-1]:.1f} | {own:.0e} | {other:.0e} |"
        )
    mean = float(np.exp(np.mean(np.log(ratios))))
    summary = (
        f"**{mean:.2f} times scikit-learn's time in the geometric mean of {len(lines) - 2} "
        f"programs** (largest {max(ratios):.1f}, smallest {min(ratios):.2f}). `fit` takes more "
        f"than 1.05 times `qpsvm.solve` plus 3 ms for {sum(b > 3e-3 for b in beyond)} of "
        f"{len(beyond)} (largest "
        f"{1e3 * max(beyond):.1f} ms, median {1e3 * float(np.median(beyond)):.1f} ms).\n"
    )
    parts = [HEAD + summary, *lines, "", FAMILIES + families(), "", ACCURACY + accuracy()]
    return "\n".join(parts) + "\n"


def families() -> str:
    """The tables of the other estimators: a summary, then every row."""
    latest = {}
    for row in map(json.loads, (HERE / "families.jsonl").read_text("utf-8").splitlines()):
        latest[row["what"], row["set"], row["n"]] = row
    lines = ["| estimator | set | n | ms | scikit-learn, ms | ratio | gap |", "|---" * 7 + "|"]
    ratios: dict[str, list[float]] = defaultdict(list)
    for (what, name, n), row in latest.items():
        ratios[what].append(row["cpu"] / row["cpu_sk"])
        gap = f"{row['gap']:.0e}" if "gap" in row else ""
        lines.append(
            f"| {what} | {name} | {n} | {1e3 * row['cpu']:.1f} | {1e3 * row['cpu_sk']:.1f} | "
            f"{ratios[what][-1]:.2f} | {gap} |"
        )
    head = ["| estimator | geometric mean | largest |", "|---|---|---|"]
    for what, own in ratios.items():
        head.append(f"| {what} | {np.exp(np.mean(np.log(own))):.2f} | {max(own):.1f} |")
    return "\n".join([*head, "", *lines])


def accuracy() -> str:
    """The table of scores."""
    rows = map(json.loads, (HERE / "accuracy.jsonl").read_text(encoding="utf-8").splitlines())
    latest = {(row["set"], row["estimator"]): row for row in rows}
    lines = [
        "| set | estimator | n | score | its score | predictions that agree "
        "| gap | fit, s | its, s |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for (name, kind), row in sorted(latest.items()):
        lines.append(
            f"| {name} | {kind} | {row['n']} | {row['score']:.4f} | {row['their_score']:.4f} | "
            f"{100 * row['agreement']:.2f}% | {row['gap']:.0e} | {row['seconds']:.2f} | "
            f"{row['their_seconds']:.2f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
