"""Subdifferentials of losses: the coefficients that are optimal at a decision value.

A machine ``f_j = sum_l K_jl beta_l + b`` is optimal when ``-beta_j`` is a subgradient of the
loss of its sample at ``f_j``, for every sample::

    beta_j = U_j   where f_j < a_j         anything between where f_j = a_j
    beta_j = 0     where a_j < f_j < c_j   anything between where f_j = c_j
    beta_j = -D_j  where f_j > c_j

and, with a free intercept, ``sum_j beta_j = 0``. For the hinge loss of a positive sample a = 1,
U = C, and c is infinite; for a tube ``a = y - epsilon``, ``c = y + epsilon`` and U = D = C.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from qpsvm.direct.matrices import Features
from qpsvm.direct.program import DirectProgram
from qpsvm.direct.related import RelatedMachines
from qpsvm.display import short_repr
from qpsvm.machines.conditions import Conditions
from qpsvm.numerics.arrays import Dense, Index, Vector
from qpsvm.numerics.threads import one_blas_thread

AT_LOWEST, AT_C, AT_ZERO, AT_A, AT_UPPER = -2, -1, 0, 1, 2
"""Pieces of the graph of a subdifferential, from the smallest coefficient to the largest."""

BELOW = np.array([AT_C, AT_LOWEST, AT_A, AT_ZERO, AT_UPPER], dtype=np.int8)
ABOVE = np.array([AT_LOWEST, AT_ZERO, AT_C, AT_UPPER, AT_A], dtype=np.int8)
"""The step after the lower and after the upper end of each step, in the order of the names."""


@short_repr
@dataclass(frozen=True, eq=False)
class Subdifferential:
    """Subdifferentials of all samples' losses: ``beta_i`` as a step function of ``f(x_i)``.

    Attributes
    ----------
    a, c : arrays of shape (n,)
        Where beta falls to zero, and below it; infinite where it does not.
    upper, lowest : arrays of shape (n,), or (m, n)
        U and -D; of several machines one a row.
    """

    a: Vector
    c: Vector
    upper: Vector
    lowest: Vector

    @classmethod
    def of_conditions(cls, conditions: Conditions, n_samples: int) -> Subdifferential | None:
        """Subdifferentials of the samples' losses; None unless all losses are piecewise linear."""
        rows = conditions.rows
        one_each = bool((np.diff(rows.indptr) == 1).all() and (np.abs(rows.data) == 1.0).all())
        flat = not conditions.curvature.any() and not conditions.lower.any()
        if not one_each or not flat or conditions.width_sign or conditions.intercept_price:
            return None
        if conditions.norm_weight != 1.0 or not np.isfinite(conditions.upper).all():
            return None
        a, c = np.full(n_samples, -np.inf), np.full(n_samples, np.inf)
        upper, lowest = np.zeros((2, n_samples))
        above, sample = rows.data > 0.0, rows.indices
        if any(len(np.unique(sample[side])) < np.count_nonzero(side) for side in (above, ~above)):
            return None
        a[sample[above]], upper[sample[above]] = conditions.required[above], conditions.upper[above]
        c[sample[~above]] = -conditions.required[~above]
        lowest[sample[~above]] = -conditions.upper[~above]
        return cls(a, c, upper, lowest)

    def scaled(self, C: float | Dense) -> Subdifferential:
        """Multiply all losses by C, and with them the upper bounds of the coefficients.

        C is a number, or one for each machine, shape (m, 1).
        """
        return replace(self, upper=C * self.upper, lowest=C * self.lowest)

    def of(self, rows: Index | int | None) -> Subdifferential:
        """Select machines: some of them, one, or (None) a single machine as a row."""
        return replace(self, upper=self.upper[rows], lowest=self.lowest[rows])

    def without(self, samples: Index) -> Subdifferential:
        """Subdifferentials of m machines, each without one of m samples, whose losses are zero."""
        upper, lowest = (np.tile(box, (len(samples), 1)) for box in (self.upper, self.lowest))
        left = np.arange(len(samples)), samples
        upper[left] = lowest[left] = 0.0
        return replace(self, upper=upper, lowest=lowest)

    def solved(self, K: Dense, start: Vector, eps: float, *, is_free: bool = True) -> Vector:
        """Solve for the coefficients of one machine of a kernel matrix, from those of another.

        Parameters
        ----------
        K : array of shape (n, n)
            Positive semidefinite.
        start : array of shape (n,)
            Coefficients in their boxes that add up to zero.
        eps : float
            Relative duality gap at which to stop.
        is_free : bool
            Whether there is a free intercept.
        """
        signs, required, lower, upper, rows = self._conditions()
        related, v = RelatedMachines(K, signs, required, rows, is_free), start
        if rows is not None:
            v = np.concatenate([np.maximum(start, 0.0), np.minimum(start, 0.0)])
        return self._added(related.solved(lower, upper, v, eps))

    @one_blas_thread()
    @np.errstate(all="ignore")  # of what overflows there is no machine
    def solved_on_features(
        self, features: Features, eps: float, *, is_free: bool = True
    ) -> Vector | None:
        """Solve for the coefficients of one linear machine, by its weights; None if that fails."""
        *conditions, rows = self._conditions()
        given: Any = conditions
        found = DirectProgram.of(features, given, None, rows, is_free=is_free).solved(eps)
        return None if found is None else found.expansion

    def along(self, K: Dense, C: Vector, eps: float) -> Iterator[Vector]:
        """Yield the expansion coefficients of the optimal machine for each C, ascending."""
        signs, required, lower, upper, rows = self._conditions()
        related = RelatedMachines(K, signs, required, rows)
        for v in related.along(lower, upper, C.tolist(), eps):
            yield self._added(v)

    def _conditions(self) -> tuple[Vector, Vector, Vector, Vector, Index | None]:
        """The conditions of one machine: signs, what is required, boxes; samples, if two each."""
        signs, upper, rows = np.where(self.upper > 0.0, 1.0, -1.0), self.upper - self.lowest, None
        required = np.where(signs > 0.0, self.a, -self.c)
        if ((self.upper > 0.0) & (self.lowest < 0.0)).any():  # two variables for a sample
            n = len(self.a)
            rows, signs = np.tile(np.arange(n), 2), np.repeat([1.0, -1.0], n)
            upper = np.concatenate([self.upper, -self.lowest])
            required = np.concatenate([self.a, -self.c])
        required = np.where(upper > 0.0, required, 0.0)
        return signs, required, np.zeros(len(upper)), upper, rows

    def _added(self, v: Vector) -> Vector:
        n = len(self.a)
        return v if len(v) == n else v[:n] + v[n:]

    def steps(self, beta: Dense, share: float) -> Index:
        """Return the piece of the subdifferential on which each coefficient lies."""
        steps = np.full(beta.shape, AT_ZERO)
        steps[beta > share * self.upper] = AT_A
        steps[(self.upper > 0.0) & (beta >= (1.0 - share) * self.upper)] = AT_UPPER
        steps[beta < share * self.lowest] = AT_C
        steps[(self.lowest < 0.0) & (beta <= (1.0 - share) * self.lowest)] = AT_LOWEST
        return steps

    def fixed_values(self, steps: Index) -> Vector:
        """Fixed value of each step: the decision value if vertical, the coefficient if flat."""
        return np.asarray(self.values()[steps + 2, np.arange(len(steps))])

    def values(self) -> Dense:
        """Value of f or beta that each of the five optimality cases fixes, shape (5, n)."""
        return np.stack([self.lowest, self.c, np.zeros(len(self.a)), self.a, self.upper])

    @cached_property
    def ends(self) -> tuple[Dense, Dense]:
        """Lower and upper end of each of the five steps, shape (5, n).

        On a vertical step they are coefficients, on a flat one decision values.
        """
        inf, zero = np.full(len(self.a), np.inf), np.zeros(len(self.a))
        low = np.stack([self.c, self.lowest, self.a, zero, -inf])
        return low, np.stack([inf, zero, self.c, self.upper, self.a])

    @cached_property
    def kinks(self) -> Dense:
        """Decision values at the kinks of the losses, shape (2, n); 0 where there is no kink."""
        ends = np.array([self.a, self.c])
        return np.where(np.isfinite(ends), ends, 0.0)

    def gaps(self, f: Dense, beta: Dense, rounding: Dense) -> Dense:
        """Bound each sample's share of the gap, ``loss(f) + beta f - dual_linear_part(beta)``.

        It is zero where ``-beta`` is a subgradient, positive elsewhere; a step down at a costs ``U
        max(a - f, 0) + beta (f - a)``, the larger of ``beta (f - a)`` and ``(U - beta) (a - f)``.

        Parameters
        ----------
        f : array of shape (m, n)
            Decision values.
        beta : array of shape (m, n)
        rounding : array of shape (m, n)
            The exact differences of f from a and c are not farther from the computed ones.
        """
        a, c = self.kinks
        at_a = _gaps(f - a, np.maximum(beta, 0.0), self.upper, rounding)
        return at_a + _gaps(c - f, np.maximum(-beta, 0.0), -self.lowest, rounding)

    def steepest(self, f: Dense, beta: Dense, rounding: Dense) -> Vector:
        """Bound the distance of decision values from the kinks of their losses, per machine."""
        a, c = self.kinks
        distance = np.abs(np.where(beta > 0.0, a - f, c - f)) + rounding
        return np.asarray(np.max(distance, axis=1, initial=0.0, where=beta != 0.0))

    @cached_property
    def sizes(self) -> Vector:
        """The larger of the magnitudes of a and c, shape (n,)."""
        return np.asarray(np.max(np.abs(self.kinks), axis=0))

    def dual_linear_part(self, beta: Dense) -> Vector:
        """The linear part of the dual objective of several machines (rows)."""
        a, c = self.kinks
        return np.asarray(np.maximum(beta, 0.0) @ a + np.minimum(beta, 0.0) @ c)


def _gaps(distance: Dense, share: Dense, height: Vector, rounding: Dense) -> Dense:
    """Bound the duality gap of hinge losses at distances from the kink, for given coefficients."""
    above = distance + rounding
    above *= share
    below = rounding - distance
    below *= height - share
    return np.asarray(np.maximum(above, below, out=above))
