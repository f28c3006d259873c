"""Data and kernel of a training problem, with the maps from dual variables to weights.

``conditions`` has the problem that is solved here. With ``f(x_i) = g_i + b`` and, for a kernel
without explicit features, ``w = sum_i beta_i phi(x_i)``, ``|w|^2 = beta'K beta`` and
``g = K beta``, stationarity gives the machine that belongs to dual variables a::

    w = 1/kappa sum_k a_k sum_i R_ki phi(x_i),   that is  beta = R'a / kappa

Constraints ``G (w, b) <= h``, ``A (w, b) = b_eq`` with multipliers z and y subtract ``G'z + A'y``
from ``X'R'a``.

``KernelSetup`` has what these problems share with those that have one decision function per class.

Sources: Cortes and Vapnik, "Support-vector networks", *Machine Learning* 20 (1995); Schoelkopf and
Smola, *Learning with Kernels* (2002), chapters 7 to 9.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Self, TypeAlias

import numpy as np

from qpsvm.constraints import LinearConstraints
from qpsvm.data.training_sets import TrainingSet
from qpsvm.display import short_repr
from qpsvm.kernels import RBF, Kernel, Linear, Polynomial
from qpsvm.kernels.errors import EntryErrors, diagonal_errors, entry_errors, gram_errors
from qpsvm.kernels.gram import Gram
from qpsvm.kernels.kernel_repair import KernelRepair
from qpsvm.machines.conditions import Conditions, squared_spread
from qpsvm.machines.intercept import Interval, offsets_of_conditions
from qpsvm.machines.norms import SQUARED, Norm
from qpsvm.machines.prediction import KernelMachine
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arrays import Dense, Vector, restore_frozen
from qpsvm.numerics.precision import TINY
from qpsvm.numerics.rows import common_offset, sum_of_rows
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.qp.quadratic import Quadratic
from qpsvm.qp.solution import QPSolution, Status

Form: TypeAlias = Literal["primal", "dual"]

Implication: TypeAlias = tuple[str, float | Vector, float | Vector]
"""The name of a quantity, as a solution states it, and as its weights imply it."""

NO_MULTIPLIERS: Vector = np.zeros(0)


@short_repr
@dataclass(frozen=True, eq=False)
class DecisionValues:
    """Decision values of a machine on the training samples.

    Attributes
    ----------
    solution : SVMSolution or JointSolution
    scores : array of shape (n,), or (n, k) with one decision function per class
        ``w'phi(x_i)``: decision values without the intercept. NaN without weights.
    square : float
        ``|w|^2``, summed up over decision functions.
    """

    solution: Any
    scores: Dense
    square: float

    @property
    def decisions(self) -> Dense:
        """``f(x_i)``, of the shape of the scores."""
        return np.asarray(self.scores + self.solution.intercept)

    def of(self, solution: KernelMachine) -> Self:
        """Attach these values to another solution with equal weights and dual variables."""
        return replace(self, solution=solution)


class KernelSetup:
    """Data and kernel of a training problem, with one decision function or one per class.

    ``SupportVectorModel`` derives from it, the model of every family with one decision function,
    and ``JointModel``, that of a program with one per class. A solution may come from any source,
    and nothing it says about itself is believed: ``evaluate`` takes it to the training samples
    once, and everything else a verifier asks is a function of that evaluation.

    Attributes
    ----------
    data : TrainingSet
    kernel : Kernel
        With every parameter a number.
    gram : LowRankQuadratic or KernelQuadratic
        K, without the constant of a penalised intercept: certificates are computed from it, and
        taking the constant off again would leave only the digits of K that survived adding it.
    repair : KernelRepair or None
        What was done to an indefinite K.
    """

    data: TrainingSet
    kernel: Kernel
    gram: Gram
    repair: KernelRepair | None
    evaluate: Callable[..., Any]

    __setstate__ = restore_frozen

    @property
    def is_linear(self) -> bool:
        """Return whether there are explicit weights of the features."""
        return isinstance(self.kernel, Linear)

    @property
    def exact_kernel(self) -> Kernel | None:
        """The kernel function that defines K; None where the stored matrix itself is the data."""
        kernel = self.kernel
        known = type(kernel) in (Linear, Polynomial, RBF) and kernel.is_positive_semidefinite
        return kernel if known and self.repair is None else None

    @cached_property
    def kernel_errors(self) -> EntryErrors | None:
        """Bounds on the errors of the kernel matrix; None where the matrix itself is the data."""
        kernel, gram = self.exact_kernel, self.gram
        if kernel is None:
            return None
        with np.errstate(all="ignore"):
            if isinstance(gram, KernelQuadratic):
                return gram_errors(kernel, gram.gram)
            return entry_errors(kernel, gram.samples, gram.samples)

    @property
    def negative_bound(self) -> float:
        """A delta with ``K + delta I`` positive semidefinite; 0 where K itself is."""
        return self.gram.gram.negative_bound if isinstance(self.gram, KernelQuadratic) else 0.0

    def kernel_product(self, V: Dense) -> Dense:
        """``K V`` for V of shape (n,) or (n, k)."""
        return self.gram.matvec(V) if V.ndim == 1 else self.kernel_products(V, V[:, :0])[0]

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

    def decision_values(
        self, solution: KernelMachine, product: Dense | None = None
    ) -> DecisionValues:
        """Evaluate the decision function of a solution on the training samples.

        From ``coef`` when there is one, because that is what predictions use, otherwise from the
        expansion. ``product`` is ``X coef`` or ``K expansion``, where it is known already.
        """
        own, beta = solution.coef, solution.expansion
        if own is not None:
            scores = np.asarray(self.data.X @ own.T) if product is None else product
            return DecisionValues(solution, scores, float(np.vdot(own, own)))
        if beta is None:
            shape = self.data.n_samples, *np.shape(solution.intercept)
            return DecisionValues(solution, np.full(shape, np.nan), np.nan)
        scores = self.kernel_product(beta) if product is None else product
        return DecisionValues(solution, scores, float(np.vdot(beta, scores)))


@short_repr
@dataclass(frozen=True, eq=False)
class TrainingSetup(KernelSetup):
    """Data, kernel, conditions and constraints of one training problem.

    Attributes
    ----------
    data, kernel, gram, repair
        As for ``KernelSetup``.
    conditions : Conditions
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

    # --- what kind of problem it is --------------------------------------------------------------

    @property
    def intercept(self) -> str:
        """``"free"``, ``"penalized"`` or ``"none"``."""
        return self.conditions.intercept

    @property
    def constant(self) -> float:
        """The number that a penalised intercept adds to every entry of K."""
        return 1.0 if self.intercept == "penalized" else 0.0

    @property
    def is_hard(self) -> bool:
        """Return whether no slack is allowed: a hard margin."""
        return self.conditions.all_hard

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
        signs, index = c.signs, c.selection.index
        if c.norm_weight != 1.0:
            signs = signs / math.sqrt(c.norm_weight)
        return self.gram.select(signs, index, c.curvature, constant=self.constant)

    @cached_property
    def diagonal_errors(self) -> Vector:
        """Bounds on the errors of ``k(x_i, x_i)``, shape (n,)."""
        kernel, values = self.exact_kernel, self.gram.diagonal()
        if kernel is None:
            return np.zeros(len(values))
        return diagonal_errors(kernel, self.data.X, values)

    # --- from dual variables to violations -------------------------------------------------------

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

    @cached_property
    def offset(self) -> Vector | None:
        """The large offset that all samples share, shape (d,), or None."""
        return common_offset(self.data.X)

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

    def best_offsets(self, scores: Vector, b: float) -> tuple[Interval, float]:
        """Find the interval of intercepts that are optimal for given weights, and the best width t.

        ``b`` is the program's own, used where it is not a matter of the losses alone: for a
        penalised intercept, and where a constraint involves b.
        """
        c = self.conditions
        free = c.intercept == "free" and not self.intercept_is_constrained
        fixed = 0.0 if free or c.intercept == "none" else b
        if not free and not c.width_sign:
            return Interval(fixed, fixed), 0.0
        targets = self.violations(scores, fixed, 0.0)
        return offsets_of_conditions(c, targets, fixed, is_free=free)

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


def stated_solution(
    model: TrainingSetup, alpha: Vector, intercept: float, **stated: Any
) -> SVMSolution:
    """Build a solution from stated numbers; what is not stated is to be computed later.

    Parameters
    ----------
    model : TrainingSetup
    alpha : array of shape (N,)
    intercept : float
    **stated
        Other fields of an ``SVMSolution``. By default there are no weights and multipliers of
        constraints, width and slack are zero, and the program's solution has status UNKNOWN.
    """
    fields: dict[str, Any] = {
        "expansion": None,
        "coef": None,
        "intercept_interval": Interval(intercept, intercept),
        "width": 0.0,
        "slack": np.zeros(len(model.conditions)),
        "constraint_multipliers": NO_MULTIPLIERS,
        "qp": QPSolution(Status.UNKNOWN),
    }
    return SVMSolution(
        alpha=alpha,
        intercept=intercept,
        conditions=model.conditions,
        kernel=model.kernel,
        data=model.data,
        repair=model.repair,
        **(fields | stated),
    )
