"""Pictures of residuals on a logarithmic axis, with their tolerance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from qpsvm.display import short_repr
from qpsvm.numerics.arrays import Vector
from qpsvm.plotting import picture
from qpsvm.plotting.picture import Picture, Style, count
from qpsvm.qp.kkt_residuals import Check

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOWEST = 1e-18
"""Below the rounding of a double: a logarithmic axis ends there, and zeros are drawn there."""


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
    points : int
        Ranks that are drawn of a long list: every one of the first, then evenly on the log axis.
    """

    name: ClassVar[str] = "residuals"
    caption = (
        "Both axes are logarithmic. The dashed line is the tolerance; "
        f"violations below {LOWEST:g} are drawn there."
    )
    violation: Vector
    tolerance: float
    noun: str
    points: int = 300

    @property
    def title(self) -> str:
        return f"KKT violation of every {self.noun}, largest first"

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
        ranks = np.unique(np.geomspace(1, n, self.points).round().astype(np.intp))
        finite = ordered[np.isfinite(ordered)]
        top = max(float(np.max(finite, initial=LOWEST)), self.tolerance)
        # an infinite violation is drawn above all others
        height = np.clip(ordered[ranks - 1], LOWEST, 10.0 * top)
        axes = picture.new_axes(figure, style)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.plot(ranks, height, color=style.soft, linewidth=1.0)
        beyond = height > self.tolerance
        for chosen, marker, case in ((~beyond, "o", 1), (beyond, "^", 2)):
            picture.dots(
                axes, ranks[chosen], height[chosen], style, marker=marker,
                color=picture.CASE_COLOURS[case], markersize=4.5,
            )  # fmt: skip
        _draw_tolerance(axes, style, self.tolerance)
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
    title = "Scaled residuals and their tolerances"
    caption = (
        "The axis is logarithmic. A bar marks each tolerance, circles are within it, triangles "
        f"beyond; residuals below {LOWEST:g} are drawn there."
    )
    checks: tuple[Check, ...]

    @property
    def alternative(self) -> str:
        return "Residuals by size: " + "; ".join(
            f"{check.name.replace('_', ' ')} {check.scaled:.2g} "
            f"({'within' if check.passed else 'beyond'} {check.tolerance:.2g})"
            for check in sorted(self.checks, key=lambda check: -check.scaled)
        )

    def draw(self, figure: Figure, style: Style) -> None:
        axes = picture.new_axes(figure, style)
        axes.set_xscale("log")
        ordered = sorted(self.checks, key=lambda check: -check.scaled)
        finite = [c.scaled for c in ordered if np.isfinite(c.scaled)]
        top = max([*finite, *(c.tolerance for c in ordered)])
        for i, check in enumerate(ordered):
            at = float(np.clip(check.scaled, LOWEST, 10.0 * top))
            axes.plot([LOWEST, at], [i, i], color=style.grid, linewidth=1.2, zorder=1)
            case = 1 if check.passed else 2
            marks = {
                "color": picture.CASE_COLOURS[case],
                "marker": picture.CASE_MARKERS[2 * case - 2],
            }
            picture.dots(axes, [at], [float(i)], style, markersize=6.5, **marks)
            axes.plot([check.tolerance], [i], marker="|", markersize=11.0, color=style.ink)
        names = [check.name.replace("_", " ") for check in ordered]
        axes.set_yticks(
            range(len(names)), names, fontfamily=picture.FONT, fontsize=picture.SMALL_TEXT
        )
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
        picture.label(axes, style, "scaled residual")


Curve: TypeAlias = list[tuple[Any, float]]
"""Events with a value each."""


