"""The interior-point method from start to end: the best point it passes, and why it stops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from qpsvm.backends.ipm.iteration import Iterate, Measured
from qpsvm.backends.ipm.program import FactorProgram
from qpsvm.qp._arrays import Index, Vector
from qpsvm.qp.solution import Status

JUMPS_UNTIL = 1e-3
"""Relative gap below which no variable jumps: steps are long there, and the end is exact."""

PATIENCE = 12
"""Iterations without a smaller gap after which rounding has won."""

CLEAR = 0.3
"""Relative gap at which variables whose case is clear begin to leave."""

REACH = 1.0
"""A case is clear where the gradient is further from zero than so many steps can take it."""

FEW = 500
"""Variables that are not worth sorting."""

Report = Callable[[int, Measured], Status | None]
"""Told the number of iterations and how good the iterate is; a status ends the search."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """Where a search ended.

    Attributes
    ----------
    x, y, w : arrays of shape (n,), (p,) and (r,)
    gap : float
        ``Measured.worst`` of that point.
    status : Status
    words : str
        Why it stopped.
    iterations : int
    """

    x: Vector
    y: Vector
    w: Vector
    gap: float
    status: Status
    words: str
    iterations: int


def interior_point(
    program: FactorProgram, eps: float, limit: int, report: Report, *, leave: bool = True
) -> Outcome:
    """Iterate until the gap is within eps, relative, or it cannot become smaller.

    On the way variables whose case is clear leave, if they may: they are at a bound then, which the
    caller has to hold against the weights that come out.
    """
    iterate = Iterate(program)
    x, active = np.zeros(program.size), np.arange(program.size)
    best, point, last, clear_at = np.inf, iterate.solution(), 0, CLEAR
    while True:
        measured = iterate.measure()
        if measured.worst < best:
            best, point, last = measured.worst, iterate.solution(), iterate.iterations
        status, words = Status.INACCURATE, ""
        if best <= eps:
            status, words = Status.OPTIMAL, "certified gap reached"
        elif not np.isfinite(measured.primal):
            words = "diverges: there may be no optimum"
        elif iterate.iterations >= limit:
            status, words = Status.ITERATION_LIMIT, "iteration limit"
        elif iterate.iterations - last > PATIENCE and best < 1.0:
            words = "no progress: rounding"
        elif stop := report(iterate.iterations, measured):
            status, words = stop, f"stopped: {stop.value}"
        else:
            try:
                iterate.step(jumps=measured.gap > JUMPS_UNTIL)
                if leave and measured.gap < clear_at and len(active) > FEW:
                    clear_at = 0.03 * measured.gap
                    kept, at = _undecided(iterate, measured)
                    if 0 < len(kept) < 0.6 * len(active):
                        x[active] = at
                        active, iterate = active[kept], iterate.narrowed(kept, at)
                        best, last = np.inf, iterate.iterations
                continue
            except np.linalg.LinAlgError as error:
                words = str(error)
        x[active] = point[0]
        return Outcome(x, *point[1:], best, status, words, iterate.iterations)


def _undecided(iterate: Iterate, measured: Measured) -> tuple[Index, Vector]:
    """The variables that may yet go anywhere, and where the others are."""
    p = iterate.program
    gap = measured.gap * max(abs(measured.primal), measured.floor)
    at = np.where(iterate.h > 0.0, p.lower, p.upper)
    inside = np.isinf(at) | (iterate.distances(gap) <= REACH)
    return np.flatnonzero(inside), at
