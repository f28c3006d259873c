"""Dual points of a small machine: steps of pairs, and Newton steps on the free variables.

Steps of pairs find which variables are at their bounds within few steps, and the digits of the
others within many. So runs of them take turns with Newton steps: over the variables strictly inside
their box the dual is a quadratic function on a plane, whose minimum is one linear system away.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg.lapack import dposv

from qpsvm.direct.settings import DIRECT
from qpsvm.native import Losses, Status, descend_pairs
from qpsvm.numerics.arrays import Dense, Index, Vector
from qpsvm.numerics.precision import TINY


def pair_points(
    K: Dense, losses: Losses, *, is_free: bool, constant: float, eps: float
) -> Iterator[Vector]:
    """Yield dual points, each with a smaller violation than the one before, shape (N,).

    Parameters
    ----------
    K : array of shape (n, n)
    losses : Losses
        N conditions on n samples, with signs.
    is_free : bool
        Whether ``signs'a = 0``.
    constant : float
        What a penalised intercept adds to K.
    eps : float
        Relative gap that is asked for.
    """
    signs, rows, kept = losses.signs, losses.rows, "sum" if is_free else "none"
    assert signs is not None
    n, is_positive = len(signs), signs > 0.0
    v, g = np.zeros(n), -signs * losses.required
    lower = np.where(is_positive, losses.lower, -losses.upper)
    upper = np.where(is_positive, losses.upper, -losses.lower)
    unit = max(float(np.max(np.abs(losses.required))), TINY)
    block, offsets = K, None
    if rows is not None:
        block, offsets = K.reshape(-1), rows * len(K)
    newton = _NewtonStep(K, rows, losses.curved, lower, upper, is_free, constant)
    tolerance, at_most = DIRECT.rough * unit, DIRECT.steps_per_variable * n
    final = DIRECT.tolerance * eps * unit
    for _ in range(DIRECT.turns):
        status, *_ = descend_pairs(
            block,
            v,
            g,
            lower,
            upper,
            kept=kept,
            tol=tolerance,
            max_steps=at_most,
            added=losses.curved,
            constant=constant,
            offsets=offsets,
            columns=rows,
        )
        if status not in (Status.DONE, Status.STALLED, Status.LIMIT):
            return
        if status is not Status.LIMIT and tolerance <= final:
            yield signs * v + 0.0  # no negative zeros
            final *= DIRECT.tighter
        tolerance = final
        at_most = newton(v, g)


class _NewtonStep:
    """A step to the minimum over the free variables, or to the first bound on the way."""

    def __init__(
        self,
        K: Dense,
        rows: Index | None,
        added: Vector | None,
        lower: Vector,
        upper: Vector,
        is_free: bool,
        constant: float,
    ) -> None:
        self.K, self.rows, self.added = K, rows, added
        self.lower, self.upper = lower, upper
        self.is_free, self.constant = is_free, constant

    def __call__(self, v: Vector, g: Vector) -> int:
        """Move v and its gradient g in place; return how many steps of pairs are worth trying."""
        free = np.flatnonzero((v > self.lower) & (v < self.upper))
        m, many = len(free), DIRECT.steps_per_variable * len(v)
        if not self.is_free < m <= DIRECT.newton_variables:
            return many
        at = free if self.rows is None else self.rows[free]
        columns = self.K[at]
        H, slope = columns[:, at] + self.constant, -g[free]
        if self.added is not None:
            H.reshape(-1)[:: m + 1] += self.added[free]
        if self.is_free:  # the last one makes up for the others
            H -= H[-1]
            H -= H[:, -1:]
            H, slope = H[:-1, :-1].copy(), slope[:-1] - slope[-1]
        diagonal = H.reshape(-1)[:: len(H) + 1]
        diagonal += DIRECT.ridge * float(np.max(diagonal))
        _, step, failed = dposv(H, slope, overwrite_a=1)
        if failed:
            return many
        if self.is_free:
            step = np.append(step, -np.sum(step))
        room = np.where(step > 0.0, self.upper[free] - v[free], self.lower[free] - v[free])
        with np.errstate(divide="ignore", invalid="ignore"):
            length = min(1.0, float(np.min(np.where(step == 0.0, np.inf, room / step))))
        if not length > 0.0:
            return many
        step *= length
        v[free] = np.minimum(np.maximum(v[free] + step, self.lower[free]), self.upper[free])
        change = step @ columns + self.constant * np.sum(step)
        g += change if self.rows is None else change[self.rows]
        if self.added is not None:
            g[free] += self.added[free] * step
        return DIRECT.steps_between * m
