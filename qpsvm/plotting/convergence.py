"""Pictures of a solve's convergence: the solver's own measures, and the verifier's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np

from qpsvm.display import short_repr
from qpsvm.plotting import picture
from qpsvm.plotting.picture import Picture, Style
from qpsvm.plotting.residuals import LOWEST

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
    events: tuple[Event, ...]
    tolerance: float
    objective: float

    @classmethod
    def of(cls, events: Sequence[Event], tolerance: float, objective: float) -> Convergence | None:
        """Build the picture; None if there are fewer than two points."""
        picture = cls(tuple(events), tolerance, objective)
        return picture if len(picture.on_the_way) + len(picture.verified) > 1 else None

    # --- what there is to draw -------------------------------------------------------------------

    @property
    def on_the_way(self) -> list[tuple[Event, float]]:
        """Solver's residual, or objective's distance from its end, by iteration."""
        solving = [event for event in self.events if event.stage == "solve"]
        told = [(e, e.residual) for e in solving if e.residual is not None]
        if not told:
            size = max(1.0, abs(self.objective))
            told = [
                (e, abs(e.objective - self.objective) / size)
                for e in solving
                if e.objective is not None
            ]
        return [(event, value) for event, value in told if np.isfinite(value)]

    @property
    def verified(self) -> list[tuple[Event, float]]:
        """The largest verified KKT residual after each stage of a solve, by stage."""
        return [
            (event, event.residual)
            for event in self.events
            if event.stage != "solve" and event.residual is not None
            if np.isfinite(event.residual)
        ]

    @property
    def _tells_residuals(self) -> bool:
        return any(e.stage == "solve" and e.residual is not None for e in self.events)

    @property
    def told(self) -> str:
        """Name of the solver's own curve in the legend."""
        if self._tells_residuals:
            return "solver's own residual"
        return "distance to the last objective"

    # --- in words and lines ----------------------------------------------------------------------

    @property
    def title(self) -> str:
        return "Convergence"

    @property
    def caption(self) -> str:
        return (
            "The vertical axis is logarithmic; the dashed line is eps. Each solver scales its "
            "residuals in its own way; only the verifier's residuals decide."
        )

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
            at = [_iteration(event, i) for i, (event, _) in enumerate(way)]
            height = np.clip([value for _, value in way], LOWEST, None)
            every = max(1, len(at) // 60)
            axes.plot(
                at, height, color=picture.CASE_COLOURS[1], marker="o", markersize=3.5,
                markevery=every, linewidth=1.3, label=self.told,
            )  # fmt: skip
            step = max(1.0, 0.06 * (at[-1] - at[0]))
            places = at[-1] + step * np.arange(1, len(stages) + 1)
            axes.locator_params(axis="x", integer=True)  # there is no half iteration
            picture.label(
                axes, style, "iteration", "residual" if self._tells_residuals else "distance"
            )
        else:
            places = np.arange(float(len(stages)))
            axes.set_xticks(
                places, [event.stage for event, _ in stages], fontfamily=picture.FONT,
            )  # fmt: skip
            axes.margins(x=0.2)
            picture.label(axes, style, "stage", "residual")
        if stages:
            axes.plot(
                places, np.clip([value for _, value in stages], LOWEST, None), linestyle="none",
                marker="^", markersize=7.0, color=picture.CASE_COLOURS[2],
                label="measured by the verifier",
            )  # fmt: skip
        axes.axhline(self.tolerance, color=style.ink, linewidth=1.3, linestyle=(0, (4, 3)))
        picture.legend(figure, style, 2)


def _iteration(event: Event, position: int) -> float:
    return float(position if event.iteration is None else event.iteration)
