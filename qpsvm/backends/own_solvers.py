"""The package's own solvers: ``"ipm"`` for linear machines, ``"active-set"`` for kernel duals."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import partial
from typing import Any

import numpy as np

from qpsvm.backends.base import Backend, Capabilities, Clock, Settings
from qpsvm.backends.settings import settings_from_options
from qpsvm.device import Device
from qpsvm.exceptions import InvalidParameterError, UnsupportedProgramError
from qpsvm.native.library import core
from qpsvm.numerics.arrays import default_memory_limit
from qpsvm.numerics.interrupts import map_best
from qpsvm.numerics.threads import one_blas_thread
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution, SolveStatistics, Status
from qpsvm.solvers.box.program import Boxed
from qpsvm.solvers.box.settings import BOX, MAX_ROWS, ActiveSetSettings
from qpsvm.solvers.box.solver import ActiveSetResult, least_memory, minimise
from qpsvm.solvers.budget import WorkBudget
from qpsvm.solvers.device.settings import DeviceSettings
from qpsvm.solvers.device.solver import minimise_on
from qpsvm.solvers.linear.search import SearchResult
from qpsvm.solvers.linear.settings import LinearSettings
from qpsvm.solvers.linear.solver import solve
from qpsvm.solvers.linear.translate import translation

MAX_ITERATIONS = 500
"""Iterations of the solver of linear machines, at most, unless the caller has a limit."""


class OwnBackend(Backend):
    """Base class of the package's own methods, which report events instead of printing."""

    licence = "Apache-2.0"
    distribution = "qpsvm"
    required_modules = ()
    prints_iterations = False

    def load(self) -> None:
        core()


class IPMBackend(OwnBackend):
    """Programs with ``P = F F' + diag(d)`` over a box with few other rows, and their duals."""

    name = "ipm"
    capabilities = Capabilities(sparse=True, bounds=True, time_limit=True, callback=True)
    watches_progress = True

    # overflow and what follows from it become an objective that is not finite, and end the search
    @one_blas_thread()
    @np.errstate(all="ignore")
    def _solve(self, program: QuadraticProgram, settings: Settings) -> QPSolution:
        own = settings_from_options(LinearSettings, settings.options, self.label)
        clock = Clock(self.label, settings)
        way = translation(program)
        structured = way.structured(own)
        setup = clock.seconds

        def report(iteration: int, objective: float, gap: float) -> Status | None:
            return clock.report(iteration, objective, gap, gap)

        def solution(found: SearchResult) -> QPSolution:
            return way(QPSolution(found.status, x=found.x, y=found.y)).replace(
                native_status=f"{found.reason} (gap {found.gap:.1e})",
                statistics=SolveStatistics(
                    iterations=found.iterations,
                    setup_seconds=setup,
                    solve_seconds=clock.seconds - setup,
                    settings=asdict(own),
                ),
            )

        limit = settings.max_iterations or MAX_ITERATIONS
        try:
            return solution(solve(structured, settings.eps, limit, report, clock.deadline))
        except KeyboardInterrupt as error:
            map_best(error, solution)
            raise


# --- kernel duals --------------------------------------------------------------------------------

BY_ROUNDING = "no progress: rounding"
"""Begin of the native status of a search that ended because rounding undoes its steps."""


class ActiveSetBackend(OwnBackend):
    """Programs over a box with few other rows, and a Hessian by its columns: kernel duals.

    Options are the fields of ``qpsvm.solvers.box.settings.ActiveSetSettings``. Its
    ``memory_limit`` bounds what is kept of the kernel matrix and the matrices of working sets; up
    to 256 columns at a time pass through beside it. A limit below the least that works is refused.
    On a device, whose memory holds all vectors, they are those of
    ``qpsvm.solvers.device.settings.DeviceSettings``.

    Parameters
    ----------
    device : Device, optional
        A GPU; the processor if None.
    """

    name = "active-set"
    capabilities = Capabilities(bounds=True, warm_start=True, time_limit=True, callback=True)
    watches_progress = True

    def __init__(self, device: Device | None = None) -> None:
        self.device = device

    @one_blas_thread()
    @np.errstate(all="ignore")  # overflow becomes a gap that is not finite, and no claim
    def _solve(self, program: QuadraticProgram, settings: Settings) -> QPSolution:
        if program.P.prefers_sparse and program.n_variables <= BOX.small:
            program = program.replace(P=program.P.to_dense())
        if not Boxed.suits(program):
            raise UnsupportedProgramError(
                f"Backend {self.label!r} takes bounds and at most {MAX_ROWS} other rows, and a "
                f"Hessian that is not sparse from {BOX.small + 1} variables on; this "
                f"program has {program.n_equalities} equalities and {program.n_inequalities} "
                f"inequalities over {program.n_variables} variables. The dual of a kernel machine "
                "is of that kind (form='dual'); for others use 'cvxopt' or 'cvxpy:CLARABEL'."
            )
        own: Any
        if self.device is None:
            own, method = self._own_settings(settings, program), minimise
        else:
            own = settings_from_options(DeviceSettings, settings.options, self.label)
            method = partial(minimise_on, self.device)
        clock, stopped, steps = Clock(self.label, settings), list[Status](), 0

        def watch(budget: WorkBudget) -> bool:
            nonlocal steps
            steps += 1
            residual = budget.residual if np.isfinite(budget.residual) else None
            gap = budget.gap() if settings.callback is not None and budget.gap is not None else None
            reason = clock.report(steps, None, residual, gap)
            if reason is None and settings.max_iterations and steps > settings.max_iterations:
                reason = Status.ITERATION_LIMIT
            if reason is not None:
                stopped.append(reason)
            return reason is None

        start = settings.start(program.n_variables)
        budget = WorkBudget(watch=watch)

        def solution(found: ActiveSetResult) -> QPSolution:
            if found.is_optimal:
                status, words = Status.OPTIMAL, "certified gap reached"
            elif stopped:
                status, words = stopped[0], f"stopped: {stopped[0].value}"
            else:
                status, words = Status.INACCURATE, BY_ROUNDING
            return found.solution.replace(
                status=status,
                native_status=f"{words} (gap {found.gap:.1e})",
                statistics=SolveStatistics(
                    iterations=steps, solve_seconds=clock.seconds, settings=vars(own).copy()
                ),
            )

        try:
            return solution(method(program, start, settings.eps, settings=own, budget=budget))
        except KeyboardInterrupt as error:
            stopped[:] = [Status.INTERRUPTED]
            map_best(error, solution)
            raise

    def _own_settings(self, settings: Settings, program: QuadraticProgram) -> ActiveSetSettings:
        """Settings of the method from the caller's options, with a number of bytes."""
        own = settings_from_options(ActiveSetSettings, settings.options, self.label)
        if not 0.0 < own.column_memory_share < 1.0:
            raise InvalidParameterError(
                f"column_memory_share is {own.column_memory_share!r}; pass a number between 0 and "
                "1."
            )
        limit = default_memory_limit() if own.memory_limit is None else int(own.memory_limit)
        least = least_memory(program, own)
        if limit < least:
            raise InvalidParameterError(
                f"memory_limit is {limit} bytes; the least that works for this program is {least}: "
                "one kernel column, and the matrices of a small working set."
            )
        return replace(own, memory_limit=limit)
