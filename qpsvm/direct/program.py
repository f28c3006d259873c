r"""A machine on a whole kernel matrix: steps of pairs, and a certificate from the same arrays.

With ``v = p - R f - s b`` and ``f = K R'a`` the dual point a implies the weights, so the duality
gap is the sum of ``loss(v) + d/2 a^2 - a v`` over the conditions (``machines.complementarity``).
Each term is taken at the worse end of the error of its v, kernel values included. What is certified
depends on a and K alone, and on nothing that the solver said.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from qpsvm.direct.settings import DIRECT
from qpsvm.kernels.errors import EntryErrors
from qpsvm.machines.intercept import Interval
from qpsvm.machines.settings import MACHINES
from qpsvm.native import Losses, Status, descend_pairs, expansion
from qpsvm.numerics.arrays import Dense, Index, Vector
from qpsvm.numerics.balls import UNDERFLOW, gamma, n_terms
from qpsvm.numerics.precision import EPS, TINY

SUMMED = 1.0 + 2.0**-30
"""Covers the rounding of sums of terms that are not negative."""


class Certified(NamedTuple):
    """A machine with a bound on its excess over the optimum.

    Parameters
    ----------
    alpha, expansion : arrays of shape (N,) and (n,)
    values : array of shape (n,)
        Decision values without intercept.
    interval : Interval
        The best intercepts.
    objective : float
        Of the primal program.
    relative_gap : float
        Bound on the objective minus the optimum, errors of kernel values and rounding included,
        relative to a lower bound on the objective.
    violation : float
        Largest distance of a variable from its KKT case.
    steps : int
        Steps of pairs.
    """

    alpha: Vector
    expansion: Vector
    values: Vector
    interval: Interval
    objective: float
    relative_gap: float
    violation: float
    steps: int

    def passes(self, eps: float) -> bool:
        """Return whether the certified gap is within ``eps``, and every variable near its case."""
        is_small = self.relative_gap <= DIRECT.gap_share * eps
        return is_small and self.violation <= DIRECT.natural_share * math.sqrt(eps)


@dataclass(frozen=True, eq=False)
class ValueErrors:
    """Bounds on what kernel values and stored weights add to the errors of decision values.

    The error of ``f_i`` is at most ``relative_i (|K| |beta|)_i + left_i right'|beta|``.

    Attributes
    ----------
    relative, left, right : arrays of shape (n,)
    weights : float
        Where weights are stored in place of beta: their distance from ``X'beta`` is at most this
        times ``right'|beta|``.
    """

    relative: Vector
    left: Vector
    right: Vector
    weights: float = 0.0

    @classmethod
    def of_kernel(cls, errors: EntryErrors) -> ValueErrors:
        """The bounds for kernel values with these errors."""
        of_columns = float(np.max(errors.columns, initial=0.0))
        relative = SUMMED * (errors.rows + (1.0 + errors.rows) * of_columns)
        return cls(relative, errors.left, errors.right)

    @classmethod
    def of_products(cls, X: Dense, K: Dense) -> ValueErrors:
        """The bounds for ``K = X X'`` and weights ``X'beta``."""
        norms = SUMMED * np.sqrt(np.abs(np.diagonal(K)))
        share = gamma(n_terms(X) + len(X) + 16)
        return cls(np.zeros(len(X)), 3.0 * share * norms, norms, share)

    def of_part(self, samples: Index) -> ValueErrors:
        """The bounds for some of the samples."""
        relative, left, right = self.relative[samples], self.left[samples], self.right[samples]
        return ValueErrors(relative, left, right, self.weights)


@dataclass(frozen=True, eq=False)
class DirectProgram:
    """The dual of a machine in arrays: conditions on the samples of a kernel matrix.

    Attributes
    ----------
    K : array of shape (n, n)
    errors : ValueErrors
    losses : Losses
        The conditions with their losses; ``losses.rows`` are the samples of a tube's conditions.
    signs : array of shape (N,)
        -1 and 1.
    is_free : bool
        Whether the intercept is free: then ``signs'a = 0``.
    constant : float
        1 for a penalised intercept, else 0.
    unit : float
        Of violations.
    """

    K: Dense
    errors: ValueErrors
    losses: Losses
    signs: Vector
    is_free: bool
    constant: float = 0.0
    unit: float = 1.0

    @cached_property
    def flat(self) -> float:
        """Slopes of the objective in b that count as zero, as for ``machines.intercept``."""
        own = self.losses
        ends = np.maximum(np.abs(own.lower), np.abs(own.upper))
        return len(ends) * EPS * float(np.sum(ends)) if own.curved is None else 0.0

    def solved(self, eps: float) -> Certified | None:
        """Minimise by steps of pairs until a certificate passes; return the last certificate.

        None where values overflow. A machine that does not pass is left to the general way.
        """
        own, signs = self.losses, self.signs
        n, rows = len(signs), own.rows
        is_positive = signs > 0.0
        v, g = np.zeros(n), -signs * own.required
        box = (
            np.where(is_positive, own.lower, -own.upper),
            np.where(is_positive, own.upper, -own.lower),
        )
        tolerance = DIRECT.tolerance * eps * max(float(np.max(np.abs(own.required))), TINY)
        left, found = DIRECT.steps_per_variable * n, None
        for _ in range(DIRECT.certificates):
            steps = descend_pairs(
                self.K if rows is None else self.K.reshape(-1),
                v,
                g,
                *box,
                kept="sum" if self.is_free else "none",
                tol=tolerance,
                max_steps=left,
                added=own.curved,
                constant=self.constant,
                offsets=None if rows is None else rows * self.K.shape[1],
                columns=rows,
            )
            left -= steps.steps
            if steps.status not in (Status.DONE, Status.STALLED) or not np.isfinite(v).all():
                return found
            taken = DIRECT.steps_per_variable * n - left
            found = self.certified(signs * v + 0.0, taken)  # no negative zeros
            if found is None or found.passes(eps) or steps.status is Status.STALLED:
                return found
            tolerance *= DIRECT.tighter
        return found

    def certified(self, alpha: Vector, steps: int = 0) -> Certified | None:
        """Bound the excess of the machine that dual variables imply; None where it overflows.

        Parameters
        ----------
        alpha : array of shape (N,)
            In the box.
        steps : int
            For the record.
        """
        own, n = self.losses, len(self.K)
        terms = self.signs * alpha
        beta = terms if own.rows is None else np.bincount(own.rows, terms, n).astype(np.float64)
        used = np.flatnonzero(beta)
        values, sizes = expansion(self.K, used, beta[used])
        if not np.isfinite(sizes).all():
            return None
        size = np.abs(beta)
        reach = float(self.errors.right @ size)
        errors = (gamma(len(used) + 2) + self.errors.relative) * sizes + self.errors.left * reach
        errors = SUMMED * errors + TINY * (1.0 + float(np.sum(size)))
        if self.is_free:
            interval = Interval(*own.best_intercepts(values, flat=self.flat))
        else:
            b = float(self.constant * np.sum(terms))
            interval = Interval(b, b)
        b = interval.midpoint
        if not math.isfinite(b):
            return None
        bounds = own.bounds(values, errors, alpha, b, unit=self.unit)
        square = float(beta @ values)
        objective = 0.5 * square + bounds.losses + 0.5 * self.constant * b * b
        upper = bounds.gap + MACHINES.price_roundings * EPS * abs(objective)
        if self.is_free:
            upper += 2.0 * abs(bounds.balance * b)
        elif self.constant:
            upper += 0.5 * (b - bounds.balance) ** 2
        upper += 0.5 * self._apart(alpha, reach) ** 2
        lost = bounds.passed_on
        lost += float(size @ (errors + len(used) * EPS * np.abs(values)))
        smallest = max(objective - SUMMED * lost, TINY)
        relative = (SUMMED * upper + UNDERFLOW) / smallest
        return Certified(
            alpha, beta, values, interval, objective, relative, bounds.violation, steps
        )

    def _apart(self, alpha: Vector, reach: float) -> float:
        """Bound the distance of the weights from those that alpha implies, by rounding of sums."""
        apart, rows = self.errors.weights * reach, self.losses.rows
        if rows is not None:  # beta is a rounded difference
            terms = np.bincount(rows, np.abs(alpha), len(self.K))
            apart += 2.0 * EPS * float(np.sqrt(np.abs(np.diagonal(self.K))) @ terms)
        return apart
