"""Base class of backends: ``solve(program, settings) -> QPSolution``, with class data.

A backend knows one solver and no SVM. It translates the program, maps the one accuracy ``eps`` to
*all* of its solver's tolerances, and translates the answer back into the convention of
``QuadraticProgram``. It judges nothing: the status it returns is a claim that the caller verifies.
"""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from qpsvm.backends.output import Printed
from qpsvm.backends.settings import (
    Callback,
    CallbackFailed,
    Clock,
    Progress,
    Settings,
    Stop,
)
from qpsvm.exceptions import (
    BackendNotInstalledError,
    QPSVMError,
    SolverFailedError,
    UnsupportedProgramError,
)
from qpsvm.numerics.interrupts import map_best
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution
from qpsvm.qp.transforms import (
    Chain,
    Inverse,
    drop_dependent_equalities,
    drop_infinite_rows,
    fold_bounds,
)

__all__ = [
    "Backend",
    "Callback",
    "Capabilities",
    "Clock",
    "Progress",
    "Settings",
    "Stop",
]


@dataclass(frozen=True)
class Capabilities:
    r"""Features that a backend supports; shown by ``qpsvm backends``.

    Attributes
    ----------
    sparse : bool
        Sparse linear algebra inside.
    bounds : bool
        Takes :math:`\mathrm{lb} \le x \le \mathrm{ub}` as such; otherwise they are folded into G.
    linear_programs, quadratic_programs : bool
        Takes P = 0, takes any other P.
    warm_start, time_limit, iteration_limit, callback : bool
        ``callback``: events while the solver iterates, and stopping on request.
    certificates : bool
        Can return certificates of infeasibility or unboundedness.
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


@functools.cache
def installed_version(distribution: str) -> str:
    """Version of an installed package, empty without it; read from disk once (milliseconds)."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return ""


class Backend(ABC):
    """Base class of every backend.

    Attributes
    ----------
    name, licence, distribution : str
        As asked for by users; the solver's licence; the package that provides it.
    required_modules : tuple of str
        Modules that must be importable.
    extra : str or None
        The extra of qpsvm that installs them, None for a required dependency.
    capabilities : Capabilities
    full_rank : bool
        Whether the solver breaks down on linearly dependent rows of A, which are dropped for it.
    prints_iterations : bool
        Whether the solver has lines of its own for ``verbose``; otherwise the events are printed.
    watches_progress : bool
        Whether it ends by itself where its progress does.
    """

    name: ClassVar[str]
    # a bridge to several solvers sets these per instance
    licence: str
    distribution: str
    required_modules: tuple[str, ...]
    extra: str | None = None
    capabilities: Capabilities = Capabilities()
    full_rank: bool = False
    prints_iterations: bool = True
    watches_progress: bool = False

    # --- for the registry ----------------------------------------------------------------------

    @property
    def label(self) -> str:
        """The full name of the backend, such as ``"cvxpy:CLARABEL"``."""
        return self.name

    def missing_modules(self) -> tuple[str, ...]:
        """Name the Python modules of the solver that are not installed."""
        return tuple(m for m in self.required_modules if not _installed(m))

    def version(self) -> str:
        """Version of the solver's package, empty when it is not installed."""
        return installed_version(self.distribution)

    def install_command(self) -> str:
        """Give the pip command that installs the solver of the backend."""
        return f"pip install {self.distribution}"

    def load(self) -> None:  # noqa: B027 - most have nothing to load
        """Import optional parts of the solver ahead of a timed solve."""

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
            The solver raised something of its own. What a callback raises comes out as it is.
        KeyboardInterrupt
            Ctrl-C; ``numerics.interrupts.best_known`` has the best point so far, if there is one.
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
        settings = settings.started()
        if settings.verbose and not self.prints_iterations:
            settings = settings.replace(callback=Printed(settings.callback))

        def signed(solution: QPSolution, **more: float) -> QPSolution:
            return solution.with_statistics(backend=self.label, version=self.version(), **more)

        began = time.perf_counter()
        try:
            reduced, inverse = self._reduce(program)
            warm = settings.warm_start
            if warm is not None and (reduced is not program or not self.capabilities.warm_start):
                settings = settings.replace(warm_start=self._reduced_warm_start(program, warm))
            solution = inverse(self._solve(reduced, settings))
        except KeyboardInterrupt as error:
            map_best(error, lambda found: signed(inverse(found)))
            raise
        except Stop as stop:
            early = QPSolution(stop.status, native_status=f"stopped: {stop.status.value}")
            solution = stop.solution or early
        except CallbackFailed as failed:
            raise failed.error from None
        except (QPSVMError, MemoryError):
            raise
        except Exception as error:
            raise SolverFailedError(
                f"Backend {self.label!r} raised {type(error).__name__}: {error}. "
                "Try another backend; qpsvm.backends.available() lists them."
            ) from error
        setup = time.perf_counter() - began - solution.statistics.solve_seconds
        return signed(solution, setup_seconds=max(0.0, setup))

    @abstractmethod
    def _solve(self, program: QuadraticProgram, settings: Settings) -> QPSolution:
        """Solve a program without infinite rows (and without bounds, unless supported).

        Fill ``statistics.solve_seconds``, ``iterations`` and ``settings``; the rest is added.
        """

    def _require_supported(self, program: QuadraticProgram) -> None:
        able, n = self.capabilities, program.n_variables
        if able.max_variables is not None and n > able.max_variables:
            reason = f"takes at most {able.max_variables} variables, the program has {n}"
        elif not (program.is_linear or able.quadratic_programs):
            reason = "solves linear programs only, this one has a quadratic term"
        elif program.is_linear and not able.linear_programs:
            reason = "needs a quadratic term, the program is linear (P = 0)"
        else:
            return
        raise UnsupportedProgramError(f"Backend {self.label!r} {reason}; use 'cvxopt' or 'osqp'.")

    def _reduce(self, program: QuadraticProgram) -> tuple[QuadraticProgram, Inverse]:
        reduced, inverse = drop_infinite_rows(program)
        if not self.capabilities.bounds:
            reduced, unfold = fold_bounds(reduced)
            inverse = Chain((inverse, unfold))
        if self.full_rank:
            reduced, restore = drop_dependent_equalities(reduced)
            inverse = Chain((inverse, restore))
        return reduced, inverse

    def _reduced_warm_start(
        self, program: QuadraticProgram, warm_start: QPSolution
    ) -> QPSolution | None:
        """Convert the warm start to the reduced program's variables; None if it does not fit."""
        z = warm_start.z
        if not self.capabilities.warm_start or z is None or len(z) != program.n_inequalities:
            return None
        is_whole = drop_infinite_rows(program)[0] is program
        return fold_bounds(program)[1].forward(warm_start) if is_whole else None


def _installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):  # the parent package of a submodule is missing or broken
        return False
