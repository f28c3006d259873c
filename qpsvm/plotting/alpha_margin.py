"""Alpha against margin of fitted estimators and solutions, on axes that the caller may pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from qpsvm.exceptions import InvalidDataError, InvalidParameterError
from qpsvm.numerics.arguments import an
from qpsvm.plotting.complementarity import Complementarity
from qpsvm.plotting.displays import Display, legend
from qpsvm.plotting.estimator_views import is_solution
from qpsvm.plotting.picture import Style
from qpsvm.plotting.solution_views import of_solution

if TYPE_CHECKING:
    from matplotlib.axes import Axes


NOTHING_TO_DRAW = (
    "No sample has a finite margin and alpha; print(report) says what is wrong, of an estimator "
    "print(estimator.report())."
)


def _one_of(machines: Sequence[Any], number: int, whole: object) -> Any:
    """Return the machine of that number, counted from 0."""
    if not 0 <= number < len(machines):
        raise InvalidParameterError(
            f"machine is {number!r}; this {type(whole).__name__} has {len(machines)}, counted "
            f"from 0 to {len(machines) - 1}."
        )
    return machines[number]


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
        if is_solution(last):
            machines = getattr(last, "solutions", (last,))
            return cls(of_solution(_one_of(machines, machine, last))).plot(ax=ax)
        report = last.report() if callable(getattr(last, "report", None)) else last
        if not hasattr(report, "pictures"):
            raise InvalidParameterError(
                f"The model is {an(last)}, which does not know its alphas and margins; pass an "
                "estimator of qpsvm.estimators, a Pipeline that ends in one, a solution, or "
                "qpsvm.reports.build(problem, solution)."
            )
        chosen = _one_of(report.machines or (report,), machine, last)
        for picture in chosen.pictures:
            if isinstance(picture, Complementarity):
                return cls(picture).plot(ax=ax)
        raise InvalidDataError(NOTHING_TO_DRAW)

    def _draw(self, axes: Axes, style: Style, *, is_alone: bool) -> None:
        self.picture.draw_on(axes, style)
        legend(axes, style, axes.get_legend_handles_labels()[0], above=is_alone)

    @property
    def alternative(self) -> str:
        return self.picture.alternative
