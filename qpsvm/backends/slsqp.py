"""SciPy's SLSQP: sequential least squares (Kraft, 1988), for small programs."""

from __future__ import annotations

import numpy as np

from qpsvm.backends.base import Capabilities, Clock, Settings, Stop
from qpsvm.backends.child import ChildBackend
from qpsvm.backends.equalities import independent_equalities
from qpsvm.backends.native_options import option_names
from qpsvm.backends.options import require_options
from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.interrupts import keep_best
from qpsvm.qp.multipliers import multipliers_at
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution, SolveStatistics, Status
from qpsvm.qp.transforms import Inverse
from qpsvm.solvers.classical import slsqp
from qpsvm.solvers.classical.program import LIMITS


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
        max_variables=LIMITS.slsqp_variables,
    )
    prints_iterations = False

    def _reduce(self, program: QuadraticProgram) -> tuple[QuadraticProgram, Inverse]:
        # the least-squares problem inside calls dependent equality rows singular
        reduced, inverse = super()._reduce(program)
        return independent_equalities(reduced, inverse)

    @property
    def _minds_time(self) -> bool:
        return True

    def _solve_here(self, program: QuadraticProgram, settings: Settings) -> QPSolution:
        require_options(self.label, settings.options, option_names("slsqp"))
        options = slsqp.options(program.n_variables, settings.max_iterations, settings.options)
        clock = Clock(self.label, settings)
        path: list[Vector] = []  # the last iterate alone, and none at first
        iterations = 0

        def visit(x: Vector) -> None:
            nonlocal iterations
            path[:] = [x.copy()]
            iterations += 1
            clock.tick(iterations, program.objective(x))

        known = settings.warm_start
        start = np.zeros(program.n_variables) if known is None or known.x is None else known.x
        try:
            result = slsqp.minimised(
                program, np.clip(start, program.lb, program.ub), visit, options
            )
        except KeyboardInterrupt as error:
            if path:
                keep_best(error, lambda: multipliers_at(program, path[0]))
            raise
        except Stop as stop:
            status, words = stop.status, "stopped"
        else:
            path, words, iterations = [result.x], result.message, result.nit
            status = _STATUS.get(result.status, Status.UNKNOWN)
        solution = multipliers_at(program, path[0]) if path else QPSolution(status)
        return solution.replace(
            status=status,
            native_status=words,
            statistics=SolveStatistics(
                iterations=iterations, solve_seconds=clock.seconds, settings=options
            ),
        )


_STATUS = {
    0: Status.OPTIMAL,
    # 4: "Inequality constraints incompatible" also ends feasible runs, and proves nothing
    4: Status.UNKNOWN,
    # 8: "Positive directional derivative for linesearch": no descent left at roundoff
    8: Status.INACCURATE,
    9: Status.ITERATION_LIMIT,
}
