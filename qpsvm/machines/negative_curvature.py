"""Bound on the gap's error from slightly negative kernel eigenvalues.

Weak duality needs ``x'Kx >= 0``. Where a matrix that callers give has eigenvalues down to
``-delta``, a dual point and a machine with coefficients beta satisfy::

    D(a) <= P(beta, b) + kappa/2 delta |beta - R'a / kappa|^2

so that the certified gap holds up to the second term, for the farthest dual point there can be.
What the gap says about weights needs more: with ``v = beta - beta*`` it bounds ``v'Kv``, which is
not a squared distance. But ``K + 2 delta I`` is a Gram matrix, also with any sample repeated, and::

    (Kv)_i^2  <=  (K_ii + 2 delta) v'(K + 2 delta I)v  <=  (K_ii + 2 delta) (v'Kv + 2 delta |v|^2)

So 2 delta is added to every squared norm of a sample, and ``2 delta |v|^2`` to the squared distance
of the weights. A primal program with such a matrix is not convex, and may be unbounded; what is
certified of it is about machines whose coefficients come from dual variables.
"""

from __future__ import annotations

import numpy as np

from qpsvm.kernels.gram import Gram
from qpsvm.machines.primal_dual import PrimalDualPair
from qpsvm.numerics.arrays import Dense, Mask, Vector
from qpsvm.qp.kernel_quadratic import KernelQuadratic

PRICE_ROUNDING = 1.0 + 1e-9
"""Factor that covers the rounding of the sums in a price."""


def negative_bound(gram: Gram) -> float:
    """Return a delta with ``K + delta I`` positive semidefinite; 0 where K itself is."""
    return gram.gram.negative_bound if isinstance(gram, KernelQuadratic) else 0.0


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
    delta = negative_bound(model.gram) * model.norm_curvature
    if not delta > 0.0:
        return 0.0
    moved = _moved(model, alpha, upper)
    return _not_nan(PRICE_ROUNDING * 0.5 * delta * float(moved @ moved))


def hidden_square(model: PrimalDualPair, alpha: Vector, differences: Vector, upper: float) -> float:
    """Bound ``2 delta |beta - beta*|^2`` for every optimum; 0 where K has no negative eigenvalue.

    Parameters
    ----------
    model : PrimalDualPair
    alpha : array of shape (N,)
        Dual feasible.
    differences : array of shape (n,)
        Of the machine's coefficients beta and those that follow from alpha.
    upper : float
        At least the optimal objective.
    """
    delta = negative_bound(model.gram)
    if not delta > 0.0:
        return 0.0
    farthest = _moved(model, alpha, upper) + np.abs(differences)
    return _not_nan(PRICE_ROUNDING * 2.0 * delta * float(farthest @ farthest))


def joint_hidden_square(
    delta: float, tau: Dense, differences: Dense, own: Mask, box: Vector
) -> float:
    """``hidden_square`` of a machine with one decision function per class."""
    if not delta > 0.0:
        return 0.0
    farthest = _reach(tau, own, box) + np.abs(differences)
    return _not_nan(PRICE_ROUNDING * 2.0 * delta * float(np.sum(farthest * farthest)))


def _moved(model: PrimalDualPair, alpha: Vector, upper: float) -> Vector:
    """Bound the distance of every coefficient from those of an optimum, shape (n,)."""
    lower, highest = _ends(model, upper)
    reach = np.maximum(alpha - lower, highest - alpha)
    return model.conditions.sample_sizes(reach) / model.conditions.norm_weight


def _reach(tau: Dense, own: Mask, box: Vector) -> Dense:
    """Bound the distance of every dual variable from those of an optimum, shape (n, k)."""
    highest = np.where(own, box[:, None], 0.0)
    return np.maximum(tau - (highest - box[:, None]), highest - tau)


def _not_nan(bound: float) -> float:
    return bound if bound >= 0.0 else np.inf


def joint_price(delta: float, tau: Dense, own: Mask, box: Vector) -> float:
    """Bound on the gap's error by negative eigenvalues of K, one decision function per class."""
    if not delta > 0.0:
        return 0.0
    reach = _reach(tau, own, box)
    return _not_nan(PRICE_ROUNDING * 0.5 * delta * float(np.sum(reach * reach)))


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