@short_repr
@dataclass(frozen=True, eq=False)
class Convergence(Picture):
    """Picture of a solve's convergence, the solver's measure and the verifier's.

    Attributes
    ----------
    events : tuple of Progress
        As ``qpsvm.solve`` passes them to its callback.
    tolerance : float
        What the verifier's residual must reach.
    objective : float
        Of the program's last solution; the distance from it is drawn for solvers that tell no
        residual.
    """

    name: ClassVar[str] = "convergence"
    title = "Convergence"
    caption = (
        "The vertical axis is logarithmic; the dashed line is eps. Each solver scales its "
        "residuals in its own way; only the verifier's residuals decide."
    )
    events: tuple[Any, ...]
    tolerance: float
    objective: float

    @classmethod
    def of(cls, events: Sequence[Any], tolerance: float, objective: float) -> Convergence | None:
        """Build the picture; None if there are fewer than two points."""
        picture = cls(tuple(events), tolerance, objective)
        _, way, stages = picture.curves
        return picture if len(way) + len(stages) > 1 else None

    @cached_property
    def curves(self) -> tuple[str, Curve, Curve]:
        """Name of the solver's own measure, its values on the way, and the verifier's by stage.

        The measure is the solver's residual; if it tells none, the objective's distance from its
        end. The verifier's is the largest KKT residual.
        """
        solving = [e for e in self.events if e.stage == "solve"]
        name, way = "solver's own residual", [(e, e.residual) for e in solving]
        if all(residual is None for _, residual in way):
            name, size = "distance to the last objective", max(1.0, abs(self.objective))
            known = [e for e in solving if e.objective is not None]
            way = [(e, abs(e.objective - self.objective) / size) for e in known]
        stages = [(e, e.residual) for e in self.events if e.stage != "solve"]
        return name, _known(way), _known(stages)

    @property
    def alternative(self) -> str:
        (name, way, stages), parts = self.curves, []
        if way:
            (first, start), (last, end) = way[0], way[-1]
            parts.append(
                f"the {name} of {last.backend} goes from {start:.2g} at iteration "
                f"{first.iteration} to {end:.2g} at iteration {last.iteration}, "
                f"{last.seconds:.2g} s"
            )
        if stages:
            told = ", ".join(f"{value:.2g} at stage {event.stage}" for event, value in stages)
            parts.append(f"the verifier measures {told}")
        return f"Convergence: {'; '.join(parts)}. Asked for: {self.tolerance:.2g}."

    def draw(self, figure: Figure, style: Style) -> None:
        axes = picture.new_axes(figure, style)
        axes.set_yscale("log")
        name, way, stages = self.curves
        if way:
            at = [float(i if e.iteration is None else e.iteration) for i, (e, _) in enumerate(way)]
            axes.plot(
                at, _drawn(way), color=picture.CASE_COLOURS[1], marker="o", markersize=3.5,
                markevery=max(1, len(at) // 60), linewidth=1.3, label=name,
            )  # fmt: skip
            step = max(1.0, 0.06 * (at[-1] - at[0]))
            places = at[-1] + step * np.arange(1, len(stages) + 1)
            axes.locator_params(axis="x", integer=True)  # there is no half iteration
            unit = "residual" if name.endswith("residual") else "distance"
            picture.label(axes, style, "iteration", unit)
        else:
            places = np.arange(float(len(stages)))
            axes.set_xticks(places, [e.stage for e, _ in stages], fontfamily=picture.FONT)
            axes.margins(x=0.2)
            picture.label(axes, style, "stage", "residual")
        if stages:
            axes.plot(
                places, _drawn(stages), linestyle="none", marker="^", markersize=7.0,
                color=picture.CASE_COLOURS[2], label="measured by the verifier",
            )  # fmt: skip
        _draw_tolerance(axes, style, self.tolerance)
        picture.legend(figure, style, 2)


def _known(told: list[tuple[Any, float | None]]) -> Curve:
    return [(e, value) for e, value in told if value is not None and np.isfinite(value)]


def _drawn(told: Curve) -> Vector:
    return np.clip([value for _, value in told], LOWEST, None)


def _draw_tolerance(axes: Axes, style: Style, tolerance: float) -> None:
    axes.axhline(tolerance, color=style.ink, linewidth=1.3, linestyle=(0, (4, 3)))
