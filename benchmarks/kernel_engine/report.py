"""``README.md`` and ``growth.svg`` from ``rows.jsonl``.

Usage: ``python benchmarks/kernel_engine/report.py``
"""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("svg")
import matplotlib.pyplot as plt  # after the choice of what it draws with

HERE = Path(__file__).parent
COLOURS = {"engine": "#0072B2", "LIBSVM": "#D55E00"}
HEAD = """# How the kernel engine grows

`python benchmarks/kernel_engine/measure.py`, then `python benchmarks/kernel_engine/report.py`.
Synthetic samples with 20 features, two noisy classes, soft margin with C = 1 and an RBF kernel. The
engine to a relative gap of 1e-9 with `memory_limit` at {limit:.0f} GiB, LIBSVM (`SVC`, a cache of
4 GB) at its own tolerance. Every measurement is a process of its own with one thread, the two in
turns; memory is that above what the process had before it had the data.

![Seconds against n, both in logarithm, and the lines through them](growth.svg)
"""


def main() -> None:
    """Write both."""
    rows = [json.loads(line) for line in (HERE / "rows.jsonl").read_text("utf-8").splitlines()]
    sizes = sorted({row["n"] for row in rows if _of(rows, "LIBSVM", row["n"])})
    limit = max(row["limit"] for row in rows if row["what"] == "engine")
    fewest = min(len(_of(rows, what, n)) for n in sizes for what in COLOURS)
    lines = [HEAD.format(limit=limit / 2**30), f"Medians of {fewest} or more.", ""]
    figure, axes = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
    medians = {what: [_median(rows, what, n) for n in sizes] for what in COLOURS}
    for what, colour in COLOURS.items():
        seconds = medians[what]
        slope, intercept = np.polyfit(np.log(sizes), np.log(seconds), 1)
        axes.loglog(sizes, np.exp(intercept) * np.asarray(sizes) ** slope, color=colour, lw=1)
        axes.loglog(sizes, seconds, "o", color=colour, label=f"{what}: slope {slope:.2f}")
        lines.append(f"Slope of {what}: {slope:.2f} (least squares in logarithms).")
    axes.set_xticks(sizes, [f"{n:,}" for n in sizes])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("samples n (20 features)")
    axes.set_ylabel("seconds (median)")
    axes.legend()
    axes.grid(alpha=0.3)
    figure.savefig(HERE / "growth.svg", metadata={"Date": None})
    lines += [
        "",
        "| samples | engine, s | certified gap | memory, GiB | LIBSVM, s | memory, GiB | ratio |",
        "|---|---|---|---|---|---|---|",
    ]
    for k, n in enumerate(sizes):
        own, other = medians["engine"][k], medians["LIBSVM"][k]
        gap = max(row["gap"] for row in rows if row["what"] == "engine" and row["n"] == n)
        lines.append(
            f"| {n:,} | {own:.2f} | {gap:.0e} | {_memory(rows, 'engine', n):.2f} "
            f"| {other:.2f} | {_memory(rows, 'LIBSVM', n):.2f} | {own / other:.2f} |"
        )
    (HERE / "README.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _of(rows: list[dict], what: str, n: int) -> list[dict]:
    return [row for row in rows if row["what"] == what and row["n"] == n]


def _median(rows: list[dict], what: str, n: int) -> float:
    return float(np.median([row["seconds"] for row in _of(rows, what, n)]))


def _memory(rows: list[dict], what: str, n: int) -> float:
    return max(row["peak_bytes"] for row in _of(rows, what, n)) / 2**30


if __name__ == "__main__":
    main()
