"""``README.md`` and ``growth.svg`` from ``rows.jsonl``.

Usage: ``python benchmarks/engine/report.py``
"""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("svg")
import matplotlib.pyplot as plt  # after the choice of what it draws with

HERE = Path(__file__).parent
HEAD = """# The engine at its largest

`python benchmarks/engine/measure.py`, then `python benchmarks/engine/report.py`. Synthetic samples
with 28 features, two noisy classes, soft margin with C = 1 and a free intercept, to a certified
relative gap of 1e-8. Every measurement is a process of its own; seconds are for the program and its
solution, memory is that above what the process had before it had the data.
"""


def main() -> None:
    """Write both."""
    rows = [json.loads(line) for line in (HERE / "rows.jsonl").read_text("utf-8").splitlines()]
    engine = [row for row in rows if row["what"] == "engine"]
    floors = [row for row in rows if row["what"] == "floor"]
    single = [row for row in rows if row["what"] == "engine, float32"]
    n = floors[0]["n"]
    paired = [row for row in engine if row["n"] == n][: len(floors)]
    ratios = [e["seconds"] / f["seconds"] for e, f in zip(paired, floors, strict=True)]
    floor = float(np.median([row["seconds"] for row in floors]))
    own = float(np.median([row["seconds"] for row in paired]))
    sizes = sorted({row["n"] for row in engine})
    seconds = [float(np.median([r["seconds"] for r in engine if r["n"] == s])) for s in sizes]
    slope, intercept = np.polyfit(np.log(sizes), np.log(seconds), 1)
    lines = [
        HEAD,
        "## Against the floor",
        "",
        f"20 products `X.T @ (D * X)` of {n:,} samples take {floor:.2f} s (NumPy, median of "
        f"{len(floors)}), the engine {own:.2f} s: {np.median(ratios):.2f} times (median of the "
        f"paired ratios; {min(ratios):.2f} to {max(ratios):.2f}). Asked: 2.5.",
        "",
        "## Growth",
        "",
        "![Seconds against n, both in logarithm, and the line through them](growth.svg)",
        "",
        f"Slope {slope:.2f} (least squares in logarithms; asked: at most 1.1).",
        "",
        "| samples | seconds (median of 3) | certified gap | iterations | memory / data |",
        "|---|---|---|---|---|",
    ]
    for size, median in zip(sizes, seconds, strict=True):
        of_size = [row for row in engine if row["n"] == size]
        memory = max(row["peak_bytes"] for row in of_size) / of_size[0]["data_bytes"]
        gap = max(row["gap"] for row in of_size)
        lines.append(
            f"| {size:,} | {median:.2f} | {gap:.0e} | {of_size[0]['iterations']} | {memory:.2f} |"
        )
    lines += ["", "## Samples in float32", "", *_in_float32(single, paired)]
    (HERE / "README.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    figure, axes = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
    axes.loglog(sizes, np.exp(intercept) * np.asarray(sizes) ** slope, color="0.6", lw=1)
    axes.loglog(sizes, seconds, "o", color="#0072B2")
    axes.set_xlabel("samples n (28 features)")
    axes.set_ylabel("seconds to a certified gap of 1e-8")
    axes.annotate(
        f"slope {slope:.2f}", (sizes[2], seconds[2]), xytext=(12, -18), textcoords="offset points"
    )
    axes.grid(alpha=0.3)
    figure.savefig(HERE / "growth.svg", metadata={"Date": None})


def _in_float32(single: list[dict], double: list[dict]) -> list[str]:
    seconds, others = (float(np.median([r["seconds"] for r in rows])) for rows in (single, double))
    peak, other = (max(r["peak_bytes"] for r in rows) / 1e6 for rows in (single, double))
    data, of_other = single[0]["data_bytes"] / 1e6, double[0]["data_bytes"] / 1e6
    return [
        f"The {single[0]['n']:,} samples above as an array of float32, to the same gap in float64 "
        f"(worst {max(row['gap'] for row in single):.0e}): {seconds:.2f} s against {others:.2f} s, "
        f"{peak:.0f} MB against {other:.0f} MB. The samples are {data:.0f} and {of_other:.0f} MB "
        "of that: there is no copy in float64."
    ]


if __name__ == "__main__":
    main()
