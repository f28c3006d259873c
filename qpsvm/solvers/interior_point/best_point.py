"""The most accurate point of a search."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.numerics.arrays import Vector
from qpsvm.solvers.interior_point.accuracy import Accuracy
from qpsvm.solvers.interior_point.program import FactorProgram
from qpsvm.solvers.interior_point.residuals import Residuals
from qpsvm.solvers.interior_point.variables import NO_BOUND_DISTANCE, Variables


@dataclass(frozen=True, eq=False)
class BestPoint:
    """The most accurate point of a search.

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
