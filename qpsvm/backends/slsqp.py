"""SciPy's SLSQP: sequential least squares (Kraft, 1988), for small programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from qpsvm.backends.base import Backend, Capabilities, Clock, Settings, Stop
from qpsvm.backends.equalities import independent_equalities
from qpsvm.numerics.arrays import Dense, Matrix, Vector, is_sparse
from qpsvm.qp.multipliers import multipliers_at
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution, SolveStatistics, Status
from qpsvm.qp.transforms import Inverse


class SLSQPBackend(Backend):
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
        bounds=True, warm_start=True, time_limit=True, callback=True, max_variables=1500
    )
    prints_iterations = False

    def _reduce(self, program: QuadraticProgram) -> tuple[QuadraticProgram, Inverse]:
        # the least-squares problem inside calls dependent equality rows singular
        reduced, inverse = super()._reduce(program)
        return independent_equalities(reduced, inverse)

    def _solve(self, program: QuadraticProgram, settings: Settings) -> QPSolution:
        from scipy.optimize import Bounds, minimize

        options = {
            # not a KKT tolerance but the change of the objective at which SLSQP gives up; anything
            # above roundoff stops it far from the optimum
            "ftol": 1e-16,
            "maxiter": settings.max_iterations or max(1000, 10 * program.n_variables),
            "disp": False,
            **settings.options,
        }
        clock = Clock(self.label, settings)
        path = _Path(program, clock)
        try:
            result = minimize(
                path.objective,
                _start(program, settings.warm_start),
                jac=path.gradient,
                method="SLSQP",
                bounds=Bounds(program.lb, program.ub),
                constraints=_constraints(program),
                callback=path.visit,
                options=options,
            )
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
    """The objective with ``P x`` computed once per point, and the last point that was visited."""

    def __init__(self, program: QuadraticProgram, clock: Clock) -> None:
        self.program = program
        self.clock = clock
        self.x: Vector | None = None
        self.iterations = 0
        self._at: Vector | None = None
        self._product = program.q

    def _Px(self, x: Vector) -> Vector:
        if self._at is None or not np.array_equal(x, self._at):
            self._at, self._product = x.copy(), self.program.P.matvec(x)
        return self._product

    def objective(self, x: Vector) -> float:
        return float(x @ (0.5 * self._Px(x) + self.program.q))

    def gradient(self, x: Vector) -> Vector:
        return self._Px(x) + self.program.q

    def visit(self, x: Vector) -> None:
        self.x = x.copy()
        self.iterations += 1
        self.clock.tick(self.iterations, self.objective(x))


def _constraints(program: QuadraticProgram) -> list[Mapping[str, str | Callable[[Vector], Dense]]]:
    """The rows as SLSQP's constraint functions, with constant Jacobians."""
    rows: list[Mapping[str, str | Callable[[Vector], Dense]]] = []
    if program.n_equalities:
        A = _dense(program.A)
        rows.append({"type": "eq", "fun": lambda x: A @ x - program.b, "jac": lambda _: A})
    if program.n_inequalities:
        G = _dense(program.G)
        minus_G = -G
        rows.append({"type": "ineq", "fun": lambda x: program.h - G @ x, "jac": lambda _: minus_G})
    return rows


def _start(program: QuadraticProgram, warm_start: QPSolution | None) -> Vector:
    x = np.zeros(program.n_variables)
    if warm_start is not None and warm_start.x is not None:
        x = np.array(warm_start.x)
    return np.clip(x, program.lb, program.ub)


def _dense(matrix: Matrix) -> Dense:
    return matrix.toarray() if is_sparse(matrix) else matrix
