"""Pictures of predictions against targets of a regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from qpsvm.display import short_repr
from qpsvm.numerics.arrays import Index, Vector
from qpsvm.plotting import picture
from qpsvm.plotting.picture import Picture, Style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CASES = ("alpha = 0", "on the edge", "beyond")


@short_repr
@dataclass(frozen=True, eq=False)
class Targets(Picture):
    """Picture of predictions against targets.

    Attributes
    ----------
    target, predicted : arrays of shape (n,)
    case : array of int of shape (n,)
        Index into "zero", "free" and "bound".
    half_width : float
        Of the tube; 0 where there is none.
    """

    name: ClassVar[str] = "targets"
    target: Vector
    predicted: Vector
    case: Index
    half_width: float

    @property
    def title(self) -> str:
        return "Predicted against target"

    @property
    def caption(self) -> str:
        tube = f", dashed the edges of the tube at ±{self.half_width:.4g}" * bool(self.half_width)
        return f"Solid: predicted = target{tube}. {picture.as_image(len(self.target))}".strip()

    @property
    def alternative(self) -> str:
        deviation = np.abs(self.target - self.predicted)
        beyond = int(np.count_nonzero(deviation > self.half_width))
        return (
            f"Predicted values from {self.predicted.min():.3g} to {self.predicted.max():.3g} "
            f"against {picture.count(len(self.target), 'target')} from {self.target.min():.3g} to "
            f"{self.target.max():.3g}. {beyond:,} deviate by more than {self.half_width:.3g}, the "
            f"largest deviation is {deviation.max():.3g}, the median {np.median(deviation):.3g}."
        )

    def draw(self, figure: Figure, style: Style) -> None:
        axes = picture.new_axes(figure, style)
        many = len(self.target) > picture.RASTERISED
        ends = np.array([np.min(self.target), np.max(self.target)])
        for offset, line in ((0.0, "-"), (-self.half_width, "--"), (self.half_width, "--")):
            axes.plot(
                ends, ends + offset, color=style.ink, linewidth=1.1, linestyle=line, zorder=9 * many
            )
        for case, words in enumerate(CASES):
            chosen = self.case == case
            if not chosen.any():
                continue
            picture.dots(
                axes, self.target[chosen], self.predicted[chosen], style,
                marker=picture.CASE_MARKERS[case], color=picture.CASE_COLOURS[case],
                label=f"{words} ({int(chosen.sum()):,})",
                rasterized=many, zorder=3 + case,
            )  # fmt: skip
        picture.label(axes, style, "target", "predicted")
        picture.legend(figure, style, len(CASES))
