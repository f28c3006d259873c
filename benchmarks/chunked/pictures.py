"""Pictures of the stored rows: how solves grow with the rows, and gaps over seconds by learner."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

EPS = 1e-6
TICKS = (5.0, 10.0, 20.0, 50.0, 100.0)
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "0.45"
COLOURS = {
    "qpsvm": BLUE,
    "SGDClassifier.partial_fit": "#CC79A7",
    "SGDClassifier.partial_fit, averaged": "#E69F00",
    "Vowpal Wabbit": "#009E73",
    "Spark LinearSVC": ORANGE,
}


def of_growth(stored: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first solve of every size of the synthetic data with C = 1 and threads, by size."""
    sizes = dict[int, dict[str, Any]]()
    for row in stored:
        synthetic = row["data"] == f"s{row['rows'] // 1_000_000}m"
        if synthetic and row["C"] == 1.0 and row["workers"] is None and row["loss"] == "hinge":
            sizes.setdefault(row["rows"], row)
    return [sizes[n] for n in sorted(sizes)]


def _pyplot() -> Any:
    """Matplotlib, drawing into files that depend on nothing but what is drawn."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "chunked"
    import matplotlib.pyplot as plt

    return plt


def draw_growth(solves: list[dict[str, Any]], path: Path) -> None:
    """Draw seconds against rows, and the number of passes beside their cost in bare passes."""
    plt = _pyplot()
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.8), layout="constrained")
    n = [row["rows"] for row in solves]
    seconds = np.array([row["seconds"] for row in solves])
    bare = np.array([np.mean(row["seconds_bare"]) for row in solves])
    left.loglog(n, seconds, "o-", color=BLUE, label="solve to a certified 1e-6")
    left.loglog(n, bare, "s--", color=GREY, label="one bare pass")
    left.set_ylabel("seconds")
    left.yaxis.set_major_formatter("{x:g}")
    right.semilogx(n, seconds / bare, "o-", color=BLUE, label="solve, in bare passes")
    passes = [row["passes"] for row in solves]
    right.semilogx(n, passes, "D:", color=ORANGE, label="passes over the rows")
    right.set_ylim(0.0, 1.35 * float(max(seconds / bare)))
    for axes in (left, right):
        axes.set_xticks(n, [f"{size / 1e6:g}" for size in n])
        axes.set_xticks([], minor=True)
        axes.set_xlim(min(n) / 1.5, max(n) * 1.5)
        axes.set_xlabel("million rows (28 features)")
        axes.grid(alpha=0.3)
        axes.legend(loc="upper left", fontsize=9)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def draw_peers(stored: list[dict[str, Any]], path: Path) -> None:
    """Draw the gap against the seconds, a line for each learner."""
    plt = _pyplot()
    figure, axes = plt.subplots(figsize=(7.2, 4.4), layout="constrained")
    for name in dict.fromkeys(row["name"] for row in stored):
        own = [row for row in stored if row["name"] == name]
        gaps, seconds = ([row[key] for row in own] for key in ("gap", "seconds"))
        style = {"color": COLOURS.get(name), "lw": 1.2, "ms": 12 if name == "qpsvm" else 4}
        axes.loglog(seconds, gaps, "*" if name == "qpsvm" else "o-", label=name, zorder=3, **style)
        if "seconds_load" in own[0]:
            later = [row["seconds"] + row["seconds_load"] for row in own]
            axes.loglog(later, gaps, "o--", mfc="white", label=f"{name}, with loading", **style)
    axes.axhline(EPS, color=GREY, lw=1, ls=":")
    axes.annotate(
        "1e-6", (1.0, EPS), (-4, 3), xycoords=("axes fraction", "data"), textcoords="offset points",
        ha="right", color=GREY, fontsize=9,
    )  # fmt: skip
    axes.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS])
    axes.set_xticks([], minor=True)
    axes.set_xlim(0.9 * min(row["seconds"] for row in stored), 110.0)
    axes.set_xlabel("seconds")
    axes.set_ylabel("gap relative to the certified lower bound")
    axes.grid(alpha=0.3)
    figure.legend(loc="outside lower center", ncols=3, fontsize=8)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
