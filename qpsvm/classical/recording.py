"""The record of a run: cost and certified gap at every checkpoint, and the machine at its end.

With it are the limits of a run, and the result of every textbook method.
"""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ParamSpec, TypedDict, TypeVar

import numpy as np
import numpy.typing as npt

from qpsvm.backends.output import line_of
from qpsvm.backends.settings import Progress, require_above, require_count
from qpsvm.certificates.certifying import certificate_of
from qpsvm.display import Column, ColumnTable
from qpsvm.exceptions import InvalidParameterError
from qpsvm.machines.problem import SVMProblem
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arguments import (
    explains_calls,
    explains_constructor,
    is_finite_number,
    require_choice,
    require_flag,
)
from qpsvm.numerics.arrays import Vector, freeze
from qpsvm.plotting import picture
from qpsvm.plotting.displays import axes_for, style_of
from qpsvm.qp.kkt_residuals import Tolerances
from qpsvm.qp.solution import SolveStatistics, Status
from qpsvm.solvers.classical.driver import Driver, Method
from qpsvm.verification import verify

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_STATUSES = {"seconds": Status.TIME_LIMIT, "steps": Status.ITERATION_LIMIT}


# --- limits ---------------------------------------------------------------------------------------


@explains_constructor
@dataclass(frozen=True)
class TraceSettings:
    """Settings of a trace; none changes what a certificate proves.

    Attributes
    ----------
    first : int
        The step after which the machine is certified for the first time, besides the start.
    growth : float
        Ratio of the steps of two further checkpoints, above 1. A certificate takes a few passes
        over the data, which some methods need for a thousand steps.
    feasible : float
        The unconstrained ascent has no gap where ``repair`` is above this: rounding.
    clock : callable
        Seconds of the method: ``time.perf_counter``, or ``time.process_time`` on a busy machine.

    Raises
    ------
    InvalidParameterError
        A value outside its domain.
    """

    first: int = 1
    growth: float = 1.25
    feasible: float = 1e-9
    clock: Callable[[], float] = time.perf_counter

    def __post_init__(self) -> None:
        require_count(self.first, "first")
        require_above(self.growth, 1.0, "growth")
        require_above(self.feasible, 0.0, "feasible")
        if not callable(self.clock):
            raise InvalidParameterError(
                f"clock is {self.clock!r}; pass a function that returns seconds."
            )


class RunOptions(TypedDict, total=False):
    """Keyword arguments that all methods take; ``dual_ascent`` describes them."""

    eps: float
    max_seconds: float | None
    max_steps: int | None
    verbose: bool
    settings: TraceSettings


@dataclass(frozen=True)
class Limits:
    """The limits of a run: the options of every method, and a limit of runs without progress.

    Attributes
    ----------
    eps : float
        Certified relative gap, between 0 and 1.
    max_seconds : float or None
    max_steps : int or None
    verbose : bool
        Print a line for every checkpoint.
    settings : TraceSettings
    patience : int or None
        Checkpoints in a row without a relative fall of the cost by ``min_change``.
    min_change : float

    Raises
    ------
    InvalidParameterError
        A value outside its domain.
    """

    eps: float = 1e-6
    max_seconds: float | None = 10.0
    max_steps: int | None = None
    verbose: bool = False
    settings: TraceSettings = TraceSettings()
    patience: int | None = None
    min_change: float = 0.0

    def __post_init__(self) -> None:
        Tolerances(self.eps)  # the rule for eps is there
        if self.max_seconds is not None:
            require_above(self.max_seconds, 0.0, "max_seconds", " of seconds, or None")
        if self.max_steps is not None:
            require_count(self.max_steps, "max_steps", ", or None")
        require_flag(self.verbose, "verbose")
        if self.patience is not None:
            require_count(self.patience, "patience", ", or None")
        if not (is_finite_number(self.min_change) and 0.0 <= self.min_change < 1.0):
            raise InvalidParameterError(
                f"min_change is {self.min_change!r}; pass a number of at least 0 and below 1."
            )


