"""Base class of displays, which draw on axes of the caller's or on new ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

from qpsvm.exceptions import MissingPackageError
from qpsvm.plotting import picture
from qpsvm.plotting.picture import DARK, LIGHT, Style

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure


class Display(ABC):
    """Base class of drawings on axes, in the manner of scikit-learn's displays.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure
    """

    ax_: Axes
    figure_: Figure | SubFigure

    def plot(self, *, ax: Axes | None = None) -> Self:
        """Draw once more, on other axes.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            A new figure without it. Its background decides between colours for light and for dark
            paper.

        Returns
        -------
        self

        Raises
        ------
        MissingPackageError
            Matplotlib is not installed.
        """
        self.ax_ = axes_for(ax)
        self.figure_ = self.ax_.figure
        self._draw(self.ax_, style_of(self.ax_), is_alone=ax is None)
        return self

    @abstractmethod
    def _draw(self, axes: Axes, style: Style, *, is_alone: bool) -> None:
        """Draw; ``is_alone`` where the figure has no other axes, and room above these."""

    @property
    @abstractmethod
    def alternative(self) -> str:
        """Description with the numbers, for readers who cannot see the picture."""


def axes_for(ax: Axes | None) -> Axes:
    """The caller's axes, or new ones in a figure of ``pyplot``, as scikit-learn's displays do it.

    Raises
    ------
    MissingPackageError
        Matplotlib is not installed.
    """
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingPackageError(
            'A display needs matplotlib, not installed; run: pip install "qpsvm[report]".'
        ) from error
    _, created = plt.subplots(layout="constrained")
    axes: Axes = created
    return axes


def style_of(axes: Axes) -> Style:
    """The colours that are readable on the background of axes."""
    from matplotlib.colors import to_rgba

    red, green, blue, opacity = to_rgba(axes.get_facecolor())
    if opacity == 0.0:
        red, green, blue, opacity = to_rgba(axes.figure.get_facecolor())
    # relative luminance, ITU-R BT.709; what is transparent is taken for white paper
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return DARK if opacity > 0.0 and luminance < 0.5 else LIGHT


def legend(axes: Axes, style: Style, handles: Sequence[Artist], *, above: bool) -> None:
    """Place a legend above the axes, or inside where it covers least; none without entries.

    Above the axes of the caller's figure there may be titles and other axes.
    """
    if not handles:
        return
    if above:
        picture.legend(axes.figure, style, 3, handles)  # type: ignore[arg-type]
        return
    axes.legend(
        handles=handles,
        loc="best",
        labelcolor=style.ink,
        facecolor=style.paper,
        edgecolor=style.grid,
        framealpha=0.85,
        fontsize=picture.SMALL_TEXT - 1.0,
        handlelength=1.4,
    )
