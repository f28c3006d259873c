r"""Newton's method for machines with explicit features and squared losses.

The primal objective of w and b is piecewise quadratic. With ``v = p - s (X w + b)`` and the slopes
``a = clip(v / d, lower, upper)`` of the losses its gradient is ``w - X'(s a)``, and its generalised
Hessian ``I + X_A' D_A^-1 X_A`` over the samples A whose slope is inside its ends. A step that
leaves A as it is ends at the exact minimum of its piece; then a is the optimal dual point.

Source: Mangasarian, "A finite Newton method for classification", *Optimization Methods and
Software* 17 (2002); Keerthi and DeCoste, "A modified finite Newton method for fast solution of
large scale linear SVMs", *JMLR* 6 (2005).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg.lapack import dposv

from qpsvm.direct.settings import DIRECT
from qpsvm.native import SmallMachine
from qpsvm.numerics.arrays import Dense, Mask, Vector


def newton_points(X: Dense, machine: SmallMachine) -> Iterator[Vector]:
    """Yield dual points, each better than the one before as a rule, shape (n,).

    Parameters
    ----------
    X : array of shape (n, d)
    machine : SmallMachine
        With curvature, and one condition for each row of X.
    """
    p, d, losses = machine.required, machine.curved, machine
    assert d is not None
    n = len(X)
    has_intercept = machine.is_free or machine.constant > 0.0
    Z = np.column_stack([X, np.ones(n)]) if has_intercept else X
    Z = machine.signs[:, None] * Z
    weights = np.ones(Z.shape[1])
    if has_intercept:  # what b^2 / 2 counts in the objective
        weights[-1] = machine.constant
    u, v = np.zeros(Z.shape[1]), p.copy()
    hessian, inside = np.diag(weights), np.zeros(n, dtype=np.bool_)
    a = np.clip(v / d, losses.lower, losses.upper)
    value = _value(u, weights, v, a, d)
    for _ in range(DIRECT.newton_steps):
        gradient = weights * u - a @ Z
        now = (a > losses.lower) & (a < losses.upper)
        _update(hessian, Z, d, inside, now)
        is_settled = np.array_equal(now, inside)
        inside = now
        _, step, failed = dposv(hessian, -gradient)
        if failed:
            return
        along, length = Z @ step, 1.0
        for _ in range(DIRECT.halvings):
            moved = v - length * along
            slopes = np.clip(moved / d, losses.lower, losses.upper)
            following = _value(u + length * step, weights, moved, slopes, d)
            if following <= value or is_settled:
                break
            length *= 0.5
        u, v, a, value = u + length * step, moved, slopes, following
        if is_settled:
            yield a


def _value(u: Vector, weights: Vector, v: Vector, a: Vector, d: Vector) -> float:
    """The objective, with the slopes a of the losses at v."""
    return float(0.5 * (weights * u) @ u + a @ (v - 0.5 * d * a))


def _update(hessian: Dense, Z: Dense, d: Vector, before: Mask, now: Mask) -> None:
    """Add the samples that came to the sums of products, and take off those that left."""
    for changed, sign in ((now & ~before, 1.0), (before & ~now, -1.0)):
        rows = np.flatnonzero(changed)
        if len(rows):
            own = Z[rows]
            hessian += sign * (own.T / d[rows]) @ own
