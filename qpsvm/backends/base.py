"""What a backend is: ``solve(program, settings) -> QPSolution``, and class data about itself.

A backend knows one solver and no SVM. It translates the program, maps the one accuracy ``eps`` to
*all* of its solver's tolerances, and translates the answer back into the convention of
``QuadraticProgram``. It judges nothing: the status it returns is a claim that the caller verifies.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeAlias

from qpsvm.exceptions import (
    BackendNotInstalledError,
    InvalidParameterError,
    QPSVMError,
    SolverFailedError,
    UnsupportedProgramError,
)
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution, Status
from qpsvm.qp.transforms import Chain, Inverse, drop_infinite_rows, fold_bounds


@dataclass(frozen=True)
class Progress:
    """One event of a running solve, handed to the callback.

    Attributes
    ----------
    stage : str
        ``"solve"`` while the solver iterates; ``"verify"``, ``"polish"``, ``"escalate"`` and
        ``"done"`` around it.
    backend : str
    iteration : int or None
        The solver's own count.
    seconds : float
        Wall clock since the solve began.
    objective : float or None
    residual : float or None
        Worst residual as the solver (stage "solve") or the verifier (other stages) measures it.
    """

    stage: str
    backend: str
    iteration: int | None = None
    seconds: float = 0.0
    objective: float | None = None
    residual: float | None = None


Callback: TypeAlias = Callable[[Progress], object]
"""Called with each event. Returning exactly ``False`` asks the solver to stop."""


@dataclass(frozen=True)
class Settings:
    """What a caller asks of any backend.

    Attributes
    ----------
    eps : float
        Relative accuracy: duality gap and scaled residuals.
    time_limit : float or None
        Seconds of wall clock.
    max_iterations : int or None
        In the solver's own counting; None for the backend's choice.
    verbose : bool
        Let the solver print.
    warm_start : QPSolution or None
        Where to begin, for the backends that can.
    callback : callable or None
        See ``Callback``.
    options : mapping
        Settings of the solver by its own names; they win over qpsvm's.
    attempt : int
        0 at first; 1 when the tolerance contract asks a second time, with a smaller ``eps``.

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
    options: Mapping[str, Any] = field(default_factory=dict)
    attempt: int = 0

    def __post_init__(self) -> None:
        if not 0.0 < self.eps < 1.0:
            raise InvalidParameterError(
                f"eps is {self.eps!r}; it is a relative accuracy between 0 and 1, such as 1e-8."
            )
        if self.time_limit is not None and not self.time_limit > 0:
            raise InvalidParameterError(
                f"time_limit is {self.time_limit!r}; pass seconds above 0, or None."
            )
        if self.max_iterations is not None and not self.max_iterations >= 1:
            raise InvalidParameterError(
                f"max_iterations is {self.max_iterations!r}; pass at least 1, or None."
            )

    def replace(self, **changes: Any) -> Settings:
        """A copy with some fields changed."""
        return replace(self, **changes)


@dataclass(frozen=True)
class Capabilities:
    """What a backend can do; shown by ``qpsvm backends``.

    Attributes
    ----------
    sparse : bool
        Sparse linear algebra inside.
    bounds : bool
        Takes ``lb <= x <= ub`` as such; otherwise they are folded into G.
    linear_programs, quadratic_programs : bool
        Takes P = 0, takes any other P.
    warm_start, time_limit, iteration_limit, callback : bool
        ``callback``: events while the solver iterates, and stopping on request.
    certificates : bool
        Can return evidence of infeasibility or unboundedness.
    max_variables : int or None
        Refuses larger programs.
    """

    sparse: bool = False
    bounds: bool = False
    linear_programs: bool = True
    quadratic_programs: bool = True
    warm_start: bool = False
    time_limit: bool = False
    iteration_limit: bool = True
    callback: bool = False
    certificates: bool = False
    max_variables: int | None = None


class Stop(Exception):  # noqa: N818 - a signal, not an error
    """Raised to leave a solve early; never seen by a caller.

    Parameters
    ----------
    status : Status
    solution : QPSolution, optional
        What is known, in the variables of the program that ``solve`` was given.
    """

    def __init__(self, status: Status, solution: QPSolution | None = None) -> None:
        super().__init__(status.value)
        self.status = status
        self.solution = solution