def textbook_method(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Decorate a method whose last parameter is ``**run: Unpack[RunOptions]``.

    Its signature names the options with their defaults, and calls with others are explained.
    """
    own, options = inspect.signature(function), inspect.signature(Limits).parameters
    shown = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
    shown += [
        options[n].replace(kind=inspect.Parameter.KEYWORD_ONLY) for n in RunOptions.__annotations__
    ]
    vars(function)["__signature__"] = own.replace(parameters=shown)
    return explains_calls(function)


# --- results --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Trace(ColumnTable):
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
        axes.plot(x[shown], np.maximum(self.gap[shown], 1e-16), label=label or None)
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


# --- the run --------------------------------------------------------------------------------------


@dataclass(eq=False)
class Recorder:
    """Certifies the machines of a run at the checkpoints of its driver.

    Parameters
    ----------
    problem : SVMProblem
    name : str
        Name of the method.
    machine : callable
        Builds the machine of an iterate; called at checkpoints only, since that takes time.
    start : object
        The iterate before the first step.
    limits : Limits
    as_it_is : bool
        Alpha claims to be feasible: a gap that needs a repair is none.
    """

    problem: SVMProblem
    name: str
    machine: Callable[[Any], SVMSolution]
    start: Any
    limits: Limits
    as_it_is: bool = False
    rows: list[tuple[int, float, float, float, float, float]] = field(default_factory=list)
    solution: SVMSolution | None = None
    _began: float = 0.0
    _now: float = 0.0
    _best: float = math.inf
    _idle: int = 0

    def run(self, method: Method) -> ClassicalResult:
        """Run a method until it ends by itself or a limit is reached.

        Raises
        ------
        KeyboardInterrupt
            Ctrl-C, with the machine of the last checkpoint as its attribute ``solution``.
        """
        own, most = self.limits.settings, self.limits.max_steps
        self.driver = Driver(self._measure, self._is_late, self.start, most, own.first, own.growth)
        self._began = self._now = own.clock()
        try:
            self.driver.drive(method)
            solution = self._judged()
        except KeyboardInterrupt as error:
            vars(error)["solution"] = self.solution
            raise
        trace = Trace(*map(np.asarray, zip(*self.rows, strict=True)))
        return ClassicalResult(solution, trace, self.name, self.driver.reason)

    def _is_late(self) -> bool:
        self._now = self.limits.settings.clock()
        limit = self.limits.max_seconds
        return limit is not None and self._now - self._began >= limit

    def _measure(self, reason: str) -> str:
        """Certify the last iterate, and decide whether the run ends."""
        limits, step, seconds = self.limits, self.driver.steps, self._now - self._began
        solution, model = self.machine(self.driver.last), self.problem.model
        self.solution = solution
        proof = certificate_of(model, model.evaluate(solution))
        cost, gap = proof.primal_objective, proof.relative_gap_upper
        if self.as_it_is and not proof.repair <= limits.settings.feasible:
            gap = math.inf
        self.rows.append((step, cost, proof.dual_objective, gap, proof.repair, seconds))
        if limits.verbose:
            words = Progress("solve", self.name, step, seconds, cost, gap=gap)
            print(line_of(words), flush=True)
        if cost < self._best - limits.min_change * abs(self._best) or step == 0:
            self._best, self._idle = cost, 0
        else:
            self._idle += 1
        self._began += limits.settings.clock() - self._now  # certificates are not its work
        if not (np.isfinite(solution.alpha).all() and math.isfinite(solution.intercept)):
            return "not finite"
        if gap <= limits.eps:
            return "gap"
        is_idle = limits.patience is not None and self._idle >= limits.patience
        return reason or ("patience" if is_idle else "")

    @np.errstate(all="ignore")  # overflow becomes inf or NaN, and fails closed
    def _judged(self) -> SVMSolution:
        """The last machine with its program's point and the verifier's status."""
        assert self.solution is not None
        step, *_, gap, _, seconds = self.rows[-1]
        own = SolveStatistics(backend=self.name, iterations=step, solve_seconds=seconds)
        qp = self.problem.to_qp(self.solution).replace(statistics=own)
        stated = self.solution.replace(qp=qp)
        reason = self.driver.reason
        passed = verify(self.problem, stated, eps=self.limits.eps).passed
        status = Status.OPTIMAL if passed else _STATUSES.get(reason, Status.INACCURATE)
        words = f"stopped by {reason} (gap {gap:.1e})"
        return stated.replace(qp=qp.replace(status=status, native_status=words))
