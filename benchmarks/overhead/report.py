"""The table of ``README.md`` from the rows of ``rows.jsonl``, and from nothing else.

Usage: ``python benchmarks/overhead/report.py > benchmarks/overhead/README.md``
"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

ROWS = Path(__file__).with_name("rows.jsonl")
BARE_ROWS = Path(__file__).with_name("bare.jsonl")
TARGETS = {"build RBF dual": 1.3, "solve": 1.10, "first solve": 1.10}


def bare_programs() -> None:
    """Print the table of small bare programs: medians of differences, triple by triple."""
    cells: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    rows = [json.loads(line) for line in BARE_ROWS.read_text(encoding="utf-8").splitlines()]
    for row in rows:
        key = row["label"], row["backend"], row["kind"], f"{row['n']}"
        cells.setdefault(key, []).append(row)
    labels = list(dict.fromkeys(row["label"] for row in rows))
    latest = rows[-1]
    versions = ", ".join(f"{name} {v}" for name, v in latest["versions"].items())
    print("\n## Bare programs of 5 to 200 variables\n")
    print("Milliseconds of processor time of a whole call, `QuadraticProgram(...)` from arrays")
    print("included, above the solver's own package called directly with the same settings, and")
    print("above `qpsolvers.solve_qp`; `solver` is the direct call itself. Medians of differences")
    print("within one process, one thread; `bare.py` says what exactly. Every answer is verified:")
    print("that is what is paid for. Asked: at most 1 ms above the solver.\n")
    print(f"Python {latest['python']}, {versions}; {latest['when'][:10]}.\n")
    columns = "".join(f" above, {label} | above qpsolvers, {label} |" for label in labels)
    print(f"| backend | program | n | solver |{columns}")
    print("|---|---|---|---|" + "---|---|" * len(labels))
    for _, backend, kind, n in [key for key in cells if key[0] == labels[-1]]:
        own = [cells.get((label, backend, kind, n), []) for label in labels]
        figures = "".join(
            f" {_above(of_label, 'bare')} | {_above(of_label, 'qpsolvers')} |" for of_label in own
        )
        solver = 1e3 * median(row["bare_seconds"] for row in own[-1])
        print(f"| {backend} | {kind} | {n} | {solver:.2f} |{figures}")


def _above(rows: list[dict[str, Any]], other: str) -> str:
    """Median of the milliseconds above another way; empty without rows."""
    apart = [1e3 * (row["ours_seconds"] - row[f"{other}_seconds"]) for row in rows]
    return f"{median(apart):.2f}" if apart else ""


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
    bare_programs()


if __name__ == "__main__":
    main()
