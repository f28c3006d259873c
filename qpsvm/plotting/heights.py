"""Pictures of the plane of two features, with contours of what a regression predicts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from qpsvm.display import short_repr
from qpsvm.numerics.arrays import Dense, Index, Vector
from qpsvm.plotting import picture
from qpsvm.plotting.grid import Grid
from qpsvm.plotting.picture import Picture, Style, count, literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.contour import QuadContourSet
    from matplotlib.figure import Figure

LEVELS = 9
"""Contours at most; Matplotlib chooses round numbers."""
COLOURS = "cividis"
"""Of Matplotlib's colour maps the one that looks the same to colour-blind readers."""


@short_repr
@dataclass(frozen=True, eq=False)
class Heights(Picture):
    """Picture of predicted numbers in the plane of two features.

    Attributes
    ----------
    points : array of shape (n, 2)
    target : array of shape (n,) or None
        Targets of the samples, drawn in the colours of the predictions.
    support : array of int of shape (m,)
        Rows of ``points`` that are support vectors.
    values : callable
        Of an (m, 2) array: one prediction for each row.
    features : tuple of str
        Names of the axes.
    side : int
        Points along each axis at which predictions are computed.
    eps : float or None
        By how much the picture extends beyond the samples; None: by a share of their range.
    """

    name: ClassVar[str] = "heights"
    points: Dense
    target: Vector | None
    support: Index
    values: Callable[[Dense], Vector]
    features: tuple[str, str]
    side: int
    eps: float | None = None

    @property
    def title(self) -> str:
        return "Predictions and support vectors"

    @property
    def caption(self) -> str:
        rings = "Ringed: support vectors." * bool(len(self.support))
        return " ".join(filter(None, (rings, picture.as_image(len(self.points)))))

    @property
    def alternative(self) -> str:
        predicted = self.response
        targets = ""
        if self.target is not None:
            targets = f" with targets from {self.target.min():.3g} to {self.target.max():.3g}"
        return (
            f"Contours of the prediction, from {predicted.min():.3g} to {predicted.max():.3g}, in "
            f"the plane of {self.features[0]} and {self.features[1]}; "
            f"{count(len(self.points), 'sample')}{targets}, {len(self.support):,} of them support "
            "vectors."
        )

    @cached_property
    def grid(self) -> Grid:
        """The grid of the predictions."""
        return Grid.around(self.points, self.side, self.eps)

    @cached_property
    def response(self) -> Dense:
        """The predictions on the grid, shape (side, side)."""
        return self.grid.values(self.values)

    def draw(self, figure: Figure, style: Style) -> None:
        axes = picture.new_axes(figure, style)
        axes.grid(visible=False)
        self.draw_on(axes, style)

    def draw_on(
        self, axes: Axes, style: Style, *, named_rings: bool = False
    ) -> list[QuadContourSet]:
        """Draw into axes, without a legend; return the coloured surface in a list.

        Parameters
        ----------
        axes : matplotlib.axes.Axes
        style : Style
        named_rings : bool
            Whether a legend would name the rings.
        """
        from matplotlib.colors import Normalize

        seen = self.response if self.target is None else np.append(self.response, self.target)
        scale = Normalize(float(np.min(seen)), float(np.max(seen)))
        grid = (self.grid.xx0, self.grid.xx1, self.response)
        surface = axes.contourf(*grid, levels=LEVELS, cmap=COLOURS, norm=scale, alpha=0.5)
        # the levels of the coloured surface, of which matplotlib has chosen round numbers
        lines = axes.contour(
            *grid, levels=surface.levels, colors=[style.ink], linewidths=0.6, alpha=0.6
        )
        axes.clabel(lines, fontsize=picture.SMALL_TEXT - 2.0)
        x, y = self.points.T
        many = len(x) > picture.RASTERISED
        coloured: dict[str, Any] = {"c": style.soft}
        if self.target is not None:
            coloured = {"c": self.target, "cmap": COLOURS, "norm": scale}
        axes.scatter(
            x, y, zorder=3, s=4.0 if many else 28.0, edgecolors=style.ink,
            linewidths=0.0 if many else 0.6, rasterized=many, **coloured,
        )  # fmt: skip
        if 0 < len(self.support) <= picture.RINGS:
            text = f"support vectors ({len(self.support):,})" if named_rings else ""
            picture.rings(axes, self.points[self.support], style, label=text)
        picture.label(axes, style, *(literal(name, 40) for name in self.features))
        return [surface]
