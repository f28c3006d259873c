"""Both objectives of a training problem, and the way from dual variables to weights.

``conditions`` has the problem that is solved here. With ``f(x_i) = g_i + b`` and, for a kernel
without explicit features, ``w = sum_i beta_i phi(x_i)``, ``|w|^2 = beta'K beta`` and
``g = K beta``, stationarity gives the machine that belongs to dual variables a::

    w = 1/kappa sum_k a_k sum_i R_ki phi(x_i),   that is  beta = R'a / kappa

Constraints ``G (w, b) <= h``, ``A (w, b) = b_eq`` with multipliers z and y subtract ``G'z + A'y``
from ``X'R'a`` and ``h'z + b_eq'y`` from the dual objective.

Sources: Cortes and Vapnik, "Support-vector networks", *Machine Learning* 20 (1995); Schoelkopf and
Smola, *Learning with Kernels* (2002), chapters 7 to 9; for the kernel primal Chapelle, *Neural
Computation* 19 (2007), section 3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from qpsvm.constraints import LinearConstraints
from qpsvm.data.training_sets import TrainingSet
from qpsvm.display import short_repr
from qpsvm.kernels import Kernel, Linear
from qpsvm.kernels.gram import Gram
from qpsvm.kernels.indefinite import KernelRepair
from qpsvm.machines.conditions import Conditions, squared_spread
from qpsvm.machines.losses import losses
from qpsvm.machines.offsets import best_offsets
from qpsvm.machines.repair import sums_hold, with_sum, with_width
from qpsvm.machines.solution import SVMSolution, alpha_unit
from qpsvm.numerics.arrays import Vector, restore_frozen
from qpsvm.numerics.precision import EPS, TINY
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.qp.quadratic import Quadratic

SMALL_WEIGHTS = 1e-3
"""Where the optimum may be exactly zero, a gap relative to it would ask for more digits than its
terms have. An objective is then no less than that of weights this much smaller than the samples
allow."""

SMALL_MOVE = 1e-2
"""The same where w = 0 is known to be optimal: weights that move a decision value by this share of
a unit."""

SMALLEST_MARGIN = 1e-100
"""Weights with a smaller margin count as not separating: their squares would underflow."""

NO_MULTIPLIERS: Vector = np.zeros(0)


@short_repr
@dataclass(frozen=True, eq=False)
class DualPoint:
    """Dual variables.

    Attributes
    ----------
    alpha : array of shape (N,)
    constraint_multipliers : array of shape (m,)
        z of the inequalities, then y of the equalities.
    """

    alpha: Vector
    constraint_multipliers: Vector = field(default_factory=lambda: NO_MULTIPLIERS)


@short_repr
@dataclass(frozen=True, eq=False)
class PrimalDualPair:
    """Everything both forms of one training problem share.

    Attributes
    ----------
    data : TrainingSet
    kernel : Kernel
        With every parameter a number.
    conditions : Conditions
    gram : LowRankQuadratic or KernelQuadratic
        K, without the constant of a penalised intercept: certificates are computed from it, and
        taking the constant off again would leave only the digits of K that survived adding it.
    repair : KernelRepair or None
        What was done to an indefinite K.
    constraints : LinearConstraints or None
        On (w, b), with one column more than the samples.
    """

    data: TrainingSet
    kernel: Kernel
    conditions: Conditions
    gram: Gram
    repair: KernelRepair | None = None
    constraints: LinearConstraints | None = None

    def __setstate__(self, state: dict[str, Any]) -> None:
        restore_frozen(self, state)

    # --- what kind of problem it is --------------------------------------------------------------

    @property
    def intercept(self) -> str:
        """``"free"``, ``"penalized"`` or ``"none"``."""
        return self.conditions.intercept

    @property
    def constant(self) -> float:
        """What a penalised intercept adds to every entry of K."""
        return 1.0 if self.intercept == "penalized" else 0.0

    @property
    def is_hard(self) -> bool:
        """True when no slack is allowed: a hard margin."""
        return self.conditions.all_hard

    @property
    def is_linear(self) -> bool:
        """True when there is an explicit weight vector."""
        return isinstance(self.kernel, Linear)

    @property
    def always_has_an_optimum(self) -> bool:
        """False where the data or the constraints can leave nothing feasible."""
        return not self.is_hard and self.constraints is None

    @property
    def intercept_is_constrained(self) -> bool:
        """True when a constraint involves b: its best value then depends on more than losses."""
        return self.constraints is not None and bool(np.any(self.constraints.intercept_column))

    @property
    def n_constraints(self) -> int:
        """Rows of constraints on (w, b)."""
        return 0 if self.constraints is None else len(self.constraints)

    @property
    def n_inequalities(self) -> int:
        """How many of them are inequalities; these come first."""
        return 0 if self.constraints is None else len(self.constraints.h)

    @property
    def n_weights(self) -> int:
        """Length of w, or of beta without explicit features."""
        return self.data.n_features if self.is_linear else self.data.n_samples

    def dual_hessian(self) -> Quadratic:
        """``R (K + constant) R' / kappa + diag(d)``, what solvers of the dual are given."""
        c = self.conditions
        if c.selection is None:
            return self.gram.combine(c.rows, c.curvature)
        signs, index = c.selection
        if c.norm_weight != 1.0:
            signs = signs / math.sqrt(c.norm_weight)
        return self.gram.select(signs, index, c.curvature, constant=self.constant)

    # --- the machine -----------------------------------------------------------------------------

    def kernel_product(self, v: Vector) -> Vector:
        """``K v``."""
        return self.gram.matvec(v)

    def prefetch(self, solution: SVMSolution, point: DualPoint) -> None:
        """Evaluate a kernel that is not stored once, for all the products a certificate needs."""
        beta = solution.expansion
        if beta is not None and isinstance(self.gram, KernelQuadratic):
            vectors = [beta, self.expansion(point.alpha)]
            if self.kernel.is_nonnegative:  # the terms of the sums, see ``accuracy``
                vectors += [np.abs(beta), np.abs(vectors[1])]
            self.gram.gram.products(np.column_stack(vectors))

    def expansion(self, alpha: Vector) -> Vector:
        """``beta = R'a / kappa``, shape (n,)."""
        return np.asarray(self.conditions.rows.T @ alpha) / self.conditions.norm_weight

    def coef(self, expansion: Vector, multipliers: Vector = NO_MULTIPLIERS) -> Vector | None:
        """``weights`` for the linear kernel, None for the others."""
        return self.weights(expansion, multipliers) if self.is_linear else None

    def weights(self, expansion: Vector, multipliers: Vector = NO_MULTIPLIERS) -> Vector:
        """``w = X'beta - (G'z + A'y) / kappa``."""
        if isinstance(self.gram, LowRankQuadratic):
            w = self.gram.weights(expansion)  # knows an offset that all samples share
        else:
            w = np.asarray(self.data.X.T @ expansion)
        if self.constraints is None or multipliers.size == 0:
            return w
        pull = np.asarray(self.constraints.rows[:, :-1].T @ multipliers)
        return w - pull / self.conditions.norm_weight

    def scores_and_norm(self, solution: SVMSolution) -> tuple[Vector, float]:
        """Decision values without the intercept, shape (n,), and ``|w|^2``.

        From ``coef`` when there is one, because that is what predictions use.
        """
        if solution.coef is not None:
            return np.asarray(self.data.X @ solution.coef), float(solution.coef @ solution.coef)
        if solution.expansion is None:
            return np.full(self.data.n_samples, np.nan), np.nan
        scores = self.kernel_product(solution.expansion)
        return scores, float(solution.expansion @ scores)

    def row_values(self, scores: Vector, b: float) -> Vector:
        """``R f``, shape (N,): what each condition looks at."""
        c = self.conditions
        return np.asarray(c.rows @ scores) + c.signs * b

    def violations(self, scores: Vector, b: float, t: float) -> Vector:
        """``v = p - R f - e t``, shape (N,): above zero where a condition is missed."""
        c = self.conditions
        return c.required - self.row_values(scores, b) - c.width * t

    # --- the primal objective, for anything ------------------------------------------------------

    def primal_objective(self, solution: SVMSolution) -> float:
        """The objective of the machine as it predicts, whatever it is.

        For a hard margin, an infeasible (w, b) is scaled up until its smallest margin is 1 (the
        objective of the scaled point, infinite when some sample is on the wrong side). Otherwise
        conditions and constraints that must hold do not enter: ``infeasibility`` measures them.
        Infinite for a b or t that the program does not have.
        """
        c = self.conditions
        b, t = solution.intercept, solution.width
        if (self.intercept == "none" and b != 0.0) or (not c.width and t != 0.0) or t < 0.0:
            return math.inf
        scores, norm = self.scores_and_norm(solution)
        size = self.penalty(solution, norm)
        if self.is_hard and self.constraints is None:
            smallest = float(np.min(self.row_values(scores, b) / c.required))
            if not smallest > SMALLEST_MARGIN:
                return math.inf
            return size / min(1.0, smallest) ** 2
        v = self.violations(scores, b, t)
        cost = float(np.sum(losses(v, c.lower, c.upper, c.curvature)[~c.is_hard]))
        return size + c.intercept_price * b + c.width_price * t + cost

    def penalty(self, solution: SVMSolution, norm: float) -> float:
        """``kappa/2 |w|^2``, plus ``1/2 b^2`` for a penalised intercept."""
        b = solution.intercept
        return 0.5 * (self.conditions.norm_weight * max(norm, 0.0) + self.constant * b * b)

    # --- the dual objective, for anything --------------------------------------------------------

    def feasible_dual(self, alpha: Vector, multipliers: Vector = NO_MULTIPLIERS) -> DualPoint:
        """The nearest thing to a dual point that is feasible.

        Clip to the box; then move the sums that have to have a value there (``(R 1)'a``, ``1'a``),
        see ``repair``. Where feasible points form a cone, the best multiple is taken:
        ``t = p'a / a'Pa``.
        """
        c = self.conditions
        a: Vector = np.minimum(np.maximum(alpha, c.lower), c.upper)
        mu = np.array(multipliers, dtype=np.float64)
        price = c.intercept_price
        mu[: self.n_inequalities] = np.maximum(mu[: self.n_inequalities], 0.0)
        price += self.constrained_price(mu)
        if c.width:
            a = with_width(a, c, price)
        elif self.intercept == "free":
            a = with_sum(a, c.lower, c.upper, c.signs, price)
        if c.is_cone:
            point = DualPoint(a, mu)
            # along the ray s -> s (a, mu) the dual objective is s linear - s^2/2 square
            linear, square = self._linear_part(point), self._square_part(point)
            if linear > 0.0 and square > 0.0:
                a, mu = a * (linear / square), mu * (linear / square)
        return DualPoint(a, mu)

    def constrained_price(self, multipliers: Vector) -> float:
        """What the constraints add to ``(R 1)'a``."""
        if self.constraints is None or multipliers.size == 0:
            return 0.0
        return float(self.constraints.intercept_column @ multipliers)

    def _linear_part(self, point: DualPoint) -> float:
        value = float(self.conditions.required @ point.alpha)
        if self.constraints is not None:
            value -= float(self.constraints.right @ point.constraint_multipliers)
        return value

    def _square_part(self, point: DualPoint) -> float:
        """``kappa |w|^2 + d'a^2``, plus the square of a penalised intercept."""
        c = self.conditions
        beta = self.expansion(point.alpha)
        w = self.coef(beta, point.constraint_multipliers)
        norm = float(w @ w) if w is not None else float(beta @ self.kernel_product(beta))
        b = float(c.signs @ point.alpha) - self.constrained_price(point.constraint_multipliers)
        curved = float((c.curvature * point.alpha) @ point.alpha)
        return c.norm_weight * norm + self.constant * b * b + curved

    def dual_objective(self, point: DualPoint) -> float:
        """``p'a - h'z - b_eq'y - 1/2 (kappa |w|^2 + d'a^2)`` for a feasible point."""
        price = self.conditions.intercept_price
        price += self.constrained_price(point.constraint_multipliers)
        if not sums_hold(point.alpha, self.conditions, price):
            return -math.inf  # the box does not allow what the multipliers ask for
        return self._linear_part(point) - 0.5 * self._square_part(point)

    # --- what figures are measured in ------------------------------------------------------------

    @cached_property
    def unit(self) -> float:
        """What violations are measured in."""
        c = self.conditions
        return c.unit * squared_spread(self.gram) if c.relative_to_spread else c.unit

    def unit_of(self, row_values: Vector) -> float:
        """``unit``, unless constraints keep the decision values far below the samples' spread."""
        if self.constraints is None or not self.conditions.relative_to_spread:
            return self.unit
        return max(min(self.unit, float(np.max(np.abs(row_values)))), TINY)

    @property
    def norm_curvature(self) -> float:
        """kappa: the objective minus ``kappa/2 |w|^2`` is convex."""
        return self.conditions.norm_weight

    def repair_size(self, alpha: Vector, point: DualPoint) -> float:
        """Largest change the repair made to an alpha, relative to ``alpha_unit``."""
        moved = (point.alpha - alpha) / alpha_unit(alpha, self.conditions)
        return float(np.max(np.abs(moved), initial=0.0))

    @cached_property
    def objective_floor(self) -> float:
        """The certified gap is relative to the objective, but to no less than this.

        Zero where the optimum is above zero, which it is unless w = 0 costs nothing; never above
        the 1 of the usual ``max(1, |objective|)``.
        """
        c = self.conditions
        if self.constraints is not None:
            return 0.0  # they set a scale of their own
        if c.relative_to_spread:
            # the objective of a w as large as the samples allow, but for the intercept
            return min(1.0, 0.5 * SMALL_WEIGHTS**2 * c.unit * self.unit)
        if self.is_hard or not self._zero_weights_are_optimal():
            return 0.0
        # the objective of a w that moves some decision value by that share of a unit
        largest = max(float(np.max(np.abs(self.gram.diagonal()))), TINY)
        # np.square: the square of a large unit is infinite, not an OverflowError
        return float(min(1.0, 0.5 * c.norm_weight * np.square(SMALL_MOVE * c.unit) / largest))

    def _zero_weights_are_optimal(self) -> bool:
        """Whether w = 0 costs no more than rounding: all targets fit into the tube."""
        c, nothing = self.conditions, np.zeros(self.data.n_samples)
        interval, t = best_offsets(self, nothing, 0.0, 0.0)
        b = interval.midpoint
        noise = 4.0 * EPS * (np.abs(c.required) + abs(b) + t)
        bounds = (c.lower, c.upper, c.curvature)
        cost = float(np.sum(losses(self.violations(nothing, b, t), *bounds)[~c.is_hard]))
        allowed = float(np.sum(losses(noise, *bounds)[~c.is_hard]))
        return abs(c.intercept_price * b + c.width_price * t) + cost <= allowed

    def slack(self, v: Vector) -> Vector:
        """What costs of every violation: ``max(0, v)``, or ``|v|`` for two-sided losses."""
        return np.where(self.conditions.lower < 0.0, np.abs(v), np.maximum(v, 0.0))
