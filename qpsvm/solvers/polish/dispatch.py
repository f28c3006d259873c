"""Polish any program: working sets for box programs, active-set equations for others.

Two methods, chosen by the structure of the program: ``box_polish`` for variables with bounds and
few rows (the duals of support vector machines, however large), ``general_polish`` for any other.
Every candidate is measured, and the best one is returned: the result is never worse than what was
handed in.
"""

from __future__ import annotations

import numpy as np

from qpsvm.numerics.arrays import default_memory_limit
from qpsvm.numerics.threads import one_blas_thread
from qpsvm.qp.kkt import checked_vectors, residuals
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution
from qpsvm.solvers.box.boxed import Boxed
from qpsvm.solvers.box.polish import polish_box
from qpsvm.solvers.polish.general import Candidates, Measure, polish_any
from qpsvm.solvers.polish.settings import DEFAULTS, PolishSettings
from qpsvm.solvers.work_budget import WorkBudget


@one_blas_thread()
def polish(
    program: QuadraticProgram,
    solution: QPSolution,
    *,
    goal: float = 1e-10,
    measure: Measure | None = None,
    budget: WorkBudget | None = None,
    memory_limit: int | None = None,
    settings: PolishSettings = DEFAULTS,
) -> QPSolution:
    """Improve a solution; return the best point found, or ``solution`` itself.

    Parameters
    ----------
    program : QuadraticProgram
    solution : QPSolution
        Approximate x and multipliers. Missing or non-finite ones are returned unchanged.
    goal : float
        Measure (relative) at which to stop; the last step usually lands at 1e-14.
    measure : callable, optional
        How far a candidate is from optimal; the worst scaled KKT residual by default.
    budget : WorkBudget, optional
        What it may cost; some ten seconds by default.
    memory_limit : int, optional
        Bytes for the matrices of a program over a box (default: a quarter of the machine's memory).

    settings : PolishSettings

    Returns
    -------
    QPSolution
        Its measure is at most that of ``solution``.
    """
    if checked_vectors(program, solution)[0] is None:
        return solution
    measured = measure or (lambda candidate: residuals(program, candidate).worst)
    found = Candidates(measured, goal, solution, measured(solution))
    budget = budget or WorkBudget(limit=settings.work_limit)
    is_box = Boxed.suits(program)
    if is_box:
        memory = default_memory_limit() if memory_limit is None else memory_limit
        _polish_box(program, found, solution, budget, memory, settings)
    may_go_on = not found.is_done and not budget.is_over
    if may_go_on and (not is_box or program.n_variables <= settings.small_size):
        if is_box:  # of many solutions, one with small entries: they round less
            zero = solution.replace(x=np.zeros(program.n_variables))
            _polish_box(program, found, zero, budget, memory, settings)
        if not found.is_done and not budget.is_over:
            polish_any(program, found, budget, settings)
    best = found.best
    return best if best is solution else best.with_statistics(polished=True)


def _polish_box(
    program: QuadraticProgram,
    found: Candidates,
    start: QPSolution,
    budget: WorkBudget,
    memory_limit: int,
    settings: PolishSettings,
) -> None:
    for _ in range(settings.repeats):
        try:
            with np.errstate(all="ignore"):  # what overflows is not accepted
                candidate = polish_box(program, start, memory_limit=memory_limit, budget=budget)
        except np.linalg.LinAlgError:  # of NaN
            return
        if not found.offer(candidate) or found.is_done or budget.is_over:
            return
        start = candidate
