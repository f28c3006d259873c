"""Check that the processor rounds as IEEE 754 requires, which all rigorous bounds assume.

A library compiled with ``-ffast-math`` switches subnormal numbers off for the process that loads
it; the control word of a thread can also ask for another direction of rounding.

``Enclosure`` holds bounds on both objectives of a machine, for ``rigorous=True``.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

import numpy as np

from qpsvm.display import short_repr
from qpsvm.exceptions import ArithmeticModeError

_HALF_AN_ULP = sys.float_info.epsilon / 2.0


def is_ieee() -> bool:
    """Return whether this thread rounds to nearest, ties to even, with gradual underflow."""
    one, tiny = np.float64(1.0), np.float64(sys.float_info.min)
    with np.errstate(under="ignore"):
        to_nearest = one + _HALF_AN_ULP == one and one + 1.5 * _HALF_AN_ULP > one
        downwards = -one - _HALF_AN_ULP == -one and -one - 1.5 * _HALF_AN_ULP < -one
        gradual = tiny / 2.0 > 0.0 and (tiny / 2.0) * 2.0 == tiny
    return bool(to_nearest and downwards and gradual)


def require_ieee() -> None:
    """Raise ArithmeticModeError unless this thread rounds as IEEE 754 requires.

    Raises
    ------
    ArithmeticModeError
        Subnormal numbers count as zero, or rounding is not to nearest.

    Examples
    --------
    >>> require_ieee()  # nothing happens: bounds computed in this thread are rigorous
    """
    if not is_ieee():
        raise ArithmeticModeError(
            "The arithmetic of this process is not IEEE 754: subnormal numbers are zero, or it does"
            " not round to nearest. A library compiled with -ffast-math was loaded (Snap ML is "
            "one); certify in a process of its own."
        )


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
