"""Pictures of the plane of two features: boundaries and regions, or contours of predictions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from qpsvm.display import short_repr
from qpsvm.numerics.arrays import Dense, Index, Vector
from qpsvm.plotting import picture
from qpsvm.plotting.picture import CLASS_COLOURS, CLASS_MARKERS, Picture, Style, count, literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.contour import QuadContourSet
    from matplotlib.figure import Figure

ROOM = 0.06
"""Margin of a picture around its samples, as a share of their range."""
KERNEL_VALUES = 2e7
"""About a second of them: with many support vectors the grid gets coarser."""
FINEST, COARSEST = 160, 40
LEVELS = 9
"""Contours at most; Matplotlib chooses round numbers."""
COLOURS = "cividis"
"""Of Matplotlib's colour maps the one that looks the same to colour-blind readers."""


Grid: TypeAlias = tuple[Dense, Dense]
"""Both coordinates of the points of a grid, arrays of shape (side, side)."""


def _grid_around(points: Dense, side: int, eps: float | None) -> Grid:
    """A grid around samples; ``eps`` as in the pictures."""
    low, high = points.min(axis=0), points.max(axis=0)
    room = ROOM * np.where(high > low, high - low, 1.0) if eps is None else np.full(2, eps)
    ends = zip(low - room, high + room, strict=True)
    xx0, xx1 = np.meshgrid(*(np.linspace(a, b, side) for a, b in ends))
    return xx0, xx1


def _values_on(grid: Grid, values: Callable[[Dense], Vector]) -> Dense:
    """The values of a function on a grid, shape (side, side) or (side, side, k)."""
    points = np.column_stack([x.ravel() for x in grid])
    found = np.asarray(values(points), dtype=np.float64)
    return found.reshape(*grid[0].shape, *found.shape[1:])


