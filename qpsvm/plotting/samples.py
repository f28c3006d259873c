"""Pictures of samples: histograms, and dual variables against margins or targets by KKT case.

Complementary slackness, drawn: with the violation v of a condition (how far it is missed) the dual
variable of a loss that grows linearly is at its upper bound where v > 0, at its lower one where
v < 0, and anywhere between them where v = 0: for a classifier an L. Where the loss is quadratic,
it is ``v / d``, cut off at the bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from qpsvm.display import short_repr
from qpsvm.machines.conditions import Conditions
from qpsvm.numerics.arrays import Index, Vector
from qpsvm.plotting import picture
from qpsvm.plotting.picture import Picture, Style, count, literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# --- histograms -----------------------------------------------------------------------------------


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
    rows : int
        Groups that are drawn, at most: more than two get a row each.
    """

    name: ClassVar[str] = "histogram"
    heading: str
    groups: tuple[Group, ...]
    lines: tuple[Line, ...]
    quantity: str
    noun: str
    statement: str
    rows: int = 8

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
        hidden = len(self.groups[self.rows :])
        others = f" The {hidden} other groups are not drawn." if hidden else ""
        return f"Lines: {where}.{others}"

    @property
    def _in_rows(self) -> bool:
        return len(self.groups) > 2

    @property
    def height(self) -> float:
        return 0.8 + 0.62 * len(self.groups[: self.rows]) if self._in_rows else picture.HEIGHT

    def draw(self, figure: Figure, style: Style) -> None:
        bins, shown = self._bins(), self.groups[: self.rows]
        panels = picture.stacked_axes(figure, style, len(shown) if self._in_rows else 1)
        for i, group in enumerate(shown):
            self._bars(panels[i if self._in_rows else 0], style, i, group, bins)
        for axes in panels:
            axes.grid(visible=False, axis="x")
            axes.locator_params(axis="y", integer=True, nbins=2 if self._in_rows else 7)
            for line in self.lines:
                dashes = "-" if line.central else (0, (4, 3))
                axes.axvline(line.at, color=style.ink, linewidth=1.3, linestyle=dashes)
        picture.label(panels[-1], style, self.quantity, "" if self._in_rows else f"{self.noun}s")
        if len(shown) > 1 and not self._in_rows:
            picture.legend(figure, style, len(shown))

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
        at = np.array([line.at for line in self.lines])
        everything = np.concatenate([*(_finite(group.values) for group in self.groups), at])
        room = 0.1 * np.ptp(at) if len(at) > 1 else 0.05 * np.ptp(everything)
        room = room or 1.0
        low = min(np.min(everything), np.min(at) - room)
        high = max(np.max(everything), np.max(at) + room)
        return list(np.linspace(low, high, num=49).tolist())


def _finite(values: Vector) -> Vector:
    return values[np.isfinite(values)]


# --- by KKT case ----------------------------------------------------------------------------------

CASES = ("alpha = 0", "between", "at a bound")


@dataclass(frozen=True)
class Condition:
    """A condition on the horizontal value, with the dual variables that it allows.

    ``v = sign * (corner - x)``; the variable it contributes is ``sign * value(v)``.

    Attributes
    ----------
    corner, lower, upper, curvature : float
    sign : float
    """

    corner: float
    lower: float
    upper: float
    curvature: float
    sign: float = 1.0

    def value(self, x: Vector) -> Vector:
        """The optimal dual variable at x."""
        v = self.sign * (self.corner - x)
        if self.curvature > 0.0:
            return self.sign * np.clip(v / self.curvature, self.lower, self.upper)
        return self.sign * np.where(v > 0.0, self.upper, self.lower)


def margin_of(c: Conditions, width: float) -> float:
    """The margin that every sample must reach, ``p - e t``, where that is the same for all."""
    if c.minus_self_similarity:  # of a ball: p is k(x, x), which decision values have subtracted
        return 0.0
    return float(c.required[0] - c.width_sign * width)


def scaled_alpha(alpha: Vector, c: Conditions) -> tuple[Vector, str, Vector, Vector, float]:
    """Alpha in units that are comparable between samples; its name, bounds and curvature.

    Where C differs from sample to sample, shares of it; where the curvature d does, d alpha, which
    at the optimum is the violation itself.
    """
    d, box = c.curvature, c.upper
    if d.any() and np.ptp(d) > 0.0:
        return alpha * d, "alpha d", c.lower * d, c.upper * d, 1.0
    if not d.any() and np.isfinite(box).all() and np.ptp(box) > 0.0:
        return alpha / box, "alpha / C", c.lower / box, np.ones(len(c)), 0.0
    return alpha, "alpha", c.lower, c.upper, float(d[0])


