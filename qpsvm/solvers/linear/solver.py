"""The solver for ``P = F F' + diag(d)``: coordinate descent, proximal steps, working sets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from qpsvm.numerics.interrupts import NEVER, Deadline, best_known, keep_best
from qpsvm.qp.solution import Status
from qpsvm.solvers.budget import WorkBudget
from qpsvm.solvers.linear.descent import DualDescent
from qpsvm.solvers.linear.program import FactorProgram, Point
from qpsvm.solvers.linear.proximal import solve_by_proximal_steps
from qpsvm.solvers.linear.search import Progress, Search, SearchResult, solve_by_working_sets


def solve(
    program: FactorProgram,
    eps: float,
    limit: int,
    progress: Progress,
    deadline: Deadline = NEVER,
) -> SearchResult:
    """Minimise a quadratic program with the Hessian ``P = F F' + diag(d)``.

    Parameters
    ----------
    program : FactorProgram
    eps : float
        Relative gap.
    limit : int
        Of iterations.
    progress : callable
    deadline : Deadline
        Told to methods of which one iteration may take long.
    """
    search = Search(program, eps, limit, progress)
    if program.size == 0:  # a dual without variables: of a program without rows
        holds = bool((np.abs(program.b) <= eps).all())
        status = Status.OPTIMAL if holds else Status.INACCURATE
        reason = "no variables" if holds else "no variables, and rows that ask for some"
        gap = 0.0 if holds else np.inf
        return replace(search.initial_point(), gap=gap, status=status, reason=reason)
    with _best_on_interrupt(search):
        found = _solved(search, deadline)
    best = search.best
    if best is not None and found.status is not Status.OPTIMAL and best.gap < found.gap:
        return replace(best, status=found.status, reason=found.reason, iterations=found.iterations)
    return found


def _solved(search: Search, deadline: Deadline) -> SearchResult:
    """Solve by coordinate descent; where that is slow, by second-order methods from its point."""
    descent, p = DualDescent(search, deadline), search.program
    found = descent.found()
    if found is not None:
        return found
    at = descent.guess or descent.with_penalized_intercept()
    if at is None:
        rest = search.initial_point()
        at = Point.of(p, rest.x, rest.y)
        search.report(*p.gap(at), iterations=0)
    if not search.may_continue:
        return search.best_of()
    if p.F.rank > p.size > p.settings.wide_size:
        return solve_by_working_sets(search, at.x, at.y)
    found = solve_by_proximal_steps(search, at, deadline=deadline)
    # where rounding ended it, one working set may hold all variables
    if found.status is Status.INACCURATE and p.size <= WorkBudget.largest:
        return solve_by_working_sets(search, found.x, found.y)
    return found


@contextmanager
def _best_on_interrupt(search: Search) -> Iterator[None]:
    """Let an interrupt carry the best point of a search, or that under way if it is better."""
    try:
        yield
    except KeyboardInterrupt as error:
        under_way = best_known(error)

        def best() -> SearchResult:
            found = search.best or search.initial_point()
            other = found if under_way is None else under_way()
            found = other if other.gap < found.gap else found
            return replace(found, status=Status.INTERRUPTED, reason="stopped: interrupted")

        keep_best(error, best)
        raise
