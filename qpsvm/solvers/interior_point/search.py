"""State of a solve (iterations, best point), and its stage with more weights than variables.

Where there are fewer variables than weights, a matrix of the size of the weights is out of the
question, and so is one of all variables when there are many. With a good guess of the weights only
the variables whose gradients nearly vanish are in doubt. Working sets of the dual
(``box.working_sets``) do the rest, exactly; from there they are few and small.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from qpsvm.numerics.arrays import Index, Vector, default_memory_limit
from qpsvm.qp.solution import QPSolution, Status
from qpsvm.solvers.box.working_sets import polish_box
from qpsvm.solvers.common import LARGEST_SET, WorkBudget
from qpsvm.solvers.interior_point.interior import REACHED, SLOW, SearchResult, interior_point
from qpsvm.solvers.interior_point.iterates import Accuracy, Variables
from qpsvm.solvers.interior_point.program import FactorProgram

Progress = Callable[[int, float, float], "Status | None"]
"""Told the number of iterations, the objective and the relative gap; a status ends the search."""


@dataclass
class Search:
    """State of one solve: iteration count, best point, and the reason to stop.

    Attributes
    ----------
    program : FactorProgram
    eps : float
        Relative gap.
    limit : int
        Of iterations.
    progress : callable
    iterations : int
        So far, of all kinds.
    stopped : Status or None
        What ``progress`` said.
    best : SearchResult or None
        Of the whole program.
    """

    program: FactorProgram
    eps: float
    limit: int
    progress: Progress
    iterations: int = 0
    stopped: Status | None = None
    best: SearchResult | None = None

    @property
    def may_continue(self) -> bool:
        """Return whether iterations are left and no stop was requested."""
        return self.stopped is None and self.iterations < self.limit

    def report(self, objective: float, gap: float, iterations: int = 1) -> Status | None:
        """Count iterations and report them; return the reason to stop, or None."""
        self.iterations += iterations
        self.stopped = self.progress(self.iterations, objective, gap)
        return self.stopped

    def interior(self, program: FactorProgram, start: Variables | None = None) -> SearchResult:
        """Run the interior-point method on the program or some of its variables."""
        before = self.iterations

        def report(iteration: int, measured: Accuracy) -> Status | None:
            return self.report(measured.primal, measured.gap, before + iteration - self.iterations)

        eps = self.program.settings.inner_accuracy * self.eps
        found = interior_point(program, eps, self.limit - before, report, start)
        self.iterations = before + found.iterations
        if found.reason == SLOW:
            self.stopped = found.status
        return replace(found, iterations=self.iterations)

    def initial_point(self) -> SearchResult:
        """Projection of the origin, the best point until another is found."""
        p = self.program
        x = np.clip(np.zeros(p.size), p.lower, p.upper)
        y, w = np.zeros(len(p.b)), p.F.transposed(x) + p.offset
        return SearchResult(x, y, w, np.inf, Status.UNKNOWN, "", self.iterations)

    def measured(self, x: Vector, y: Vector) -> tuple[Vector, Vector, float, float]:
        """Weights and gradient at x, objective and gap of the whole program."""
        p = self.program
        w = p.F.transposed(x) + p.offset
        g = p.gradient(w, y)
        return w, g, *p.gap(x, y, g)

    def result(self, x: Vector, y: Vector) -> SearchResult:
        """A point as a result that claims nothing."""
        w, _, _, gap = self.measured(x, y)
        return SearchResult(x, y, w, gap, Status.UNKNOWN, "", self.iterations)

    def whole(self, found: SearchResult, x: Vector, part: Index) -> SearchResult:
        """The result for the whole program of a search for some of its variables."""
        x = x.copy()
        x[part] = found.x
        w, _, _, gap = self.measured(x, found.y)
        return replace(found, x=x, w=w, gap=gap)

    def record(self, found: SearchResult) -> SearchResult:
        """Keep a result if it is the best so far; return the result."""
        if self.best is None or not self.best.gap <= found.gap:
            self.best = found
        return found


# --- working sets ---------------------------------------------------------------------------------


def polished(program: FactorProgram, x: Vector, y: Vector, budget: WorkBudget) -> QPSolution:
    """Improve a point by working sets.

    Their memory is the same on all but small machines, so that these have the same answers.
    """
    limit = min(2 * 2**30, default_memory_limit())
    start = QPSolution(Status.UNKNOWN, x=x, y=y)
    return polish_box(program.quadratic(), start, memory_limit=limit, budget=budget)


def can_polish(program: FactorProgram) -> bool:
    """Return whether one working set holds all variables."""
    return program.size <= LARGEST_SET


def solve_by_free_set(search: Search, x: Vector, y: Vector) -> SearchResult:
    """Run working sets from a point until they end or are stopped."""
    found = _outcome(search, x, y)
    if found.status is not Status.INACCURATE:
        return found

    def watch(budget: WorkBudget) -> bool:
        del budget
        search.report(np.nan, found.gap)
        return search.may_continue

    better = polished(search.program, x, y, WorkBudget(watch=watch))
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
