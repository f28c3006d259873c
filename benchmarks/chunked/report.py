"""README.md of this folder, from the stored rows alone.

Usage, from the root of the repository::

    python benchmarks/chunked/report.py > benchmarks/chunked/README.md
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
MEGABYTE = 2**20

TOP = """\
# Samples in chunks

`datasets.py` writes Parquet datasets of any length: 28 skewed and heavy-tailed features whose
classes overlap, or real data repeated with noise. `measure.py` trains soft margins on them to a
certified relative gap of 1e-6, verifies them with one more pass, and measures bare passes (every
chunk read and multiplied by a vector, with the same scheduler) before and after. `memory` is the
largest resident memory of all processes together. Rows: `rows.jsonl`.

    python -m benchmarks.chunked.datasets synthetic 30000000 FOLDER
    python -m benchmarks.chunked.measure FOLDER --C 0.01 1 100
    python -m benchmarks.chunked.measure --small
"""


def rows(name: str) -> list[dict[str, Any]]:
    """Stored rows; none where nothing was measured."""
    path = HERE / name
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def solves() -> list[str]:
    """The table of solves."""
    lines = [
        "| data | rows | features | C | workers | passes | seconds | of 12 bare passes | "
        "memory, MB | open | relative gap |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows("rows.jsonl"):
        workers = "threads" if row["workers"] is None else str(row["workers"])
        lines.append(
            f"| {row['data']} | {row['rows']:,} | {row['features']} | {row['C']:g} | {workers} | "
            f"{row['passes']} | {row['seconds']:.0f} | {row['over_bare']:.2f} | "
            f"{row['memory'] / MEGABYTE:.0f} | {row['open']:,} | {row['relative_gap']:.1e}"
            f"{'' if row['passed'] else ' (FAIL)'} |"
        )
    return lines


def bits() -> list[str]:
    """Whether solves of the same problem with different workers have the same bits."""
    found = dict[tuple[Any, ...], set[tuple[str, ...]]]()
    counts = dict[tuple[Any, ...], int]()
    for row in rows("rows.jsonl"):
        key = (row["data"], row["C"], row["loss"])
        found.setdefault(key, set()).add((*row["coef"], row["objective"].hex()))
        counts[key] = counts.get(key, 0) + 1
    lines = []
    for key, answers in found.items():
        if counts[key] > 1:
            same = "the same bits" if len(answers) == 1 else f"{len(answers)} different answers"
            lines.append(f"- {key[0]}, C = {key[1]:g}: {counts[key]} solves, {same}.")
    return lines


def audits() -> list[str]:
    """The table of audits of kernel machines."""
    stored = rows("audits.jsonl")
    if not stored:
        return []
    lines = [
        "",
        "## Audits of kernel machines",
        "",
        "`kernel_audit.py`: an RBF machine with support vectors chosen at random, beside the time "
        "of its kernel values times coefficients alone; the shorter of two runs each.",
        "",
        "| data | rows | support vectors | workers | audit, s | kernel values alone, s | ratio | "
        "memory, MB |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in stored:
        audit, tiles = (min(row["seconds"][name]) for name in ("audit", "tiles"))
        lines.append(
            f"| {row['data']} | {row['rows']:,} | {row['support']:,} | {row['workers']} | "
            f"{audit:.0f} | {tiles:.0f} | {audit / tiles:.2f} | "
            f"{row['memory'] / MEGABYTE:.0f} |"
        )
    return lines


def peers() -> list[str]:
    """The table of what other learners reach in the same time."""
    stored = rows("peers.jsonl")
    if not stored:
        return []
    lines = [
        "",
        "## Other learners on the same chunks",
        "",
        "`peers.py`: the gap that each has reached after about the seconds that qpsvm took to a "
        "certified 1e-6, and after ten times these; one process each.",
        "",
        "| data | rows | C | learner | seconds | relative gap |",
        "|---|---|---|---|---|---|",
    ]
    for row in stored:
        lines.append(
            f"| {row['data']} | {row['rows']:,} | {row['C']:g} | {row['name']} | "
            f"{row['seconds']:.1f} | {row['gap']:.1e} |"
        )
    return lines


if __name__ == "__main__":
    print("\n".join([TOP, *solves(), "", *bits(), *peers(), *audits()]))
