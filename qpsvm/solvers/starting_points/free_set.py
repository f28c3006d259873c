"""Solution of wide programs, with fewer variables than weights, by working sets.

A matrix of the size of the weights is out of the question, and so is one of all variables when
there are many. With a good guess of the weights only the variables whose gradients nearly vanish
are in doubt, and what these are follows from the weights::

    x_W = argmin |F_W'x_W - (w - F_B'x_B - offset)|^2,      B: at the bound that the gradient says

Working sets of the dual do the rest (``qp.box_polish``), exactly; from there they are few and
small.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from qpsvm.numerics.arrays import Vector, default_memory_limit
from qpsvm.qp.solution import QPSolution, Status
from qpsvm.solvers.box.polish import polish_box
from qpsvm.solvers.box.settings import DEFAULTS
from qpsvm.solvers.interior_point.interior import SearchResult
from qpsvm.solvers.interior_point.program import FactorProgram
from qpsvm.solvers.interior_point.search import Search
from qpsvm.solvers.interior_point.termination import REACHED
from qpsvm.solvers.starting_points.coordinate_descent import Descended
from qpsvm.solvers.starting_points.settings import STARTS
from qpsvm.solvers.work_budget import WorkBudget


def point_of(program: FactorProgram, guess: Descended) -> Vector:
    """Construct x in the box with ``F'x`` near given weights, if it is not known."""
    p = program
    if guess.x is not None:
        return np.clip(guess.x, p.lower, p.upper)
    g = p.gradient(guess.w, guess.y, np.empty(p.size))
    x = np.where(g > 0.0, p.lower, p.upper)
    free = np.flatnonzero(np.abs(g) <= max(guess.violation, STARTS.free_gradient))
    if len(free) > DEFAULTS.largest_set:
        free = np.sort(np.argpartition(np.abs(g), DEFAULTS.largest_set)[: DEFAULTS.largest_set])
    if len(free):
        x[free] = 0.0
        missing = guess.w - p.offset - p.F.transposed(x)
        M = np.asfortranarray(p.F.block(free, free))
        M[np.diag_indices(len(free))] += STARTS.ridge * float(np.trace(M)) / len(free)
        upper, info = dpotrf(M, overwrite_a=1)
        if info == 0:
            x[free] = dpotrs(upper, p.F.times(missing, np.empty(p.size))[free])[0]
    return np.clip(x, p.lower, p.upper)


def can_polish(program: FactorProgram) -> bool:
    """Return whether one working set holds all variables."""
    return program.size <= DEFAULTS.largest_set


def by_free_set(search: Search, x: Vector, y: Vector) -> SearchResult:
    """Run working sets from a point until they end or are stopped."""
    found = _outcome(search, x, y)
    if found.status is not Status.INACCURATE:
        return found

    def watch(budget: WorkBudget) -> bool:
        del budget
        search.report(np.nan, found.gap)
        return search.may_continue

    start = QPSolution(Status.UNKNOWN, x=x, y=y)
    limit, budget = min(STARTS.working_set_bytes, default_memory_limit()), WorkBudget(watch=watch)
    better = polish_box(search.program.quadratic(), start, memory_limit=limit, budget=budget)
    last = _outcome(search, np.array(better.x), np.array(better.y))
    best = min(found, last, key=lambda each: each.gap)
    return replace(best, status=last.status, reason=last.reason)


def _outcome(search: Search, x: Vector, y: Vector) -> SearchResult:
    """Convert a point to a SearchResult."""
    w, _, objective, gap = search.measured(x, y)
    if search.may_continue:
        search.report(objective, gap)
    status, reason = Status.INACCURATE, "working sets: no more progress"
    if gap <= search.eps:
        status, reason = Status.OPTIMAL, REACHED
    elif search.stopped is not None:
        status, reason = search.stopped, f"stopped: {search.stopped.value}"
    elif not search.may_continue:
        status, reason = Status.ITERATION_LIMIT, "iteration limit"
    return search.record(SearchResult(x, y, w, gap, status, reason, search.iterations))
