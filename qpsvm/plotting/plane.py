"""Pictures of the plane of two features: boundary, margins and support vectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from qpsvm.display import short_repr
from qpsvm.numerics.arrays import Dense, Index, Vector
from qpsvm.plotting import picture
from qpsvm.plotting.grid import Grid
from qpsvm.plotting.picture import CLASS_COLOURS, CLASS_MARKERS, Picture, Style, count, literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.contour import QuadContourSet
    from matplotlib.figure import Figure

KERNEL_VALUES = 2e7
"""About a second of them: with many support vectors the grid gets coarser."""
FINEST, COARSEST = 160, 40


@short_repr
@dataclass(frozen=True, eq=False)
class Plane(Picture):
    """Picture of the plane of two features, with decision boundary and support vectors.

    Attributes
    ----------
    points : array of shape (n, 2)
    group : array of int of shape (n,)
        Index into ``groups``; -1 for samples of no group.
    groups : tuple of str
    support : array of int of shape (n,)
        1 for support vectors between their bounds, 2 for those at one, 0 for all others.
    values : callable
        Of an (m, 2) array: one decision value for each row, or one per class.
    levels : tuple of float
        Of one decision value: the boundary first, then the margins.
    features : tuple of str
        Names of the axes.
    side : int or None
        Points along each axis at which decision values are computed; None: as many as are quick.
    eps : float or None
        By how much the picture extends beyond the samples; None: by a share of their range.
    """

    name: ClassVar[str] = "plane"
    points: Dense
    group: Index
    groups: tuple[str, ...]
    support: Index
    values: Callable[[Dense], Vector]
    levels: tuple[float, ...]
    features: tuple[str, str]
    side: int | None = None
    eps: float | None = None

    @property
    def title(self) -> str:
        what = ("Regions", "Boundary", "Boundary, margins")[min(2, len(self.levels))]
        return f"{what} and support vectors"

    @property
    def caption(self) -> str:
        lines = "Solid: the boundary"
        if len(self.levels) > 1:
            lines += "; dashed: the margins"
        rings = " and ".join(words for _, words in self._rings)
        parts = (f"{lines}.", f"Ringed: {rings}." * bool(rings), picture.as_image(len(self.points)))
        return " ".join(filter(None, parts))

    @property
    def _rings(self) -> list[tuple[int, str]]:
        """Kinds of support vectors to mark by rings: those few enough not to hide the samples."""
        kinds = ((1, "support vectors"), (2, "bold, support vectors at a bound"))
        return [
            kind for kind in kinds if 0 < np.count_nonzero(self.support == kind[0]) <= picture.RINGS
        ]

    @property
    def _many(self) -> bool:
        return len(self.points) > picture.RASTERISED

    @property
    def alternative(self) -> str:
        sizes = [
            count(int(np.count_nonzero(self.group == g)), "sample")
            + (f" of {name}" if name else "")
            for g, name in enumerate(self.groups)
            if (self.group >= 0).any()
        ] or [count(len(self.points), "sample")]
        inside, bound = (int(np.count_nonzero(self.support == case)) for case in (1, 2))
        lines = "the boundary between the classes"
        if len(self.levels) > 1:
            levels = " and ".join(f"{level:.4g}" for level in self.levels[1:])
            lines = f"the boundary f(x) = {self.levels[0]:.4g} and the margins f(x) = {levels}"
        elif self.levels:
            lines = f"the boundary f(x) = {self.levels[0]:.4g}"
        low, high = self.points.min(axis=0), self.points.max(axis=0)
        return (
            f"{', '.join(sizes)} in the plane of {self.features[0]} ({low[0]:.3g} to "
            f"{high[0]:.3g}) and {self.features[1]} ({low[1]:.3g} to {high[1]:.3g}), with {lines}. "
            f"{inside + bound:,} are support vectors"
            f"{f', {bound:,} of them at a bound' * bool(bound)}."
        )

    @property
    def height(self) -> float:
        return 3.9

    def draw(self, figure: Figure, style: Style) -> None:
        axes = picture.new_axes(figure, style)
        axes.grid(visible=False)
        self.draw_on(axes, style)
        if len(self.groups) > 1:
            picture.legend(figure, style, min(3, len(self.groups)))

    @cached_property
    def grid(self) -> Grid:
        """The grid of the decision values: with many support vectors, a coarser one."""
        used = max(1, int(np.count_nonzero(self.support)))
        quick = int(np.clip(np.sqrt(KERNEL_VALUES / used), COARSEST, FINEST))
        return Grid.around(self.points, quick if self.side is None else self.side, self.eps)

    @cached_property
    def response(self) -> Dense:
        """The decision values on the grid, shape (side, side) or (side, side, k)."""
        return self.grid.values(self.values)

    def draw_on(
        self, axes: Axes, style: Style, *, named_rings: bool = False
    ) -> list[QuadContourSet]:
        """Draw into axes, without a legend; return the coloured surfaces.

        Parameters
        ----------
        axes : matplotlib.axes.Axes
        style : Style
        named_rings : bool
            Whether a legend would name the rings.
        """
        surfaces = self._halves(axes, style) if self.levels else self._regions(axes, style)
        x, y = self.points.T
        if (self.group < 0).any():
            chosen = self.group < 0
            picture.dots(axes, x[chosen], y[chosen], style, marker="o", color=style.soft, zorder=3)
        for g, name in enumerate(self.groups):
            chosen = self.group == g
            if not chosen.any():
                continue
            text = f"{literal(name)} ({int(chosen.sum()):,})"
            picture.dots(
                axes, x[chosen], y[chosen], style, rasterized=self._many, zorder=3,
                marker=CLASS_MARKERS[g % len(CLASS_MARKERS)],
                color=CLASS_COLOURS[g % len(CLASS_COLOURS)], markersize=2.0 if self._many else 5.5,
                label=text if len(self.groups) > 1 else "",
            )  # fmt: skip
        for case, _ in self._rings:
            ringed = self.points[self.support == case]
            text = f"support vectors ({len(ringed):,})" if named_rings else ""
            picture.rings(axes, ringed, style, bold=case == 2, label=text)
        picture.label(axes, style, *(literal(name, 40) for name in self.features))
        return surfaces

    def _halves(self, axes: Axes, style: Style) -> list[QuadContourSet]:
        """Colour both sides of the boundary and draw the level lines."""
        grid, values = self.grid, self.response
        surfaces = []
        if len(self.groups) > 1:
            surfaces.append(
                axes.contourf(
                    grid.xx0, grid.xx1, values, levels=[-np.inf, self.levels[0], np.inf],
                    colors=CLASS_COLOURS[:2], alpha=0.13,
                )
            )  # fmt: skip
        for i, level in enumerate(self.levels):
            if values.min() < level < values.max():
                axes.contour(
                    grid.xx0, grid.xx1, values, levels=[level], colors=[style.ink],
                    linestyles=["-" if i == 0 else "--"], linewidths=[1.6 if i == 0 else 1.0],
                    zorder=2 + 3 * self._many,
                )  # fmt: skip
        return surfaces

    def _regions(self, axes: Axes, style: Style) -> list[QuadContourSet]:
        """Colour the region of every class."""
        grid, values = self.grid, self.response
        surfaces = []
        best = np.argmax(values, axis=-1)
        for g in range(values.shape[-1]):
            others = np.max(np.delete(values, g, axis=-1), axis=-1)
            lead = values[..., g] - others
            if (best == g).any():
                colour = CLASS_COLOURS[g % len(CLASS_COLOURS)]
                surfaces.append(
                    axes.contourf(
                        grid.xx0, grid.xx1, lead, levels=[0.0, np.inf], colors=[colour], alpha=0.16
                    )
                )
                axes.contour(
                    grid.xx0, grid.xx1, lead, levels=[0.0], colors=[style.ink], linewidths=[1.2],
                    zorder=2 + 3 * self._many,
                )  # fmt: skip
        return surfaces
