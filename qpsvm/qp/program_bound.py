"""Bounds on the optimum of a bare program, and the points that give them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from qpsvm.display import short_repr
from qpsvm.numerics.arrays import Vector
from qpsvm.qp.bound_rows import BoundsAsRows
from qpsvm.qp.solution import QPSolution, Status


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
    curvature : float
        What negative curvature of P within its rounding may lower the objective by, absolute; part
        of ``lower``.
    scale : float
        What the gap is relative to: the terms of the objective at x (``objective_scale``).
    reason : str
        Why there is no bound; empty if there is one.
    """

    objective: float
    upper: float
    lower: float
    rounding: float
    curvature: float
    scale: float
    reason: str = ""

    @property
    def gap_upper(self) -> float:
        """Upper bound on the objective at x minus the optimum; infinite if unknown."""
        highest = np.maximum(self.upper, self.objective)  # NaN stays NaN
        gap = float(highest - np.minimum(self.lower, self.objective)) + self.rounding
        return gap if math.isfinite(gap) else math.inf

    @property
    def relative_gap(self) -> float:
        """``gap_upper / scale``."""
        return self._relative(self.gap_upper)

    @property
    def floor(self) -> float:
        """``(rounding + curvature) / scale``: the part of the gap that all answers share."""
        return self._relative(self.rounding + self.curvature)

    def _relative(self, gap: float) -> float:
        """A gap relative to the scale, which is zero where nothing sets any."""
        if not gap > 0.0:
            return math.inf if math.isnan(gap) else 0.0
        return gap / self.scale if math.isfinite(gap) and self.scale > 0.0 else math.inf

    def to_dict(self) -> dict[str, object]:
        """The figures by name, for JSON."""
        names = ("gap_upper", "relative_gap", "floor")
        figures = {name: getattr(self, name) for name in names}
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

    def with_rows(self, way: BoundsAsRows) -> FeasiblePair:
        """The pair of the program whose rows were written as bounds."""
        bounded = QPSolution(
            Status.UNKNOWN, self.x, z=self.z, z_lower=self.z_lower, z_upper=self.z_upper
        )
        own = way(bounded)
        assert own.z is not None
        assert own.z_lower is not None
        assert own.z_upper is not None
        left = np.zeros(len(own.z) + len(self.y))
        left[np.concatenate([way.kept, len(own.z) + np.arange(len(self.y))])] = self.left
        return FeasiblePair(self.x, self.w, self.y, own.z, own.z_lower, own.z_upper, left)
