"""``README.md``, ``growth.svg`` and ``peers.svg`` of this folder, from the stored rows alone.

Usage, from the root of the repository::

    python -m benchmarks.chunked.report
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.chunked.pictures import draw_growth, draw_peers, of_growth

HERE = Path(__file__).parent
MEGABYTE = 2**20
TIMES = (1.0, 10.0)
"""How long other learners may take, in units of qpsvm's seconds."""

GROWTH = """\
![Seconds and passes against the number of rows, beside bare passes](growth.svg)

The synthetic data with C = 1 and the threads of one process. A bare pass is the mean of the two
beside each solve."""

PEERS = """\
## Other learners on the same chunks

`peers.py`: the gap that each has reached in about the seconds that qpsvm took to a certified 1e-6,
and in ten times these, one learner at a time. Gaps are relative distances from qpsvm's certified
lower bound; qpsvm's own is its certificate."""

SPARK = """\
`Spark LinearSVC` is Spark MLlib {version} in local mode with two threads, and no stochastic method:
every iteration evaluates all rows. Each of its rows is a fit from zero. The table has the best fits
that end within the two times, the picture has all of them. Its seconds are of the fit alone: the
session had started ({start:.0f} s), and all rows lay in its memory as vectors ({load:.0f} s), while
the other learners read them from the files."""

PICTURE = "![The gap over seconds, by learner](peers.svg)"

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


def within(stored: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of learners that were stopped, and the best fits that end within the times."""
    stopped = [row for row in stored if "iterations" not in row]
    fits = [row for row in stored if "iterations" in row]
    best = []
    for own in (row for row in stopped if row["name"] == "qpsvm"):
        for time in TIMES:
            inside = [
                row
                for row in fits
                if (row["data"], row["C"]) == (own["data"], own["C"])
                and row["seconds"] <= time * own["seconds"]
            ]
            best += [min(inside, key=lambda row: float(row["gap"]))] if inside else []
    return stopped + best


def peers() -> list[str]:
    """The section on what other learners reach in the same time."""
    stored = rows("peers.jsonl")
    if not stored:
        return []
    fits = [row for row in stored if "iterations" in row]
    lines = ["", PEERS, "", PICTURE]
    if fits:
        start, load = fits[0]["seconds_start"], fits[0]["seconds_load"]
        lines += ["", SPARK.format(version=fits[0]["version"], start=start, load=load)]
    lines += [
        "",
        "| data | rows | C | learner | seconds | relative gap |",
        "|---|---|---|---|---|---|",
    ]
    for row in within(stored):
        count = f", {row['iterations']} iterations" if "iterations" in row else ""
        lines.append(
            f"| {row['data']} | {row['rows']:,} | {row['C']:g} | {row['name']}{count} | "
            f"{row['seconds']:.1f} | {row['gap']:.1e} |"
        )
    return lines


def page() -> str:
    """The text of ``README.md``."""
    return "\n".join([TOP, *solves(), "", *bits(), "", GROWTH, *peers(), *audits(), ""])


def main() -> None:
    """Write all three."""
    (HERE / "README.md").write_text(page(), encoding="utf-8")
    draw_growth(of_growth(rows("rows.jsonl")), HERE / "growth.svg")
    draw_peers(rows("peers.jsonl"), HERE / "peers.svg")


if __name__ == "__main__":
    main()
