"""The kernel engine as a backend."""

from __future__ import annotations

import numpy as np

from qpsvm.backends.base import Backend, Capabilities, Clock, Settings
from qpsvm.exceptions import InvalidParameterError, UnsupportedProgramError
from qpsvm.numerics.arrays import Vector, default_memory_limit
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution, SolveStatistics, Status
from qpsvm.solvers.active_set import decomposition
from qpsvm.solvers.active_set.engine import least_memory, minimise
from qpsvm.solvers.box.program import MAX_ROWS, Boxed
from qpsvm.solvers.work_budget import Effort

OPTION = "memory_limit"

SMALL = 1000
"""Variables, up to which a sparse Hessian is made a dense one."""


class ActiveSetBackend(Backend):
    """Programs over a box with few other rows, and a Hessian by its columns: kernel duals.

    ``options={"memory_limit": bytes}`` bounds what is kept of the kernel matrix and the matrices
    of working sets; by default a quarter of the machine. Beside it, up to 256 columns at a time
    pass through. A limit below the least that works is refused.
    """

    name = "active-set"
    licence = "BSD-3-Clause"
    distribution = "qpsvm"
    required_modules = ()
    capabilities = Capabilities(bounds=True, warm_start=True, time_limit=True, callback=True)
    prints_iterations = False

    def load(self) -> None:
        decomposition.load()

    @np.errstate(all="ignore")  # overflow becomes a gap that is not finite, and no claim
    def _solve(self, program: QuadraticProgram, settings: Settings) -> QPSolution:
        if program.P.prefers_sparse and program.n_variables <= SMALL:
            program = _with_dense_hessian(program)
        if not Boxed.suits(program):
            raise UnsupportedProgramError(
                f"Backend {self.label!r} takes bounds and at most {MAX_ROWS} other rows, and a "
                f"Hessian that is not sparse from {SMALL + 1} variables on; this program has "
                f"{program.n_equalities} equalities and {program.n_inequalities} inequalities over "
                f"{program.n_variables} variables. The dual of a kernel machine is of that kind "
                "(form='dual'); for others use 'cvxopt' or 'cvxpy:CLARABEL'."
            )
        memory_limit = _memory_limit(settings, least_memory(program))
        clock, stopped, steps = Clock(self.label, settings), [], 0

        def watch(effort: Effort) -> bool:
            nonlocal steps
            steps += 1
            residual = effort.residual if np.isfinite(effort.residual) else None
            reason = clock.report(steps, None, residual, effort.gap)
            if reason is None and settings.max_iterations and steps > settings.max_iterations:
                reason = Status.ITERATION_LIMIT
            if reason is not None:
                stopped.append(reason)
            return reason is None

        start = _start(settings.warm_start, program.n_variables)
        effort = Effort(watch=watch)
        found = minimise(program, start, settings.eps, memory_limit=memory_limit, effort=effort)
        if effort.was_interrupted:
            stopped.append(Status.INTERRUPTED)
        if found.is_optimal:
            status, words = Status.OPTIMAL, "certified gap reached"
        elif stopped:
            status, words = stopped[0], f"stopped: {stopped[0].value}"
        else:
            status, words = Status.INACCURATE, "no progress: rounding"
        return found.solution.replace(
            status=status,
            native_status=f"{words} (gap {found.gap:.1e})",
            statistics=SolveStatistics(
                iterations=steps, solve_seconds=clock.seconds, settings={OPTION: memory_limit}
            ),
        )


def _start(warm: QPSolution | None, n: int) -> Vector | None:
    """Its x, if that is one of this program."""
    if warm is None or warm.x is None or warm.x.shape != (n,) or not np.isfinite(warm.x).all():
        return None
    return warm.x


def _with_dense_hessian(program: QuadraticProgram) -> QuadraticProgram:
    p = program
    return QuadraticProgram(p.P.to_dense(), p.q, G=p.G, h=p.h, A=p.A, b=p.b, lb=p.lb, ub=p.ub)


def _memory_limit(settings: Settings, least: int) -> int:
    limit = settings.options.get(OPTION, default_memory_limit())
    if others := set(settings.options) - {OPTION}:
        raise InvalidParameterError(
            f"The active-set engine has no option {sorted(others)[0]!r}; it has {OPTION!r}, bytes."
        )
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise InvalidParameterError(f"memory_limit is {limit!r}; pass a whole number of bytes.")
    if limit < least:
        raise InvalidParameterError(
            f"memory_limit is {limit} bytes; the least that works for this program is {least}: one "
            "kernel column, and the matrices of a small working set."
        )
    return limit
