"""Base class of pictures: size, colours, and conversion to SVG."""

from __future__ import annotations

import io
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from qpsvm.exceptions import MissingPackageError

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 5.0, 3.3
"""Inches. At 72 points an inch the picture is 360 points wide: as many as a phone has pixels, so
that its text is neither cut nor tiny there."""

FONT = "DejaVu Sans"
"""Comes with Matplotlib: the same everywhere."""
TEXT, SMALL_TEXT = 11.0, 10.0

RASTERISED = 2_000
"""More points than that become one image inside the SVG: each would take a hundred bytes."""

CLASS_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8F7F00")
"""Okabe and Ito's palette, which colour-blind readers tell apart (its yellow darkened)."""
CLASS_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
HATCHES = ("", "////", "....", "\\\\\\\\", "xxxx", "++++", "oo")

CASE_COLOURS = ("#8A8F98", "#0072B2", "#D55E00")
CASE_MARKERS = ("o", "s", "^")
"""Of the KKT cases "zero", "free" and "bound"."""

Numbers: TypeAlias = NDArray[np.integer | np.floating]
"""Array of numbers to draw."""


@dataclass(frozen=True)
class Style:
    """Colours of a picture except those of the data."""

    ink: str
    soft: str
    grid: str
    paper: str


LIGHT = Style("#1f2328", "#59636e", "#d8dee4", "#ffffff")
DARK = Style("#e6edf3", "#9da7b3", "#3d444d", "#0f141a")


class Picture(ABC):
    """Base class of pictures: a drawing with title, caption and description.

    Attributes
    ----------
    name : str
        For files and anchors.
    """

    name: ClassVar[str]

    @property
    @abstractmethod
    def title(self) -> str:
        """Title of the picture."""

    @property
    @abstractmethod
    def alternative(self) -> str:
        """Description with the numbers, for readers who cannot see the picture."""

    @property
    def caption(self) -> str:
        """Explanation of how to read the picture."""
        return ""

    @property
    def height(self) -> float:
        """Height in inches."""
        return HEIGHT

    @abstractmethod
    def draw(self, figure: Figure, style: Style) -> None:
        """Draw into an empty Matplotlib figure."""

    def figure(self, *, dark: bool = False) -> Figure:
        """Draw into a new Matplotlib figure.

        Parameters
        ----------
        dark : bool
            Colours for a dark background.

        Returns
        -------
        matplotlib.figure.Figure
            Transparent; ``figure.savefig(path)`` writes it.

        Raises
        ------
        MissingPackageError
            Matplotlib is not installed.
        """
        try:
            from matplotlib.backends.backend_svg import FigureCanvasSVG
            from matplotlib.figure import Figure
        except ImportError as error:
            raise MissingPackageError(
                'A picture needs matplotlib, not installed; run: pip install "qpsvm[report]".'
            ) from error
        figure = Figure(figsize=(WIDTH, self.height), layout="constrained")
        FigureCanvasSVG(figure)
        figure.patch.set_alpha(0.0)
        self.draw(figure, DARK if dark else LIGHT)
        return figure

    def svg(self, *, dark: bool | None = False) -> str:
        """The picture as SVG text, identical for identical input.

        Parameters
        ----------
        dark : bool or None
            None: a picture that follows the reader's preference, for embedding in a page that
            does.
        """
        figure = self.figure(dark=bool(dark))
        stream = io.BytesIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(stream, format="svg", metadata=nothing, dpi=150)
        text = _with_plain_ids(stream.getvalue().decode())
        return _following_the_reader(text) if dark is None else text


# --- what pictures are made of -------------------------------------------------------------------


def new_axes(figure: Figure, style: Style) -> Axes:
    """Add axes with only a left and a bottom line."""
    return stacked_axes(figure, style, rows=1)[0]


