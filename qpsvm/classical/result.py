"""The result of a classical method: its last machine and its trace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from qpsvm.classical.settings import METHODS
from qpsvm.display import Column, Table
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arguments import require_choice
from qpsvm.numerics.arrays import Vector, freeze
from qpsvm.plotting import picture
from qpsvm.plotting.displays import axes_for, style_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class Trace(Table):
    """Steps, costs, certified gaps and seconds of a method, one row per checkpoint.

    Attributes
    ----------
    step : int array of shape (m,)
    cost : array of shape (m,)
        The primal objective of the machine: an upper bound on the optimum.
    dual : array of shape (m,)
        The dual objective of the feasible alpha nearest to the method's: a lower bound.
    gap : array of shape (m,)
        The certified relative gap, ``(cost - dual) / cost`` with an allowance for rounding;
        infinite where nothing is proven.
    repair : array of shape (m,)
        Largest change that made alpha feasible, relative to its unit; zero where it was.
    seconds : array of shape (m,)
        Of the method alone: the clock stands still for certificates.
    """

    step: npt.NDArray[np.int64]
    cost: Vector
    dual: Vector
    gap: Vector
    repair: Vector
    seconds: Vector

    def __post_init__(self) -> None:
        for name, column in self.columns().items():
            object.__setattr__(self, name, freeze(np.asarray(column)))

    def __len__(self) -> int:
        return len(self.step)

    def columns(self) -> Mapping[str, Column]:
        return dict(vars(self))

    def order(self) -> npt.NDArray[np.intp]:
        """Indices of the table rows in the order in which they are printed, the last row first."""
        return np.arange(len(self))[::-1]

    def __repr__(self) -> str:
        return super().__repr__().replace("the worst", "the last", 1)

    def plot(self, ax: Axes | None = None, *, over: str = "seconds", label: str = "") -> Axes:
        """Plot the certified gap against steps or seconds, both axes logarithmic.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            New ones in a new figure if None.
        over : {"seconds", "step"}
        label : str
            Of the curve, for a legend.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        InvalidParameterError
            Another ``over``.
        MissingPackageError
            Matplotlib is not installed.
        """
        require_choice(over, ("seconds", "step"), "over")
        axes = axes_for(ax)
        x = np.asarray(getattr(self, over), dtype=np.float64)
        shown = (x > 0.0) & np.isfinite(self.gap)
        axes.plot(
            x[shown], np.maximum(self.gap[shown], METHODS.smallest_drawn_gap), label=label or None
        )
        axes.set_xscale("log")
        axes.set_yscale("log")
        picture.label(axes, style_of(axes), over, "certified gap")
        return axes


@dataclass(frozen=True, eq=False, repr=False)
class ClassicalResult:
    """The last machine of a classical method, with its trace.

    Attributes
    ----------
    solution : SVMSolution
        ``solution.status`` is OPTIMAL exactly when ``qpsvm.verify`` passes it at the asked eps.
    trace : Trace
    method : str
    reason : str
        What ended the run: "gap", "seconds", "steps", "patience", "end" (the method has nothing
        left to do), or "not finite".
    """

    solution: SVMSolution
    trace: Trace
    method: str
    reason: str

    @property
    def relative_gap(self) -> float:
        """The certified relative gap of the solution."""
        return float(self.trace.gap[-1])

    @property
    def steps(self) -> int:
        """Number of steps that the method took."""
        return int(self.trace.step[-1])

    @property
    def seconds(self) -> float:
        """Seconds of the method, certificates excepted."""
        return float(self.trace.seconds[-1])

    def __repr__(self) -> str:
        return (
            f"ClassicalResult({self.method}: gap {self.relative_gap:.1e} after {self.steps} steps, "
            f"{self.seconds:.2g} s; stopped by {self.reason!r})"
        )
