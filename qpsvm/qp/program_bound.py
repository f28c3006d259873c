"""Bounds on the optimum of a bare program, and the points that give them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from qpsvm.display import short_repr
from qpsvm.numerics.arrays import Vector


@short_repr
@dataclass(frozen=True)
class ProgramBound:
    """Bound on the distance of a point of a quadratic program from its optimum.

    Attributes
    ----------
    objective : float
        Of x as it came; NaN where it cannot be computed.
    upper : float
        At least the optimum: the objective of a feasible point near x. Infinite if none was found.
    lower : float
        At most the optimum: the dual objective of feasible multipliers. Minus infinity if none were
        found.
    rounding : float
        Estimate of what rounding may have done to both, absolute.
    reason : str
        Why there is no bound; empty if there is one.
    """

    objective: float
    upper: float
    lower: float
    rounding: float
    reason: str = ""

    @property
    def gap_upper(self) -> float:
        """Upper bound on the objective at x minus the optimum; infinite if unknown."""
        highest = np.maximum(self.upper, self.objective)  # NaN stays NaN
        gap = float(highest - np.minimum(self.lower, self.objective)) + self.rounding
        return gap if math.isfinite(gap) else math.inf

    @property
    def relative_gap(self) -> float:
        """``gap_upper / max(1, |objective|)``."""
        if not math.isfinite(self.gap_upper):
            return math.inf
        return self.gap_upper / max(1.0, abs(self.objective))

    def to_dict(self) -> dict[str, object]:
        """The figures by name, for JSON."""
        figures = {"gap_upper": self.gap_upper, "relative_gap": self.relative_gap}
        return {**vars(self), **figures}


@dataclass(frozen=True, eq=False)
class FeasiblePair:
    """A primal feasible point and dual feasible multipliers, up to rounding.

    Attributes
    ----------
    x : array of shape (n,)
    w : array of shape (n,)
        The point that stationarity is about; x itself if the program is bounded or curved enough.
    y, z : arrays of shape (p,) and (m,)
    z_lower, z_upper : arrays of shape (n,)
    left : array of shape (m + p,)
        What x misses of rows, inequalities first, that contradict each other by the rounding of
        their numbers.
    """

    x: Vector
    w: Vector
    y: Vector
    z: Vector
    z_lower: Vector
    z_upper: Vector
    left: Vector