def stacked_axes(figure: Figure, style: Style, rows: int) -> list[Axes]:
    """Add axes one below the other, which share the horizontal axis, with only two lines each."""
    panels: list[Axes] = figure.subplots(rows, sharex=True, squeeze=False).ravel().tolist()
    for axes in panels:
        axes.patch.set_alpha(0.0)
        axes.tick_params(
            colors=style.soft, labelsize=SMALL_TEXT, labelfontfamily=FONT, which="both"
        )
        axes.grid(color=style.grid, linewidth=0.6)
        axes.set_axisbelow(True)
        for name, spine in axes.spines.items():
            spine.set_visible(name in ("left", "bottom"))
            spine.set_color(style.soft)
    return panels


def label(axes: Axes, style: Style, x: str = "", y: str = "") -> None:
    """Label the axes."""
    axes.set_xlabel(x, color=style.ink, fontfamily=FONT, fontsize=TEXT)
    axes.set_ylabel(y, color=style.ink, fontfamily=FONT, fontsize=TEXT)


def legend(
    figure: Figure, style: Style, columns: int, handles: Sequence[Artist] | None = None
) -> None:
    """Place a legend above the axes, where it covers no data."""
    from matplotlib.font_manager import FontProperties

    chosen = {} if handles is None else {"handles": handles}
    figure.legend(
        **chosen, loc="outside upper left", ncols=columns, frameon=False, labelcolor=style.ink,
        prop=FontProperties(family=FONT, size=SMALL_TEXT), handlelength=1.4, handletextpad=0.5,
        columnspacing=1.2, borderaxespad=0.2,
    )  # fmt: skip


def dots(
    axes: Axes,
    x: Sequence[float] | Numbers,
    y: Sequence[float] | Numbers,
    style: Style,
    **options: object,
) -> None:
    """Draw points, as an image if there are many."""
    many = len(x) > RASTERISED
    settings: dict[str, Any] = {
        "linestyle": "none",
        "markersize": 3.5 if many else 5.5,
        "markeredgecolor": style.paper,
        "markeredgewidth": 0.0 if many else 0.5,
        "rasterized": many,
    }
    axes.plot(x, y, **(settings | options))


def as_image(n_points: int) -> str:
    """Sentence for a caption if so many points are drawn as an image; else empty."""
    return f"{n_points:,} points, drawn as an image." if n_points > RASTERISED else ""


def count(number: int, noun: str) -> str:
    """Write a number with its noun: "1 sample", "2,000 samples".

    Parameters
    ----------
    number : int
        How many.
    noun : str
        In the singular; the plural has an s.

    Returns
    -------
    str
        The number has commas between thousands.

    Examples
    --------
    >>> count(1, "sample"), count(2000, "sample")
    ('1 sample', '2,000 samples')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def literal(text: object, limit: int = 24) -> str:
    """A label as plain text: without mathematics or control characters, and not too long.

    Characters that the font does not have become a box, without Matplotlib's warning.
    """
    from matplotlib.font_manager import FontProperties, findfont, get_font

    words = " ".join(str(text).split())
    if len(words) > limit:
        words = words[: limit - 1] + "…"
    known = get_font(findfont(FontProperties(family=FONT))).get_charmap()
    return "".join(c if ord(c) in known else "□" for c in words).replace("$", r"\$")


# --- SVG -----------------------------------------------------------------------------------------


def _with_plain_ids(svg: str) -> str:
    """Replace Matplotlib's random ids by numbers, so that equal pictures have equal SVG."""
    names: dict[str, str] = {}

    def renamed(match: re.Match[str]) -> str:
        return match[1] + names.setdefault(match[2], f"q{len(names)}")

    return re.sub(r'(\bid="|href="#|url\(#)([^")]+)', renamed, svg)


def _following_the_reader(svg: str) -> str:
    """Add a style sheet that switches to dark colours with the reader's settings."""
    rules = "".join(
        f'[style*="{what}: {light}"]{{{what}:{dark}!important}}'
        for light, dark in zip(vars(LIGHT).values(), vars(DARK).values(), strict=True)
        for what in ("fill", "stroke")
    )
    sheet = f"<style>@media (prefers-color-scheme:dark){{{rules}}}</style>"
    end = svg.index(">", svg.index("<svg ")) + 1
    return svg[:end] + sheet + svg[end:]
