"""Termination of the interior-point method: status, reason, and the most accurate point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from qpsvm.numerics.arrays import Vector
from qpsvm.qp.solution import Status
from qpsvm.solvers.interior_point.accuracy import Accuracy
from qpsvm.solvers.interior_point.program import FactorProgram
from qpsvm.solvers.interior_point.settings import InteriorPointSettings
from qpsvm.solvers.interior_point.variables import NO_BOUND_DISTANCE, Residuals, Variables


@dataclass(frozen=True, eq=False)
class BestPoint:
    """The most accurate point that an interior-point search has come to.

    Attributes
    ----------
    program : FactorProgram
    variables : Variables
    residuals : Residuals
    iteration : int
    gap : float
        ``Accuracy.worst`` of the point; infinite if it was not measured.
    """

    program: FactorProgram
    variables: Variables
    residuals: Residuals
    iteration: int = 0
    gap: float = np.inf

    def or_better(
        self, accuracy: Accuracy, variables: Variables, residuals: Residuals, iteration: int
    ) -> BestPoint:
        """Return the more accurate of this point and a new iterate."""
        if not accuracy.worst < self.gap:
            return self
        gap = accuracy.worst
        return BestPoint(self.program, variables, residuals, iteration, gap)

    def solution(self) -> Vector:
        """Compute x in the box, with ``b - A x`` spread over variables with room."""
        p, it = self.program, self.variables
        room = np.minimum(it.s, it.t)
        weighted = p.A * np.where(room < NO_BOUND_DISTANCE, room, 1.0) ** 2
        shares = np.linalg.lstsq(weighted @ p.A.T, self.residuals.rows, rcond=None)[0]
        return np.asarray(np.clip(it.x + shares @ weighted, p.lower, p.upper))


REACHED = "certified gap reached"
"""Reason for ending a search whose gap is small enough."""

SLOW = "progress is too slow: gives way to another backend"
"""Reason for ending a slow search in favour of another backend."""


@dataclass(frozen=True)
class Termination:
    """The end of a search: status and reason."""

    status: Status
    reason: str

    @classmethod
    def by_caller(cls, status: Status | None) -> Termination | None:
        """Create the termination that a callback asks for; None if it asks for none."""
        return None if status is None else cls(status, f"stopped: {status.value}")


@dataclass(frozen=True)
class StoppingRule:
    """Stopping rule of the interior-point method: accuracy, iterations, progress.

    Attributes
    ----------
    eps : float
        Relative gap that is asked for.
    limit : int
        Of iterations.
    settings : InteriorPointSettings
    """

    eps: float
    limit: int
    settings: InteriorPointSettings

    def check(
        self, iteration: int, accuracy: Accuracy, best: BestPoint, gaps: Sequence[float]
    ) -> Termination | None:
        """Return the termination of the search, or None to continue.

        Parameters
        ----------
        iteration : int
            Number of steps taken.
        accuracy : Accuracy
            Of the iterate.
        best : BestPoint
        gaps : sequence of float
            The smallest relative gap so far at every iteration.
        """
        own = self.settings
        if best.gap <= self.eps:
            return Termination(Status.OPTIMAL, REACHED)
        if not np.isfinite(accuracy.primal):
            return Termination(Status.INACCURATE, "diverges: there may be no optimum")
        if iteration >= self.limit:
            return Termination(Status.ITERATION_LIMIT, "iteration limit")
        patience = own.patience if best.gap < 1.0 else own.long_patience
        if iteration - best.iteration > patience:
            return Termination(Status.INACCURATE, "no progress: rounding")
        return Termination(Status.ITERATION_LIMIT, SLOW) if is_slow(gaps, own) else None


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
