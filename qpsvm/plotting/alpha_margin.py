"""Alpha against margin of fitted estimators, on axes that the caller may pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from qpsvm.exceptions import InvalidDataError, InvalidParameterError
from qpsvm.numerics.wording import an
from qpsvm.plotting.complementarity import Complementarity
from qpsvm.plotting.displays import Display, legend
from qpsvm.plotting.picture import Style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
        """Draw alpha against margin of a fitted estimator of ``qpsvm.estimators``.

        Parameters
        ----------
        estimator : estimator of qpsvm, or Pipeline that ends in one
            It knows its training samples.
        machine : int
            Which machine, where several classes have several: in the order of
            ``estimator.report().machines``.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure without it.

        Returns
        -------
        AlphaMargin

        Raises
        ------
        InvalidParameterError
            The estimator is not one of qpsvm, or has no such machine.
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
        if not callable(getattr(last, "report", None)):
            raise InvalidParameterError(
                f"The model is {an(last)}, which does not know its alphas and margins; pass an "
                "estimator of qpsvm.estimators, or a Pipeline that ends in one."
            )
        report = last.report()
        reports = report.machines or (report,)
        if not 0 <= machine < len(reports):
            raise InvalidParameterError(
                f"machine is {machine!r}; this {type(last).__name__} has {len(reports)}, counted "
                f"from 0 to {len(reports) - 1}."
            )
        chosen = reports[machine]
        for picture in chosen.pictures:
            if isinstance(picture, Complementarity):
                return cls(picture).plot(ax=ax)
        raise InvalidDataError(
            "No sample has a finite margin and alpha; print(estimator.report()) says what is wrong."
        )

    def _draw(self, axes: Axes, style: Style, *, is_alone: bool) -> None:
        self.picture.draw_on(axes, style)
        legend(axes, style, axes.get_legend_handles_labels()[0], above=is_alone)

    @property
    def alternative(self) -> str:
        return self.picture.alternative
