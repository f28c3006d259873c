"""Settings of a solve, and the clock that enforces time limit and callback."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from qpsvm.backends.options import require_count
from qpsvm.exceptions import InvalidParameterError
from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.calls import explains_constructor
from qpsvm.numerics.deadline import Deadline
from qpsvm.qp.kkt_residuals import Tolerances
from qpsvm.qp.solution import QPSolution, Status


@dataclass(frozen=True)
class TimeSettings:
    """Settings of time limits and of child processes, in seconds, which users cannot set.

    Attributes
    ----------
    shortest : float
        Least time limit that a solver is told, since some take zero for no limit.
    overrun : float
        Past the time limit an iteration may end by so much; one that would take longer, by the time
        of the last one, does not begin. As much is left for the verification.
    poll : float
        Between two looks at the deadline while a child process works.
    grace : float
        By which a child process may exceed its time limit, to return its best point.
    patience : float
        That a child process whose connection was closed has to end by itself.
    """

    shortest: float = 1e-9
    overrun: float = 0.5
    poll: float = 0.05
    grace: float = 0.5
    patience: float = 1.0


TIMES = TimeSettings()
"""Settings that every backend observes."""


@dataclass(frozen=True)
class Progress:
    """One event of a running solve, handed to the callback.

    Attributes
    ----------
    stage : str
        ``"start"`` before a backend begins, ``"solve"`` while it iterates; ``"polish"``,
        ``"escalate"``, ``"second backend"`` and ``"done"`` after it.
    backend : str
    iteration : int or None
        The solver's own count.
    seconds : float
        Wall clock since the solve began.
    objective : float or None
    residual : float or None
        Worst residual as the solver (stage "solve") or the verifier (other stages) measures it.
    gap : float or None
        Relative duality gap of the best point so far, where the solver knows it.
    n_variables, n_rows : int or None
        Size of the program that the backend gets, at stage "start": its variables, and its rows of
        G and A together.
    """

    stage: str
    backend: str
    iteration: int | None = None
    seconds: float = 0.0
    objective: float | None = None
    residual: float | None = None
    gap: float | None = None
    n_variables: int | None = None
    n_rows: int | None = None


Callback: TypeAlias = Callable[[Progress], object]
"""Called with each event. Returning exactly ``False`` asks the solver to stop, except at stage
``"start"``, where what it returns is ignored."""


@explains_constructor
@dataclass(frozen=True)
class Settings:
    """Settings that every backend takes.

    Attributes
    ----------
    eps : float
        Relative accuracy: duality gap and scaled residuals.
    time_limit : float or None
        Seconds of wall clock, from when the backend is asked.
    max_iterations : int or None
        In the solver's own counting; None for the backend's choice.
    verbose : bool
        Print progress: the solver's own lines, or qpsvm's for solvers without any.
    warm_start : QPSolution or None
        Where to begin, for the backends that can.
    callback : callable or None
        See ``Callback``.
    options : mapping
        Settings of the solver by its own names; they win over qpsvm's.
    attempt : int
        0 at first; 1 when the solve policy asks a second time, with a smaller ``eps``.
    deadline : Deadline or None
        When the call of which this is a part has to end; None for ``time_limit`` from now on.
    gives_way : bool
        Another backend stands by: return with Status.ITERATION_LIMIT when progress is too slow.

    Raises
    ------
    InvalidParameterError
        A value outside its domain.
    """

    eps: float = 1e-8
    time_limit: float | None = None
    max_iterations: int | None = None
    verbose: bool = False
    warm_start: QPSolution | None = None
    callback: Callback | None = None
    options: Mapping[str, object] = field(default_factory=dict)
    attempt: int = 0
    deadline: Deadline | None = None
    gives_way: bool = False

    def __post_init__(self) -> None:
        Tolerances(self.eps)  # the rule for eps is there
        limit, most = self.time_limit, self.max_iterations
        is_number = isinstance(limit, int | float | np.number) and not isinstance(limit, bool)
        if limit is not None and not (is_number and limit > 0):
            raise InvalidParameterError(
                f"time_limit is {self.time_limit!r}; pass seconds above 0, or None."
            )
        if most is not None:
            require_count(most, "max_iterations", ", or None")
        if self.callback is not None and not callable(self.callback):
            raise InvalidParameterError(
                f"callback is {self.callback!r}; pass a function of one Progress event, or None."
            )
        if not isinstance(self.options, Mapping):
            raise InvalidParameterError(
                f"options is {self.options!r}; pass a mapping from names of settings to values."
            )
        object.__setattr__(self, "options", dict(self.options))  # the caller's may change

    def replace(self, **changes: Any) -> Settings:
        """A copy with some fields changed; the settings themselves if none changes."""
        for name, value in changes.items():
            if getattr(self, name) is not value:
                return replace(self, **changes)
        return self

    def start(self, n: int) -> Vector | None:
        """The x of the warm start, if it is finite and of size n."""
        x = None if self.warm_start is None else self.warm_start.x
        return x if x is not None and x.shape == (n,) and np.isfinite(x).all() else None

    def started(self) -> Settings:
        """The settings with a deadline, and with what is left before it as the time limit."""
        deadline = self.deadline or Deadline.after(self.time_limit)
        left = max(deadline.remaining(), TIMES.shortest) if deadline.is_set else None
        return self.replace(deadline=deadline, time_limit=left)


class Stop(Exception):  # noqa: N818 - a signal, not an error
    """Raised to leave a solve early; never seen by a caller.

    Parameters
    ----------
    status : Status
        Why the solve ends.
    solution : QPSolution, optional
        What is known, in the variables of the program that ``solve`` was given.

    Examples
    --------
    >>> try:
    ...     raise Stop(Status.TIME_LIMIT)
    ... except Stop as stop:
    ...     print(stop.status.value, stop.solution)
    time limit None
    """

    def __init__(self, status: Status, solution: QPSolution | None = None) -> None:
        super().__init__(status.value)
        self.status = status
        self.solution = solution


class CallbackFailed(Exception):  # noqa: N818 - a signal, not an error
    """Carries an exception of the callback out through a solver.

    Parameters
    ----------
    error : Exception
        The caller's own.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


