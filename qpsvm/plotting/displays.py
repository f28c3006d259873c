"""Displays: drawings on axes of the caller's or on new ones, in scikit-learn's manner."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, get_args

import numpy as np

from qpsvm.exceptions import InvalidDataError, InvalidParameterError, MissingPackageError
from qpsvm.machines.samples import kkt_cases
from qpsvm.numerics.arguments import an, is_real_number, require_choice
from qpsvm.numerics.arrays import Dense, Index, Vector
from qpsvm.plotting import picture
from qpsvm.plotting.picture import CLASS_COLOURS, DARK, LIGHT, Style, literal
from qpsvm.plotting.samples import Complementarity, alpha_against, margin_of

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure


def is_solution(model: object) -> bool:
    """Return whether a model is a solution of qpsvm: it predicts, and is no estimator."""
    own = ("decision_function", "predictions", "data")
    return all(hasattr(model, name) for name in own) and not hasattr(model, "get_params")


def last_step(model: Any) -> Any:
    """The estimator at the end of a Pipeline; any other model itself."""
    return getattr(model, "steps", [("", model)])[-1][1]


class Display(ABC):
    """Base class of drawings on axes, in the manner of scikit-learn's displays.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure
    """

    ax_: Axes
    figure_: Figure | SubFigure

    def __init__(self, picture: Any) -> None:
        self.picture = picture

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
    def alternative(self) -> str:
        """Description with the numbers, for readers who cannot see the picture."""
        return str(self.picture.alternative)


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

    picture: Complementarity

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
        last = last_step(estimator)
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
    x = c.row_sums(solution.decision_function(solution.data.X))
    corner, quantity = margin_of(c, solution.width), "margin y f(x)"
    if not c.minus_self_similarity and np.ptp(c.required) > 0.0:
        corner, quantity = 0.0, "margin beyond the required one"
        x = x - (c.required - c.width_sign * solution.width)
    alpha = np.asarray(solution.alpha, dtype=np.float64)
    noun = "sample" if len(c) == solution.data.n_samples else "condition"
    heading = "Alpha against margin"
    points = (x, alpha, kkt_cases(alpha, c), c)
    return alpha_against(heading, *points, corner, quantity=quantity, noun=noun)


# --- paths ---------------------------------------------------------------------------------------

Drawn: TypeAlias = Literal["alpha", "coef"]
"""What the lines of a path show."""

LINE_STYLES: tuple[str, ...] = ("-", "--", ":")
"""Styles that tell named lines of one colour apart."""


@dataclass(eq=False, repr=False)
class PathLines(Display):
    r"""Plot of dual variables or coefficients along a path, one line for each that changes.

    Of dual variables :math:`\alpha_k / C_k` is drawn. A line at 0 is a sample beyond the margin, a
    line at 1 one inside it; between, the sample is on the margin. (Quantiles have lines from -1,
    below the prediction, to 1, above it.) Lines join the machines of the path; ticks at the lower
    edge are changes of the active set, where the lines of the exact path have their corners.

    Parameters
    ----------
    name : str
        The parameter.
    values : array of shape (m,)
        Of the parameter.
    shares : array of shape (m, k)
        :math:`\alpha_k / C_k` of the machine at each value, or its coefficients.
    variables : array of int of shape (k,)
        Which dual variables, or features, the lines are.
    events : array of shape (e,)
        Values of the parameter at which the active set changes.
    n_variables : int
        All of them, drawn or not.
    of : "alpha" or "coef"
        What the lines are: shares of bounds, or coefficients.
    names : sequence of str
        Of the features, in the order of the lines; empty for dual variables.
    most_named : int
        More lines than that have no names in a legend.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> shares = np.array([[0.5, 0.0], [1.0, 0.3]])
    >>> lines = PathLines("C", np.array([1.0, 2.0]), shares, [0, 4], np.array([1.5]), 5)
    >>> lines.plot(ax=Figure().add_subplot()).ax_.get_ylabel()
    'alpha / bound'
    """

    name: str
    values: Vector
    shares: Dense
    variables: Index
    events: Vector
    n_variables: int
    of: Drawn = field(default="alpha", kw_only=True)
    names: Sequence[str] = field(default=(), kw_only=True)
    most_named: int = field(default=10, kw_only=True)

    @classmethod
    def from_path(
        cls, path: Any, *, of: Drawn = "alpha", lines: int = 60, ax: Axes | None = None
    ) -> Self:
        """Draw the dual variables or the coefficients of a path.

        Parameters
        ----------
        path : Path
            From ``qpsvm.paths.svm_path``.
        of : "alpha" or "coef"
            What is drawn: ``alpha / bound`` of the samples, or with a linear kernel the
            coefficients of the features.
        lines : int
            Draw the variables or features that move most, at most so many.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure without it.

        Returns
        -------
        PathLines

        Raises
        ------
        InvalidParameterError
            Not a path, one of a single machine, a number of lines below one, or coefficients of
            machines that have none.
        MissingPackageError
            Matplotlib is not installed.

        Examples
        --------
        >>> import numpy as np
        >>> import qpsvm
        >>> from matplotlib.figure import Figure
        >>> X, y = np.array([[0.0], [1.0], [2.0], [5.0]]), [0, 1, 0, 1]
        >>> path = qpsvm.paths.svm_path(X, y, C=[0.1, 1.0, 10.0], kernel="linear")
        >>> display = PathLines.from_path(path, ax=Figure().add_subplot())
        >>> display.ax_.get_xlabel(), display.shares.shape
        ('C', (3, 2))
        """
        require_choice(of, get_args(Drawn), "of")
        if not is_real_number(lines) or int(lines) != lines or lines < 1:
            raise InvalidParameterError(f"lines is {lines!r}; pass a whole number of at least 1.")
        solutions: Sequence[Any] = getattr(path, "solutions", ())
        if len(solutions) < 2 or not hasattr(path, "events"):
            raise InvalidParameterError(
                f"PathLines draws what svm_path returns, with two machines or more; got {path!r}."
            )
        heights = _coefficients(solutions) if of == "coef" else _shares_of_bounds(solutions)
        moves = np.ptp(heights, axis=0)
        order = np.argsort(-moves, kind="stable")[:lines]
        chosen = np.sort(order[moves[order] > 0.0])
        events = np.unique([event.value for event in path.events])
        features = solutions[0].data.feature_names
        names = [str(features[k]) if features else f"feature {k}" for k in chosen.tolist()]
        drawn = (heights[:, chosen], chosen, events, heights.shape[1])
        named = tuple(names) if of == "coef" else ()
        return cls(path.over, path.values, *drawn, of=of, names=named).plot(ax=ax)

    def _draw(self, axes: Axes, style: Style, *, is_alone: bool) -> None:
        is_named = 0 < len(self.names) <= self.most_named
        for k, line in enumerate(self.shares.T):
            again, colour = divmod(k, len(CLASS_COLOURS))
            axes.plot(
                self.values, line, color=CLASS_COLOURS[colour], linewidth=1.2, alpha=0.8,
                linestyle=LINE_STYLES[again % len(LINE_STYLES)] if is_named else "-",
                label=literal(self.names[k]) if is_named else None,
            )  # fmt: skip
        if len(self.events):
            axes.plot(
                self.events, np.full(len(self.events), 0.01), "|", color=style.ink, markersize=6,
                alpha=0.5, transform=axes.get_xaxis_transform(),
            )  # fmt: skip
        if self.values[0] > 0.0 and self.values[-1] >= 10.0 * self.values[0]:
            axes.set_xscale("log")
        axes.set_xlabel(self.name, color=style.ink)
        if self.of == "alpha":
            # only quantiles have alphas below zero, by more than rounding
            axes.set_ylim(-1.05 if np.min(self.shares, initial=0.0) < -0.05 else -0.05, 1.05)
            axes.set_ylabel("alpha / bound", color=style.ink)
        else:
            axes.axhline(0.0, color=style.soft, linewidth=0.8)
            axes.set_ylabel("coefficient", color=style.ink)
        if is_named:
            legend(axes, style, axes.get_legend_handles_labels()[0], above=is_alone)
        axes.tick_params(colors=style.soft)

    @property
    def alternative(self) -> str:
        n, of_all = self.shares.shape[1], self.n_variables
        over = f"{self.name} from {self.values[0]:.3g} to {self.values[-1]:.3g}"
        if self.of == "coef":
            named = zip(self.names[: self.most_named], self.shares.T, strict=False)
            moved = [f"{name} {line[0]:.3g} to {line[-1]:.3g}" for name, line in named]
            return f"Coefficients of {n} of {of_all} features for {over}: {'; '.join(moved)}."
        first, last = np.count_nonzero(np.abs(self.shares[[0, -1]]) >= 1.0, axis=1).tolist()
        return (
            f"alpha / bound of {n} of {of_all} dual variables for {over}. {first} of them are at "
            f"their bound at the smallest value, {last} at the largest; the active set changes at "
            f"{len(self.events)} values."
        )


def _shares_of_bounds(solutions: Sequence[Any]) -> Dense:
    """Alpha of several machines as a share of its upper or lower bound, shape (m, N)."""
    alpha = np.array([machine.alpha for machine in solutions])
    lower = np.array([machine.conditions.lower for machine in solutions])
    upper = np.array([machine.conditions.upper for machine in solutions])
    bound = np.where(alpha < 0.0, -lower, upper)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(bound > 0.0, alpha / bound, 0.0)


def _coefficients(solutions: Sequence[Any]) -> Dense:
    """Coefficients of every machine, shape (m, d)."""
    if any(machine.coef is None for machine in solutions):
        raise InvalidParameterError(
            "of is 'coef', and machines of this kernel have no coefficients of features; use a "
            "linear kernel, or of='alpha'."
        )
    return np.array([machine.coef for machine in solutions])


# --- axes and legends -----------------------------------------------------------------------------


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
        handles=handles, loc="best", labelcolor=style.ink, facecolor=style.paper,
        edgecolor=style.grid, framealpha=0.85, fontsize=picture.SMALL_TEXT - 1.0, handlelength=1.4,
    )  # fmt: skip
