"""Smallest objective that relative duality gaps are divided by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.numerics.arrays import Vector


@dataclass(frozen=True)
class NegligibleSettings:
    """Thresholds below which an objective counts as zero when a gap is divided by it.

    Attributes
    ----------
    curvature_share : float
        Share of ``x'diag(P)x`` up to which an objective is what rounding left of a difference of
        larger numbers.
    cancelled_share : float
        The same in programs without linear costs, whose optimal weights may vanish: weights are
        then as small as the root of this share of the terms that they are the sum of.
    gradient_share : float
        Change of a gradient, as a share of the largest cost, that no prediction shows.
    smallest_divisor : float
        Least value of an objective or distance that others are divided by: far above underflow.
    """

    curvature_share: float = 1e-12
    cancelled_share: float = 1e-9
    gradient_share: float = 1e-8
    smallest_divisor: float = 1e-300


NEGLIGIBLE = NegligibleSettings()
"""Thresholds that all solvers use."""


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
    own = NEGLIGIBLE
    if q.any():
        share = own.gradient_share * float(np.max(np.abs(q)))
        rounding = own.curvature_share * unit * float(x @ x)
        return max(rounding, 0.5 * share * share / unit, own.smallest_divisor)
    total = float(np.sum(np.abs(x)))
    return max(own.cancelled_share * unit * total * total, own.smallest_divisor)