class Clock:
    """Wall clock, deadline and callback of one solve: ``tick`` once per iteration.

    Parameters
    ----------
    backend : str
        Name of the backend, for the events.
    settings : Settings
        Its callback is called; its deadline, or else its time limit from now on, is enforced.

    Examples
    --------
    >>> clock = Clock("mine", Settings(callback=lambda event: event.iteration < 2))
    >>> clock.report(1) is None
    True
    >>> clock.report(2).value
    'interrupted'
    """

    def __init__(self, backend: str, settings: Settings) -> None:
        self.backend = backend
        self.settings = settings
        self.deadline = settings.deadline or Deadline.after(settings.time_limit)
        self.began = self._last = self.deadline.clock()

    @property
    def seconds(self) -> float:
        """Seconds since the clock was made."""
        return self.deadline.clock() - self.began

    def tick(
        self,
        iteration: int | None = None,
        objective: float | None = None,
        residual: float | None = None,
    ) -> None:
        """Report to the callback; raise ``Stop`` past the time limit or when told to stop."""
        reason = self.report(iteration, objective, residual)
        if reason is not None:
            raise Stop(reason)

    def report(
        self,
        iteration: int | None = None,
        objective: float | None = None,
        residual: float | None = None,
        gap: float | None = None,
    ) -> Status | None:
        """Report to the callback; return the status with which to stop, or None."""
        callback = self.settings.callback
        if callback is not None:
            event = Progress(
                "solve", self.backend, iteration, self.seconds, objective, residual, gap
            )
            try:
                may_continue = callback(event) is not False
            except Exception as error:
                raise CallbackFailed(error) from error
            if not may_continue:
                return Status.INTERRUPTED
        return Status.TIME_LIMIT if self._is_over() else None

    def _is_over(self) -> bool:
        """Return whether the time is over, or another iteration like the last would overrun it."""
        if not self.deadline.is_set:
            return self.deadline.has_passed()
        now = self.deadline.clock()
        step, self._last = now - self._last, now
        return self.deadline.has_passed() or now + step > self.deadline.at + TIMES.overrun
