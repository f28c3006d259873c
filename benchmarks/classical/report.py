"""Write the last section of ``docs/classical.md``, and its picture, from ``rows.jsonl``.

Usage: ``python -m benchmarks.classical.report``
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"
PAGE, PICTURE = DOCS / "classical.md", DOCS / "classical.svg"
BEGIN, END = "<!-- figures -->\n", "<!-- end of figures -->\n"
TIMES = (0.1, 1.0, 10.0)
SETS = {
    "iris": "iris, setosa against the others",
    "cancer": "breast cancer",
    "a9a": "a9a",
}
STYLES = {"classical": "-", "backend": ":", "engine": "--"}
OVERTIME = 1.05
"""A step that begins within the time may end a little after it."""

SMALLEST = 1e-12
"""Gaps below it are drawn there: they are rounding."""

HEAD = """## How far do they get?

The certified relative gap after 0.1, 1 and 10 seconds, linear kernel, C = 1, features standardised (a9a as it is), one thread.
[`measure.py`](../benchmarks/classical/measure.py) wrote the [rows](../benchmarks/classical/rows.jsonl), of which
`python -m benchmarks.classical.report` makes this section.

![The certified gap over seconds, three data sets](classical.svg)

- Seconds are those of the process, not of the clock: other programs kept the machine busy, with a load of {load} on two
  processors. Figures of less than a factor of two mean nothing.
- A classical method runs once, and its certificates are not counted. A backend has one run for each eps of 1e-1, 1e-3, 1e-5 and
  1e-8; the whole `qpsvm.solve` is counted, verification and polish too, and one that takes more than 120 seconds of the clock is
  cut off. The table has the smallest gap so far; a dash is none so far.
- One minimisation is not another: coordinate descent and the sub-gradient methods have a penalised intercept, Newton has the
  squared hinge, all others the hinge and a free intercept. The gap is always that of the own problem.
- The sub-gradient methods return averages with weights t.

On the two small sets the methods that use curvature (Newton, SMO, ADMM, coordinate descent) end at the optimum, and those that only
follow a slope (dual ascent, sub-gradients, Frank-Wolfe) gain about one digit for every tenfold of time. On a9a, ten seconds of Python
are enough for Newton and ADMM alone. Without a certificate nobody would know how many digits they have.
"""  # noqa: E501 - the width of the page


def rows() -> list[dict[str, Any]]:
    """The latest row of every set and method, in the order in which they were measured first."""
    text = (HERE / "rows.jsonl").read_text(encoding="utf-8")
    latest: dict[tuple[str, str], dict[str, Any]] = {}
    for row in map(json.loads, text.splitlines()):
        latest[row["set"], row["what"]] = row
    return list(latest.values())


def gap_after(row: dict[str, Any], seconds: float) -> float | None:
    """The smallest certified gap within so many seconds."""
    pairs = zip(row.get("seconds", []), row.get("gaps", []), strict=True)
    gaps = [gap for at, gap in pairs if gap is not None and 0.0 < at <= OVERTIME * seconds]
    return min(gaps, default=None)


def section(all_rows: list[dict[str, Any]]) -> str:
    """The section as text."""
    loads = [row["load"] for row in all_rows]
    lines = [HEAD.format(load=f"{min(loads):.0f} to {max(loads):.0f}")]
    for name, title in SETS.items():
        own = [row for row in all_rows if row["set"] == name]
        if not own:
            continue
        lines += [
            f"### {title[0].upper()}{title[1:]}: {own[0]['n']:,} samples, {own[0]['d']} features",
            "",
            f"| method | {' | '.join(f'{t:g} s' for t in TIMES)} | |",
            "|---|---|---|---|---|",
        ]
        for row in own:
            gaps = [gap_after(row, t) for t in TIMES]
            cells = ["–" if gap is None else f"{gap:.0e}" for gap in gaps]
            lines.append(f"| {_name(row)} | {' | '.join(cells)} | {_remark(row)} |")
        lines.append("")
    return "\n".join(lines)


def _name(row: dict[str, Any]) -> str:
    return f"`{row['what']}`" if row["kind"] != "classical" else str(row["what"])


def _remark(row: dict[str, Any]) -> str:
    if "refused" in row:
        return f"not asked: {row['refused']}" if "dense" in row["refused"] else row["refused"]
    if row["kind"] == "classical":
        return f"{row['steps']:,} steps"
    words = ["this package's solver"] if row["kind"] == "engine" else []
    words += ["primal form"] if row.get("form") == "primal" else []
    return ", ".join(words + row.get("failures", []))


def draw(all_rows: list[dict[str, Any]]) -> None:
    """Draw the picture."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "classical"
    import matplotlib.pyplot as plt

    shown = [name for name in SETS if any(row["set"] == name for row in all_rows)]
    figure, axes = plt.subplots(
        1, len(shown), figsize=(4.2 * len(shown), 4.6), sharey=True, layout="constrained"
    )
    names = list(dict.fromkeys(row["what"] for row in all_rows if "gaps" in row))
    colours = {what: plt.get_cmap("tab20")(k % 20) for k, what in enumerate(names)}
    handles = {}
    for ax, name in zip(axes, shown, strict=True):
        for row in (row for row in all_rows if row["set"] == name and "gaps" in row):
            points = [
                (at, max(gap, SMALLEST))
                for at, gap in zip(row["seconds"], row["gaps"], strict=True)
                if gap is not None and at > 0.0
            ]
            if points:
                (handles[row["what"]],) = ax.loglog(
                    *zip(*points, strict=True),
                    STYLES[row["kind"]],
                    marker="o" if row["kind"] != "classical" else None,
                    markersize=3,
                    linewidth=1.2,
                    color=colours[row["what"]],
                )
        ax.set_title(SETS[name], fontsize=10)
        ax.set_xlabel("seconds of the process")
        ax.set_xlim(1e-3, 30.0)
        ax.set_ylim(SMALLEST / 2.0, 5.0)
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("certified relative gap")
    figure.legend(handles.values(), handles, loc="outside lower center", ncols=6, fontsize=8)
    figure.savefig(PICTURE, metadata={"Date": None})


def main() -> None:
    """Write both."""
    all_rows = rows()
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(before + BEGIN + section(all_rows) + END + after, encoding="utf-8")
    draw(all_rows)


if __name__ == "__main__":
    main()
