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
        b: Vector,
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
        beta : array of shape (n, m)
            Their coefficients; moved into the boxes, and to a sum of zero.
        rates : array of shape (n, m)
            A direction of coefficients for each.
        b : array of shape (m,)
            Their intercepts.
        balanced : bool
            Whether coefficients have to add up to zero.
        """
        columns = np.arange(len(samples))
        low, high = stair.lowest[:, None], stair.upper[:, None]
        beta, rates = np.clip(beta, low, high), rates.copy()
        beta[samples, columns], rates[samples, columns] = 0.0, 1.0
        if balanced:
            room = np.minimum(high - beta, beta - low)
            room[samples, columns] = -1.0
            widest = np.argmax(room, axis=0)
            beta[widest, columns] -= np.sum(beta, axis=0)
            rates[widest, columns] -= np.sum(rates, axis=0)
        room = np.minimum(high - beta, beta - low)
        # a coefficient that crosses zero changes its reward
        one_sided = np.where((low < 0.0) & (high > 0.0), np.abs(beta), np.inf)
        room = np.minimum(room, one_sided)
        room[samples, columns] = np.inf
        is_feasible = np.min(room, axis=0) >= 0.0
        of_beta, of_rates = K @ beta, K @ rates
        losses = stair.losses(of_beta + b)
        losses[samples, columns] = 0.0
        slopes = np.where(beta > 0.0, stair.a[:, None], stair.c[:, None])
        slopes[(rates == 0.0) | ~np.isfinite(slopes)] = 0.0
        slopes[samples, columns] = 0.0
        rewards, squares, terms = stair.rewards(beta), beta * of_beta, of_beta * rates
        size = np.sum(np.abs(squares), axis=0) + np.sum(np.abs(rewards), axis=0)
        gap = np.sum(squares, axis=0) + np.sum(losses, axis=0) - np.sum(rewards, axis=0)
        gap = np.maximum(gap, 0.0) + 8.0 * EPS * size
        g = np.sum(slopes * rates, axis=0) - np.sum(terms, axis=0)
        of_g = np.sum(np.abs(slopes * rates), axis=0) + np.sum(np.abs(terms), axis=0)
        kappa = np.maximum(np.sum(rates * of_rates, axis=0), 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.where(rates != 0.0, room / np.abs(rates), np.inf)
            mu = np.minimum(np.sqrt(2.0 * gap / kappa), np.min(reach, axis=0))
            radius = gap / mu + 0.5 * mu * kappa + 8.0 * EPS * of_g
            relative = gap / (0.5 * np.sum(squares, axis=0) + np.sum(losses, axis=0))
        known = is_feasible & np.isfinite(radius) & np.isfinite(g)
        return cls(
            np.where(known, -g, np.nan),
            np.where(known, radius, np.inf),
            np.where(is_feasible & np.isfinite(relative), relative, np.inf),
        )
