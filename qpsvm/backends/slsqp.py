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
from qpsvm.solvers.classical.settings import LIMITS


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
        path = _Path(program, clock)
        start = _start(program, settings.warm_start)
        try:
            result = slsqp.minimised(program, start, path.visit, options)
        except KeyboardInterrupt as error:
            last = path.x
            if last is not None:
                keep_best(error, lambda: multipliers_at(program, last))
            raise
        except Stop as stop:
            x, status, words, iterations = path.x, stop.status, "stopped", path.iterations
        else:
            x, words, iterations = result.x, result.message, result.nit
            status = _STATUS.get(result.status, Status.UNKNOWN)
        solution = QPSolution(status) if x is None else multipliers_at(program, x)
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


class _Path:
    """Remember the last iterate of SLSQP, and stop the solver at its time limit."""

    def __init__(self, program: QuadraticProgram, clock: Clock) -> None:
        self.program = program
        self.clock = clock
        self.x: Vector | None = None
        self.iterations = 0

    def visit(self, x: Vector) -> None:
        self.x = x.copy()
        self.iterations += 1
        self.clock.tick(self.iterations, self.program.objective(x))


def _start(program: QuadraticProgram, warm_start: QPSolution | None) -> Vector:
    x = np.zeros(program.n_variables)
    if warm_start is not None and warm_start.x is not None:
        x = np.array(warm_start.x)
    return np.clip(x, program.lb, program.ub)
