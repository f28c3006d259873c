"""The solver for ``P = F F' + diag(d)``: starting points, interior point, working sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from qpsvm.numerics.interrupts import NEVER, Deadline, best_known, keep_best, map_best
from qpsvm.qp.solution import Status
from qpsvm.solvers.interior_point.descent import Descended, DualDescent
from qpsvm.solvers.interior_point.interior import SearchResult
from qpsvm.solvers.interior_point.open_set import solve_by_open_set
from qpsvm.solvers.interior_point.program import FactorProgram, Presolved, presolve
from qpsvm.solvers.interior_point.search import Progress, Search, can_polish, solve_by_free_set
from qpsvm.solvers.interior_point.smoothing import can_smooth

LARGEST_MATRIX = 10_000
"""Number of variables above which a matrix of all of them is too large."""


def solve(
    program: FactorProgram,
    eps: float,
    limit: int,
    progress: Progress,
    deadline: Deadline = NEVER,
) -> SearchResult:
    """Minimise a quadratic program with the Hessian ``P = F F' + diag(d)``.

    A small program is presolved at once, so that repeated samples and weights are one program, with
    one answer. A large one is descended as it is, and presolved for the other methods.

    Parameters
    ----------
    program : FactorProgram
    eps : float
        Relative gap.
    limit : int
        Of iterations.
    progress : callable
    deadline : Deadline
        Told to coordinate descent, which ``progress`` cannot stop.
    """
    if program.size > program.settings.guess_above:
        return _solve_by_descent_first(Search(program, eps, limit, progress), deadline)
    presolved, way = presolve(program)
    search = Search(presolved, eps, limit, progress)
    return _restored(way, lambda: _solve_by_descent_first(search, deadline))


def _restored(way: Presolved, run: Callable[[], SearchResult]) -> SearchResult:
    """The result of a run on a presolved program, for the given one; and so at an interrupt."""

    def restored(found: SearchResult) -> SearchResult:
        return replace(found, x=way.whole(found.x))

    try:
        return restored(run())
    except KeyboardInterrupt as error:
        map_best(error, restored)
        raise


def _solve_by_descent_first(search: Search, deadline: Deadline) -> SearchResult:
    """Minimise by coordinate descent; where that is slow, presolve and use second-order methods."""
    descent = DualDescent(search, deadline)
    with _best_on_interrupt(search):
        found = descent.found()
    if found is not None:
        return found
    if not search.may_continue:
        return _best_of(search)
    presolved, way = presolve(search.program)
    known = descent.guess

    def second_order() -> SearchResult:
        inner = replace(search, program=presolved, best=None)
        with _best_on_interrupt(inner):
            if known is None:
                guess = DualDescent(inner, deadline).with_penalized_intercept()
            else:
                guess = known.on(presolved, way.smaller(np.asarray(known.x)))
        return _best_point(inner, _minimised(inner, guess))

    return _best_point(search, _restored(way, second_order))


def _best_point(search: Search, found: SearchResult) -> SearchResult:
    """Return the best point of the search in place of a worse one that claims nothing."""
    best = search.best
    if best is not None and found.status is not Status.OPTIMAL and best.gap < found.gap:
        return replace(best, status=found.status, reason=found.reason, iterations=found.iterations)
    return found


def _best_of(search: Search) -> SearchResult:
    """Return the best point of a search that a limit or an interrupt ended."""
    best = search.best or search.initial_point()
    if search.stopped is None:
        return replace(best, status=Status.ITERATION_LIMIT, reason="iteration limit")
    return replace(best, status=search.stopped, reason=f"stopped: {search.stopped.value}")


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


def _minimised(search: Search, guess: Descended | None) -> SearchResult:
    """Minimise a presolved program; return the solution or the best point found.

    Parameters
    ----------
    search : Search
        Of the presolved program.
    guess : Descended or None
        What coordinate descent found for this program.
    """
    p = search.program
    if p.size == 0:  # all variables are fixed
        holds = bool((np.abs(p.b) <= search.eps).all())
        status = Status.OPTIMAL if holds else Status.INACCURATE
        reason = "nothing to be solved for" if holds else "the bounds leave no room for the rows"
        gap = 0.0 if holds else np.inf
        return replace(search.initial_point(), gap=gap, status=status, reason=reason)
    with _best_on_interrupt(search):
        found = _solve_from_guess(search, guess)
        if found is None and search.stopped is None:
            found = _solve_on_all_variables(search)
    return _best_of(search) if found is None else found


def _solve_from_guess(search: Search, guess: Descended | None) -> SearchResult | None:
    """Solve from an initial guess where that is cheaper than iterating on all variables."""
    p, settings = search.program, search.program.settings
    if p.F.rank <= p.size:
        is_worth_it = p.size > settings.guess_above and can_smooth(p)
        return solve_by_open_set(search, guess) if is_worth_it else None
    found = None
    if p.size > settings.wide_dense_size and guess is not None:
        found = solve_by_free_set(search, guess.point(p), guess.y)
    elif p.size > LARGEST_MATRIX:
        rest = search.initial_point()
        found = solve_by_free_set(search, rest.x, rest.y)
    is_small = p.size <= LARGEST_MATRIX
    return None if found and found.status is Status.INACCURATE and is_small else found


def _solve_on_all_variables(search: Search) -> SearchResult:
    """Solve by interior points on all variables, by working sets where rounding stops these."""
    ended = search.interior(search.program)
    # a claim of optimality that the gap of the whole program refutes is withdrawn
    w, _, _, gap = search.measured(ended.x, ended.y)
    status, reason = ended.status, ended.reason
    if status is Status.OPTIMAL and not gap <= search.eps:
        status, reason = Status.INACCURATE, "the gap of the whole program is larger"
    found = replace(ended, w=w, gap=max(gap, ended.gap), status=status, reason=reason)
    search.record(found)
    if status is Status.INACCURATE and search.may_continue and can_polish(search.program):
        return solve_by_free_set(search, found.x, found.y)
    return found
