"""Pictures of samples by their KKT case: dual variables against margins, predictions and targets.

Complementary slackness, drawn. With the violation v of a condition (how far it is missed) the dual
variable of a loss that grows linearly is at its upper bound where v > 0, at its lower one where
v < 0, and anywhere between them where v = 0: for a classifier an L. Where the loss is quadratic,
it is ``v / d``, cut off at the bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from qpsvm.display import short_repr
from qpsvm.machines.conditions import Conditions
from qpsvm.numerics.arrays import Index, Vector
from qpsvm.plotting import picture
from qpsvm.plotting.picture import Picture, Style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CASES = ("alpha = 0", "between", "at a bound")
CORNER = 1e-9
"""Where a jump is drawn: this share of the axis beside it, on both sides."""


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
    note : str
        A sentence for the caption.
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
    note: str = ""

    @classmethod
    def of(
        cls,
        heading: str,
        x: Vector,
        y: Vector,
        case: Index,
        *,
        conditions: tuple[Condition, ...],
        quantity: str,
        variable: str,
        noun: str,
    ) -> Complementarity | None:
        """Build the picture of the points with finite coordinates; None if there are none."""
        finite = np.isfinite(x) & np.isfinite(y)
        if not finite.any():
            return None
        note = "d is the curvature of a sample's loss." * variable.endswith(" d")
        points = (x[finite], y[finite], case[finite])
        return cls(heading, *points, conditions, quantity, variable, noun, note)

    @property
    def title(self) -> str:
        return self.heading

    @property
    def caption(self) -> str:
        rule = f"The KKT conditions hold where every {self.noun} lies on the grey line."
        return " ".join(filter(None, (rule, self.note, picture.as_image(len(self.x)))))

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
            f"{self.variable} against {self.quantity} of {picture.count(len(self.x), self.noun)}: "
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
            beside = CORNER * (high - low)
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
            f"against {picture.count(len(self.target), 'target')} from {self.target.min():.3g} to "
            f"{self.target.max():.3g}. {beyond:,} deviate by more than {self.half_width:.3g}, the "
            f"largest deviation is {deviation.max():.3g}, the median {np.median(deviation):.3g}."
        )

    def draw(self, figure: Figure, style: Style) -> None:
        axes = picture.new_axes(figure, style)
        above = 9 * (len(self.target) > picture.RASTERISED)
        ends = np.array([np.min(self.target), np.max(self.target)])
        for offset, line in ((0.0, "-"), (-self.half_width, "--"), (self.half_width, "--")):
            axes.plot(
                ends, ends + offset, color=style.ink, linewidth=1.1, linestyle=line, zorder=above
            )
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
