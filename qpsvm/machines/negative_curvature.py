"""Bound on the gap's error from slightly negative kernel eigenvalues.

Weak duality needs ``x'Kx >= 0``. Where a matrix that callers give has eigenvalues down to
``-delta``, a dual point and a machine with coefficients beta satisfy::

    D(a) <= P(beta, b) + kappa/2 delta |beta - R'a / kappa|^2

so that the certified gap holds up to the second term, for the farthest dual point there can be. A
primal program with such a matrix is not convex, and may be unbounded; what is certified of it is
about machines whose coefficients come from dual variables.
"""

from __future__ import annotations

import numpy as np

from qpsvm.machines.primal_dual import PrimalDualPair
from qpsvm.numerics.arrays import Dense, Mask, Vector
from qpsvm.qp.kernel_quadratic import KernelQuadratic

PRICE_ROUNDING = 1.0 + 1e-9
"""Factor that covers the rounding of the sums in a price."""


def negative_curvature_price(model: PrimalDualPair, alpha: Vector, upper: float) -> float:
    """Bound on the error of the duality gap by negative eigenvalues of K; 0 without any.

    Parameters
    ----------
    model : PrimalDualPair
    alpha : array of shape (N,)
        Dual feasible.
    upper : float
        At least the optimal objective.
    """
    if not isinstance(model.gram, KernelQuadratic):
        return 0.0
    delta = model.gram.gram.negative_bound * model.norm_curvature
    if not delta > 0.0:
        return 0.0
    lower, highest = _ends(model, upper)
    reach = np.maximum(alpha - lower, highest - alpha)
    moved = np.asarray(abs(model.conditions.rows).T @ reach) / model.conditions.norm_weight
    price = PRICE_ROUNDING * 0.5 * delta * float(moved @ moved)
    return price if price >= 0.0 else np.inf  # NaN is no price


def joint_price(delta: float, tau: Dense, own: Mask, box: Vector) -> float:
    """Bound on the gap's error by negative eigenvalues of K, one decision function per class."""
    if not delta > 0.0:
        return 0.0
    highest = np.where(own, box[:, None], 0.0)
    lowest = highest - box[:, None]
    reach = np.maximum(tau - lowest, highest - tau)
    price = PRICE_ROUNDING * 0.5 * delta * float(np.sum(reach * reach))
    return price if price >= 0.0 else np.inf


def _ends(model: PrimalDualPair, upper: float) -> tuple[Vector, Vector]:
    """Bounds of the dual variables of every optimum, from their box and the objective.

    A quadratic loss is at most the objective: ``d a^2 / 2 <= upper``. And where dual points may be
    scaled down, the best multiple of an optimum is the optimum itself: ``p'a <= 2 upper``.
    """
    c = model.conditions
    with np.errstate(all="ignore"):
        curved = np.sqrt(2.0 * upper / np.where(c.curvature > 0.0, c.curvature, np.nan))
        curved = np.where(c.curvature > 0.0, curved, np.inf)
        lower, highest = np.maximum(c.lower, -curved), np.minimum(c.upper, curved)
        scales = c.intercept_price == 0.0 and not c.width_sign and model.constraints is None
        if scales and (c.lower >= 0.0).all() and (c.required > 0.0).all():
            highest = np.minimum(highest, 2.0 * upper / c.required)
    return lower, highest
