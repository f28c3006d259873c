"""The table of ``README.md`` from the rows of ``rows.jsonl``, and from nothing else.

Usage: ``python benchmarks/overhead/report.py > benchmarks/overhead/README.md``
"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

ROWS = Path(__file__).with_name("rows.jsonl")
TARGETS = {"build RBF dual": 1.3, "solve": 1.10, "first solve": 1.10}


def main() -> None:
    """Print the table: medians, and the median of the ratios pair by pair."""
    cells: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for line in ROWS.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        cells.setdefault((row["cell"], row["n"]), []).append(row)
    last = json.loads(ROWS.read_text(encoding="utf-8").splitlines()[-1])
    versions = ", ".join(f"{name} {v}" for name, v in last["versions"].items())
    print("# What qpsvm costs on top\n")
    print(
        "Pairs of runs in one process, alternating; medians over the pairs. `ratio` is the median"
    )
    print("of ours / bare pair by pair, in brackets its smallest and largest value. Both sides use")
    print("the same matrices and settings; `measure.py` says what exactly, `direct.py` holds the")
    print(
        "direct calls. `svm` rows start from the samples, so the kernel matrix is in both sides.\n"
    )
    print(f"{last['cores']} cores, Python {last['python']}, {versions}.\n")
    print("`first solve` rows start from a bare matrix, whose convexity is then checked once: one")
    print("Cholesky factorisation, which a fast solver notices.\n")
    print("| cell | n | pairs | ours (s) | bare (s) | ratio | asked | difference in objective |")
    print("|---|---|---|---|---|---|---|---|")
    for (cell, n), rows in cells.items():
        ratios = sorted(row["ours_seconds"] / row["bare_seconds"] for row in rows)
        ours = median(row["ours_seconds"] for row in rows)
        bare = median(row["bare_seconds"] for row in rows)
        asked = next((t for name, t in TARGETS.items() if cell.startswith(name)), None)
        target = "< 0.5 s" if cell.startswith("import") else f"<= {asked}" if asked else ""
        difference = ""
        if "ours_value" in rows[0]:
            worst = max(
                abs(r["ours_value"] - r["bare_value"]) / max(1.0, abs(r["bare_value"]))
                for r in rows
            )
            difference = f"{worst:.0e}"
        print(
            f"| {cell} | {n or ''} | {len(rows)} | {ours:.4f} | {bare:.4f} | "
            f"{median(ratios):.3f} ({ratios[0]:.2f}-{ratios[-1]:.2f}) | {target} | {difference} |"
        )


if __name__ == "__main__":
    main()
