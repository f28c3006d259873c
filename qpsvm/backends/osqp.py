"""OSQP 1.x: the operator-splitting method of Stellato et al. (2020)."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from qpsvm.backends.base import Backend, Capabilities, Clock, Settings
from qpsvm.backends.output import silenced, with_output
from qpsvm.backends.settings import require_options
from qpsvm.backends.solver_table import SOLVERS, NativeOptions
from qpsvm.numerics.arrays import Index, Matrix, Vector
from qpsvm.numerics.interrupts import keep_best
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.restrictions import stacked
from qpsvm.qp.solution import QPSolution, SolveStatistics, Status

if TYPE_CHECKING:
    import osqp

CHUNK = 250
"""Iterations between two events when there is a callback: a multiple of OSQP's check interval."""


class OSQPBackend(Backend):
    """OSQP on ``l <= Ax <= u`` with the rows of G, the rows of A and the bounds, in this order.

    A first-order method: cheap iterations, many of them. It stops when residuals *and* duality
    gap are within ``eps``; ``polishing`` then solves once on the active set it found, which often
    reaches roundoff.
    """

    name = "osqp"
    licence = "Apache-2.0"
    distribution = "osqp"
    required_modules = ("osqp",)
    capabilities = Capabilities(
        sparse=True, bounds=True, warm_start=True, time_limit=True, callback=True, certificates=True
    )

    def _solve(self, program: QuadraticProgram, settings: Settings) -> QPSolution:
        import osqp

        options = _options(settings)
        bounded = np.flatnonzero(np.isfinite(program.lb) | np.isfinite(program.ub))
        P, A = _matrices(program, bounded)
        free = np.full(program.n_inequalities, -np.inf)
        lower = np.concatenate([free, program.b, program.lb[bounded]])
        upper = np.concatenate([program.h, program.b, program.ub[bounded]])
        clock = Clock(self.label, settings)
        solver = osqp.OSQP()
        with silenced(unless=options["verbose"]) as printed:
            try:
                # OSQP replaces infinities by its own constant, 1e30
                solver.setup(P, np.array(program.q), A, lower, upper, **options)
            except osqp.OSQPException as error:
                code = _name(osqp.SolverError, error.args[0] if error.args else error)
                reason = with_output(f"setup failed: {code}", printed)
                return QPSolution(Status.FAILED, native_status=reason)
        warm = settings.warm_start
        if warm is not None and warm.x is not None:
            known, at_lower, at_upper = None, warm.z_lower, warm.z_upper
            if not (warm.z is None or warm.y is None or at_lower is None or at_upper is None):
                known = np.concatenate([warm.z, warm.y, (at_upper - at_lower)[bounded]])
            solver.warm_start(x=np.array(warm.x), y=known)
        status, iterations, result = _run(osqp, solver, options, clock)
        x: Vector | None = np.array(result.x)
        y: Vector | None = np.array(result.y)
        if status is Status.PRIMAL_INFEASIBLE:  # a certificate in place of an iterate
            x, y = None, np.array(result.prim_inf_cert)
        elif status is Status.DUAL_INFEASIBLE:
            x, y = np.array(result.dual_inf_cert), None
        solution = QPSolution(
            status,
            x=x,
            **_multipliers(y, program, bounded),
            native_status=result.info.status,
            statistics=SolveStatistics(
                iterations=iterations, solve_seconds=clock.seconds, settings=options
            ),
        )
        if _status(osqp, result) is Status.INTERRUPTED:
            interrupt = KeyboardInterrupt()  # OSQP heard Ctrl-C, and keeps it from Python
            keep_best(interrupt, lambda: solution)
            raise interrupt
        return solution


_STATUS = {
    "OSQP_SOLVED": Status.OPTIMAL,
    "OSQP_SOLVED_INACCURATE": Status.INACCURATE,
    "OSQP_PRIMAL_INFEASIBLE": Status.PRIMAL_INFEASIBLE,
    "OSQP_PRIMAL_INFEASIBLE_INACCURATE": Status.PRIMAL_INFEASIBLE,
    "OSQP_DUAL_INFEASIBLE": Status.DUAL_INFEASIBLE,
    "OSQP_DUAL_INFEASIBLE_INACCURATE": Status.DUAL_INFEASIBLE,
    "OSQP_MAX_ITER_REACHED": Status.ITERATION_LIMIT,
    "OSQP_TIME_LIMIT_REACHED": Status.TIME_LIMIT,
    "OSQP_NON_CVX": Status.FAILED,
    "OSQP_SIGINT": Status.INTERRUPTED,
}


