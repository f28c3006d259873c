"""State that all stages of one solve share: iteration count, best point, stop signal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from qpsvm.numerics.arrays import Index, Vector
from qpsvm.qp.solution import Status
from qpsvm.solvers.interior_point.accuracy import Accuracy
from qpsvm.solvers.interior_point.interior import SearchResult, interior_point
from qpsvm.solvers.interior_point.program import FactorProgram
from qpsvm.solvers.interior_point.settings import InteriorPointSettings
from qpsvm.solvers.interior_point.termination import SLOW
from qpsvm.solvers.interior_point.variables import Variables

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
    settings : InteriorPointSettings
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
    settings: InteriorPointSettings
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

        left = self.limit - before
        eps = self.settings.inner_accuracy * self.eps
        found = interior_point(program, eps, left, report, self.settings, start)
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
        g = p.gradient(w, y, np.empty(p.size))
        return w, g, *p.gap(x, y, w, g)

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
