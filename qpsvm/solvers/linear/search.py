"""State of a solve (iterations, best point, why it ends), and the working sets that can end it.

Where there are fewer variables than weights, a matrix of the size of the weights is out of the
question, and so is one of all variables when there are many. From a good point only the variables
whose gradients nearly vanish are in doubt. Working sets of the dual (``box.working_sets``) do the
rest, exactly. They also go on where rounding ends Newton's method on the weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from qpsvm.numerics.arrays import Vector, default_memory_limit
from qpsvm.qp.solution import QPSolution, Status
from qpsvm.solvers.box.working_sets import polish_box
from qpsvm.solvers.budget import WorkBudget
from qpsvm.solvers.linear.program import FactorProgram, Point

Progress = Callable[[int, float, float], "Status | None"]
"""Told the number of iterations, the objective and the relative gap; a status ends the search."""

REACHED = "certified gap reached"
"""Reason for ending a search whose gap is small enough."""


@dataclass(frozen=True, eq=False)
class SearchResult:
    """Result of a search: a point, its status and the reason.

    Attributes
    ----------
    x, y, w : arrays of shape (n,), (p,) and (r,)
    gap : float
        The relative duality gap of the whole program.
    status : Status
    reason : str
        Why it stopped.
    iterations : int
    """

    x: Vector
    y: Vector
    w: Vector
    gap: float
    status: Status
    reason: str
    iterations: int


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

    @property
    def ended(self) -> tuple[Status, str]:
        """Status and reason of a search that may not continue."""
        if self.stopped is None:
            return Status.ITERATION_LIMIT, "iteration limit"
        return self.stopped, f"stopped: {self.stopped.value}"

    def report(self, objective: float, gap: float, iterations: int = 1) -> None:
        """Count iterations and report them."""
        self.iterations += iterations
        self.stopped = self.progress(self.iterations, objective, gap)

    def initial_point(self) -> SearchResult:
        """Projection of the origin, the best point until another is found."""
        p = self.program
        x = np.clip(np.zeros(p.size), p.lower, p.upper)
        return self.result(Point.of(p, x, np.zeros(len(p.b))), np.inf)

    def measured(self, x: Vector, y: Vector) -> tuple[Point, float, float]:
        """Evaluate variables and multipliers: return the point, its objective and its gap."""
        at = Point.of(self.program, x, y)
        return at, *self.program.gap(at)

    def excess(self, at: Point, gap: float) -> float:
        """Return the largest of gap and violations over their tolerances: at most 1 if solved.

        The gap; what x misses of the rows; and the square, as of this order is the gap, of the
        largest violation of a variable. A gradient may be of the size of the root of eps or its
        variable as near to its bound; without a bound, the gradient itself has to be as small as
        eps.
        """
        p, eps, x = self.program, self.eps, at.x
        h = at.g + p.d * x
        room, size = np.where(h > 0.0, x - p.lower, p.upper - x), np.abs(h)
        width = p.upper - p.lower
        is_box = np.isfinite(width) & (width > 0.0)
        share = np.divide(room, width, out=np.where(width > 0.0, room, 0.0), where=is_box)
        unit = min(1.0, float(np.max(np.abs(p.q)))) or 1.0
        is_free = np.isinf(room)
        violation = np.where(is_free, 0.0, np.minimum(size, share))
        missed = np.abs(p.A @ x - p.b) / np.maximum(np.abs(p.b), 1.0)
        worst = max(
            gap,
            float(np.max(violation)) ** 2,
            float(np.max(size[is_free], initial=0.0)) / unit,
            float(np.max(missed, initial=0.0)),
        )
        return worst / eps

    def result(
        self, at: Point, gap: float, status: Status = Status.UNKNOWN, reason: str = ""
    ) -> SearchResult:
        """Convert a point to a search result; without a status, it makes no claim."""
        return SearchResult(at.x, at.y, at.w, gap, status, reason, self.iterations)

    def record(self, found: SearchResult) -> SearchResult:
        """Keep a result if it is the best so far; return the result."""
        if self.best is None or not self.best.gap <= found.gap:
            self.best = found
        return found

    def best_of(self) -> SearchResult:
        """Return the best point of a search that a limit or an interrupt ended."""
        status, reason = self.ended
        return replace(self.best or self.initial_point(), status=status, reason=reason)


# --- working sets ---------------------------------------------------------------------------------


def polished(program: FactorProgram, x: Vector, y: Vector, budget: WorkBudget) -> QPSolution:
    """Improve a point by working sets.

    Their memory is the same on all but small machines, so that these have the same answers.
    """
    limit = min(2 * 2**30, default_memory_limit())
    start = QPSolution(Status.UNKNOWN, x=x, y=y)
    return polish_box(program.quadratic(), start, memory_limit=limit, budget=budget)


def solve_by_working_sets(search: Search, x: Vector, y: Vector) -> SearchResult:
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
    at, objective, gap = search.measured(x, y)
    if search.may_continue:
        search.report(objective, gap)
    status, reason = Status.INACCURATE, "working sets: no more progress"
    if gap <= search.eps:
        status, reason = Status.OPTIMAL, REACHED
    elif not search.may_continue:
        status, reason = search.ended
    return search.record(search.result(at, gap, status, reason))
