"""Solve a problem on samples in chunks, with a backend for the programs over open samples."""

from __future__ import annotations

from dataclasses import replace

from qpsvm.backends.base import Backend, Progress, Settings
from qpsvm.backends.registry import choose, get
from qpsvm.chunked.problem import ChunkedProblem
from qpsvm.chunked.solution import ChunkedSolution
from qpsvm.numerics.calls import explains_calls
from qpsvm.numerics.deadline import NEVER
from qpsvm.numerics.interrupts import keep_best
from qpsvm.passes.algorithm import solve_in_passes
from qpsvm.passes.settings import PassSettings
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.reductions import Reduced
from qpsvm.qp.solution import QPSolution, Status


@explains_calls
def solve_chunked(
    problem: ChunkedProblem, backend: str | Backend, settings: Settings
) -> ChunkedSolution:
    """Train a machine on samples in chunks; programs over open samples go to the backend.

    Parameters
    ----------
    problem : ChunkedProblem
    backend : str or Backend
    settings : Settings
        Their ``options`` are those of ``PassSettings``, their iterations are passes.

    Returns
    -------
    ChunkedSolution
        Its certificate says what was reached.

    Raises
    ------
    InvalidParameterError
        An unknown option.
    KeyboardInterrupt
        Ctrl-C; it carries the best machine so far, if a pass has measured one.
    """
    own, deadline = PassSettings.of(settings.options), settings.deadline or NEVER
    if settings.max_iterations is not None:
        own = replace(own, max_passes=min(own.max_passes, settings.max_iterations))

    def solve_program(program: QuadraticProgram, eps: float) -> QPSolution:
        # no verdict on it is needed: the pass that follows bounds the whole problem
        reduced = Reduced.of(program)
        name = choose(reduced.program)[0] if backend == "auto" else backend
        solver = get(name) if isinstance(name, str) else name
        inner = Settings(eps=min(eps, own.loosest_eps), deadline=deadline)
        return reduced.inverse(solver.solve(reduced.program, inner))

    def stop(kind: str, number: int, gap: float) -> bool:
        if settings.callback is None:
            return False
        event = Progress("solve", f"passes: {kind}", iteration=number, gap=gap)
        return settings.callback(event) is False

    solution = solve_in_passes(
        problem,
        settings.eps,
        own,
        solve_program,
        deadline=deadline,
        verbose=settings.verbose,
        stop=stop,
    )
    return _verified(problem, solution, settings.eps)


def _verified(problem: ChunkedProblem, solution: ChunkedSolution, eps: float) -> ChunkedSolution:
    """Let one more pass, that of ``qpsvm.verify``, decide whether a solve ran out of passes.

    The passes carry bounds along with their rounding; those of a single pass may be narrower.
    """
    if solution.status is not Status.ITERATION_LIMIT:
        return solution
    try:
        certificate = problem.certified(solution)
    except KeyboardInterrupt as error:
        keep_best(error, lambda: replace(solution, status=Status.INTERRUPTED))
        raise
    if not certificate.passed(eps):
        return solution
    return replace(solution, status=Status.OPTIMAL, certificate=certificate)
