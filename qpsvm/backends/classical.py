"""Backends ``"slsqp"``, ``"classical:smo"`` and others: textbook methods, for comparison.

``qpsvm.classical`` has the same methods with their traces. Here they are what any backend is: a
program in, a point with its multipliers out, and a claim that the caller verifies.
"""

from __future__ import annotations

import math
from dataclasses import asdict

import numpy as np

from qpsvm.backends.base import Capabilities, Clock, Settings, Stop
from qpsvm.backends.child import ChildBackend
from qpsvm.backends.own_solvers import OwnBackend
from qpsvm.backends.settings import require_options, settings_from_options
from qpsvm.exceptions import InvalidParameterError, UnknownBackendError
from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.interrupts import keep_best
from qpsvm.qp.multipliers import multipliers_at
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution, SolveStatistics, Status
from qpsvm.solvers.classical import slsqp
from qpsvm.solvers.classical.driver import MAX_STEPS, Driver, method_of
from qpsvm.solvers.classical.program import ClassicalSettings, DualProgram

_STATUSES = {
    "gap": Status.OPTIMAL,
    "seconds": Status.TIME_LIMIT,
    "steps": Status.ITERATION_LIMIT,
    "interrupted": Status.INTERRUPTED,
    "not finite": Status.FAILED,
}
"""Status that a run claims by the reason for its end; INACCURATE for any other reason."""


class ClassicalBackend(OwnBackend):
    """A textbook's method for programs over a box with at most one equality row: SVM duals.

    Options are the fields of ``qpsvm.solvers.classical.program.ClassicalSettings``.

    Parameters
    ----------
    method : str
        ``"smo"``, ``"dual-ascent"``, ``"slsqp"``, ``"coordinate-descent"`` (no equality row),
        ``"frank-wolfe"`` (bounded boxes) or ``"admm"``.

    Raises
    ------
    UnknownBackendError
        Another method.
    """

    name = "classical"
    capabilities = Capabilities(bounds=True, warm_start=True, time_limit=True, callback=True)

    def __init__(self, method: str) -> None:
        if method not in MAX_STEPS:
            raise UnknownBackendError(
                f"There is no classical method {method!r}; choose from "
                f"{', '.join(f'classical:{name}' for name in MAX_STEPS)}."
            )
        self.method = method

    @property
    def label(self) -> str:
        return f"{self.name}:{self.method}"

    @np.errstate(all="ignore")  # overflow becomes a gap that is not finite, and no claim
    def _solve(self, program: QuadraticProgram, settings: Settings) -> QPSolution:
        own = settings_from_options(ClassicalSettings, settings.options, self.label)
        if own.check_growth < 1.0 or own.first_check < 1:
            raise InvalidParameterError(
                f"first_check is {own.first_check!r} and check_growth {own.check_growth!r}; pass "
                "numbers of at least 1."
            )
        dual, clock = DualProgram(program, self.label), Clock(self.label, settings)

        def measured() -> tuple[Vector, float, float]:
            """Find the feasible point nearest to the last iterate, its objective and its gap."""
            x = dual.project(driver.last)
            g = dual.gradient(x)
            value = 0.5 * float(x @ (g + dual.q))
            return x, value, dual.relative_gap(x, g, dual.multiplier(x, g))

        def measure(reason: str) -> str:
            _, value, gap = measured()
            known = gap if math.isfinite(gap) else None
            asked = clock.report(driver.steps, value, known, known)
            if gap <= settings.eps:
                return "gap"
            if asked is not None:
                return "interrupted" if asked is Status.INTERRUPTED else "seconds"
            return reason or ("" if math.isfinite(value) else "not finite")

        def solution() -> QPSolution:
            x, _, gap = measured()
            status = _STATUSES.get(driver.reason, Status.INACCURATE)
            return dual.solution(x).replace(
                status=status,
                native_status=f"{status.value} (gap {gap:.1e})",
                statistics=SolveStatistics(
                    iterations=driver.steps, solve_seconds=clock.seconds, settings=asdict(own)
                ),
            )

        known, none = settings.start(program.n_variables), np.zeros(program.n_variables)
        start = dual.project(none if known is None else known)
        most = settings.max_iterations or MAX_STEPS[self.method]
        checks = own.first_check, own.check_growth
        driver = Driver(measure, clock.deadline.has_passed, start, most, *checks)
        try:
            driver.drive(method_of(self.method, dual, start, own))
        except KeyboardInterrupt as error:
            keep_best(error, solution)
            raise
        return solution()


# --- SLSQP for programs of all kinds --------------------------------------------------------------

SLSQP_OPTIONS = frozenset(
    {"ftol", "maxiter", "disp", "eps", "finite_diff_rel_step", "iprint", "workers"}
)
"""Names of the settings of SLSQP, from SciPy's documentation."""


class SLSQPBackend(ChildBackend):
    """``scipy.optimize.minimize(method="SLSQP")`` with exact gradients.

    A solver for nonlinear programs: it learns P by quasi-Newton updates, one dense least-squares
    problem per iteration, so it is here for small programs and for comparison. It returns no
    multipliers of bounds: all multipliers are those that fit best at the point it returns.
    """

    name = "slsqp"
    licence = "BSD-3-Clause"
    distribution = "scipy"
    required_modules = ("scipy",)
    capabilities = Capabilities(
        bounds=True,
        warm_start=True,
        time_limit=True,
        callback=True,
        max_variables=slsqp.LARGEST,
    )
    prints_iterations = False
    full_rank = True  # the least-squares problem inside calls dependent rows singular

    def _solve_here(self, program: QuadraticProgram, settings: Settings) -> QPSolution:
        require_options(self.label, settings.options, SLSQP_OPTIONS)
        options = slsqp.options(program.n_variables, settings.max_iterations, settings.options)
        clock = Clock(self.label, settings)
        path: list[Vector] = []  # the last iterate alone, and none at first
        iterations = 0

        def visit(x: Vector) -> None:
            nonlocal iterations
            path[:] = [x.copy()]
            iterations += 1
            clock.tick(iterations, program.objective(x))

        known = settings.start(program.n_variables)
        start = np.zeros(program.n_variables) if known is None else known
        start = np.clip(start, program.lb, program.ub)
        try:
            result = slsqp.minimised(program, start, visit, options)
        except KeyboardInterrupt as error:
            if path:
                keep_best(error, lambda: multipliers_at(program, path[0]))
            raise
        except Stop as stop:
            status, words = stop.status, "stopped"
        else:
            path, words, iterations = [result.x], result.message, result.nit
            status = _SLSQP_STATUS.get(result.status, Status.UNKNOWN)
        solution = multipliers_at(program, path[0]) if path else QPSolution(status)
        return solution.replace(
            status=status,
            native_status=words,
            statistics=SolveStatistics(
                iterations=iterations, solve_seconds=clock.seconds, settings=options
            ),
        )


_SLSQP_STATUS = {
    0: Status.OPTIMAL,
    # 4: "Inequality constraints incompatible" also ends feasible runs, and proves nothing
    4: Status.UNKNOWN,
    # 8: "Positive directional derivative for linesearch": no descent left at roundoff
    8: Status.INACCURATE,
    9: Status.ITERATION_LIMIT,
}
