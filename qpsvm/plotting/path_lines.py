"""Dual variables along a path of machines, on axes that the caller may pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from qpsvm.exceptions import InvalidParameterError
from qpsvm.numerics.arguments import is_real_number
from qpsvm.numerics.arrays import Dense, Vector
from qpsvm.plotting.displays import Display
from qpsvm.plotting.picture import CLASS_COLOURS, Style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class PathLines(Display):
    """Plot of ``alpha_k / C_k`` along a path, one line for each dual variable that changes.

    A line at 0 is a sample beyond the margin, a line at 1 one inside it; between, the sample is on
    the margin. Lines join the machines of the path; ticks at the lower edge are changes of the
    active set, where the lines of the exact path have their corners.

    Parameters
    ----------
    name : str
        The parameter.
    values : array of shape (m,)
        Of the parameter.
    shares : array of shape (m, k)
        ``alpha_k / C_k`` of the machine at each value.
    variables : array of int of shape (k,)
        Which dual variables the lines are.
    events : array of shape (e,)
        Values of the parameter at which the active set changes.
    n_variables : int
        All of them, drawn or not.

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

    def __init__(
        self,
        name: str,
        values: Vector,
        shares: Dense,
        variables: object,
        events: Vector,
        n_variables: int,
    ) -> None:
        self.name, self.values, self.shares = name, values, shares
        self.variables, self.events, self.n_variables = variables, events, n_variables

    @classmethod
    def from_path(cls, path: Any, *, lines: int = 60, ax: Axes | None = None) -> Self:
        """Draw the dual variables of a path.

        Parameters
        ----------
        path : Path
            From ``qpsvm.paths.svm_path``.
        lines : int
            Draw the variables that move most, at most so many.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure without it.

        Returns
        -------
        PathLines

        Raises
        ------
        InvalidParameterError
            Not a path, one of a single machine, or a number of lines below one.
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
        if not is_real_number(lines) or int(lines) != lines or lines < 1:
            raise InvalidParameterError(f"lines is {lines!r}; pass a whole number of at least 1.")
        solutions = getattr(path, "solutions", ())
        if len(solutions) < 2 or not hasattr(path, "events"):
            raise InvalidParameterError(
                f"PathLines draws what svm_path returns, with two machines or more; got {path!r}."
            )
        upper = np.array([machine.conditions.upper for machine in solutions])
        alpha = np.array([machine.alpha for machine in solutions])
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.where(upper > 0.0, alpha / upper, 0.0)
        moves = np.ptp(shares, axis=0)
        order = np.argsort(-moves, kind="stable")[:lines]
        chosen = np.sort(order[moves[order] > 0.0])
        events = np.unique([event.value for event in path.events])
        made = cls(path.over, path.values, shares[:, chosen], chosen, events, shares.shape[1])
        return made.plot(ax=ax)

    def _draw(self, axes: Axes, style: Style, *, is_alone: bool) -> None:
        del is_alone
        for k in range(self.shares.shape[1]):
            colour = CLASS_COLOURS[k % len(CLASS_COLOURS)]
            axes.plot(self.values, self.shares[:, k], color=colour, linewidth=1.2, alpha=0.8)
        if len(self.events):
            low = np.full(len(self.events), -0.02)
            axes.plot(self.events, low, "|", color=style.ink, markersize=6, alpha=0.5)
        if self.values[0] > 0.0 and self.values[-1] >= 10.0 * self.values[0]:
            axes.set_xscale("log")
        axes.set_ylim(-0.05, 1.05)
        axes.set_xlabel(self.name, color=style.ink)
        axes.set_ylabel("alpha / bound", color=style.ink)
        axes.tick_params(colors=style.soft)

    @property
    def alternative(self) -> str:
        ends = [int(np.count_nonzero(self.shares[at] >= 1.0)) for at in (0, -1)]
        return (
            f"alpha / bound of {self.shares.shape[1]} of {self.n_variables} dual variables for "
            f"{self.name} from {self.values[0]:.3g} to {self.values[-1]:.3g}. {ends[0]} of them "
            f"are at their bound at the smallest value, {ends[1]} at the largest; the active set "
            f"changes at {len(self.events)} values."
        )