class Backend(ABC):
    """Base class of every backend.

    Class attributes
    ----------------
    name, licence, distribution : str
        As asked for by users; the solver's licence; the package that provides it.
    required_modules : tuple of str
        Modules that must be importable.
    extra : str or None
        The extra of qpsvm that installs them, None for a required dependency.
    capabilities : Capabilities
    """

    name: ClassVar[str]
    # a bridge to several solvers sets these per instance
    licence: str
    distribution: str
    required_modules: tuple[str, ...]
    extra: str | None = None
    capabilities: Capabilities = Capabilities()

    # --- for the registry ----------------------------------------------------------------------

    @property
    def label(self) -> str:
        """The name a user would ask for, with the part behind the colon."""
        return self.name

    def missing_modules(self) -> tuple[str, ...]:
        """Required modules that are not installed; nothing is imported to find out."""
        return tuple(m for m in self.required_modules if not _installed(m))

    def version(self) -> str:
        """Version of the solver's package, empty when it is not installed."""
        try:
            return importlib.metadata.version(self.distribution)
        except importlib.metadata.PackageNotFoundError:
            return ""

    def install_command(self) -> str:
        """The pip line that provides what is missing."""
        return f"pip install {self.distribution}"

    # --- solving ---------------------------------------------------------------------------------

    def solve(self, program: QuadraticProgram, settings: Settings) -> QPSolution:
        """Solve, and translate the answer back to ``program``.

        Raises
        ------
        BackendNotInstalledError
            The solver's package is missing; the message has the pip line.
        UnsupportedProgramError
            The program is not for this backend; the message says which would cope.
        SolverFailedError
            The solver raised something of its own.
        MemoryLimitError
            A matrix the solver needs does not fit.
        """
        missing = self.missing_modules()
        if missing:
            raise BackendNotInstalledError(
                f"Backend {self.label!r} needs {', '.join(missing)}, which is not installed; "
                f"run: {self.install_command()}"
            )
        self._require_supported(program)
        began = time.perf_counter()
        try:
            reduced, inverse = self._reduce(program)
            warm = settings.warm_start
            if warm is not None and (reduced is not program or not self.capabilities.warm_start):
                settings = settings.replace(warm_start=self._reduced_warm_start(program, warm))
            solution = inverse(self._solve(reduced, settings))
        except Stop as stop:
            early = QPSolution(stop.status, native_status=f"stopped: {stop.status.value}")
            solution = stop.solution or early
        except (QPSVMError, MemoryError, KeyboardInterrupt):
            raise
        except Exception as error:
            raise SolverFailedError(
                f"Backend {self.label!r} raised {type(error).__name__}: {error}. "
                "Try another backend; qpsvm.backends.available() lists them."
            ) from error
        elapsed = time.perf_counter() - began
        solve_seconds = solution.statistics.solve_seconds
        return solution.with_statistics(
            backend=self.label,
            version=self.version(),
            setup_seconds=max(0.0, elapsed - solve_seconds),
        )

    @abstractmethod
    def _solve(self, program: QuadraticProgram, settings: Settings) -> QPSolution:
        """Solve a program without infinite rows (and without bounds, unless supported).

        Fill ``statistics.solve_seconds``, ``iterations`` and ``settings``; the rest is added.
        """

    def _require_supported(self, program: QuadraticProgram) -> None:
        limit = self.capabilities.max_variables
        if limit is not None and program.n_variables > limit:
            raise UnsupportedProgramError(
                f"Backend {self.label!r} takes at most {limit} variables, the program has "
                f"{program.n_variables}; use 'cvxopt' or 'osqp'."
            )
        if not (program.is_linear or self.capabilities.quadratic_programs):
            raise UnsupportedProgramError(
                f"Backend {self.label!r} solves linear programs only, this one has a quadratic "
                "term; use 'cvxopt' or 'osqp'."
            )
        if program.is_linear and not self.capabilities.linear_programs:
            raise UnsupportedProgramError(
                f"Backend {self.label!r} needs a quadratic term, the program is linear (P = 0); "
                "use 'cvxopt' or 'osqp'."
            )

    def _reduce(self, program: QuadraticProgram) -> tuple[QuadraticProgram, Inverse]:
        reduced, inverse = drop_infinite_rows(program)
        if self.capabilities.bounds:
            return reduced, inverse
        folded, unfold = fold_bounds(reduced)
        return folded, Chain((inverse, unfold))

    def _reduced_warm_start(
        self, program: QuadraticProgram, warm_start: QPSolution
    ) -> QPSolution | None:
        """The warm start in the reduced program's variables; None when it does not fit."""
        if not self.capabilities.warm_start or program.n_inequalities != _length(warm_start.z):
            return None
        if drop_infinite_rows(program)[0] is not program:
            return None
        return fold_bounds(program)[1].forward(warm_start)


def _installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):  # the parent package of a submodule is missing or broken
        return False


def _length(vector: Any) -> int:
    return -1 if vector is None else len(vector)


class Clock:
    """Wall clock, limit and callback of one solve: ``tick`` once per iteration."""

    def __init__(self, backend: str, settings: Settings) -> None:
        self.backend = backend
        self.settings = settings
        self.began = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Seconds since the clock was made."""
        return time.perf_counter() - self.began

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
    ) -> Status | None:
        """Like ``tick``, for solvers that can leave their loop: the reason to stop, or None."""
        callback = self.settings.callback
        if callback is not None:
            event = Progress("solve", self.backend, iteration, self.seconds, objective, residual)
            if callback(event) is False:
                return Status.INTERRUPTED
        limit = self.settings.time_limit
        if limit is not None and self.seconds > limit:
            return Status.TIME_LIMIT
        return None
