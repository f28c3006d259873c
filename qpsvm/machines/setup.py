"""Data and kernel of a training problem, with the maps from dual variables to weights.

``conditions`` has the problem that is solved here. With ``f(x_i) = g_i + b`` and, for a kernel
without explicit features, ``w = sum_i beta_i phi(x_i)``, ``|w|^2 = beta'K beta`` and
``g = K beta``, stationarity gives the machine that belongs to dual variables a::

    w = 1/kappa sum_k a_k sum_i R_ki phi(x_i),   that is  beta = R'a / kappa

Constraints ``G (w, b) <= h``, ``A (w, b) = b_eq`` with multipliers z and y subtract ``G'z + A'y``
from ``X'R'a``.

Sources: Cortes and Vapnik, "Support-vector networks", *Machine Learning* 20 (1995); Schoelkopf and
Smola, *Learning with Kernels* (2002), chapters 7 to 9.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from qpsvm.constraints import LinearConstraints
from qpsvm.data.training_sets import TrainingSet
from qpsvm.display import short_repr
from qpsvm.kernels import Kernel, Linear
from qpsvm.kernels.errors import EntryErrors, diagonal_errors
from qpsvm.kernels.gram import Gram
from qpsvm.kernels.kernel_repair import KernelRepair
from qpsvm.machines.conditions import Conditions, squared_spread
from qpsvm.machines.norms import SQUARED, Norm
from qpsvm.machines.score_errors import exact_kernel, training_errors
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arrays import Dense, Vector, restore_frozen
from qpsvm.numerics.precision import TINY
from qpsvm.numerics.rows import SampleProducts, common_offset, sample_products, sum_of_rows
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.qp.quadratic import Quadratic

NO_MULTIPLIERS: Vector = np.zeros(0)


@short_repr
@dataclass(frozen=True, eq=False)
class DecisionValues:
    """Decision values of a machine on the training samples.

    Attributes
    ----------
    solution : SVMSolution
    scores : array of shape (n,)
        ``w'phi(x_i)``: decision values without the intercept. NaN without weights.
    square : float
        ``|w|^2``.
    """

    solution: SVMSolution
    scores: Vector
    square: float


@short_repr
@dataclass(frozen=True, eq=False)
class TrainingSetup:
    """Data, kernel, conditions and constraints of one training problem.

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
    norm : Norm
        Of the weights, in the objective.
    """

    data: TrainingSet
    kernel: Kernel
    conditions: Conditions
    gram: Gram
    repair: KernelRepair | None = None
    constraints: LinearConstraints | None = None
    norm: Norm = SQUARED

    def __setstate__(self, state: dict[str, object]) -> None:
        restore_frozen(self, state)

    # --- what kind of problem it is --------------------------------------------------------------

    @property
    def intercept(self) -> str:
        """``"free"``, ``"penalized"`` or ``"none"``."""
        return self.conditions.intercept

    @property
    def constant(self) -> float:
        """The number that a penalised intercept adds to every entry of K."""
        return 1.0 if self.conditions.intercept == "penalized" else 0.0

    @property
    def is_hard(self) -> bool:
        """Return whether no slack is allowed: a hard margin."""
        return self.conditions.all_hard

    @property
    def is_linear(self) -> bool:
        """Return whether there is an explicit weight vector."""
        return isinstance(self.kernel, Linear)

    @property
    def always_has_an_optimum(self) -> bool:
        """Return whether an optimum exists for all data: no hard margin and no constraints."""
        return not self.is_hard and self.constraints is None

    @property
    def intercept_is_constrained(self) -> bool:
        """Return whether a constraint involves b."""
        return self.constraints is not None and bool(np.any(self.constraints.intercept_column))

    @property
    def n_constraints(self) -> int:
        """Number of constraints on (w, b)."""
        return 0 if self.constraints is None else len(self.constraints)

    @property
    def n_inequalities(self) -> int:
        """Number of constraints that are inequalities; these come first."""
        return 0 if self.constraints is None else len(self.constraints.h)

    @property
    def n_weights(self) -> int:
        """Length of w, or of beta without explicit features."""
        return self.data.n_features if self.is_linear else self.data.n_samples

    def dual_hessian(self) -> Quadratic:
        """Hessian of the dual program, ``R (K + constant) R' / kappa + diag(d)``."""
        c = self.conditions
        if c.selection is None:
            return self.gram.combine(c.rows, c.curvature)
        signs, index = c.selection
        if c.norm_weight != 1.0:
            signs = signs / math.sqrt(c.norm_weight)
        return self.gram.select(signs, index, c.curvature, constant=self.constant)

    @cached_property
    def kernel_errors(self) -> EntryErrors | None:
        """Bounds on the errors of the kernel matrix; None where the matrix itself is the data."""
        return training_errors(self)

    @cached_property
    def diagonal_errors(self) -> Vector:
        """Bounds on the errors of ``k(x_i, x_i)``, shape (n,)."""
        kernel, values = exact_kernel(self), self.gram.diagonal()
        if kernel is None:
            return np.zeros(len(values))
        return diagonal_errors(kernel, self.data.X, values)

    # --- from dual variables to violations -------------------------------------------------------

    def kernel_product(self, v: Vector) -> Vector:
        """``K v``."""
        return self.gram.matvec(v)

    def kernel_products(self, V: Dense, W: Dense) -> tuple[Dense, Dense]:
        """Multiply two sets of vectors by the kernel matrix K of the samples, in one pass over K.

        Returns ``K V`` and ``K W`` for V and W of shapes (n, m) and (n, p). The sums of ``K W`` are
        not compensated: K and W are non-negative.
        """
        if isinstance(self.gram, KernelQuadratic):
            return self.gram.gram.products_and_sizes(V, W)
        products = np.zeros(V.shape), np.zeros(W.shape)
        for factor, product in zip((V, W), products, strict=True):
            for k, column in enumerate(factor.T):
                product[:, k] = self.gram.matvec(column)
        return products

    def expansion(self, alpha: Vector) -> Vector:
        """``beta = R'a / kappa``, shape (n,)."""
        return self.conditions.sample_sums(alpha) / self.conditions.norm_weight

    def coef(self, expansion: Vector, multipliers: Vector = NO_MULTIPLIERS) -> Vector | None:
        """Weights of the features for the linear kernel, None for the others."""
        return self.weights(expansion, multipliers) if self.is_linear else None

    def weights(self, expansion: Vector, multipliers: Vector = NO_MULTIPLIERS) -> Vector:
        """``w = X'beta - (G'z + A'y) / kappa``."""
        return self.constrained(sum_of_rows(self.data.X, expansion, self.offset), multipliers)

    def constrained(self, weights: Vector, multipliers: Vector) -> Vector:
        """``w - (G'z + A'y) / kappa`` for the weights ``w = X'beta`` of the samples alone."""
        if self.constraints is None or multipliers.size == 0:
            return weights
        constraint_part = np.asarray(self.constraints.rows[:, :-1].T @ multipliers)
        return weights - constraint_part / self.conditions.norm_weight

    def constrained_sizes(self, sizes: Vector, multipliers: Vector) -> Vector:
        """Add the absolute terms of ``(G'z + A'y) / kappa`` to those of weights, shape (d,)."""
        if self.constraints is None:
            return sizes
        terms = abs(self.constraints.rows[:, :-1]).T @ np.abs(multipliers)
        return sizes + np.asarray(terms) / self.conditions.norm_weight

    def sample_products(
        self, w: Vector | None, expansions: Sequence[Vector], terms: Sequence[Vector]
    ) -> SampleProducts:
        """Products of the samples with weights and expansions, in one pass over the samples."""
        return sample_products(self.data.X, w, expansions, terms, self.offset)

    @cached_property
    def offset(self) -> Vector | None:
        """The large offset that all samples share, shape (d,), or None."""
        return common_offset(self.data.X)

    def decision_values(
        self, solution: SVMSolution, product: Vector | None = None
    ) -> DecisionValues:
        """Evaluate the decision function of a solution on the training samples.

        From ``coef`` when there is one, because that is what predictions use, otherwise from the
        expansion. ``product`` is ``X coef`` or ``K expansion``, where it is known already.
        """
        if solution.coef is not None:
            scores = np.asarray(self.data.X @ solution.coef) if product is None else product
            return DecisionValues(solution, scores, float(solution.coef @ solution.coef))
        if solution.expansion is None:
            return DecisionValues(solution, np.full(self.data.n_samples, np.nan), np.nan)
        scores = self.kernel_product(solution.expansion) if product is None else product
        return DecisionValues(solution, scores, float(solution.expansion @ scores))

    def row_values(self, scores: Vector, b: float) -> Vector:
        """``R f``, the value that each condition is about, shape (N,)."""
        c = self.conditions
        return c.row_sums(scores) + c.signs * b

    def violations(self, scores: Vector, b: float, t: float) -> Vector:
        """``v = p - R f - e t``, positive where a condition is violated, shape (N,)."""
        c = self.conditions
        return c.required - (c.row_sums(scores) + c.signs * b) - c.width_sign * t

    def slack(self, v: Vector) -> Vector:
        """The slack of every violation v: ``max(0, v)``, or ``|v|`` for two-sided losses."""
        return np.where(self.conditions.lower < 0.0, np.abs(v), np.maximum(v, 0.0))

    # --- the unit of violations ------------------------------------------------------------------

    @cached_property
    def mean_products(self) -> Vector:
        """Products of the samples with their mean in feature space, shape (n,)."""
        n = self.gram.size
        return self.gram.matvec(np.full(n, 1.0 / n))

    @cached_property
    def unit(self) -> float:
        """Unit of violations."""
        c = self.conditions
        return (
            c.unit * squared_spread(self.gram.diagonal(), self.mean_products)
            if c.relative_to_spread
            else c.unit
        )

    def unit_of(self, row_values: Vector) -> float:
        """Unit of violations, smaller where constraints keep all decision values small."""
        if self.constraints is None or not self.conditions.relative_to_spread:
            return self.unit
        return max(min(self.unit, float(np.max(np.abs(row_values)))), TINY)
