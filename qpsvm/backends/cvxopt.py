"""CVXOPT's interior-point method, ``cvxopt.solvers.qp`` (Andersen, Dahl and Vandenberghe)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from qpsvm.backends.base import Backend, Capabilities, Clock, Settings
from qpsvm.backends.settings import require_options
from qpsvm.backends.solver_table import SOLVERS, NativeOptions
from qpsvm.numerics.arguments import VectorLike
from qpsvm.numerics.arrays import Vector, as_dense
from qpsvm.numerics.conversion import as_cvxopt
from qpsvm.numerics.interrupts import interruptible
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution, SolveStatistics, Status

if TYPE_CHECKING:
    import cvxopt


class CVXOPTBackend(Backend):
    """``solvers.qp`` for quadratic programs, ``solvers.lp`` for linear ones.

    CVXOPT stops on ``abstol`` *or* ``reltol`` and has ``feastol`` besides: all three are set.
    Options travel by argument, because ``solvers.options`` is global.

    Its ``initvals`` stay unused. Beside a given x and y its s and z are vectors of ones, far from
    the central path of a program with a large C: even the optimum as a start takes more iterations
    than none, or never arrives.
    """

    name = "cvxopt"
    licence = "GPL-3.0-or-later"
    distribution = "cvxopt"
    required_modules = ("cvxopt",)
    capabilities = Capabilities(sparse=True, time_limit=True, callback=True)
    full_rank = True  # coneqp factors A H A' and refuses dependent rows

    def _solve(self, program: QuadraticProgram, settings: Settings) -> QPSolution:
        options = _options(settings)
        clock = Clock(self.label, settings)
        solution = _run(program, options, clock)
        if solution.status is Status.FAILED:
            # CVXOPT needs [P; G; A] to have full column rank, which a kernel primal with duplicate
            # samples has not: of its many optima, ask for the one without a null-space part
            reduced = _without_null_space(program)
            if reduced is not program:
                solution = _run(reduced, options, clock)
                y = solution.y  # the multipliers of added rows are zero at every optimum
                solution = solution.replace(y=None if y is None else y[: program.n_equalities])
        limit = options["maxiters"]
        iterations = solution.statistics.iterations
        if solution.status is Status.UNKNOWN and iterations is not None and iterations >= limit:
            solution = solution.replace(status=Status.ITERATION_LIMIT)
        return solution.with_statistics(solve_seconds=clock.seconds, settings=options)


MAX_ITERATIONS = 100
"""CVXOPT's own limit; an interior-point method that needs more is stuck."""

QUICK = 1e8
"""Products of numbers in a factorisation, a tenth of a second, for which no Ctrl-C is too late."""

_STATUS = {
    "optimal": Status.OPTIMAL,
    "primal infeasible": Status.PRIMAL_INFEASIBLE,
    "dual infeasible": Status.DUAL_INFEASIBLE,
}


def _options(settings: Settings) -> NativeOptions:
    if settings.options:
        require_options("cvxopt", settings.options, SOLVERS["cvxopt"].option_names())
    gap, feasibility = settings.eps / 100, settings.eps / 10
    return {
        # an interior point spreads the gap evenly over all rows: only a gap well below eps
        # brings each min(multiplier, slack) below sqrt(eps) when the objective is large
        "abstol": gap,
        "reltol": gap,
        "feastol": feasibility,
        "maxiters": settings.max_iterations or MAX_ITERATIONS,
        "show_progress": settings.verbose,
        # a kernel matrix is nearly singular: one more refinement step pays on the second try
        "refinement": 1 + settings.attempt,
        **settings.options,
    }


def _run(program: QuadraticProgram, options: NativeOptions, clock: Clock) -> QPSolution:
    from cvxopt import solvers

    q, G, h = as_cvxopt(program.q), as_cvxopt(program.G), as_cvxopt(program.h)
    A, b = as_cvxopt(program.A), as_cvxopt(program.b)
    try:
        if program.is_linear:
            watch = _watched(None, G, A, clock)
            result = solvers.lp(q, G, h, A, b, kktsolver=watch, options=options)
        else:
            stored = program.P.to_sparse if program.P.prefers_sparse else program.P.to_dense
            P = as_cvxopt(stored())
            watch = _watched(P, G, A, clock)
            result = solvers.qp(P, q, G, h, A, b, kktsolver=watch, options=options)
    except (ValueError, ArithmeticError) as error:
        # "Rank(A) < p or Rank([P; A; G]) < n", or iterates of a program without an optimum that
        # grew until a square root left its domain
        return QPSolution(Status.FAILED, native_status=f"{type(error).__name__}: {error}")
    none = np.zeros(program.n_variables)
    return QPSolution(
        _STATUS.get(result["status"], Status.UNKNOWN),
        x=_vector(result["x"]),
        z=_vector(result["z"]),
        y=_vector(result["y"]),
        z_lower=none,
        z_upper=none,
        native_status=str(result["status"]),
        statistics=SolveStatistics(iterations=result.get("iterations")),
    )


def _without_null_space(program: QuadraticProgram) -> QuadraticProgram:
    """Add the rows ``N'x = 0`` for a basis N of the null space of [P; G; A]."""
    rows = [as_dense(m) for m in (program.G, program.A)]
    stacked = np.vstack([program.P.to_dense(), *rows])
    _, sizes, basis = interruptible(partial(np.linalg.svd, stacked, full_matrices=True))
    padded = np.concatenate([sizes, np.zeros(program.n_variables - len(sizes))])
    # CVXOPT squares the matrix, and loses all digits near the root of the rounding unit
    null = basis[padded <= 1e-9 * padded[0]]
    if len(null) == 0:
        return program
    A, b = np.vstack([rows[1], null]), np.concatenate([program.b, np.zeros(len(null))])
    return program.replace(A=A, b=b)


def _watched(
    P: cvxopt.matrix | None, G: cvxopt.matrix, A: cvxopt.matrix, clock: Clock
) -> Callable[[object], object]:
    """CVXOPT's own KKT solver, which checks the time limit before each factorisation.

    It is the one hook ``coneqp`` and ``conelp`` offer; the factorisation is their default one for
    programs without second-order cones.
    """
    from cvxopt import misc

    rows, n = G.size
    factor = misc.kkt_chol2(G, {"l": rows, "q": [], "s": []}, A)
    is_quick = (rows + n) * n * n < QUICK
    iteration = 0

    def solve(W: object) -> object:
        nonlocal iteration
        clock.tick(iteration)
        iteration += 1
        call = partial(factor, W) if P is None else partial(factor, W, P)
        return call() if is_quick else interruptible(call)

    return solve


def _vector(value: VectorLike | None) -> Vector | None:
    return None if value is None else np.array(value, dtype=np.float64).ravel()