def _draw_rings(
    axes: Axes, points: Dense, style: Style, *, named: bool, bold: bool = False
) -> None:
    """Ring support vectors, unless they are so many that the samples would be hidden."""
    if 0 < len(points) <= picture.RINGS:
        picture.dots(
            axes, points[:, 0], points[:, 1], style, zorder=4, marker="o", markersize=8.0,
            markerfacecolor="none", markeredgecolor=style.ink, rasterized=False,
            markeredgewidth=1.8 if bold else 0.9,
            label=f"support vectors ({len(points):,})" if named else "",
        )  # fmt: skip


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
    height = 3.9
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
        lines = f"Solid: the boundary{'; dashed: the margins' * (len(self.levels) > 1)}."
        kinds = {1: "support vectors", 2: "bold, support vectors at a bound"}
        sizes = {case: np.count_nonzero(self.support == case) for case in kinds}
        ringed = [words for case, words in kinds.items() if 0 < sizes[case] <= picture.RINGS]
        rings = f"Ringed: {' and '.join(ringed)}." if ringed else ""
        return " ".join(filter(None, (lines, rings, picture.as_image(len(self.points)))))

    @property
    def alternative(self) -> str:
        sizes = [count(len(self.points), "sample")]
        if (self.group >= 0).any():
            sizes = [
                count(int(np.count_nonzero(self.group == g)), "sample") + f" of {name}" * bool(name)
                for g, name in enumerate(self.groups)
            ]
        inside, bound = (int(np.count_nonzero(self.support == case)) for case in (1, 2))
        boundary, *margins = (f"{level:.4g}" for level in self.levels or (0.0,))
        lines = (
            f"the boundary f(x) = {boundary}" if self.levels else "the boundary between the classes"
        )
        if margins:
            lines += f" and the margins f(x) = {' and '.join(margins)}"
        low, high = self.points.min(axis=0), self.points.max(axis=0)
        return (
            f"{', '.join(sizes)} in the plane of {self.features[0]} ({low[0]:.3g} to "
            f"{high[0]:.3g}) and {self.features[1]} ({low[1]:.3g} to {high[1]:.3g}), with {lines}. "
            f"{inside + bound:,} are support vectors"
            f"{f', {bound:,} of them at a bound' * bool(bound)}."
        )

    @cached_property
    def grid(self) -> Grid:
        """The points at which decision values are computed."""
        used = max(1, int(np.count_nonzero(self.support)))
        quick = int(np.clip(np.sqrt(KERNEL_VALUES / used), COARSEST, FINEST))
        return _grid_around(self.points, self.side or quick, self.eps)

    @cached_property
    def response(self) -> Dense:
        """The decision values on the grid, shape (side, side) or (side, side, k)."""
        return _values_on(self.grid, self.values)

    def draw(self, figure: Figure, style: Style) -> None:
        axes = picture.new_axes(figure, style)
        axes.grid(visible=False)
        self.draw_on(axes, style)
        if len(self.groups) > 1:
            picture.legend(figure, style, min(3, len(self.groups)))

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
        many = len(self.points) > picture.RASTERISED
        others = self.points[self.group < 0]
        if len(others):
            x, y = others.T
            picture.dots(axes, x, y, style, marker="o", color=style.soft, zorder=3)
        for g, name in enumerate(self.groups):
            own = self.points[self.group == g]
            if len(own):
                picture.dots(
                    axes, own[:, 0], own[:, 1], style, rasterized=many, zorder=3,
                    marker=CLASS_MARKERS[g % len(CLASS_MARKERS)],
                    color=CLASS_COLOURS[g % len(CLASS_COLOURS)], markersize=2.0 if many else 5.5,
                    label=f"{literal(name)} ({len(own):,})" if len(self.groups) > 1 else "",
                )  # fmt: skip
        for case in (1, 2):
            ringed = self.points[self.support == case]
            _draw_rings(axes, ringed, style, named=named_rings, bold=case == 2)
        picture.label(axes, style, *(literal(name, 40) for name in self.features))
        return surfaces

    def _halves(self, axes: Axes, style: Style) -> list[QuadContourSet]:
        """Colour both sides of the boundary and draw the level lines."""
        surfaces, values = [], self.response
        if len(self.groups) > 1:
            sides: Any = {"levels": [-np.inf, self.levels[0], np.inf], "colors": CLASS_COLOURS[:2]}
            surfaces.append(axes.contourf(*self.grid, values, alpha=0.13, **sides))
        for i, level in enumerate(self.levels):
            if values.min() < level < values.max():
                line = {"linestyles": "--", "linewidths": 1.0} if i else {"linewidths": 1.6}
                self._draw_line(axes, style, values, level, **line)
        return surfaces

    def _regions(self, axes: Axes, style: Style) -> list[QuadContourSet]:
        """Colour the region of every class."""
        surfaces, values = [], self.response
        best = np.argmax(values, axis=-1)
        for g in np.unique(best).tolist():
            lead = values[..., g] - np.max(np.delete(values, g, axis=-1), axis=-1)
            side: Any = {"levels": [0.0, np.inf], "colors": [CLASS_COLOURS[g % len(CLASS_COLOURS)]]}
            surfaces.append(axes.contourf(*self.grid, lead, alpha=0.16, **side))
            self._draw_line(axes, style, lead, 0.0, linewidths=1.2)
        return surfaces

    def _draw_line(
        self, axes: Axes, style: Style, values: Dense, level: float, **options: Any
    ) -> None:
        options |= {"zorder": 2 + 3 * (len(self.points) > picture.RASTERISED)}
        axes.contour(*self.grid, values, levels=[level], colors=[style.ink], **options)


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
    title = "Predictions and support vectors"
    points: Dense
    target: Vector | None
    support: Index
    values: Callable[[Dense], Vector]
    features: tuple[str, str]
    side: int
    eps: float | None = None

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
        """The points at which predictions are computed."""
        return _grid_around(self.points, self.side, self.eps)

    @cached_property
    def response(self) -> Dense:
        """The predictions on the grid, shape (side, side)."""
        return _values_on(self.grid, self.values)

    def draw(self, figure: Figure, style: Style) -> None:
        axes = picture.new_axes(figure, style)
        axes.grid(visible=False)
        self.draw_on(axes, style)

    def draw_on(
        self, axes: Axes, style: Style, *, named_rings: bool = False
    ) -> list[QuadContourSet]:
        """Draw into axes, as that of a ``Plane``."""
        from matplotlib.colors import Normalize

        seen = self.response if self.target is None else np.append(self.response, self.target)
        scale = Normalize(float(np.min(seen)), float(np.max(seen)))
        grid = (*self.grid, self.response)
        surface = axes.contourf(*grid, levels=LEVELS, cmap=COLOURS, norm=scale, alpha=0.5)
        # the levels of the coloured surface, of which matplotlib has chosen round numbers
        thin: Any = {"colors": [style.ink], "linewidths": 0.6, "alpha": 0.6}
        lines = axes.contour(*grid, levels=surface.levels, **thin)
        axes.clabel(lines, fontsize=picture.SMALL_TEXT - 2.0)
        coloured: dict[str, Any] = {"c": style.soft}
        if self.target is not None:
            coloured = {"c": self.target, "cmap": COLOURS, "norm": scale}
        many = len(self.points) > picture.RASTERISED
        x, y = self.points.T
        axes.scatter(
            x, y, zorder=3, s=4.0 if many else 28.0, edgecolors=style.ink,
            linewidths=0.0 if many else 0.6, rasterized=many, **coloured,
        )  # fmt: skip
        _draw_rings(axes, self.points[self.support], style, named=named_rings)
        picture.label(axes, style, *(literal(name, 40) for name in self.features))
        return [surface]
