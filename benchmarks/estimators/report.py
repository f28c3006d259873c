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
certified relative gap that each reaches. Rows: `rows.jsonl`.

"""


def main() -> None:
    """Write the page."""
    (HERE / "README.md").write_text(page(), encoding="utf-8")


def page() -> str:
    """The page as text."""
    found: dict[Any, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for line in (HERE / "rows.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        found[row["set"], row["n"], row["C"]][row["what"]].append((row["fit"], row["other"]))
    lines = [
        "| set | n | C | fit, ms | more than solve, ms | scikit-learn, ms | ratio "
        "| gap | its gap |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    ratios, beyond = [], []
    for (name, n, C), what in sorted(found.items()):
        fit, theirs = np.median(np.array(what["sklearn"]), axis=0)
        ratios.append(fit / theirs)
        more = ""
        if what["overhead"]:
            pair = np.median(np.array(what["overhead"]), axis=0)
            beyond.append(pair[0] - 1.05 * pair[1])
            more = f"{1e3 * (pair[0] - pair[1]):.1f}"
        own, other = what["gap"][-1]
        lines.append(
            f"| {name} | {n} | {C:g} | {1e3 * fit:.1f} | {more} | {1e3 * theirs:.1f} | "
            f"{fit / theirs:.1f} | {own:.0e} | {other:.0e} |"
        )
    mean = float(np.exp(np.mean(np.log(ratios))))
    summary = (
        f"**{mean:.1f} times scikit-learn's time in the geometric mean of {len(ratios)} programs** "
        f"(largest {max(ratios):.1f}, smallest {min(ratios):.2f}). `fit` takes at most "
        f"{1e3 * max(beyond):.1f} ms more than 1.05 times `qpsvm.solve`.\n"
    )
    return "\n".join([HEAD + summary, *lines]) + "\n"


if __name__ == "__main__":
    main()
