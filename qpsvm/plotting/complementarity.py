"""Pictures of dual variables against margins, with the line of the KKT conditions.

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
            chosen = self.case == case
            if chosen.any():
                x = self.x[chosen]
                parts.append(f"{int(chosen.sum()):,} {words}, at {_range(x)}")
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
        low, high = self._horizontal_range()
        bottom, top = self._vertical_range()
        if self.conditions:
            x, y = self._ideal(low, high)
            axes.plot(
                x, np.clip(y, 10 * bottom - 9 * top, 10 * top - 9 * bottom), color=style.grid,
                linewidth=6.0, solid_joinstyle="round", zorder=1,
            )  # fmt: skip
        for at in sorted({c.corner for c in self.conditions}):
            axes.axvline(at, color=style.ink, linewidth=1.0, linestyle=(0, (4, 3)), zorder=2)
        for at in self._bounds():
            axes.axhline(at, color=style.ink, linewidth=1.0, linestyle=(0, (1, 2)), zorder=2)
        present = [case for case in range(len(CASES)) if (self.case == case).any()]
        for case in present:
            chosen = self.case == case
            picture.dots(
                axes, self.x[chosen], self.y[chosen], style, marker=picture.CASE_MARKERS[case],
                color=picture.CASE_COLOURS[case], label=f"{CASES[case]} ({int(chosen.sum()):,})",
                rasterized=len(self.x) > picture.RASTERISED, zorder=3 + case,
            )  # fmt: skip
        axes.set_xlim(low, high)
        axes.set_ylim(bottom, top)
        picture.label(axes, style, self.quantity, self.variable)

    def _ideal(self, low: float, high: float) -> tuple[Vector, Vector]:
        beside = CORNER * (high - low)
        corners = np.array([c.corner for c in self.conditions])
        x = np.concatenate([np.linspace(low, high, 201), corners - beside, corners + beside])
        x = np.sort(x)
        return x, np.sum([condition.value(x) for condition in self.conditions], axis=0)

    def _bounds(self) -> list[float]:
        """Finite nonzero bounds of the dual variables, sorted."""
        ends = {c.sign * end for c in self.conditions for end in (c.lower, c.upper)}
        return sorted(end for end in ends if np.isfinite(end) and end != 0.0)

    def _horizontal_range(self) -> tuple[float, float]:
        return _with_room(np.concatenate([self.x, [c.corner for c in self.conditions]]))

    def _vertical_range(self) -> tuple[float, float]:
        return _with_room(np.concatenate([self.y, [0.0], self._bounds()]))


def _with_room(values: Vector) -> tuple[float, float]:
    low, high = float(np.min(values)), float(np.max(values))
    room = 0.06 * (high - low) or 1.0
    return low - room, high + room


def _range(values: Vector) -> str:
    low, high = f"{np.min(values):.3g}", f"{np.max(values):.3g}"
    return low if low == high else f"{low} to {high}"
