"""Backend ``"ipm"``: the package's interior-point method for linear machines."""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np

from qpsvm.backends.base import Backend, Capabilities, Clock, Settings
from qpsvm.backends.options import settings_from_options
from qpsvm.native.library import core
from qpsvm.numerics.interrupts import map_best
from qpsvm.numerics.threads import one_blas_thread
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution, SolveStatistics, Status
from qpsvm.solvers.factored import solve
from qpsvm.solvers.interior_point.interior import SearchResult
from qpsvm.solvers.interior_point.settings import InteriorPointSettings
from qpsvm.solvers.interior_point.translate import translation

MAX_ITERATIONS = 500


class IPMBackend(Backend):
    """Programs with ``P = F F' + diag(d)`` over a box with few other rows, and their duals."""

    name = "ipm"
    licence = "Apache-2.0"
    distribution = "qpsvm"
    required_modules = ()
    capabilities = Capabilities(sparse=True, bounds=True, time_limit=True, callback=True)
    prints_iterations = False
    watches_progress = True

    def load(self) -> None:
        core()

    # overflow and what follows from it become an objective that is not finite, and end the search
    @one_blas_thread()
    @np.errstate(all="ignore")
    def _solve(self, program: QuadraticProgram, settings: Settings) -> QPSolution:
        own = settings_from_options(InteriorPointSettings, settings.options, self.label)
        if not settings.gives_way:
            own = replace(own, slow_iterations=0)
        clock = Clock(self.label, settings)
        way = translation(program, own)
        engine_program = way.structured(own)
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
            return solution(solve(engine_program, settings.eps, limit, own, report, clock.deadline))
        except KeyboardInterrupt as error:
            map_best(error, solution)
            raise
