"""Draws the picture of the README: a kernel machine, its KKT cases, and its certificate.

Usage: ``python docs/picture.py`` writes ``docs/picture.svg``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import make_moons

import qpsvm

CASE_STYLE = (
    ("alpha = 0", "#8c8c8c", "o"),
    ("free: on the margin", "#0072b2", "s"),
    ("alpha = C", "#d55e00", "^"),
)


def main() -> None:
    """Solve, verify and draw."""
    X, y = make_moons(100, noise=0.15, random_state=42)
    problem = qpsvm.SoftMargin(C=10.0).dual(X, y, kernel=qpsvm.kernels.RBF(gamma=1.0))
    solution = qpsvm.solve(problem, "cvxopt")
    report = qpsvm.verify(problem, solution)
    table = report.samples
    assert table is not None
    with matplotlib.rc_context({"svg.hashsalt": "qpsvm", "font.size": 9}):
        figure = Figure(figsize=(9.2, 3.7), layout="constrained")
        boundary, cases = figure.subplots(1, 2, width_ratios=[1.15, 1.0])
        draw_boundary(boundary, X, solution, table)
        draw_cases(cases, table)
        verdict = "PASS" if report.passed else "FAIL"
        figure.suptitle(
            f"{verdict}: certified relative gap {report.relative_gap:.0e}, "
            f"{report.residuals.worst:.0e} worst KKT residual",
            fontsize=11,
        )
        figure.savefig(Path(__file__).with_name("picture.svg"), metadata={"Date": None})


def draw_boundary(axes: Any, X: Any, solution: qpsvm.SVMSolution, table: Any) -> None:
    """Decision boundary, margins, and the samples by KKT case."""
    low, high = X.min(axis=0) - 0.3, X.max(axis=0) + 0.3
    grid = np.meshgrid(*(np.linspace(a, b, 200) for a, b in zip(low, high, strict=True)))
    decision = solution.decision_function(np.column_stack([g.ravel() for g in grid]))
    levels = decision.reshape(grid[0].shape)
    axes.contourf(*grid, levels, levels=[-1e9, 0, 1e9], colors=["#e8f1f8", "#fbeee3"])
    axes.contour(
        *grid, levels, levels=[-1, 0, 1], colors="#333333", linestyles=["--", "-", "--"],
        linewidths=[0.9, 1.6, 0.9],
    )  # fmt: skip
    for case, (name, colour, marker) in enumerate(CASE_STYLE):
        chosen = table.case == case
        axes.scatter(
            *X[chosen].T, s=26, c=colour, marker=marker, edgecolors="white", linewidths=0.5,
            label=f"{name} ({chosen.sum()})",
        )  # fmt: skip
    axes.set(title="f(x) = 0 and the margins f(x) = ±1", xticks=[], yticks=[])
    axes.legend(loc="lower left", fontsize=8, framealpha=0.95)


def draw_cases(axes: Any, table: Any) -> None:
    """Alpha against margin: at the optimum every sample lies on the L."""
    C = float(table.upper[0])
    right = max(2.0, float(table.margin.max()))
    left = min(-0.5, float(table.margin.min()))
    axes.plot([left, 1, 1, right], [C, C, 0, 0], color="#bbbbbb", linewidth=5, zorder=0)
    for case, (_, colour, marker) in enumerate(CASE_STYLE):
        chosen = table.case == case
        axes.scatter(
            table.margin[chosen], table.alpha[chosen], s=26, c=colour, marker=marker,
            edgecolors="white", linewidths=0.5,
        )  # fmt: skip
    axes.set(
        title="The KKT conditions: every sample on the L", xlabel="margin  y f(x)", ylabel="alpha"
    )
    axes.spines[["top", "right"]].set_visible(False)


if __name__ == "__main__":
    main()
