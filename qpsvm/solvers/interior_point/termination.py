"""When the interior-point method ends, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from qpsvm.numerics.arrays import Vector
from qpsvm.qp.solution import Status
from qpsvm.solvers.interior_point.accuracy import Accuracy
from qpsvm.solvers.interior_point.partition import Partition
from qpsvm.solvers.interior_point.residuals import Residuals
from qpsvm.solvers.interior_point.settings import InteriorPointSettings
from qpsvm.solvers.interior_point.variables import FAR, Variables
from qpsvm.solvers.interior_point.workspace import Workspace

REACHED = "certified gap reached"
"""Why a search ends well."""

SLOW = "progress is too slow: gives way to another backend"
"""Why a search ends that need not go on, since another backend stands by."""


@dataclass(frozen=True)
class Termination:
    """The end of a search: status and reason."""

    status: Status
    reason: str

    @classmethod
    def by_caller(cls, status: Status | None) -> Termination | None:
        """The end that a caller's report asks for, if it does."""
        return None if status is None else cls(status, f"stopped: {status.value}")


@dataclass(frozen=True, eq=False)
class BestPoint:
    """The most accurate point so far, in the variables that were active then.

    Attributes
    ----------
    partition : Partition
    x, y, w : arrays of shape (active,), (p,) and (r,)
    gap : float
        ``Accuracy.worst`` of the point; infinite if it was not measured.
    iteration : int
    """

    partition: Partition
    x: Vector
    y: Vector
    w: Vector
    gap: float
    iteration: int

    @classmethod
    def of(
        cls,
        partition: Partition,
        work: Workspace,
        variables: Variables,
        residuals: Residuals,
        iteration: int = 0,
        gap: float = np.inf,
    ) -> BestPoint:
        """An iterate in the box, what it misses of the rows spread over variables with room."""
        p, it = work.program, variables
        room = np.minimum(it.s, it.t)
        weighted = p.A * np.where(room < FAR, room, 1.0) ** 2
        shares = np.linalg.lstsq(weighted @ p.A.T, residuals.rows, rcond=None)[0]
        x = np.clip(it.x + shares @ weighted, p.lower, p.upper)
        return cls(partition, x, it.y, it.w, gap, iteration)

    def or_better(
        self,
        accuracy: Accuracy,
        work: Workspace,
        variables: Variables,
        residuals: Residuals,
        iteration: int,
    ) -> BestPoint:
        """The iterate where it is more accurate, or else the point itself."""
        if not accuracy.worst < self.gap:
            return self
        own = self.partition
        return BestPoint.of(own, work, variables, residuals, iteration, accuracy.worst)


@dataclass(frozen=True)
class StoppingRule:
    """When a search ends.

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
        """The end of the search, or None to go on.

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
