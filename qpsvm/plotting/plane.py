"""Pictures of the plane of two features: boundaries and regions, or contours of predictions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from qpsvm.display import short_repr
from qpsvm.numerics.arrays import Dense, Index, Vector
from qpsvm.plotting import picture
from qpsvm.plotting.picture import CLASS_COLOURS, CLASS_MARKERS, Picture, Style, count, literal

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.contour import QuadContourSet
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, kw_only=True)
class InPlane(Picture):
    """Base class of pictures of samples with two features and of values on a grid around them.

    Attributes
    ----------
    points : array of shape (n, 2)
    values : callable
        Of an (m, 2) array: what is drawn at each row.
    features : tuple of str
        Names of the axes.
    side : int or None
        Points along each axis at which values are computed; None: as many as are quick.
    eps : float or None
        By how much the picture extends beyond the samples; None: by a share of their range.
    most_rings : int
        More rings than that would hide the samples: none are drawn.
    colour_bar : str
        What a colour bar beside the picture shows; empty if there is nothing to show.
    """

    colour_bar: ClassVar[str] = ""

    points: Dense
    values: Callable[[Dense], Vector]
    features: tuple[str, str]
    side: int | None = None
    eps: float | None = None
    most_rings: int = 500

    @property
    @abstractmethod
    def rings(self) -> tuple[Dense, ...]:
        """Support vectors, and those to be ringed boldly, if there is a difference."""

    @abstractmethod
    def draw_values(self, axes: Axes, style: Style) -> list[QuadContourSet]:
        """Draw the values on the grid; return the coloured surfaces."""

    @abstractmethod
    def draw_points(self, axes: Axes, style: Style, *, many: bool) -> None:
        """Draw the samples, smaller and as an image if there are many."""

    def unnamed(self, style: Style) -> list[Artist]:
        """Legend entries for what the picture draws without a label."""
        del style
        return []

    @cached_property
    def grid(self) -> tuple[Dense, Dense]:
        """Both coordinates of the points of the grid, arrays of shape (side, side)."""
        low, high = self.points.min(axis=0), self.points.max(axis=0)
        room = np.where(high > low, high - low, 1.0) * 0.06 if self.eps is None else self.eps
        # about a second: with many support vectors the grid gets coarser
        kernel_values, used = 2e7, max(1, sum(map(len, self.rings)))
        quick = int(np.clip(np.sqrt(kernel_values / used), 40, 160))
        ends = np.linspace(low - room, high + room, self.side or quick)
        xx0, xx1 = np.meshgrid(*ends.T)
        return xx0, xx1

    @cached_property
    def response(self) -> Dense:
        """The values on the grid, shape (side, side), or (side, side, k) of k classes."""
        points = np.column_stack([x.ravel() for x in self.grid])
        found = np.asarray(self.values(points), dtype=np.float64)
        return found.reshape(*self.grid[0].shape, *found.shape[1:])

    def draw(self, figure: Figure, style: Style) -> None:
        axes = picture.new_axes(figure, style)
        axes.grid(visible=False)
        self.draw_on(axes, style)

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
        surfaces = self.draw_values(axes, style)
        self.draw_points(axes, style, many=len(self.points) > picture.RASTERISED)
        for bold, ringed in enumerate(self.rings):
            if 0 < len(ringed) <= self.most_rings:
                x, y = ringed.T
                picture.dots(
                    axes, x, y, style, zorder=4, marker="o", markersize=8.0,
                    markerfacecolor="none", markeredgecolor=style.ink, rasterized=False,
                    markeredgewidth=1.8 if bold else 0.9,
                    label=f"support vectors ({len(ringed):,})" if named_rings else "",
                )  # fmt: skip
        picture.label(axes, style, *(literal(name, 40) for name in self.features))
        return surfaces


@short_repr
@dataclass(frozen=True, eq=False, kw_only=True)
class Plane(InPlane):
    """Picture of the plane of two features, with decision boundary and support vectors.

    Attributes
    ----------
    points, features, side, eps, most_rings
        As those of ``InPlane``.
    group : array of int of shape (n,)
        Index into ``groups``; -1 for samples of no group.
    groups : tuple of str
    support : array of int of shape (n,)
        1 for support vectors between their bounds, 2 for those at one, 0 for all others.
    values : callable
        Of an (m, 2) array: one decision value for each row, or one per class.
    levels : tuple of float
        Of one decision value: the boundary first, then the margins.
    """

    name: ClassVar[str] = "plane"
    height = 3.9
    group: Index
    groups: tuple[str, ...]
    support: Index
    levels: tuple[float, ...]

    @property
    def title(self) -> str:
        what = ("Regions", "Boundary", "Boundary, margins")[min(2, len(self.levels))]
        return f"{what} and support vectors"

    @property
    def caption(self) -> str:
        lines = f"Solid: the boundary{'; dashed: the margins' * (len(self.levels) > 1)}."
        kinds = ("support vectors", "bold, support vectors at a bound")
        sizes = map(len, self.rings)
        ringed = [words for words, n in zip(kinds, sizes, strict=True) if 0 < n <= self.most_rings]
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
        inside, bound = map(len, self.rings)
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

    @property
    def rings(self) -> tuple[Dense, ...]:
        return tuple(self.points[self.support == case] for case in (1, 2))

    def draw(self, figure: Figure, style: Style) -> None:
        super().draw(figure, style)
        if len(self.groups) > 1:
            picture.legend(figure, style, min(3, len(self.groups)))

    def draw_values(self, axes: Axes, style: Style) -> list[QuadContourSet]:
        return self._halves(axes, style) if self.levels else self._regions(axes, style)

    def draw_points(self, axes: Axes, style: Style, *, many: bool) -> None:
        others = self.points[self.group < 0]
        if len(others):
            x, y = others.T
            picture.dots(axes, x, y, style, marker="o", color=style.soft, zorder=3)
        for g, name in enumerate(self.groups):
            own = self.points[self.group == g]
            if len(own):
                x, y = own.T
                picture.dots(
                    axes, x, y, style, rasterized=many, zorder=3,
                    marker=CLASS_MARKERS[g % len(CLASS_MARKERS)],
                    color=CLASS_COLOURS[g % len(CLASS_COLOURS)], markersize=2.0 if many else 5.5,
                    label=f"{literal(name)} ({len(own):,})" if len(self.groups) > 1 else "",
                )  # fmt: skip

    def unnamed(self, style: Style) -> list[Artist]:
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        entries: list[Artist] = [
            Patch(color=CLASS_COLOURS[g % len(CLASS_COLOURS)], alpha=0.3, label=name)
            for g, name in enumerate(self.groups)
            if not (self.group == g).any()
        ]
        levels = len(self.levels)
        if levels > 0:
            entries.append(Line2D([], [], color=style.ink, linestyle="-", label="boundary"))
        if levels > 1:
            entries.append(Line2D([], [], color=style.ink, linestyle="--", label="margins"))
        return entries

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
@dataclass(frozen=True, eq=False, kw_only=True)
class Heights(InPlane):
    """Picture of predicted numbers in the plane of two features.

    Attributes
    ----------
    points, features, side, eps, most_rings
        As those of ``InPlane``.
    target : array of shape (n,) or None
        Targets of the samples, drawn in the colours of the predictions.
    support : array of int of shape (m,)
        Rows of ``points`` that are support vectors.
    values : callable
        Of an (m, 2) array: one prediction for each row.
    """

    name: ClassVar[str] = "heights"
    title = "Predictions and support vectors"
    colour_bar = "prediction"
    target: Vector | None
    support: Index

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

    @property
    def rings(self) -> tuple[Dense, ...]:
        return (self.points[self.support],)

    @property
    def _colours(self) -> dict[str, Any]:
        """Colour map and scale of the predictions, and of the targets if there are any."""
        from matplotlib.colors import Normalize

        seen = self.response if self.target is None else np.append(self.response, self.target)
        # the colour map that looks the same to colour-blind readers
        return {"cmap": "cividis", "norm": Normalize(float(np.min(seen)), float(np.max(seen)))}

    def draw_values(self, axes: Axes, style: Style) -> list[QuadContourSet]:
        grid = (*self.grid, self.response)
        # at most nine contours, at round numbers that matplotlib chooses
        surface = axes.contourf(*grid, levels=9, alpha=0.5, **self._colours)
        thin: Any = {"colors": [style.ink], "linewidths": 0.6, "alpha": 0.6}
        lines = axes.contour(*grid, levels=surface.levels, **thin)
        axes.clabel(lines, fontsize=picture.SMALL_TEXT - 2.0)
        return [surface]

    def draw_points(self, axes: Axes, style: Style, *, many: bool) -> None:
        coloured: dict[str, Any] = {"c": style.soft}
        if self.target is not None:
            coloured = {"c": self.target, **self._colours}
        x, y = self.points.T
        axes.scatter(
            x, y, zorder=3, s=4.0 if many else 28.0, edgecolors=style.ink,
            linewidths=0.0 if many else 0.6, rasterized=many, **coloured,
        )  # fmt: skip