@short_repr
@dataclass(frozen=True, eq=False)
class Complementarity(Picture):
    """Picture of alpha against margin.

    Attributes
    ----------
    heading : str
        The title.
    x, y : arrays of shape (n,)
        What the condition looks at, and the dual variable.
    case : array of int of shape (n,)
        Index into "zero", "free" and "bound".
    conditions : tuple of Condition
        Whose contributions make up the line; empty where it differs from sample to sample.
    quantity, variable : str
        Names of the axes.
    noun : str
        What is drawn.
    """

    name: ClassVar[str] = "kkt"
    heading: str
    x: Vector
    y: Vector
    case: Index
    conditions: tuple[Condition, ...]
    quantity: str
    variable: str
    noun: str

    @classmethod
    def of(
        cls, heading: str, x: Vector, y: Vector, case: Index, **others: Any
    ) -> Complementarity | None:
        """Build the picture of the points with finite coordinates; None if there are none."""
        finite = np.isfinite(x) & np.isfinite(y)
        points = (x[finite], y[finite], case[finite])
        return cls(heading, *points, **others) if finite.any() else None

    @property
    def title(self) -> str:
        return self.heading

    @property
    def caption(self) -> str:
        rule = f"The KKT conditions hold where every {self.noun} lies on the grey line."
        note = "d is the curvature of a sample's loss." * self.variable.endswith(" d")
        return " ".join(filter(None, (rule, note, picture.as_image(len(self.x)))))

    @property
    def alternative(self) -> str:
        parts = []
        for case, words in enumerate(("have alpha 0", "are between", "are at a bound")):
            x = self.x[self.case == case]
            if x.size:
                low, high = f"{np.min(x):.3g}", f"{np.max(x):.3g}"
                where = low if low == high else f"{low} to {high}"
                parts.append(f"{x.size:,} {words}, at {where}")
        corners = ", ".join(f"{c.corner:.4g}" for c in self.conditions)
        line = f" The line they belong on bends at {corners}." if corners else ""
        return (
            f"{self.variable} against {self.quantity} of {count(len(self.x), self.noun)}: "
            f"{'; '.join(parts)}.{line}"
        )

    def draw(self, figure: Figure, style: Style) -> None:
        self.draw_on(picture.new_axes(figure, style), style)
        picture.legend(figure, style, len(CASES))

    def draw_on(self, axes: Axes, style: Style) -> None:
        """Draw into axes, without a legend."""
        corners = sorted({c.corner for c in self.conditions})
        ends = {c.sign * end for c in self.conditions for end in (c.lower, c.upper)}
        bounds = sorted(end for end in ends if np.isfinite(end) and end != 0.0)
        low, high = _with_room(np.concatenate([self.x, corners]))
        bottom, top = _with_room(np.concatenate([self.y, [0.0], bounds]))
        if self.conditions:
            beside = 1e-9 * (high - low)  # both ends of a jump
            jumps = np.add.outer((-beside, beside), corners).ravel()
            x = np.sort(np.concatenate([np.linspace(low, high, 201), jumps]))
            y = np.sum([condition.value(x) for condition in self.conditions], axis=0)
            axes.plot(
                x, np.clip(y, 10 * bottom - 9 * top, 10 * top - 9 * bottom), color=style.grid,
                linewidth=6.0, solid_joinstyle="round", zorder=1,
            )  # fmt: skip
        for at in corners:
            axes.axvline(at, color=style.ink, linewidth=1.0, linestyle=(0, (4, 3)), zorder=2)
        for at in bounds:
            axes.axhline(at, color=style.ink, linewidth=1.0, linestyle=(0, (1, 2)), zorder=2)
        _dots_by_case(axes, style, self.x, self.y, self.case, CASES)
        axes.set_xlim(low, high)
        axes.set_ylim(bottom, top)
        picture.label(axes, style, self.quantity, self.variable)


def alpha_against(
    heading: str,
    x: Vector,
    alpha: Vector,
    case: Index,
    c: Conditions,
    corner: float,
    **words: str,
) -> Complementarity | None:
    """Picture of the dual variables of one-sided conditions against the values these are about.

    Parameters
    ----------
    heading : str
    x, alpha : arrays of shape (n,)
    case : array of int of shape (n,)
    c : Conditions
    corner : float
        What x must reach; the line is left out where its bounds differ from sample to sample.
    **words
        ``quantity`` and ``noun`` of the picture.
    """
    y, variable, lower, upper, curvature = scaled_alpha(alpha, c)
    line = Condition(corner, float(lower[0]), float(upper[0]), curvature)
    is_same = all((end == end[0]).all() for end in (lower, upper))
    lines = (line,) if is_same else ()
    return Complementarity.of(heading, x, y, case, conditions=lines, variable=variable, **words)


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
    title = "Predicted against target"
    target: Vector
    predicted: Vector
    case: Index
    half_width: float

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
            f"against {count(len(self.target), 'target')} from {self.target.min():.3g} to "
            f"{self.target.max():.3g}. {beyond:,} deviate by more than {self.half_width:.3g}, the "
            f"largest deviation is {deviation.max():.3g}, the median {np.median(deviation):.3g}."
        )

    def draw(self, figure: Figure, style: Style) -> None:
        axes = picture.new_axes(figure, style)
        above = 9 * (len(self.target) > picture.RASTERISED)
        ends = np.array([np.min(self.target), np.max(self.target)])
        for offset, line in ((0.0, "-"), (-self.half_width, "--"), (self.half_width, "--")):
            dashes: Any = {"linewidth": 1.1, "linestyle": line, "zorder": above}
            axes.plot(ends, ends + offset, color=style.ink, **dashes)
        names = ("alpha = 0", "on the edge", "beyond")
        _dots_by_case(axes, style, self.target, self.predicted, self.case, names)
        picture.label(axes, style, "target", "predicted")
        picture.legend(figure, style, len(names))


def _dots_by_case(
    axes: Axes, style: Style, x: Vector, y: Vector, case: Index, names: tuple[str, ...]
) -> None:
    """Draw the points of every KKT case in its colour, with their number in the legend."""
    for i, name in enumerate(names):
        chosen = case == i
        if chosen.any():
            picture.dots(
                axes, x[chosen], y[chosen], style, marker=picture.CASE_MARKERS[i],
                color=picture.CASE_COLOURS[i], label=f"{name} ({int(chosen.sum()):,})",
                rasterized=len(x) > picture.RASTERISED, zorder=3 + i,
            )  # fmt: skip


def _with_room(values: Vector) -> tuple[float, float]:
    low, high = float(np.min(values)), float(np.max(values))
    room = 0.06 * (high - low) or 1.0
    return low - room, high + room
