"""Excess of a model's objective over the optimal one: the measured ratio, and bounds on it.

The exact optimum lies in ``[D^, P^]``, the objectives of a computed one with their rounding, and
the model's objective P is known up to rounding. So the ratio ``(P - P*) / |P*|`` lies between its
values at the ends, unless the optimum may be zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from qpsvm.certificates import Certificate
from qpsvm.numerics.precision import TINY


@dataclass(frozen=True)
class Excess:
    """Relative distance of a model's objective from the optimum, with bounds.

    Attributes
    ----------
    measured : float
        ``(P - P^) / |P^|``; infinite where that is zero.
    least, most : float
        Bounds on ``(P - P*) / |P*|``, at least zero.
    scaled, least_scaled : float
        ``(P - P^) / max(|P^|, floor)``, and a lower bound on ``(P - P*)`` in the same scale.
    """

    measured: float
    least: float
    most: float
    scaled: float
    least_scaled: float


NOTHING = Excess(math.nan, 0.0, math.inf, math.nan, 0.0)


def compared(own: Certificate | None, best: Certificate, error: float) -> Excess:
    """Compare a model's objective with a computed optimum.

    Parameters
    ----------
    own : Certificate or None
        Of the model.
    best : Certificate
        Of the computed optimum.
    error : float
        Of the model's objective, beyond the rounding that its certificate states.
    """
    if own is None:
        return NOTHING
    value, computed = own.primal_objective, best.primal_objective
    hidden = error + own.objective_rounding * own.objective_scale
    lower, upper = _optimum(best)
    size = max(abs(computed), best.floor, TINY)
    above = max(value - computed, 0.0)
    ends = [
        max(v - end, 0.0) / abs(end) if end else math.inf if v > end else 0.0
        for v in (value - hidden, value + hidden)
        for end in (lower, upper)
    ]
    known = all(math.isfinite(v) for v in (hidden, lower, upper))
    away = known and not lower <= 0.0 <= upper
    return Excess(
        measured=above / abs(computed) if computed else math.inf if above else 0.0,
        least=min(ends) if known else 0.0,
        most=max(ends) if away else math.inf,
        scaled=above / size,
        least_scaled=max(value - hidden - upper, 0.0) / size if known else 0.0,
    )


def _optimum(best: Certificate) -> tuple[float, float]:
    """Lower and upper bound of the optimal objective."""
    if best.enclosure is not None:
        return best.enclosure.dual_lower, best.enclosure.primal_upper
    rounding = best.objective_rounding * best.objective_scale
    return best.dual_objective - rounding, best.primal_objective + rounding
