"""The structured interior-point engine as a backend."""

from __future__ import annotations

import numpy as np

from qpsvm.backends.base import Backend, Capabilities, Clock, Settings
from qpsvm.backends.ipm.iteration import Iterate
from qpsvm.backends.ipm.translate import Translation
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution, SolveStatistics, Status

MAX_ITERATIONS = 200

JUMPS_UNTIL = 1e-3
"""Relative gap below which no variable jumps: steps are long there, and the end is exact."""

PATIENCE = 12
"""Iterations without a smaller gap after which rounding has won."""


class IPMBackend(Backend):
    """Programs ``1/2 x'(F F' + diag(d))x + q'x`` over a box with few other rows."""

    name = "ipm"
    licence = "BSD-3-Clause"
    distribution = "qpsvm"
    required_modules = ()
    capabilities = Capabilities(sparse=True, bounds=True, time_limit=True, callback=True)

    # overflow and what follows from it become an objective that is not finite, and end the search
    @np.errstate(all="ignore")
    def _solve(self, program: QuadraticProgram, settings: Settings) -> QPSolution:
        clock = Clock(self.label, settings)
        translation = Translation.of(program)
        iterate = Iterate(translation.reduced)
        best, point, last = np.inf, iterate.solution(), 0
        status, words = Status.ITERATION_LIMIT, "iteration limit"
        limit = settings.max_iterations or MAX_ITERATIONS
        while True:
            measured = iterate.measure()
            if measured.worst < best:
                best, point, last = measured.worst, iterate.solution(), iterate.iterations
            if best <= 0.5 * settings.eps:
                status, words = Status.OPTIMAL, "certified gap reached"
                break
            if not np.isfinite(measured.primal):
                status, words = Status.INACCURATE, "diverges: there may be no optimum"
                break
            if iterate.iterations >= limit:
                break
            if iterate.iterations - last > PATIENCE and best < 1.0:
                status, words = Status.INACCURATE, "no progress: rounding"
                break
            stop = clock.report(iterate.iterations, measured.primal, measured.gap)
            if stop is not None:
                status, words = stop, f"stopped: {stop.value}"
                break
            try:
                iterate.step(jumps=measured.gap > JUMPS_UNTIL)
            except np.linalg.LinAlgError as error:
                status, words = Status.INACCURATE, str(error)
                break
        solution = translation.solution(*point)
        return solution.replace(
            status=status,
            native_status=f"{words} (gap {best:.1e})",
            statistics=SolveStatistics(
                iterations=iterate.iterations, solve_seconds=clock.seconds, settings={}
            ),
        )
