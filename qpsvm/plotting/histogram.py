"""Histograms of decision values, margins or residuals, by groups of samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from qpsvm.display import short_repr
from qpsvm.numerics.arrays import Vector
from qpsvm.plotting import picture
from qpsvm.plotting.picture import Picture, Style, count, literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BINS = 48
OVERLAID = 2
"""More groups than that get a row each."""
ROWS = 8
ROW_HEIGHT = 0.62


@short_repr
@dataclass(frozen=True, eq=False)
class Group:
    """A named group of values.

    Attributes
    ----------
    label : str
        For people; empty where there is only one group.
    values : array of shape (m,)
    """

    label: str
    values: Vector


@short_repr
@dataclass(frozen=True)
class Line:
    """A vertical line with a name.

    Attributes
    ----------
    at : float
        Where it is, in the unit of the values.
    name : str
        What the caption calls it.
    central : bool
        Whether it is drawn through the bars.
    """

    at: float
    name: str
    central: bool = False


@short_repr
@dataclass(frozen=True, eq=False)
class Histogram(Picture):
    """Histogram of one value per sample, by groups.

    Attributes
    ----------
    heading : str
        The title.
    groups : tuple of Group
    lines : tuple of Line
    quantity : str
        What the values are: the name of the axis.
    noun : str
        What is counted.
    statement : str
        A sentence for the alternative text: how many are beyond which line.
    """

    name: ClassVar[str] = "histogram"
    heading: str
    groups: tuple[Group, ...]
    lines: tuple[Line, ...]
    quantity: str
    noun: str
    statement: str

    @property
    def title(self) -> str:
        return self.heading

    @property
    def alternative(self) -> str:
        parts = []
        for group in self.groups:
            values = _finite(group.values)
            whose = f" of {group.label}" if group.label else ""
            parts.append(
                f"{count(len(values), self.noun)}{whose} from {values.min():.3g} to "
                f"{values.max():.3g}, median {np.median(values):.3g}"
                if values.size
                else f"no {self.noun}{whose} with a finite value"
            )
        return f"Histogram of the {self.quantity}: {'; '.join(parts)}. {self.statement}"

    @property
    def caption(self) -> str:
        where = ", ".join(f"{line.name} at {line.at:.4g}" for line in self.lines)
        hidden = len(self.groups[ROWS:])
        others = f" The {hidden} other groups are not drawn." if hidden else ""
        return f"Lines: {where}.{others}"

    @property
    def _in_rows(self) -> bool:
        return len(self.groups) > OVERLAID

    @property
    def height(self) -> float:
        return 0.8 + ROW_HEIGHT * len(self.groups[:ROWS]) if self._in_rows else picture.HEIGHT

    def draw(self, figure: Figure, style: Style) -> None:
        bins, shown = self._bins(), self.groups[:ROWS]
        rows = len(shown) if self._in_rows else 1
        panels: list[Axes] = []
        for row in range(rows):
            above = panels[-1] if panels else None
            axes = picture.new_axes(figure, style, rows, 1, row + 1, sharex=above)
            axes.grid(visible=False, axis="x")
            axes.locator_params(axis="y", integer=True, nbins=2 if self._in_rows else 7)
            axes.tick_params(labelbottom=row == rows - 1)
            panels.append(axes)
        for i, group in enumerate(shown):
            self._bars(panels[i if self._in_rows else 0], style, i, group, bins)
        for axes in panels:
            for line in self.lines:
                dashes = "-" if line.central else (0, (4, 3))
                axes.axvline(line.at, color=style.ink, linewidth=1.3, linestyle=dashes)
        picture.label(panels[-1], style, self.quantity, "" if self._in_rows else f"{self.noun}s")
        if len(shown) > 1 and not self._in_rows:
            picture.legend(figure, style, OVERLAID)

    def _bars(self, axes: Axes, style: Style, i: int, group: Group, bins: list[float]) -> None:
        values = _finite(group.values)
        text = f"{literal(group.label)} ({len(values):,})" if group.label else ""
        # the colours differ in lightness, and the patterns too: told apart without colour as well
        axes.hist(
            values, bins=bins, label=text, alpha=0.72, edgecolor=style.ink, linewidth=0.4,
            facecolor=picture.CLASS_COLOURS[i % len(picture.CLASS_COLOURS)],
            hatch=picture.HATCHES[0 if self._in_rows else i],
        )  # fmt: skip
        if self._in_rows:
            axes.text(
                0.0, 1.0, text, transform=axes.transAxes, ha="left", va="bottom",
                color=style.ink, fontfamily=picture.FONT, fontsize=picture.SMALL_TEXT,
            )  # fmt: skip

    def _bins(self) -> list[float]:
        values = np.concatenate([_finite(group.values) for group in self.groups])
        at = np.array([line.at for line in self.lines])
        everything = np.concatenate([values, at])
        low, high = float(np.min(everything)), float(np.max(everything))
        room = 0.1 * float(np.ptp(at)) if len(at) > 1 else 0.05 * (high - low)
        room = room or 1.0
        low, high = min(low, float(np.min(at)) - room), max(high, float(np.max(at)) + room)
        return list(np.linspace(low, high, BINS + 1).tolist())


def _finite(values: Vector) -> Vector:
    return values[np.isfinite(values)]
