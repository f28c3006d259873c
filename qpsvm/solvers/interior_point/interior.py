"""The interior-point loop: iterates, stopping rules and the best point so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from qpsvm.numerics.arrays import Index, Vector
from qpsvm.qp.solution import Status
from qpsvm.solvers.interior_point.accuracy import Accuracy
from qpsvm.solvers.interior_point.iteration import Iterate
from qpsvm.solvers.interior_point.program import FactorProgram

JUMPS_UNTIL = 1e-3
"""Relative gap below which no variable jumps: steps are long there, and the end is exact."""

PATIENCE = 12
"""Iterations without a smaller gap after which rounding has won."""

LONG_PATIENCE = 60
"""The same while the gap is no smaller than the objective, and may have to grow first."""

CLEAR = 0.3
"""Relative gap at which variables whose case is clear begin to leave."""

REACH = 1.0
"""A case is clear where the gradient is further from zero than so many steps can take it."""

FEW = 500
"""Variables that are not worth sorting."""

REACHED = "certified gap reached"
"""Why a search ends well."""

Report = Callable[[int, Accuracy], Status | None]
"""Told the number of iterations and how good the iterate is; a status ends the search."""


@dataclass(frozen=True, eq=False)
class SearchResult:
    """Result of a search: its best point, status and reason.

    Attributes
    ----------
    x, y, w : arrays of shape (n,), (p,) and (r,)
    gap : float
        ``Accuracy.worst`` of that point.
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


def interior_point(
    program: FactorProgram, eps: float, limit: int, report: Report, *, leave: bool = True
) -> SearchResult:
    """Run the interior-point method until the relative gap is within eps or stops falling.

    On the way variables whose case is clear leave, if they may: they are at a bound then, which the
    caller has to hold against the weights that come out.
    """
    walk = _Walk(program, leave=leave)
    try:
        status, reason = walk.to_the_end(eps, limit, report)
    except KeyboardInterrupt:
        status, reason = Status.INTERRUPTED, "interrupted"
    x = walk.x
    x[walk.active] = walk.point[0]
    return SearchResult(x, *walk.point[1:], walk.best, status, reason, walk.iterate.iterations)


class _Walk:
    """One run of the interior-point method, which fixes decided variables on its way.

    Attributes
    ----------
    x : array of shape (n,)
        Where the variables are that have left.
    active : array of int
        The others.
    point : arrays of shape (active,), (p,) and (r,)
        The best, ``best`` from the optimum.
    """

    def __init__(self, program: FactorProgram, *, leave: bool) -> None:
        self.iterate, self.leave = Iterate(program), leave
        self.x, self.active = np.zeros(program.size), np.arange(program.size)
        self.best, self.point, self.last = np.inf, self.iterate.solution(), 0
        self.clear_at = CLEAR

    def to_the_end(self, eps: float, limit: int, report: Report) -> tuple[Status, str]:
        """Iterate; return the status and the reason to stop."""
        while True:
            iterate = self.iterate
            measured = iterate.measure()
            if measured.worst < self.best:
                self.best, self.point = measured.worst, iterate.solution()
                self.last = iterate.iterations
            if self.best <= eps:
                return Status.OPTIMAL, REACHED
            if not np.isfinite(measured.primal):
                return Status.INACCURATE, "diverges: there may be no optimum"
            if iterate.iterations >= limit:
                return Status.ITERATION_LIMIT, "iteration limit"
            patience = PATIENCE if self.best < 1.0 else LONG_PATIENCE
            if iterate.iterations - self.last > patience:
                return Status.INACCURATE, "no progress: rounding"
            if stop := report(iterate.iterations, measured):
                return stop, f"stopped: {stop.value}"
            try:
                iterate.step(jumps=measured.gap > JUMPS_UNTIL)
            except np.linalg.LinAlgError as error:
                return Status.INACCURATE, str(error)
            if self.leave and measured.gap < self.clear_at and len(self.active) > FEW:
                self.clear_at = 0.03 * measured.gap
                self._fix_decided_variables(measured)

    def _fix_decided_variables(self, measured: Accuracy) -> None:
        kept, at = _undecided(self.iterate, measured)
        if 0 < len(kept) < 0.6 * len(self.active):
            self.x[self.active] = at
            self.active, self.iterate = self.active[kept], self.iterate.narrowed(kept, at)
            self.point = self.iterate.solution()
            self.best, self.last = np.inf, self.iterate.iterations


def _undecided(iterate: Iterate, measured: Accuracy) -> tuple[Index, Vector]:
    """Indices of undecided variables, and the bounds at which the others are fixed."""
    p = iterate.program
    gap = measured.gap * max(abs(measured.primal), measured.floor)
    at = np.where(iterate.h > 0.0, p.lower, p.upper)
    inside = np.isinf(at) | (iterate.distances(gap) <= REACH)
    return np.flatnonzero(inside), at
