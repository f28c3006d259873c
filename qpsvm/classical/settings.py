"""Settings of a run: its limits, the checkpoints at which it is certified, and the clock."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import ParamSpec, TypedDict, TypeVar

from qpsvm.backends.settings import require_above, require_count
from qpsvm.exceptions import InvalidParameterError
from qpsvm.numerics.arguments import (
    explains_calls,
    explains_constructor,
    is_finite_number,
    require_flag,
)
from qpsvm.qp.kkt_residuals import Tolerances

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


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


DEFAULTS = TraceSettings()


@dataclass(frozen=True)
class MethodSettings:
    """Numbers of the textbooks' formulas; none changes what a certificate proves.

    Attributes
    ----------
    inside : float
        Share of ``C_i`` by which a free alpha is away from both ends of its box.
    sufficient_decrease : float
        Armijo's constant: share of the first-order decrease that a line search accepts.
    shortest_step : float
        Steps shorter than that are rounding: Newton's method ends.
    smallest_drawn_gap : float
        Gaps below it are drawn there: on a logarithmic axis zero has no place.
    """

    inside: float = 1e-8
    sufficient_decrease: float = 1e-4
    shortest_step: float = 2.0**-40
    smallest_drawn_gap: float = 1e-16


METHODS = MethodSettings()


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
    settings: TraceSettings = DEFAULTS
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
