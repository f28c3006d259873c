"""Residuals of the equations that a primal-dual point has to satisfy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.numerics.arrays import Vector
from qpsvm.solvers.interior_point.program import FactorProgram
from qpsvm.solvers.interior_point.variables import Variables


@dataclass(frozen=True, eq=False)
class Residuals:
    """``F'x + offset - w``, ``b - A x`` and the gradient at the weights of x.

    A Newton step removes all three. The residual of stationarity is ``gradient + d x - z + v``.

    Attributes
    ----------
    weights : array of shape (r,)
        ``F'x + offset - w``.
    rows : array of shape (p,)
        ``b - A x``.
    gradient : array of shape (n,)
        ``F (F'x + offset) + q + A'y``.
    """

    weights: Vector
    rows: Vector
    gradient: Vector

    @classmethod
    def of(cls, program: FactorProgram, variables: Variables) -> Residuals:
        """Compute the residuals from x, y and w: no rounding is carried from step to step."""
        weights = program.F.transposed(variables.x) + program.offset
        gradient = program.gradient(weights, variables.y, np.empty(program.size))
        return cls(weights - variables.w, program.b - program.A @ variables.x, gradient)
