"""Primal and dual objective of a training problem, for any weights and dual variables.

With the conditions of ``conditions`` and the maps of ``setup``, the primal objective is
``kappa/2 |w|^2`` plus linear terms and losses, the dual one ``p'a - 1/2 (kappa |w|^2 + d'a^2)``.
Constraints ``G (w, b) <= h``, ``A (w, b) = b_eq`` with multipliers z and y subtract
``h'z + b_eq'y`` from the dual objective.

Sources: Cortes and Vapnik, "Support-vector networks", *Machine Learning* 20 (1995); Schoelkopf and
Smola, *Learning with Kernels* (2002), chapters 7 to 9; for the kernel primal Chapelle, *Neural
Computation* 19 (2007), section 3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from qpsvm.display import short_repr
from qpsvm.machines.conditions import losses
from qpsvm.machines.repair import sums_hold, with_sum, with_width
from qpsvm.machines.score_errors import spread_lower
from qpsvm.machines.settings import MACHINES
from qpsvm.machines.setup import NO_MULTIPLIERS, DecisionValues, TrainingSetup
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.precision import EPS, TINY


@short_repr
@dataclass(frozen=True, eq=False)
class DualPoint:
    """A point of the dual problem: alpha, and the multipliers of the constraints.

    Attributes
    ----------
    alpha : array of shape (N,)
    constraint_multipliers : array of shape (m,)
        z of the inequalities, then y of the equalities.
    """

    alpha: Vector
    constraint_multipliers: Vector = field(default_factory=lambda: NO_MULTIPLIERS)

    def equals(self, other: DualPoint) -> bool:
        """Return whether all variables are the same numbers."""
        return np.array_equal(self.alpha, other.alpha) and np.array_equal(
            self.constraint_multipliers, other.constraint_multipliers
        )


@short_repr
@dataclass(frozen=True, eq=False)
class ColumnSizes:
    """Sums over the samples of the absolute terms of weights ``X'beta``, for each feature.

    Attributes
    ----------
    of_entries : array of shape (d,)
        ``|X|' |beta|``.
    of_terms : array of shape (d,)
        ``|X|' |R|' |a| / kappa``: where dual variables of one sample cancel, beta is smaller than
        what it is a difference of.
    """

    of_entries: Vector
    of_terms: Vector


@short_repr
@dataclass(frozen=True, eq=False)
class DualWeights:
    """Weights that dual variables imply, with products of theirs.

    Attributes
    ----------
    expansion : array of shape (n,)
        ``beta = R'a / kappa``.
    coef : array of shape (d,) or None
        w, for the linear kernel.
    square : float
        ``|w|^2``.
    column_sizes : ColumnSizes or None
        Sizes of the terms of ``X'beta``; for the linear kernel, if evaluated.
    """

    expansion: Vector
    coef: Vector | None
    square: float
    column_sizes: ColumnSizes | None = None


class PrimalDualPair(TrainingSetup):
    """Primal and dual objective of one training problem; see ``TrainingSetup`` for its parts."""

    # --- the primal objective, for anything ------------------------------------------------------

    def primal_objective(self, values: DecisionValues) -> float:
        """Primal objective of the stored machine, feasible or not.

        For a hard margin, an infeasible (w, b) is scaled up until its smallest margin is 1 (the
        objective of the scaled point, infinite when some sample is on the wrong side). Otherwise
        conditions and constraints that must hold do not enter: ``infeasibility`` measures them.
        Infinite for a b or t that the program does not have.
        """
        c = self.conditions
        solution, scores = values.solution, values.scores
        b, t = solution.intercept, solution.width
        if (c.intercept == "none" and b != 0.0) or (not c.width_sign and t != 0.0) or t < 0.0:
            return math.inf
        size = self.penalty(solution, values.square)
        if self.is_hard and self.constraints is None:
            smallest = float(np.min(self.row_values(scores, b) / c.required))
            if not smallest > MACHINES.smallest_margin:
                return math.inf
            return size / min(1.0, smallest) ** 2
        v = self.violations(scores, b, t)
        cost = float(np.sum(losses(v, c.lower, c.upper, c.curvature)[~c.is_hard]))
        return float(size + c.intercept_price * b + c.width_price * t + cost)

    def penalty(self, solution: SVMSolution, square: float) -> float:
        """``kappa/2 |w|^2`` or ``|w|_1``, plus ``1/2 b^2`` or ``|b|`` of a penalised intercept."""
        weights, b = solution.coef if self.is_linear else solution.expansion, solution.intercept
        return self.norm.penalty(weights, square, self.conditions.norm_weight, self.constant * b)

    # --- the dual objective, for anything --------------------------------------------------------

    def feasible_dual(self, alpha: Vector, multipliers: Vector = NO_MULTIPLIERS) -> DualPoint:
        """Map dual variables to a dual point nearby that is feasible.

        Clip to the box; then move the sums that have to have a value there (``(R 1)'a``, ``1'a``),
        see ``repair``. Where feasible points form a cone, the best multiple is taken:
        ``t = p'a / a'Pa``; where ``adjoint`` is bounded, what exceeds the bound is scaled down.
        """
        c = self.conditions
        a: Vector = np.minimum(np.maximum(alpha, c.lower), c.upper)
        mu = np.array(multipliers, dtype=np.float64)
        balance = c.intercept_price
        mu[: self.n_inequalities] = np.maximum(mu[: self.n_inequalities], 0.0)
        balance += self.balance_of_constraints(mu)
        if c.width_sign:
            a = with_width(a, c, balance)
        elif c.intercept == "free":
            a = with_sum(a, c.lower, c.upper, c.signs, balance)
        if c.is_cone:
            point = DualPoint(a, mu)
            # along the ray s -> s (a, mu) the dual objective is s linear - s^2/2 square
            linear = self._linear_part(point)
            square = self.dual_square(point, self.dual_weights(point))
            if linear > 0.0 and square > 0.0:
                a, mu = a * (linear / square), mu * (linear / square)
        if not self.norm.weights_follow:
            largest = float(np.max(np.abs(self.adjoint(DualPoint(a, mu)))))
            if not largest <= 1.0:
                a, mu = a / largest, mu / largest
        return DualPoint(a, mu)

    def adjoint(self, point: DualPoint) -> Vector:
        """The adjoint of the conditions, applied to dual variables.

        ``(X'R'a - G'z - A'y) / kappa``, or ``K R'a / kappa`` without explicit features; followed by
        the entry of a penalised intercept.
        """
        beta = self.expansion(point.alpha)
        if self.is_linear:
            of_weights = self.weights(beta, point.constraint_multipliers)
        else:
            of_weights = self.kernel_product(beta)
        return np.append(of_weights, [self._dual_intercept(point)] if self.constant else [])

    def _dual_intercept(self, point: DualPoint) -> float:
        """``(R 1)'a`` less the contribution of the constraints: b(a), if b is penalised."""
        total = float(self.conditions.signs @ point.alpha)
        return total - self.balance_of_constraints(point.constraint_multipliers)

    def balance_of_constraints(self, multipliers: Vector) -> float:
        """Contribution of the constraints' multipliers to ``(R 1)'a``."""
        if self.constraints is None or multipliers.size == 0:
            return 0.0
        return float(self.constraints.intercept_column @ multipliers)

    def _linear_part(self, point: DualPoint) -> float:
        value = float(self.conditions.required @ point.alpha)
        if self.constraints is not None:
            value -= float(self.constraints.right @ point.constraint_multipliers)
        return value

    def dual_weights(self, point: DualPoint) -> DualWeights:
        """Compute the weights that dual variables imply."""
        beta = self.expansion(point.alpha)
        w = self.coef(beta, point.constraint_multipliers)
        square = float(w @ w) if w is not None else float(beta @ self.kernel_product(beta))
        return DualWeights(beta, w, square)

    def dual_square(self, point: DualPoint, weights: DualWeights) -> float:
        """``kappa |w|^2 + d'a^2``, plus the square of a penalised intercept."""
        c, square = self.conditions, weights.square
        b = self.constant * self._dual_intercept(point)
        curved = float((c.curvature * point.alpha) @ point.alpha)
        return self.norm.dual_penalty(square, c.norm_weight, b) + curved

    def dual_value(self, point: DualPoint, weights: DualWeights) -> float:
        """``p'a - h'z - b_eq'y - 1/2 (kappa |w|^2 + d'a^2)`` for a feasible point.

        ``weights`` are the point's own.
        """
        balance = self.conditions.intercept_price
        balance += self.balance_of_constraints(point.constraint_multipliers)
        if not sums_hold(point.alpha, self.conditions, balance):
            return -math.inf  # the box does not allow what the multipliers ask for
        return self._linear_part(point) - 0.5 * self.dual_square(point, weights)

    # --- what figures are measured in ------------------------------------------------------------

    @property
    def norm_curvature(self) -> float:
        """Modulus of strong convexity of the objective in w: kappa, or 0 for a 1-norm."""
        return self.norm.curvature(self.conditions.norm_weight)

    @cached_property
    def objective_floor(self) -> float:
        """Lower limit of the scale of the relative gap; zero if the optimum is surely positive.

        Zero where the optimum is above zero, which it is unless w = 0 costs nothing; never above
        the 1 of the usual ``max(1, |objective|)``.
        """
        c = self.conditions
        if self.n_constraints and (c.relative_to_spread or not self._zero_weights_are_allowed):
            return 0.0  # constraints set a scale of their own
        if c.relative_to_spread:
            # the objective of a w as large as the samples allow, but for the intercept
            spread = spread_lower(
                self.exact_kernel, self.kernel_errors, self.gram, self.mean_products
            )
            return min(1.0, 0.5 * MACHINES.smallest_weights**2 * c.unit * c.unit * spread)
        if self.is_hard or not self._zero_weights_are_optimal():
            return 0.0
        # the objective of a w that moves some decision value by that share of a unit
        largest = max(float(np.max(np.abs(self.gram.diagonal()))), TINY)
        # np.square: the square of a large unit is infinite, not an OverflowError
        return float(
            min(1.0, 0.5 * c.norm_weight * np.square(MACHINES.least_change * c.unit) / largest)
        )

    @property
    def _zero_weights_are_allowed(self) -> bool:
        """Return whether w = 0 satisfies the constraints, whatever b is."""
        rules = self.constraints
        if rules is None:
            return True
        equal = rules.right[self.n_inequalities :]
        return bool(
            not np.any(rules.intercept_column)
            and (rules.right[: self.n_inequalities] >= 0.0).all()
            and (equal == 0.0).all()
        )

    def _zero_weights_are_optimal(self) -> bool:
        """Return whether w = 0 costs no more than rounding."""
        c, nothing = self.conditions, np.zeros(self.data.n_samples)
        interval, t = self.best_offsets(nothing, 0.0)
        b = interval.midpoint
        noise = 4.0 * EPS * (np.abs(c.required) + abs(b) + t)
        bounds = (c.lower, c.upper, c.curvature)
        cost = float(np.sum(losses(self.violations(nothing, b, t), *bounds)[~c.is_hard]))
        allowed = float(np.sum(losses(noise, *bounds)[~c.is_hard]))
        return abs(c.intercept_price * b + c.width_price * t) + cost <= allowed
