"""The engine for ``P = F F' + diag(d)``: starting points, interior point, working sets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from qpsvm.numerics.interrupts import NEVER, Deadline, best_known, keep_best, map_best
from qpsvm.qp.solution import QPSolution, Status
from qpsvm.solvers.interior_point.interior import SearchResult
from qpsvm.solvers.interior_point.presolve import presolve
from qpsvm.solvers.interior_point.program import FactorProgram
from qpsvm.solvers.interior_point.search import Progress, Search
from qpsvm.solvers.interior_point.settings import InteriorPointSettings
from qpsvm.solvers.starting_points.coordinate_descent import Descended, DualDescent
from qpsvm.solvers.starting_points.free_set import by_free_set, can_polish, point_of
from qpsvm.solvers.starting_points.open_set import OpenSet
from qpsvm.solvers.starting_points.smoothing import suits


def solve(
    program: FactorProgram,
    eps: float,
    limit: int,
    settings: InteriorPointSettings,
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
    settings : InteriorPointSettings
    progress : callable
    deadline : Deadline
        Told to coordinate descent, which ``progress`` cannot stop.
    """
    if program.size > settings.guess_above:
        return _descended_first(Search(program, eps, limit, settings, progress), deadline)
    presolved, restore = presolve(program)

    def restored(found: SearchResult) -> SearchResult:
        whole = restore(QPSolution(found.status, x=found.x, y=found.y))
        return replace(found, x=np.asarray(whole.x))

    search = Search(presolved, eps, limit, settings, progress)
    try:
        return restored(_descended_first(search, deadline))
    except KeyboardInterrupt as error:
        map_best(error, restored)
        raise


def _descended_first(search: Search, deadline: Deadline) -> SearchResult:
    """Minimise by coordinate descent; where that is slow, presolve and use second-order methods."""
    descent = DualDescent(search, deadline)
    with _best_on_interrupt(search):
        found = descent.found()
    if found is not None:
        return found
    if not search.may_continue:
        return _best_of(search)
    presolved, restore = presolve(search.program)
    guess = descent.guess
    if guess is not None:
        known = restore.forward(QPSolution(Status.UNKNOWN, x=guess.x))
        guess = guess.on(presolved, np.asarray(known.x))

    def restored(found: SearchResult) -> SearchResult:
        whole = restore(QPSolution(found.status, x=found.x, y=found.y))
        return replace(found, x=np.asarray(whole.x))

    try:
        inner = replace(search, program=presolved, best=None)
        with _best_on_interrupt(inner):
            guess = guess or DualDescent(inner, deadline).with_penalized_intercept()
        found = restored(minimise(inner, guess))
    except KeyboardInterrupt as error:
        map_best(error, restored)
        raise
    best = search.best
    if best is not None and found.status is not Status.OPTIMAL and best.gap < found.gap:
        found = replace(best, status=found.status, reason=found.reason, iterations=found.iterations)
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


def minimise(search: Search, guess: Descended | None = None) -> SearchResult:
    """Minimise a presolved program; return the solution or the best point found.

    Parameters
    ----------
    search : Search
        Of the presolved program.
    guess : Descended or None
        What coordinate descent found for this program.
    """
    if search.program.size == 0:
        return _without_variables(search)
    with _best_on_interrupt(search):
        found = _by_guess(search, guess)
        if found is None and search.stopped is None:
            found = _of_all(search)
    if found is None:
        found = _best_of(search)
    best = search.best
    if best is not None and found.status is not Status.OPTIMAL and best.gap < found.gap:
        found = replace(best, status=found.status, reason=found.reason)
    return found


def _by_guess(search: Search, guess: Descended | None) -> SearchResult | None:
    """Solve from an initial guess where that is cheaper than iterating on all variables."""
    p, settings = search.program, search.settings
    if p.F.rank <= p.size:
        is_worth_it = p.size > settings.guess_above and suits(p)
        return OpenSet(search, guess).found() if is_worth_it else None
    found = None
    if p.size > settings.wide_dense_size and guess is not None:
        found = by_free_set(search, point_of(p, guess), guess.y)
    elif p.size > settings.wide_largest_dense_size:
        rest = search.initial_point()
        found = by_free_set(search, rest.x, rest.y)
    is_small = p.size <= settings.wide_largest_dense_size
    return None if found and found.status is Status.INACCURATE and is_small else found


def _of_all(search: Search) -> SearchResult:
    """Solve by interior points on all variables, by working sets where rounding stops these."""
    found = _checked(search, search.interior(search.program))
    if found.status is Status.INACCURATE and search.may_continue and can_polish(search.program):
        found = by_free_set(search, found.x, found.y)
    return found


def _checked(search: Search, ended: SearchResult) -> SearchResult:
    """Measure the gap of the whole program; withdraw a claim of optimality that it refutes."""
    w, _, _, gap = search.measured(ended.x, ended.y)
    status, reason = ended.status, ended.reason
    if status is Status.OPTIMAL and not gap <= search.eps:
        status, reason = Status.INACCURATE, "the gap of the whole program is larger"
    return search.record(replace(ended, w=w, gap=max(gap, ended.gap), status=status, reason=reason))


def _without_variables(search: Search) -> SearchResult:
    """The result for a program whose variables are all fixed."""
    holds = bool((np.abs(search.program.b) <= search.eps).all())
    status = Status.OPTIMAL if holds else Status.INACCURATE
    reason = "nothing to be solved for" if holds else "the bounds leave no room for the rows"
    return replace(
        search.initial_point(), gap=0.0 if holds else np.inf, status=status, reason=reason
    )
