"""Bounds on the exact left-out decision values, from machines without one sample.

Weak duality alone decides; nothing is assumed of the machines. For coefficients beta in their boxes
that add up to zero, and without sample i, with ``K beta + b`` as decision values::

    P = 1/2 beta'K beta + sum_{j /= i} loss_j        D = sum_j reward_j(beta_j) - 1/2 beta'K beta

If the exact machine had ``f(x_i) = c``, its objective would be at least the dual objective of the
problem with that condition, at ``beta + mu r`` for any direction r that adds up to zero, has
``r_i = 1`` and stays in the boxes::

    D + mu (g + c) - 1/2 mu^2 r'Kr,    g = sum_{j /= i} slope_j r_j - beta'K r

It is at most P. Hence ``|c + g| <= (P - D) / mu + 1/2 mu r'Kr`` for every such mu.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.display import short_repr
from qpsvm.numerics.arrays import Dense, Index, Vector
from qpsvm.numerics.precision import EPS
from qpsvm.selection.staircase import Staircase


@short_repr
@dataclass(frozen=True, eq=False)
class LeftOutBounds:
    """Intervals of exact left-out decision values, one for each machine.

    Attributes
    ----------
    values, radius : arrays of shape (m,)
        Centre and half-width; infinite where nothing is known.
    relative_gap : array of shape (m,)
        ``(P - D) / P`` of each machine.
    """

    values: Vector
    radius: Vector
    relative_gap: Vector

    @classmethod
    def of(
        cls,
        K: Dense,
        stair: Staircase,
        samples: Index,
        beta: Dense,
        rates: Dense,
        f: Dense,
        *,
        balanced: bool,
    ) -> LeftOutBounds:
        """Bound the values of machines that are nearly optimal, or of any others.

        Parameters
        ----------
        K : array of shape (n, n)
        stair : Staircase
        samples : array of int of shape (m,)
            The sample that each machine is without.
        beta : array of shape (m, n)
            Their coefficients; moved into the boxes, and to a sum of zero.
        rates : array of shape (m, n)
            A direction of coefficients for each.
        f : array of shape (m, n)
            Their decision values, as far as they are known: the intercepts follow from them.
        balanced : bool
            Whether coefficients have to add up to zero.
        """
        rows = np.arange(len(samples))
        low, high = stair.lowest, stair.upper
        beta, rates = np.clip(beta, low, high), rates.copy()
        beta[rows, samples], rates[rows, samples] = 0.0, 1.0
        room = _room(stair, beta)
        room[rows, samples] = np.inf
        if balanced:
            widest = np.argmax(np.where(np.isinf(room), -1.0, room), axis=1)
            beta[rows, widest] -= np.sum(beta, axis=1)
            rates[rows, widest] -= np.sum(rates, axis=1)
            room[rows, widest] = _room(stair, beta)[rows, widest]
        is_feasible = np.min(room, axis=1) >= 0.0
        of_beta, of_rates = beta @ K.T, rates @ K.T
        b = np.mean(f - of_beta, axis=1, keepdims=True) if balanced else 0.0
        losses = stair.losses(of_beta + b)
        losses[rows, samples] = 0.0
        slopes = np.where(beta > 0.0, stair.a, stair.c)
        slopes[(rates == 0.0) | ~np.isfinite(slopes)] = 0.0
        slopes[rows, samples] = 0.0
        rewards, squares, terms = stair.rewards(beta), beta * of_beta, of_beta * rates
        size = np.sum(np.abs(squares), axis=1) + np.sum(np.abs(rewards), axis=1)
        gap = np.sum(squares, axis=1) + np.sum(losses, axis=1) - np.sum(rewards, axis=1)
        gap = np.maximum(gap, 0.0) + 8.0 * EPS * size
        g = np.sum(slopes * rates, axis=1) - np.sum(terms, axis=1)
        of_g = np.sum(np.abs(slopes * rates), axis=1) + np.sum(np.abs(terms), axis=1)
        kappa = np.maximum(np.sum(rates * of_rates, axis=1), 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.where(rates != 0.0, room / np.abs(rates), np.inf)
            mu = np.minimum(np.sqrt(2.0 * gap / kappa), np.min(reach, axis=1))
            radius = gap / mu + 0.5 * mu * kappa + 8.0 * EPS * of_g
            relative = gap / (0.5 * np.sum(squares, axis=1) + np.sum(losses, axis=1))
        known = is_feasible & np.isfinite(radius) & np.isfinite(g)
        return cls(
            np.where(known, -g, np.nan),
            np.where(known, radius, np.inf),
            np.where(is_feasible & np.isfinite(relative), relative, np.inf),
        )


def _room(stair: Staircase, beta: Dense) -> Dense:
    """Distances of coefficients to where the dual objective stops being quadratic, or feasible."""
    room = np.minimum(stair.upper - beta, beta - stair.lowest)
    # a coefficient that crosses zero changes its reward
    both = np.flatnonzero((stair.lowest < 0.0) & (stair.upper > 0.0))
    if len(both):
        room[:, both] = np.minimum(room[:, both], np.abs(beta[:, both]))
    return room
