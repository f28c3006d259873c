"""Bounds on the exact left-out decision values, from machines without one sample.

Weak duality alone decides; nothing is assumed of the machines. For coefficients beta in their boxes
that add up to zero, and without sample i, with ``f = K beta + b`` as decision values::

    P = 1/2 beta'K beta + sum_{j /= i} loss_j        D = sum_j reward_j(beta_j) - 1/2 beta'K beta
    P - D = sum_{j /= i} (loss_j(f_j) + beta_j f_j - reward_j(beta_j)),   every term >= 0

If the exact machine had ``f(x_i) = c``, its objective would be at least the dual objective of the
problem with that condition, at ``beta + mu r`` for any direction r that adds up to zero, has
``r_i = 1`` and stays in the boxes::

    D + mu (g + c) - 1/2 mu^2 r'Kr,    g = sum_{j /= i} slope_j r_j - beta'K r

It is at most P. Hence ``|c + g| <= (P - D) / mu + 1/2 mu r'Kr`` for every such mu. The decision
values are rounded; the terms of P - D are convex in them, so that the larger of the two at the ends
of an interval around each value bounds the term.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from qpsvm.display import short_repr
from qpsvm.numerics.arrays import Dense, Index, Vector
from qpsvm.numerics.compensated import product
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
        correction: Callable[[Dense], Dense] | None = None,
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
        b : array of shape (m,)
            Their intercepts; zero without.
        balanced : bool
            Whether coefficients have to add up to zero.
        correction : callable, optional
            What ``K beta`` says is to be added to the coefficients, shape (m, n); beside them, as
            the sum would be rounded. With it ``K beta`` is a compensated product.
        """
        left = np.arange(len(samples)), samples
        beta, rates = np.clip(beta, stair.lowest, stair.upper), rates.copy()
        beta[left], rates[left] = 0.0, 1.0
        room, rest = _room(stair, beta), None
        if correction is not None:
            of_beta = product(K, beta.T).T
            rest = correction(of_beta)
            rest[left] = 0.0
            room -= np.abs(rest)
        if balanced:
            room[left] = -1.0
            widest = left[0], np.argmax(room, axis=1)
            excess = np.sum(beta, axis=1) if rest is None else _sums(beta, rest)
            (beta if rest is None else rest)[widest] -= excess
            rates[widest] -= np.sum(rates, axis=1)
            room[widest] -= np.abs(excess)
        room[left] = np.inf
        is_feasible = np.min(room, axis=1) >= 0.0
        if rest is None:
            of_beta = beta @ K.T
        else:
            of_beta += rest @ K.T
        f = of_beta + b[:, None]
        rounding = np.abs(of_beta)
        rounding += np.abs(b)[:, None]
        rounding += stair.sizes
        rounding *= 8.0 * EPS
        terms = stair.gaps(f, beta, rounding)
        excess = f - stair.kinks(beta)
        excess[left] = f[left]
        if rest is not None:
            terms += np.abs(rest) * (np.abs(excess) + rounding)
        terms[left] = 0.0
        gap = np.sum(terms, axis=1)
        g = -np.einsum("ij,ij->i", excess, rates)
        sizes = np.abs(rates)
        of_g = np.einsum("ij,ij->i", rounding, sizes)
        of_rates = rates @ K.T
        of_rates *= rates
        kappa = np.sum(of_rates, axis=1)
        kappa += 8.0 * EPS * np.sum(np.abs(of_rates, out=of_rates), axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.fmin.reduce(room / sizes, axis=1)  # none where both are zero
            mu = np.minimum(np.sqrt(2.0 * gap / kappa), reach)
            radius = gap / mu + 0.5 * mu * kappa + of_g
            dual = stair.rewards(beta) - 0.5 * np.einsum("ij,ij->i", beta, of_beta)
            relative = gap / (dual + gap)
        known = is_feasible & np.isfinite(radius) & np.isfinite(g)
        return cls(
            np.where(known, -g, np.nan),
            np.where(known, radius, np.inf),
            np.where(is_feasible & np.isfinite(relative), relative, np.inf),
        )


def _sums(beta: Dense, rest: Dense) -> Vector:
    """Sums of coefficients in two parts, shape (m,)."""
    ones = np.ones((1, beta.shape[1]))
    return np.asarray(product(ones, beta.T)[0] + np.sum(rest, axis=1))


def _room(stair: Staircase, beta: Dense) -> Dense:
    """Distances of coefficients to where the dual objective stops being quadratic, or feasible."""
    room = np.minimum(stair.upper - beta, beta - stair.lowest)
    # a coefficient that crosses zero changes its reward
    both = np.flatnonzero((stair.lowest < 0.0) & (stair.upper > 0.0))
    if len(both):
        room[:, both] = np.minimum(room[:, both], np.abs(beta[:, both]))
    return room
