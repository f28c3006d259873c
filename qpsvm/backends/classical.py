"""Backends ``"classical:smo"`` and others: the methods of the textbooks, for comparison.

``qpsvm.classical`` has the same methods with their traces. Here they are what any backend is: a
program in, a point with its multipliers out, and a claim that the caller verifies.
"""

from __future__ import annotations

import math
from dataclasses import asdict

import numpy as np

from qpsvm.backends.base import Backend, Capabilities, Clock, Settings
from qpsvm.backends.options import settings_from_options
from qpsvm.exceptions import InvalidParameterError, UnknownBackendError
from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.interrupts import keep_best
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution, SolveStatistics, Status
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


class ClassicalBackend(Backend):
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
    licence = "Apache-2.0"
    distribution = "qpsvm"
    required_modules = ()
    capabilities = Capabilities(bounds=True, warm_start=True, time_limit=True, callback=True)
    prints_iterations = False

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

        start = dual.project(_known(settings.warm_start, program.n_variables))
        driver = Driver(
            measure,
            clock.deadline.has_passed,
            start,
            settings.max_iterations or MAX_STEPS[self.method],
            own.first_check,
            own.check_growth,
        )
        try:
            driver.drive(method_of(self.method, dual, start, own))
        except KeyboardInterrupt as error:
            keep_best(error, solution)
            raise
        return solution()


def _known(warm: QPSolution | None, n: int) -> Vector:
    """Return the x of a warm start if it has the program's size, else zero."""
    if warm is None or warm.x is None or warm.x.shape != (n,) or not np.isfinite(warm.x).all():
        return np.zeros(n)
    return np.array(warm.x)
