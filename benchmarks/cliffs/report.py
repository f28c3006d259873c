"""Make README.md and ratios.svg from rows.jsonl: ``python -m benchmarks.cliffs.report``."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("svg")
from matplotlib import pyplot

HERE = Path(__file__).parent
VALUES = {
    "samples": "n",
    "features": "d",
    "classes": "classes",
    "storage": "storage",
    "C": "C",
    "gamma": "gamma",
    "column": "column",
}
"""The field of a row that each property varies."""
HEAD = """# Cliffs

`measure.py` fits `SVC` and `LinearSVC` beside scikit-learn's, defaults on both sides but for what
is named. One property of the data changes at a time, around 1,000 samples of 10 features in two
classes, with a tenth of the labels drawn at random. Medians of processor times, one thread, paired
in one process; `column` multiplies the first feature. scikit-learn takes no sparse matrix with
indices of 64 bits. Its `SVC` is ended after 3,000,000 steps: these ratios are larger than they
would be. Rows: `rows.jsonl`.

![Ratio to scikit-learn's time for every property](ratios.svg)

"""


TAIL = """
Beyond twice scikit-learn's time: `LinearSVC` with a column of thousands or a C of 10,000 and more
takes 4 ms, of which 3 are a verification with the multipliers of alpha (the rounding of alpha has
too few digits for the short certificate); with the columns of 1e3 and 1e6 scikit-learn's machine is
0.15% and 239% above the optimum. With 20 classes each of 190 pairs costs 0.25 ms of Python. With
301 features and more Newton's method on the weights gives way to steps of pairs and interior
points, which is slower at 301 and faster from 600 features on.
"""


def latest() -> list[dict[str, Any]]:
    """The last row of every cell, in the order of the measurement."""
    lines = (HERE / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    found: dict[str, dict[str, Any]] = {}
    for row in map(json.loads, lines):
        value = row[VALUES[row["property"]]]
        found[f"{row['property']} {row['machine']} {value}"] = row
    return list(found.values())


def picture(rows: list[dict[str, Any]]) -> None:
    """Draw a panel for every property."""
    panels: dict[str, dict[str, list[tuple[str, float]]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row["sklearn"]:
            value = row[VALUES[row["property"]]]
            label = f"{value:g}" if isinstance(value, float | int) else str(value)
            ratio = row["seconds"] / row["sklearn"]
            panels[row["property"]][row["machine"]].append((label, ratio))
    figure, axes = pyplot.subplots(2, 4, figsize=(16, 7), sharey=True, layout="constrained")
    for axis, (name, machines) in zip(axes.flat, panels.items(), strict=False):
        for machine, points in machines.items():
            axis.plot(*zip(*points, strict=True), marker="o", label=machine)
        axis.axhline(1.0, color="black", linewidth=0.8)
        axis.axhline(2.0, color="black", linewidth=0.8, linestyle=":")
        axis.set(yscale="log", title=name)
        axis.tick_params(axis="x", rotation=45)
    for axis in axes.flat[len(panels) :]:
        axis.axis("off")
    axes[0, 0].set_ylabel("time / scikit-learn's")
    axes[0, 0].legend()
    figure.savefig(HERE / "ratios.svg", metadata={"Date": None})


def page(rows: list[dict[str, Any]]) -> str:
    """Means, and every cell beyond twice scikit-learn's time."""
    pairs = [row for row in rows if row["sklearn"]]
    ratios = np.array([row["seconds"] / row["sklearn"] for row in pairs])
    ended = sum(row.get("sklearn_ended", False) for row in rows)
    lines = [
        f"{len(pairs)} cells; geometric mean {np.exp(np.mean(np.log(ratios))):.2f}, largest "
        f"{ratios.max():.1f}; {int(np.sum(ratios > 2.0))} beyond twice scikit-learn's time. "
        f"Certified to 1e-8: {sum(row['certified'] for row in rows)} of {len(rows)}. Of "
        f"scikit-learn's fits {ended} were ended.",
        "",
        "| machine | property | value | s | scikit-learn, s | ratio |",
        "|---|---|---|---|---|---|",
    ]
    for row, ratio in sorted(zip(pairs, ratios, strict=True), key=lambda pair: -pair[1]):
        if ratio > 1.5:
            value = row[VALUES[row["property"]]]
            lines.append(
                f"| {row['machine']} | {row['property']} | {value} | {row['seconds']:.4f} | "
                f"{row['sklearn']:.4f} | {ratio:.1f} |"
            )
    return HEAD + "\n".join(lines) + "\n" + TAIL


def main() -> None:
    """Write the page and the picture."""
    rows = latest()
    picture(rows)
    (HERE / "README.md").write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
