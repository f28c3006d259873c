"""The interior-point loop: iterates, stopping rules and the best point so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from qpsvm.numerics.arrays import Index, Vector
from qpsvm.qp.solution import Status
from qpsvm.solvers.interior_point.accuracy import Accuracy
from qpsvm.solvers.interior_point.iteration import Iterate
from qpsvm.solvers.interior_point.program import FactorProgram
from qpsvm.solvers.interior_point.settings import InteriorPointSettings

REACHED = "certified gap reached"
"""Why a search ends well."""

SLOW = "progress is too slow: gives way to another backend"
"""Why a search ends that need not go on, since another backend stands by."""

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
    program: FactorProgram,
    eps: float,
    limit: int,
    report: Report,
    settings: InteriorPointSettings,
    *,
    fix_decided: bool = True,
) -> SearchResult:
    """Run the interior-point method until the relative gap is within eps or stops falling.

    With ``fix_decided`` variables whose final bound is certain are fixed on the way. The caller has
    to check their gradients at the weights that come out.
    """
    walk = _Walk(program, settings, fix_decided=fix_decided)
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
        Values of the fixed variables.
    active : array of int
        The variables that are not fixed.
    point : arrays of shape (active,), (p,) and (r,)
        The best, ``best`` from the optimum.
    gaps : list of float
        The smallest relative gap so far at every iteration since variables were fixed.
    """

    def __init__(
        self, program: FactorProgram, settings: InteriorPointSettings, *, fix_decided: bool
    ) -> None:
        self.iterate, self.settings = Iterate(program, settings), settings
        self.fix_decided = fix_decided
        self.x, self.active = np.zeros(program.size), np.arange(program.size)
        self.best, self.point, self.last = np.inf, self.iterate.solution(), 0
        self.fix_at = settings.fix_below_gap
        self.gaps: list[float] = []

    def to_the_end(self, eps: float, limit: int, report: Report) -> tuple[Status, str]:
        """Iterate; return the status and the reason to stop."""
        settings = self.settings
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
            self.gaps.append(min([*self.gaps[-1:], measured.gap]))
            if ended := self.without_progress():
                return ended
            if stop := report(iterate.iterations, measured):
                return stop, f"stopped: {stop.value}"
            try:
                iterate.step(jumps=measured.gap > settings.jump_until_gap)
            except np.linalg.LinAlgError as error:
                return Status.INACCURATE, str(error)
            is_worth_it = self.fix_decided and len(self.active) > settings.fix_least_size
            if is_worth_it and measured.gap < self.fix_at:
                self.fix_at = 0.03 * measured.gap
                self._fix_decided_variables(measured)

    def without_progress(self) -> tuple[Status, str] | None:
        """The status and the reason to stop where the gap falls no longer, or too slowly."""
        own = self.settings
        patience = own.patience if self.best < 1.0 else own.long_patience
        if self.iterate.iterations - self.last > patience:
            return Status.INACCURATE, "no progress: rounding"
        return (Status.ITERATION_LIMIT, SLOW) if is_slow(self.gaps, own) else None

    def _fix_decided_variables(self, measured: Accuracy) -> None:
        kept, at = _undecided(self.iterate, measured)
        if 0 < len(kept) < 0.6 * len(self.active):
            self.x[self.active] = at
            self.active, self.iterate = self.active[kept], self.iterate.narrowed(kept, at)
            self.point = self.iterate.solution()
            self.best, self.last, self.gaps = np.inf, self.iterate.iterations, []


def is_slow(gaps: Sequence[float], settings: InteriorPointSettings) -> bool:
    """Return whether the last iterations lowered the gap by too little, far from the optimum.

    A gap that does not fall at all is stopped by rounding, which other means cure.

    Parameters
    ----------
    gaps : sequence of float
        The smallest relative gap so far at every iteration.
    settings : InteriorPointSettings
    """
    n = settings.slow_iterations
    if n == 0 or len(gaps) <= n or gaps[-1] <= settings.slow_above_gap:
        return False
    before, middle = gaps[-1 - n], gaps[-1 - n // 2]
    return settings.slow_factor * before < gaps[-1] < middle and before < 1.0


def _undecided(iterate: Iterate, measured: Accuracy) -> tuple[Index, Vector]:
    """Indices of undecided variables, and the bounds at which the others are fixed."""
    p = iterate.program
    gap = measured.gap * max(abs(measured.primal), measured.floor)
    at = np.where(iterate.h > 0.0, p.lower, p.upper)
    inside = np.isinf(at) | (iterate.distances(gap) <= iterate.settings.fix_reach)
    return np.flatnonzero(inside), at
