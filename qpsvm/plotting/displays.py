"""Displays: drawings on axes of the caller's or on new ones, in scikit-learn's manner."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from qpsvm.exceptions import InvalidDataError, InvalidParameterError, MissingPackageError
from qpsvm.numerics.arguments import an
from qpsvm.plotting import picture
from qpsvm.plotting.complementarity import Complementarity, Condition, scaled_alpha
from qpsvm.plotting.estimator_views import is_solution
from qpsvm.plotting.picture import DARK, LIGHT, Style

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

AT_A_BOUND = 1e-6
"""Share of the largest alpha within which an alpha counts as being at one of its bounds."""


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


class AlphaMargin(Display):
    """Alpha against margin of a fitted estimator: complementary slackness, drawn.

    At the optimum every sample lies on the grey line. Regressions have the deviation from the
    target in place of the margin, rankings have a point for every pair.

    Parameters
    ----------
    picture : Complementarity
        What is drawn.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from qpsvm.estimators import SVC
    >>> machine = SVC(kernel="linear").fit([[0.0], [1.0], [3.0]], [0, 0, 1])
    >>> display = AlphaMargin.from_estimator(machine, ax=Figure().add_subplot())
    >>> other = Figure().add_subplot()
    >>> display.plot(ax=other).ax_ is other
    True
    """

    def __init__(self, picture: Complementarity) -> None:
        self.picture = picture

    @classmethod
    def from_estimator(cls, estimator: Any, *, machine: int = 0, ax: Axes | None = None) -> Self:
        """Draw alpha against margin of a fitted estimator of qpsvm, a solution or a report.

        Parameters
        ----------
        estimator : estimator of qpsvm, Pipeline that ends in one, SVMSolution or Report
            It knows its training samples.
        machine : int
            Which machine, where several classes have several: in the order of
            ``estimator.report().machines`` or ``solution.solutions``.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure without it.

        Returns
        -------
        AlphaMargin

        Raises
        ------
        InvalidParameterError
            It is none of these, or has no such machine.
        InvalidDataError
            No sample has a finite margin and alpha.
        NotFittedError
            The estimator is not fitted.
        MissingPackageError
            Matplotlib is not installed.

        Examples
        --------
        >>> from matplotlib.figure import Figure, SubFigure
        >>> from qpsvm.estimators import SVC
        >>> machine = SVC(kernel="linear").fit([[0.0], [1.0], [3.0]], [0, 0, 1])
        >>> display = AlphaMargin.from_estimator(machine, ax=Figure().add_subplot())
        >>> display.ax_.get_ylabel()
        'alpha'
        """
        steps = getattr(estimator, "steps", None)
        last = estimator if steps is None else steps[-1][1]
        remedy = "print(report) says what is wrong, of an estimator print(estimator.report())."
        if is_solution(last):
            remedy = "verify the solution."
            drawn = _of_solution(_one_of(getattr(last, "solutions", (last,)), machine, last))
        else:
            report = last.report() if callable(getattr(last, "report", None)) else last
            if not hasattr(report, "pictures"):
                raise InvalidParameterError(
                    f"The model is {an(last)}, which does not know its alphas and margins; pass an "
                    "estimator of qpsvm.estimators, a Pipeline that ends in one, a solution, or "
                    "qpsvm.reports.build(problem, solution)."
                )
            pictures = _one_of(report.machines or (report,), machine, last).pictures
            drawn = next((p for p in pictures if isinstance(p, Complementarity)), None)
        if drawn is None:
            raise InvalidDataError(f"No sample has a finite margin and alpha; {remedy}")
        return cls(drawn).plot(ax=ax)

    def _draw(self, axes: Axes, style: Style, *, is_alone: bool) -> None:
        self.picture.draw_on(axes, style)
        legend(axes, style, axes.get_legend_handles_labels()[0], above=is_alone)

    @property
    def alternative(self) -> str:
        return self.picture.alternative


def _one_of(machines: Sequence[Any], number: int, whole: object) -> Any:
    """Return the machine of that number, counted from 0."""
    if not 0 <= number < len(machines):
        raise InvalidParameterError(
            f"machine is {number!r}; this {type(whole).__name__} has {len(machines)}, counted "
            f"from 0 to {len(machines) - 1}."
        )
    return machines[number]


def _of_solution(solution: Any) -> Complementarity | None:
    """Picture of alpha against the value of each condition, ``R f`` of the training samples.

    Where the conditions require different values, by how much each exceeds what it requires.
    """
    c = getattr(solution, "conditions", None)
    if c is None:
        raise InvalidParameterError(
            f"The solution is {an(solution)}, with a decision function for each class; pass "
            "qpsvm.reports.build(problem, solution)."
        )
    values = c.row_sums(solution.decision_function(solution.data.X))
    least = c.required - c.width_sign * float(getattr(solution, "width", 0.0) or 0.0)
    if c.minus_self_similarity:
        least = np.zeros(len(c))
    is_same = bool(np.ptp(least) == 0.0)
    alpha, variable, lower, upper, curvature = scaled_alpha(np.asarray(solution.alpha), c)
    finite = np.abs(alpha[np.isfinite(alpha)])
    slightly = AT_A_BOUND * float(np.max(finite, initial=0.0))
    case = np.where(alpha <= slightly, 0, np.where(alpha >= upper - slightly, 2, 1))
    is_one = all((end == end[0]).all() for end in (lower, upper))
    corner = float(least[0]) if is_same else 0.0
    line = Condition(corner, float(lower[0]), float(upper[0]), curvature)
    return Complementarity.of(
        "Alpha against margin",
        values if is_same else values - least,
        alpha,
        case,
        conditions=(line,) if is_one else (),
        quantity="margin y f(x)" if is_same else "margin beyond the required one",
        variable=variable,
        noun="sample" if len(c) == solution.data.n_samples else "condition",
    )


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
