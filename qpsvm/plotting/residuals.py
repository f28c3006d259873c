"""Pictures of residuals, sorted, with their tolerance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from qpsvm.display import short_repr
from qpsvm.numerics.arrays import Vector
from qpsvm.plotting import picture
from qpsvm.plotting.picture import Picture, Style, count
from qpsvm.qp.kkt_residuals import Check

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOWEST = 1e-18
"""Below the rounding of a double: a logarithmic axis ends there, and zeros are drawn there."""
POINTS = 300
"""Ranks that are drawn of a long list: every one of the first, then evenly on the log axis."""


@short_repr
@dataclass(frozen=True, eq=False)
class SortedViolations(Picture):
    """Picture of the KKT violation of every row of the sample table, sorted.

    Attributes
    ----------
    violation : array of shape (N,)
    tolerance : float
    noun : str
        What a row is.
    """

    name: ClassVar[str] = "residuals"
    violation: Vector
    tolerance: float
    noun: str

    @property
    def title(self) -> str:
        return f"KKT violation of every {self.noun}, largest first"

    @property
    def caption(self) -> str:
        return (
            "Both axes are logarithmic. The dashed line is the tolerance; "
            f"violations below {LOWEST:g} are drawn there."
        )

    @property
    def alternative(self) -> str:
        violation, n = self.violation, len(self.violation)
        beyond = int(np.count_nonzero(~(violation <= self.tolerance)))
        return (
            f"The KKT violations of {count(n, self.noun)} in descending order: the largest is "
            f"{np.max(violation):.2g}, the median {np.median(violation):.2g}, the smallest "
            f"{np.min(violation):.2g}. {count(beyond, self.noun)} "
            f"{'is' if beyond == 1 else 'are'} beyond the tolerance of {self.tolerance:.2g}."
        )

    def draw(self, figure: Figure, style: Style) -> None:
        ordered = np.sort(self.violation)[::-1]
        n = len(ordered)
        ranks = np.unique(np.geomspace(1, n, POINTS).round().astype(np.intp))
        finite = ordered[np.isfinite(ordered)]
        top = max(float(np.max(finite, initial=LOWEST)), self.tolerance)
        # an infinite violation is drawn above all others
        height = np.clip(ordered[ranks - 1], LOWEST, 10.0 * top)
        beyond = height > self.tolerance
        axes = picture.new_axes(figure, style)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.plot(ranks, height, color=style.soft, linewidth=1.0)
        for chosen, marker, colour in (
            (~beyond, picture.CASE_MARKERS[0], picture.CASE_COLOURS[1]),
            (beyond, picture.CASE_MARKERS[2], picture.CASE_COLOURS[2]),
        ):
            picture.dots(
                axes, ranks[chosen], height[chosen], style, marker=marker, color=colour,
                markersize=4.5,
            )  # fmt: skip
        axes.axhline(self.tolerance, color=style.ink, linewidth=1.3, linestyle=(0, (4, 3)))
        axes.set_xlim(0.9, max(n, 2) * 1.1)
        axes.set_ylim(top=20.0 * top)
        picture.label(axes, style, "rank", "violation")


@short_repr
@dataclass(frozen=True, eq=False)
class Checks(Picture):
    """Picture of every check of a report with its tolerance, the largest first.

    Attributes
    ----------
    checks : tuple of Check
    """

    name: ClassVar[str] = "checks"
    checks: tuple[Check, ...]

    @property
    def title(self) -> str:
        return "Scaled residuals and their tolerances"

    @property
    def caption(self) -> str:
        return (
            "The axis is logarithmic. A bar marks each tolerance, circles are within it, triangles "
            f"beyond; residuals below {LOWEST:g} are drawn there."
        )

    @property
    def alternative(self) -> str:
        return "Residuals by size: " + "; ".join(
            f"{check.name.replace('_', ' ')} {check.scaled:.2g} "
            f"({'within' if check.passed else 'beyond'} {check.tolerance:.2g})"
            for check in self._sorted
        )

    @property
    def _sorted(self) -> list[Check]:
        return sorted(self.checks, key=lambda check: -check.scaled)

    def draw(self, figure: Figure, style: Style) -> None:
        axes = picture.new_axes(figure, style)
        axes.set_xscale("log")
        rows = np.arange(len(self.checks))
        ordered = self._sorted
        finite = [c.scaled for c in ordered if np.isfinite(c.scaled)]
        top = max([*finite, *(c.tolerance for c in ordered)])
        for i, check in zip(rows, ordered, strict=True):
            at = float(np.clip(check.scaled, LOWEST, 10.0 * top))
            case = 1 if check.passed else 2
            axes.plot([LOWEST, at], [i, i], color=style.grid, linewidth=1.2, zorder=1)
            picture.dots(
                axes, [at], [float(i)], style, color=picture.CASE_COLOURS[case],
                marker="o" if check.passed else "^", markersize=6.5,
            )  # fmt: skip
            axes.plot([check.tolerance], [i], marker="|", markersize=11.0, color=style.ink)
        names = [check.name.replace("_", " ") for check in ordered]
        axes.set_yticks(rows, names, fontfamily=picture.FONT, fontsize=picture.SMALL_TEXT)
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
        picture.label(axes, style, "scaled residual")
