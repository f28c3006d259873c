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
from typing import TypeAlias

import numpy as np

from qpsvm.display import short_repr
from qpsvm.numerics.arrays import Dense, Index, Vector
from qpsvm.numerics.compensated import Total, product
from qpsvm.selection.settings import LEAVE_ONE_OUT
from qpsvm.selection.staircase import Staircase

Entries: TypeAlias = tuple[Index, Index]
"""One entry of each row of a matrix."""

Correction: TypeAlias = Callable[[Dense], tuple[Dense, Vector]]
"""From ``K beta`` to changes of the coefficients, shape (m, n), and of the intercepts, (m,)."""


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
        correction: Correction | None = None,
    ) -> LeftOutBounds:
        """Bound left-out decision values from machines that are nearly optimal.

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
        correction : Correction, optional
            Its changes are kept beside the coefficients, as sums of both would be rounded, and
            ``K beta`` is a compensated product.
        """
        left = np.arange(len(samples)), samples
        beta, rates = np.clip(beta, stair.lowest, stair.upper), rates.copy()
        beta[left], rates[left] = 0.0, 1.0
        room = stair.room(beta)
        room[left] = -1.0
        widest = (left[0], np.argmax(room, axis=1)) if balanced else None
        if correction is None:
            at = _Machines.rounded(K, stair, beta, b, left, widest)
        else:
            at = _Machines.refined(K, stair, beta, b, left, widest, correction)
        if widest is not None:
            rates[widest] -= np.sum(rates, axis=1)
            room[widest] = stair.room(at.beta)[widest]
        if at.rest is not None:
            room -= np.abs(at.rest)
        room[left] = np.inf
        gap = at.gap(stair, left)
        sizes = np.abs(rates)
        g = -np.einsum("ij,ij->i", at.excess, rates)
        of_g = np.einsum("ij,ij->i", at.rounding, sizes)
        of_g += (
            LEAVE_ONE_OUT.rounding * np.abs(b) * np.sum(sizes, axis=1)
        )  # the sum of rates is rounded
        of_rates = rates @ K.T
        of_rates *= rates
        kappa = np.sum(of_rates, axis=1)
        kappa += LEAVE_ONE_OUT.rounding * np.sum(np.abs(of_rates, out=of_rates), axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.fmin.reduce(room / sizes, axis=1)  # none where both are zero
            mu = np.minimum(np.sqrt(2.0 * gap / kappa), reach)
            radius = gap / mu + 0.5 * mu * kappa + of_g
            dual = stair.rewards(at.beta) - 0.5 * np.einsum("ij,ij->i", at.beta, at.of_beta)
            relative = gap / (dual + gap)
        is_feasible = np.min(room, axis=1) >= 0.0
        known = is_feasible & np.isfinite(radius) & np.isfinite(g)
        return cls(
            np.where(known, -g, np.nan),
            np.where(known, radius, np.inf),
            np.where(is_feasible & np.isfinite(relative), relative, np.inf),
        )


@dataclass(frozen=True, eq=False)
class _Machines:
    """Machines, one a row, and the distances of their decision values from the kinks.

    Attributes
    ----------
    beta : array of shape (m, n)
    rest : array of shape (m, n) or None
        To be added to beta.
    of_beta : array of shape (m, n)
        ``K (beta + rest)``.
    excess : array of shape (m, n)
        ``f - kink``; of the left-out samples f.
    rounding : array of shape (m, n)
        Estimated error of the excess.
    """

    beta: Dense
    rest: Dense | None
    of_beta: Dense
    excess: Dense
    rounding: Dense

    @classmethod
    def rounded(
        cls,
        K: Dense,
        stair: Staircase,
        beta: Dense,
        b: Vector,
        left: Entries,
        widest: Entries | None,
    ) -> _Machines:
        """The machines of coefficients in 16 digits."""
        if widest is not None:
            beta[widest] -= np.sum(beta, axis=1)
        of_beta = beta @ K.T
        excess = of_beta + b[:, None]
        own = excess[left]
        excess -= stair.kinks(beta)
        excess[left] = own
        rounding = np.abs(of_beta)
        rounding += np.abs(b)[:, None]
        rounding += stair.sizes
        rounding *= LEAVE_ONE_OUT.rounding
        return cls(beta, None, of_beta, excess, rounding)

    @classmethod
    def refined(
        cls,
        K: Dense,
        stair: Staircase,
        beta: Dense,
        b: Vector,
        left: Entries,
        widest: Entries | None,
        correction: Correction,
    ) -> _Machines:
        """The machines of coefficients in two parts, the second from a correction."""
        total, rest = Total((len(K), len(beta))), np.zeros(beta.shape)
        total.add(K, beta.T)
        if widest is not None:
            rest[widest] -= product(np.ones((1, len(K))), beta.T)[0]
            total.add_terms(K @ rest.T)
        change, of_b = correction(total.value.T)
        change[left] = 0.0
        if widest is not None:
            change[widest] -= np.sum(change, axis=1)
        rest += change
        total.add_terms(K @ change.T)
        of_beta = np.ascontiguousarray(total.value.T)
        kinks = np.array(np.broadcast_to(stair.kinks(beta), beta.shape))
        kinks[left] = 0.0
        for terms in (b, of_b, -kinks.T):
            total.add_terms(np.broadcast_to(terms, total.value.shape))
        excess = np.ascontiguousarray(total.value.T)
        root = np.sqrt(np.diagonal(K))  # abs(K_jl) <= root_j root_l
        terms = root * (np.abs(beta) @ root)[:, None] + np.abs(b)[:, None] + stair.sizes
        rounding = LEAVE_ONE_OUT.rounding * (np.abs(excess) + LEAVE_ONE_OUT.compensated * terms)
        return cls(beta, rest, of_beta, excess, rounding)

    def gap(self, stair: Staircase, left: Entries) -> Vector:
        """``P - D``, shape (m,)."""
        terms = stair.gaps(self.excess, self.beta, self.rounding)
        if self.rest is not None:
            terms += np.abs(self.rest) * (np.abs(self.excess) + self.rounding)
        terms[left] = 0.0
        return np.asarray(np.sum(terms, axis=1))
