"""Smallest objective that relative duality gaps are divided by."""

from __future__ import annotations

import numpy as np

from qpsvm.numerics.arrays import Vector

FLOOR = 1e-12
"""Of ``x'diag(P)x``, where the objective is a difference of larger numbers."""

CANCELLED = 1e-9
"""The square of such a share of its terms is left of weights that vanish."""

NEGLIGIBLE_GRADIENT_REL = 1e-8
"""Of the largest cost, a change that nobody sees."""

SMALLEST_DIVISOR = 1e-300
"""Least value of an objective or distance that others are divided by."""


def negligible_objective(q: Vector, unit: float, x: Vector) -> float:
    """Objective below which values count as zero.

    Weights that are this much smaller than the terms they are the sum of; or, with costs q, that
    change no gradient by so small a share of the largest cost.

    Parameters
    ----------
    q, x : arrays of shape (n,)
    unit : float
        The mean of the diagonal of P.
    """
    if q.any():
        share = NEGLIGIBLE_GRADIENT_REL * float(np.max(np.abs(q)))
        return max(FLOOR * unit * float(x @ x), 0.5 * share * share / unit, SMALLEST_DIVISOR)
    total = float(np.sum(np.abs(x)))
    return max(CANCELLED * unit * total * total, SMALLEST_DIVISOR)
