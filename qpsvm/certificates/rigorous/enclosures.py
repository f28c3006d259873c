"""Enclosures of both objectives of a machine, for certificates with ``rigorous=True``."""

from __future__ import annotations

import math
from dataclasses import dataclass

from qpsvm.display import short_repr


@short_repr
@dataclass(frozen=True)
class Enclosure:
    """Bounds on both objectives that hold in exact arithmetic on the given float64 data.

    Attributes
    ----------
    objective_upper : float
        At least the objective of the machine as it predicts; that of a hard margin is of (w, b)
        scaled up until its smallest margin is 1. Infinite where nothing is known.
    feasible : bool
        Whether every hard condition and every constraint on (w, b) provably holds (of a hard
        margin: for the scaled machine).
    dual_lower : float
        At most the optimum: at most the dual objective of some exactly feasible dual point. Minus
        infinity where none was found.
    margin : float
        ``min(1, smallest margin)`` of a hard margin, from below: the scaled machine is at most
        ``1/margin`` times the one that predicts. 1 for everything else.
    """

    objective_upper: float
    feasible: bool
    dual_lower: float
    margin: float = 1.0

    @property
    def primal_upper(self) -> float:
        """``objective_upper``; infinite unless the machine is proven to be feasible."""
        return self.objective_upper if self.feasible else math.inf

    @property
    def gap_upper(self) -> float:
        """Upper bound on the objective minus the optimum, in exact arithmetic."""
        gap = self.primal_upper - self.dual_lower
        return max(0.0, math.nextafter(gap, math.inf)) if not math.isnan(gap) else math.inf
