"""What all ways to a solution share: the count, the best point so far, interior points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from qpsvm.numerics.arrays import Vector
from qpsvm.qp.solution import Status
from qpsvm.solvers.interior_point.accuracy import Accuracy
from qpsvm.solvers.interior_point.interior import SearchResult, interior_point
from qpsvm.solvers.interior_point.program import FactorProgram

AIM = 0.25
"""Of the gap that is asked for: that of the variables that are left open."""

Progress = Callable[[int, float, float], "Status | None"]
"""Told the number of iterations, the objective and the relative gap; a status ends the search."""


@dataclass
class Search:
    """The search for one solution, and how far it has come.

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
        What ``progress`` said, or that it was interrupted.
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
        """Whether nobody asked to stop, and there are iterations left."""
        return self.stopped is None and self.iterations < self.limit

    def report(self, objective: float, gap: float, iterations: int = 1) -> Status | None:
        """Count iterations and tell of them; the reason to stop, or None."""
        self.iterations += iterations
        self.stopped = self.progress(self.iterations, objective, gap)
        return self.stopped

    def interior(self, program: FactorProgram, *, leave: bool = True) -> SearchResult:
        """The interior-point method on the program or some of its variables."""
        before = self.iterations

        def report(iteration: int, measured: Accuracy) -> Status | None:
            return self.report(measured.primal, measured.gap, before + iteration - self.iterations)

        left = self.limit - before
        found = interior_point(program, AIM * self.eps, left, report, leave=leave)
        self.iterations = before + found.iterations
        if found.status is Status.INTERRUPTED:
            self.stopped = Status.INTERRUPTED
        return replace(found, iterations=self.iterations)

    def initial_point(self) -> SearchResult:
        """No machine at all, before there is any other."""
        p = self.program
        x = np.clip(np.zeros(p.size), p.lower, p.upper)
        y, w = np.zeros(len(p.b)), p.F.transposed(x) + p.offset
        return SearchResult(x, y, w, np.inf, Status.UNKNOWN, "", self.iterations)

    def measured(self, x: Vector, y: Vector) -> tuple[Vector, Vector, float, float]:
        """The weights of x, the gradient there, the objective and the gap of the whole program."""
        p = self.program
        w = p.F.transposed(x) + p.offset
        g = p.gradient(w, y, np.empty(p.size))
        return w, g, *p.gap(x, y, w, g)

    def record(self, found: SearchResult) -> SearchResult:
        """Kept if it is the best so far."""
        if self.best is None or not self.best.gap <= found.gap:
            self.best = found
        return found