def _options(settings: Settings) -> NativeOptions:
    if settings.options:
        require_options("osqp", settings.options, SOLVERS["osqp"].option_names())
    eps = settings.eps / 10  # OSQP measures the largest entry on scales a little wider than ours
    options: NativeOptions = {
        "eps_abs": eps,
        "eps_rel": eps,
        "check_dualgap": True,
        "eps_prim_inf": min(1e-6, settings.eps),
        "eps_dual_inf": min(1e-6, settings.eps),
        "polishing": True,
        "polish_refine_iter": 10,
        "max_iter": settings.max_iterations or 10_000 * (1 + settings.attempt),
        "verbose": settings.verbose,
    }
    if settings.time_limit is not None:
        options["time_limit"] = settings.time_limit
    return options | dict(settings.options)


def _matrices(program: QuadraticProgram, bounded: Index) -> tuple[Matrix, Matrix]:
    """The upper triangle of P, and the rows of G, A and the variables with bounds, by columns.

    OSQP looks for the old matrix class, and converts anything else with a warning.
    """
    n, rows = program.n_variables, stacked(program.G, program.A)
    if program.P.prefers_sparse or sp.issparse(rows):
        upper = sp.csc_matrix(sp.triu(program.P.to_sparse()))
        return upper, sp.csc_matrix(stacked(rows, sp.eye_array(n, format="csr")[bounded]))
    dense = program.P.to_dense()
    is_used = np.tri(n, dtype=bool) & (dense != 0.0)  # its rows are, by symmetry, the columns
    column, row = np.nonzero(is_used)
    parts = dense[is_used], row, np.searchsorted(column, np.arange(n + 1))
    return sp.csc_matrix(parts, shape=dense.shape), sp.csc_matrix(stacked(rows, np.eye(n)[bounded]))


def _run(
    osqp: ModuleType, solver: osqp.OSQP, options: NativeOptions, clock: Clock
) -> tuple[Status, int, SimpleNamespace]:
    """Run OSQP in one call, or in chunks of iterations if there is a callback.

    OSQP continues from its own state when it is asked to solve again, so the chunks walk the same
    path as one long run, up to a step length that adapts at other moments.
    """
    total, limit, left = 0, int(options["max_iter"]), clock.settings.time_limit
    has_callback = clock.settings.callback is not None
    while True:
        if has_callback:
            changes: dict[str, float] = {"max_iter": min(CHUNK, limit - total)}
            if left is not None:
                changes["time_limit"] = max(1e-3, left - clock.seconds)
            solver.update_settings(**changes)
        with silenced(unless=options["verbose"]):
            result = solver.solve(raise_error=False)
        info, status, stopped = result.info, _status(osqp, result), None
        total += int(info.iter)
        if has_callback:
            residual = max(info.prim_res, info.dual_res)
            stopped = clock.report(total, float(info.obj_val), float(residual))
        if status is Status.ITERATION_LIMIT and stopped is not None:
            return stopped, total, result
        if status is not Status.ITERATION_LIMIT or not has_callback or total >= limit:
            return status, total, result


def _status(osqp: ModuleType, result: SimpleNamespace) -> Status:
    return _STATUS.get(_name(osqp.SolverStatus, result.info.status_val), Status.UNKNOWN)


def _name(codes: Iterable[Enum], value: object) -> str:
    """OSQP's word for one of its numbers; the number itself where there is none."""
    return next((code.name for code in codes if code.value == value), str(value))


def _multipliers(y: Vector | None, program: QuadraticProgram, bounded: Index) -> dict[str, Vector]:
    """Split OSQP's signed multiplier of each row: positive at the upper end."""
    if y is None:
        return {}
    m, p, n = program.n_inequalities, program.n_equalities, program.n_variables
    z, equality, box = np.split(y, [m, m + p])
    lower, upper = np.zeros(n), np.zeros(n)
    # no "- 0.0", and nothing on an infinite bound (the rounding of a free row)
    lower[bounded], upper[bounded] = np.maximum(-box, 0.0), np.maximum(box, 0.0)
    lower[np.isneginf(program.lb)] = 0.0
    upper[np.isposinf(program.ub)] = 0.0
    return {"z": np.maximum(z, 0.0), "y": equality, "z_lower": lower, "z_upper": upper}
