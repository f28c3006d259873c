"""The interior-point method from start to end: the best point it passes, and why it stops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from qpsvm.backends.ipm.iteration import Iterate, Measured
from qpsvm.backends.ipm.program import FactorProgram
from qpsvm.qp._arrays import Vector
from qpsvm.qp.solution import Status

JUMPS_UNTIL = 1e-3
"""Relative gap below which no variable jumps: steps are long there, and the end is exact."""

PATIENCE = 12
"""Iterations without a smaller gap after which rounding has won."""

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


def interior_point(program: FactorProgram, eps: float, limit: int, report: Report) -> Outcome:
    """Iterate until the gap is within eps, relative, or it cannot become smaller."""
    iterate = Iterate(program)
    best, point, last = np.inf, iterate.solution(), 0
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
                continue
            except np.linalg.LinAlgError as error:
                words = str(error)
        return Outcome(*point, best, status, words, iterate.iterations)
