"""Settings of a solve, and the clock that enforces time limit and callback."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from typing import Any, TypeAlias, TypeVar

import numpy as np

from qpsvm.exceptions import InvalidParameterError
from qpsvm.numerics.arguments import explains_constructor, is_false, is_finite_number
from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.interrupts import NEVER, Deadline
from qpsvm.qp.kkt_residuals import Tolerances
from qpsvm.qp.solution import QPSolution, Status

Own = TypeVar("Own")


def settings_from_options(kind: type[Own], options: Mapping[str, object], backend: str) -> Own:
    """Build a solver's settings object: defaults, with the values that a caller passes by name.

    Parameters
    ----------
    kind : type
        A frozen dataclass whose fields have defaults: whole numbers or numbers,
        none below zero.
    options : mapping
        New values by the names of fields.
    backend : str
        Name of the backend, for errors.

    Raises
    ------
    InvalidParameterError
        A name that is no field, or a value of another kind than the default.
    """
    defaults: Any = kind()
    require_options(backend, options, [field.name for field in fields(defaults)])
    for name, value in options.items():
        _check(name, value, getattr(defaults, name))
    changed: Own = replace(defaults, **options)
    return changed


def require_options(
    backend: str, options: Mapping[str, object], names: Iterable[str] | None
) -> None:
    """Refuse an option that a solver does not have, which some solvers would silently ignore.

    Parameters
    ----------
    backend : str
        Name of the backend, for the error.
    options : mapping
        New values by the solver's own names.
    names : iterable of str or None
        Names of all options; None where they are not known: then the solver itself has to say.

    Raises
    ------
    InvalidParameterError
        With the nearest names, and all of them.

    Examples
    --------
    >>> require_options("cvxopt", {"abstol": 1e-9}, ["abstol", "reltol"])
    """
    known = None if names is None else sorted(names)
    for name in options:
        if known is None or name in known:
            continue
        near = get_close_matches(str(name), known, 3, 0.6)
        hint = f"did you mean {' or '.join(map(repr, near))}? It" if near else "it"
        raise InvalidParameterError(
            f"Backend {backend!r} has no option {name!r}; {hint} has "
            f"{', '.join(known) or 'no options'}."
        )


def _check(name: str, value: object, default: object) -> None:
    is_whole = default is None or isinstance(default, int)
    fits = is_finite_number(value) and bool(value >= 0)
    fits = fits and (isinstance(value, int | np.integer) or not is_whole)
    if not (fits or value is default is None):
        wanted = "a whole number of 0 or more" if is_whole else "a finite number of 0 or more"
        wanted = "a whole number, or None" if default is None else wanted
        raise InvalidParameterError(
            f"{name} is {value!r}; pass {wanted}, such as the default {default!r}."
        )


# --- single values -------------------------------------------------------------------------------


def require_count(value: object, name: str, words: str = "", least: int = 1) -> None:
    """Raise InvalidParameterError unless value is a whole number of at least ``least``."""
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not is_whole or value < least:  # type: ignore[operator]
        raise InvalidParameterError(
            f"{name} is {value!r}; pass a whole number of at least {least}{words}."
        )


def require_above(value: object, least: float, name: str, words: str = "") -> None:
    """Raise InvalidParameterError unless value is a finite number above ``least``."""
    if not (is_finite_number(value) and value > least):
        raise InvalidParameterError(
            f"{name} is {value!r}; pass a finite number above {least:g}{words}."
        )


# --- settings of a solve -------------------------------------------------------------------------


OVERRUN = 0.5
"""Seconds past the time limit by which an iteration may end, and a child process return its best
point; as much is left for the verification."""


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
    deadline : Deadline
        When the call of which this is a part has to end; where that is never, ``time_limit`` counts
        from the begin of each part.

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
    deadline: Deadline = NEVER

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

    def end(self) -> Deadline:
        """The deadline, or else the end of the time limit from now on."""
        if self.deadline.is_set or self.time_limit is None:
            return self.deadline
        return Deadline.after(self.time_limit)

    def started(self) -> Settings:
        """The settings with a deadline, and with what is left before it as the time limit."""
        deadline = self.end()
        if not deadline.is_set:
            return self
        # zero is no limit for some solvers
        return self.replace(deadline=deadline, time_limit=max(deadline.remaining(), 1e-9))


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
        self.deadline = settings.end()
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
                may_continue = not is_false(callback(event))
            except Exception as error:
                raise CallbackFailed(error) from error
            if not may_continue:
                return Status.INTERRUPTED
        return Status.TIME_LIMIT if self._is_over() else None

    def _is_over(self) -> bool:
        """Return whether the time is over, or an iteration as long as the last would overrun it."""
        if not self.deadline.is_set:
            return self.deadline.has_passed()
        now = self.deadline.clock()
        step, self._last = now - self._last, now
        return self.deadline.has_passed() or now + step > self.deadline.at + OVERRUN
