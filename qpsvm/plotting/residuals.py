"""Pictures of residuals on a logarithmic axis, with their tolerance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

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
    caption = (
        "Both axes are logarithmic. The dashed line is the tolerance; "
        f"violations below {LOWEST:g} are drawn there."
    )
    violation: Vector
    tolerance: float
    noun: str

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
        ranks = np.unique(np.geomspace(1, n, POINTS).round().astype(np.intp))
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
            for check in self._sorted
        )

    @property
    def _sorted(self) -> list[Check]:
        return sorted(self.checks, key=lambda check: -check.scaled)

    def draw(self, figure: Figure, style: Style) -> None:
        axes = picture.new_axes(figure, style)
        axes.set_xscale("log")
        ordered = self._sorted
        finite = [c.scaled for c in ordered if np.isfinite(c.scaled)]
        top = max([*finite, *(c.tolerance for c in ordered)])
        for i, check in enumerate(ordered):
            at = float(np.clip(check.scaled, LOWEST, 10.0 * top))
            axes.plot([LOWEST, at], [i, i], color=style.grid, linewidth=1.2, zorder=1)
            case = 1 if check.passed else 2
            picture.dots(
                axes, [at], [float(i)], style, color=picture.CASE_COLOURS[case],
                marker="o" if check.passed else "^", markersize=6.5,
            )  # fmt: skip
            axes.plot([check.tolerance], [i], marker="|", markersize=11.0, color=style.ink)
        names = [check.name.replace("_", " ") for check in ordered]
        axes.set_yticks(
            range(len(names)), names, fontfamily=picture.FONT, fontsize=picture.SMALL_TEXT
        )
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
        picture.label(axes, style, "scaled residual")


class Event(Protocol):
    """One event of a solve, as ``qpsvm.solve`` passes it to its callback."""

    @property
    def stage(self) -> str: ...
    @property
    def backend(self) -> str: ...
    @property
    def iteration(self) -> int | None: ...
    @property
    def seconds(self) -> float: ...
    @property
    def objective(self) -> float | None: ...
    @property
    def residual(self) -> float | None: ...


@short_repr
@dataclass(frozen=True, eq=False)
class Convergence(Picture):
    """Picture of a solve's convergence, the solver's measure and the verifier's.

    Attributes
    ----------
    events : tuple of Event
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
    events: tuple[Event, ...]
    tolerance: float
    objective: float

    @classmethod
    def of(cls, events: Sequence[Event], tolerance: float, objective: float) -> Convergence | None:
        """Build the picture; None if there are fewer than two points."""
        picture = cls(tuple(events), tolerance, objective)
        return picture if len(picture.on_the_way) + len(picture.verified) > 1 else None

    @property
    def _residuals(self) -> list[tuple[Event, float]]:
        return [(e, e.residual) for e in self.events if e.residual is not None]

    @property
    def _tells_residuals(self) -> bool:
        return any(event.stage == "solve" for event, _ in self._residuals)

    @property
    def on_the_way(self) -> list[tuple[Event, float]]:
        """Solver's residual, or objective's distance from its end, by iteration."""
        size = max(1.0, abs(self.objective))
        told = self._residuals
        if not self._tells_residuals:
            known = [(e, e.objective) for e in self.events if e.objective is not None]
            told = [(event, abs(value - self.objective) / size) for event, value in known]
        return [(e, value) for e, value in told if e.stage == "solve" and np.isfinite(value)]

    @property
    def verified(self) -> list[tuple[Event, float]]:
        """The largest verified KKT residual after each stage of a solve, by stage."""
        return [(e, v) for e, v in self._residuals if e.stage != "solve" and np.isfinite(v)]

    @property
    def told(self) -> str:
        """Name of the solver's own curve in the legend."""
        if self._tells_residuals:
            return "solver's own residual"
        return "distance to the last objective"

    @property
    def alternative(self) -> str:
        parts = []
        if self.on_the_way:
            (first, start), (last, end) = self.on_the_way[0], self.on_the_way[-1]
            parts.append(
                f"the {self.told} of {last.backend} goes from {start:.2g} at iteration "
                f"{first.iteration} to {end:.2g} at iteration {last.iteration}, "
                f"{last.seconds:.2g} s"
            )
        stages = [f"{value:.2g} at stage {event.stage}" for event, value in self.verified]
        if stages:
            parts.append(f"the verifier measures {', '.join(stages)}")
        return f"Convergence: {'; '.join(parts)}. Asked for: {self.tolerance:.2g}."

    def draw(self, figure: Figure, style: Style) -> None:
        axes = picture.new_axes(figure, style)
        axes.set_yscale("log")
        way, stages = self.on_the_way, self.verified
        if way:
            at = [float(i if e.iteration is None else e.iteration) for i, (e, _) in enumerate(way)]
            axes.plot(
                at, _drawn(way), color=picture.CASE_COLOURS[1], marker="o", markersize=3.5,
                markevery=max(1, len(at) // 60), linewidth=1.3, label=self.told,
            )  # fmt: skip
            step = max(1.0, 0.06 * (at[-1] - at[0]))
            places = at[-1] + step * np.arange(1, len(stages) + 1)
            axes.locator_params(axis="x", integer=True)  # there is no half iteration
            picture.label(
                axes, style, "iteration", "residual" if self._tells_residuals else "distance"
            )
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


def _drawn(told: Sequence[tuple[Event, float]]) -> Vector:
    return np.clip([value for _, value in told], LOWEST, None)


def _draw_tolerance(axes: Axes, style: Style, tolerance: float) -> None:
    axes.axhline(tolerance, color=style.ink, linewidth=1.3, linestyle=(0, (4, 3)))
