"""Dual variables or coefficients along a path of machines, on axes that the caller may pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, get_args

import numpy as np

from qpsvm.exceptions import InvalidParameterError
from qpsvm.numerics.arguments import is_real_number, require_choice
from qpsvm.numerics.arrays import Dense, Index, Vector
from qpsvm.plotting.displays import Display, legend
from qpsvm.plotting.picture import CLASS_COLOURS, Style, literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes


Drawn: TypeAlias = Literal["alpha", "coef"]
"""What the lines of a path show."""

NAMED = 10
"""Lines up to this number are named in a legend."""

LINE_STYLES: tuple[str, ...] = ("-", "--", ":")
"""Styles that tell named lines of one colour apart."""


@dataclass(eq=False, repr=False)
class PathLines(Display):
    r"""Plot of dual variables or coefficients along a path, one line for each that changes.

    Of dual variables :math:`\alpha_k / C_k` is drawn. A line at 0 is a sample beyond the margin, a
    line at 1 one inside it; between, the sample is on the margin. Lines join the machines of the
    path; ticks at the lower edge are changes of the active set, where the lines of the exact path
    have their corners.

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
        is_named = 0 < len(self.names) <= NAMED
        for k, line in enumerate(self.shares.T):
            again, colour = divmod(k, len(CLASS_COLOURS))
            axes.plot(
                self.values,
                line,
                color=CLASS_COLOURS[colour],
                linestyle=LINE_STYLES[again % len(LINE_STYLES)] if is_named else "-",
                linewidth=1.2,
                alpha=0.8,
                label=literal(self.names[k]) if is_named else None,
            )
        if len(self.events):
            axes.plot(
                self.events, np.full(len(self.events), 0.01), "|", color=style.ink, markersize=6,
                alpha=0.5, transform=axes.get_xaxis_transform(),
            )  # fmt: skip
        if self.values[0] > 0.0 and self.values[-1] >= 10.0 * self.values[0]:
            axes.set_xscale("log")
        if self.of == "alpha":
            axes.set_ylim(-0.05, 1.05)
        else:
            axes.axhline(0.0, color=style.soft, linewidth=0.8)
        axes.set_xlabel(self.name, color=style.ink)
        axes.set_ylabel("alpha / bound" if self.of == "alpha" else "coefficient", color=style.ink)
        if is_named:
            legend(axes, style, axes.get_legend_handles_labels()[0], above=is_alone)
        axes.tick_params(colors=style.soft)

    @property
    def alternative(self) -> str:
        if self.of == "coef":
            moved = [
                f"{name} {line[0]:.3g} to {line[-1]:.3g}"
                for name, line in zip(self.names[:NAMED], self.shares.T, strict=False)
            ]
            return (
                f"Coefficients of {self.shares.shape[1]} of {self.n_variables} features for "
                f"{self.name} from {self.values[0]:.3g} to {self.values[-1]:.3g}: "
                f"{'; '.join(moved)}."
            )
        ends = [int(np.count_nonzero(self.shares[at] >= 1.0)) for at in (0, -1)]
        return (
            f"alpha / bound of {self.shares.shape[1]} of {self.n_variables} dual variables for "
            f"{self.name} from {self.values[0]:.3g} to {self.values[-1]:.3g}. {ends[0]} of them "
            f"are at their bound at the smallest value, {ends[1]} at the largest; the active set "
            f"changes at {len(self.events)} values."
        )


def _shares_of_bounds(solutions: Sequence[Any]) -> Dense:
    """``alpha / C`` of every machine, shape (m, N); 0 where the bound is 0."""
    upper = np.array([machine.conditions.upper for machine in solutions])
    alpha = np.array([machine.alpha for machine in solutions])
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(upper > 0.0, alpha / upper, 0.0)


def _coefficients(solutions: Sequence[Any]) -> Dense:
    """Coefficients of every machine, shape (m, d)."""
    if any(machine.coef is None for machine in solutions):
        raise InvalidParameterError(
            "of is 'coef', and machines of this kernel have no coefficients of features; use a "
            "linear kernel, or of='alpha'."
        )
    return np.array([machine.coef for machine in solutions])
