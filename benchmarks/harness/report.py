"""The table of ``README.md`` from the rows of ``rows.jsonl``, and from nothing else.

Usage: ``python benchmarks/harness/report.py > benchmarks/harness/README.md``
"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from scipy.stats import bootstrap

ROWS = Path(__file__).with_name("rows.jsonl")

TITLE = """\
# What the harness adds to a time

Every pair is a cell as `python -m benchmarks run` measures it (a process of its own with limits,
watched, warmed up) and the same call in a plain script, one after the other, each in a fresh
process, alternating which goes first: `measure.py`. Ratios: harness / bare, the median over the
pairs; in brackets its 95% interval (bootstrap). Asked: the two differ by less than 3%. Other work
on the machine disturbs the wall clock, and processor time less: `nice -n -15` kept most of it away
here.

    nice -n -15 python benchmarks/harness/measure.py --pairs 31
"""


def main() -> None:
    """Print the table: medians, and the median of the ratios pair by pair."""
    cells: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for line in ROWS.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        cells.setdefault((row["contestant"], row["instance"]), []).append(row)
    every = [row for rows in cells.values() for row in rows]
    where, loads = every[-1]["machine"], sorted(row["load"] for row in every)
    print(TITLE)
    print(f"{where['processor']}, {where['cores']} cores, Python {where['python']}, one thread.")
    print(f"Load average of the machine: {loads[0]:.1f} to {loads[-1]:.1f}.\n")
    print("| contestant | program | pairs | harness (s) | bare (s) | wall clock | processor time |")
    print("|---|---|---|---|---|---|---|")
    for (contestant, instance), rows in cells.items():
        seconds = [median(row[f"{who}_seconds"] for row in rows) for who in ("harness", "bare")]
        print(
            f"| {contestant} {rows[0]['version']} | {instance} | {len(rows)} | "
            f"{seconds[0]:.4f} | {seconds[1]:.4f} | {ratio(rows, '')} | {ratio(rows, 'cpu_')} |"
        )


def ratio(rows: list[dict[str, Any]], clock: str) -> str:
    """Median of harness / bare pair by pair, and its interval."""
    ratios = [row[f"harness_{clock}seconds"] / row[f"bare_{clock}seconds"] for row in rows]
    low, high = bootstrap((ratios,), np.median, rng=0).confidence_interval
    return f"{median(ratios):.3f} ({low:.3f}-{high:.3f})"


if __name__ == "__main__":
    main()
