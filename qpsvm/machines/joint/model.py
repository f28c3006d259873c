"""The machine with one decision function per class: both objectives, and the way between them.

With ``f_m(x) = w_m'phi(x) + b_m``, a sample of class ``y_i`` pays for the strongest of the others::

    1/2 sum_m (|w_m|^2 [+ b_m^2]) + sum_i C_i max_m (f_m(x_i) + 1 - [m = y_i] - f_{y_i}(x_i))

The maximum over m is one over a simplex, ``max_m c_m = max { p'c : p >= 0, 1'p = 1 }``, and the
dual variables of a sample are ``tau_im = C_i ([m = y_i] - p_m)``::

    sum_m tau_im = 0,     tau_im <= C_i [m = y_i],     w_m = sum_i tau_im phi(x_i)

A penalised intercept is the weight of a feature that is 1 everywhere: ``b_m = sum_i tau_im``.

Sources: Crammer and Singer, "On the algorithmic implementation of multiclass kernel-based vector
machines", *JMLR* 2 (2001), sections 4 and 5; Keerthi et al., "A sequential dual method for large
scale multi-class linear SVMs", KDD 2008, section 2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from qpsvm.data.training_sets import MulticlassTrainingSet
from qpsvm.display import short_repr
from qpsvm.exceptions import InvalidDataError
from qpsvm.kernels import Kernel, Linear
from qpsvm.kernels.gram import Gram
from qpsvm.kernels.indefinite import KernelRepair
from qpsvm.machines.accuracy import EPS, TINY
from qpsvm.machines.consistency import CANCELLING, follows_from_alpha, same_repair
from qpsvm.machines.exact_types import require_own_support, require_stored, same_data, same_kernel
from qpsvm.machines.joint import samples as joint_samples
from qpsvm.machines.joint.simplex import nearest_rows
from qpsvm.machines.joint.solution import JointSolution, alpha_unit
from qpsvm.machines.model import NO_MULTIPLIERS
from qpsvm.machines.samples import MarginSummary
from qpsvm.numerics.arrays import Dense, Vector, freeze, restore_frozen
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.qp.solution import QPSolution

if TYPE_CHECKING:
    from qpsvm.machines.problem import Form

JointIntercept: TypeAlias = Literal["none", "penalized"]


@short_repr
@dataclass(frozen=True, eq=False)
class JointModel:
    """Everything both forms of one training problem share.

    Attributes
    ----------
    data : MulticlassTrainingSet
    kernel : Kernel
        With every parameter a number.
    box : array of shape (n,)
        ``C_i``.
    intercept : "none" or "penalized"
    gram : LowRankQuadratic or KernelQuadratic
        K, without the constant of a penalised intercept.
    repair : KernelRepair or None
        What was done to an indefinite K.
    """

    data: MulticlassTrainingSet
    kernel: Kernel
    box: Vector
    intercept: JointIntercept
    gram: Gram
    repair: KernelRepair | None = None

    def __post_init__(self) -> None:
        freeze(self.box)

    def __setstate__(self, state: dict[str, Any]) -> None:
        restore_frozen(self, state)

    # --- what kind of problem it is --------------------------------------------------------------

    always_has_an_optimum = True
    is_hard = False
    unit = 1.0
    norm_curvature = 1.0
    objective_floor = 0.0  # w = 0 pays C_i for every sample: the optimum is above zero

    @property
    def is_linear(self) -> bool:
        """True when there are explicit weight vectors."""
        return isinstance(self.kernel, Linear)

    @property
    def constant(self) -> float:
        """What a penalised intercept adds to every entry of K."""
        return 1.0 if self.intercept == "penalized" else 0.0

    @property
    def n_classes(self) -> int:
        """Number of classes k."""
        return len(self.data.classes)

    @cached_property
    def own(self) -> Any:
        """``[m = y_i]``, bool array of shape (n, k)."""
        return freeze(self.data.codes[:, None] == np.arange(self.n_classes))

    @property
    def upper(self) -> Dense:
        """``C_i [m = y_i]``, shape (n, k)."""
        return np.where(self.own, self.box[:, None], 0.0)

    # --- the machine -----------------------------------------------------------------------------

    def kernel_product(self, V: Dense) -> Dense:
        """``K V`` for V of shape (n, k)."""
        if isinstance(self.gram, KernelQuadratic):
            return self.gram.gram.products(V)
        return np.column_stack([self.gram.matvec(column) for column in V.T])

    def prefetch(self, solution: JointSolution, point: Dense) -> None:
        """Nothing: the products of all classes are one pass each as it is."""
        del solution, point

    def coef(self, expansion: Dense) -> Dense | None:
        """``w_m = sum_i beta_im x_i``, shape (k, d), for the linear kernel; None for the others."""
        return np.asarray(self.data.X.T @ expansion).T if self.is_linear else None

    def intercepts(self, alpha: Dense) -> Vector:
        """``b_m = sum_i tau_im`` if penalised, else zero."""
        return np.asarray(self.constant * np.sum(alpha, axis=0))

    def decisions(self, solution: JointSolution) -> Dense:
        """``f_m(x_i)`` of the training samples, shape (n, k), from what predictions use."""
        if solution.coef is not None:
            return np.asarray(self.data.X @ solution.coef.T) + solution.intercept
        if solution.expansion is not None:
            return self.kernel_product(solution.expansion) + solution.intercept
        return np.full(self.own.shape, np.nan)

    def squared_size(self, coef: Dense | None, expansion: Dense | None, b: Vector) -> float:
        """``sum_m |w_m|^2 + sum_m b_m^2``; NaN without weights."""
        if coef is not None:
            square = np.sum(coef * coef)
        elif expansion is not None:
            square = np.maximum(np.sum(expansion * self.kernel_product(expansion)), 0.0)
        else:
            return math.nan
        return float(square + b @ b)

    def shortfall(self, decisions: Dense) -> Vector:
        """``max_{m != y_i} f_m(x_i) + 1 - f_{y_i}(x_i)``, shape (n,): the slack where positive."""
        best = np.max(decisions, axis=1, where=~self.own, initial=-np.inf)
        return np.asarray(best + 1.0 - decisions[self.own])

    def solution(
        self,
        qp: QPSolution,
        alpha: Dense,
        *,
        expansion: Dense | None,
        coef: Dense | None,
        intercept: Vector,
    ) -> JointSolution:
        """A JointSolution whose slack is exact for its weights."""
        draft = JointSolution(
            alpha=alpha,
            expansion=expansion,
            coef=coef,
            intercept=intercept,
            slack=np.zeros(self.data.n_samples),
            upper=self.box,
            kernel=self.kernel,
            data=self.data,
            qp=qp,
            repair=self.repair,
        )
        return draft.replace(slack=np.maximum(self.shortfall(self.decisions(draft)), 0.0))

    # --- the primal objective, for anything ------------------------------------------------------

    def primal_objective(self, solution: JointSolution) -> float:
        """The objective of the machine as it predicts; infinite for intercepts it does not have."""
        b = solution.intercept
        if self.intercept == "none" and np.any(b != 0.0):
            return math.inf
        slack = np.maximum(self.shortfall(self.decisions(solution)), 0.0)
        size = self.squared_size(solution.coef, solution.expansion, b)
        return 0.5 * size + float(self.box @ slack)

    def infeasibility(self, solution: JointSolution) -> float:
        """Zero: no condition must hold whatever it costs."""
        del solution
        return 0.0

    def rounding(self, solution: JointSolution, objective: float) -> float:
        """What rounding can add to the objective, relative to it.

        The error of a decision value is of the order of the rounding unit times the terms of its
        sum; a sample passes on those of two decision values, if it pays at all.
        """
        if solution.coef is not None:
            sizes = np.asarray(abs(self.data.X) @ np.abs(solution.coef).T)
            square = float(np.sum(solution.coef * solution.coef))
        elif solution.expansion is not None:
            v = np.abs(solution.expansion)
            norms = np.sqrt(np.abs(self.gram.diagonal()))  # |k(x, z)| <= |phi(x)| |phi(z)|
            positive = self.kernel.is_nonnegative
            sizes = self.kernel_product(v) if positive else np.outer(norms, norms @ v)
            square = float(np.sum(v * sizes))
        else:
            return math.inf
        errors = 2.0 * EPS * np.max(sizes + np.abs(solution.intercept) + 1.0, axis=1)
        pays = ~(self.shortfall(self.decisions(solution)) + errors <= 0.0)
        return (float(self.box @ (errors * pays)) + EPS * square) / max(abs(objective), TINY)

    def dual_rounding(self, solution: JointSolution, point: Dense) -> float:
        """What rounding can add to the dual objective of a point, absolute."""
        del solution
        v = np.abs(point)
        if self.is_linear:
            w = np.abs(np.asarray(self.coef(point)))
            square = 2.0 * float(np.sum(w * (abs(self.data.X).T @ v).T))
        else:
            norms = np.sqrt(np.abs(self.gram.diagonal()))
            square = float(np.sum((norms @ v) ** 2))
        square += self.constant * float(np.sum(np.sum(v, axis=0) ** 2))
        return EPS * (float(np.sum(v[self.own])) + 0.5 * square)

    # --- the dual objective, for anything --------------------------------------------------------

    def feasible_dual(self, alpha: Dense, multipliers: Vector = NO_MULTIPLIERS) -> Dense:
        """The nearest feasible tau, row by row."""
        del multipliers
        return nearest_rows(alpha, self.upper)

    def repair_size(self, alpha: Dense, point: Dense) -> float:
        """Largest change the repair made to an alpha, relative to ``alpha_unit``."""
        moved = np.abs(point - alpha) / alpha_unit(alpha, self.box)[:, None]
        return float(np.max(moved, initial=0.0))

    def dual_objective(self, point: Dense) -> float:
        """``sum_i tau_{i,y_i} - 1/2 (sum_m |w_m|^2 + sum_m b_m^2)`` for a feasible tau."""
        size = self.squared_size(self.coef(point), point, self.intercepts(point))
        return float(np.sum(point[self.own])) - 0.5 * size

    # --- what else a verifier asks ---------------------------------------------------------------

    def best_intercepts(self, solution: JointSolution) -> None:
        """None: the intercepts are weights like the others."""
        del solution

    def require_own(self, solution: JointSolution) -> None:
        """Raise InvalidDataError unless the solution is of this problem."""
        require_stored(solution, JointSolution)
        n, d, k = self.data.n_samples, self.data.n_features, self.n_classes
        shapes = {"alpha": (n, k), "expansion": (n, k), "coef": (k, d), "intercept": (k,)}
        for name, expected in shapes.items():
            value = getattr(solution, name)
            optional = name in ("expansion", "coef")
            if not (value is None and optional) and np.shape(value) != expected:
                raise InvalidDataError(
                    f"The solution's {name} has shape {np.shape(value)}, the problem needs "
                    f"{expected}; it belongs to another problem."
                )
        for what, same in (
            ("kernel", same_kernel(self.kernel, solution.kernel)),
            ("repair of the kernel", same_repair(solution.repair, self.repair)),
            ("set of training data", same_data(self.data, solution.data)),
            ("price C", np.array_equal(solution.upper, self.box)),
            ("kind of weights", solution.coef is None or self.is_linear),
        ):
            if not same:
                raise InvalidDataError(
                    f"The solution has another {what} than the problem; it belongs to another one."
                )
        require_own_support(solution)

    def sample_table(self, solution: JointSolution) -> joint_samples.ClassTable:
        """Every pair of a sample and a class, and its KKT case."""
        return joint_samples.class_table(self, solution)

    def summary(self, solution: JointSolution, table: joint_samples.ClassTable) -> MarginSummary:
        """The textbook figures."""
        del solution
        return joint_samples.class_summary(self, table)

    def implications(
        self, form: Form, solution: JointSolution, table: joint_samples.ClassTable, best: None
    ) -> Iterator[tuple[str, Any, Any]]:
        """What a solution states beside its weights, and what the weights imply."""
        del best
        yield "slack", solution.slack, table.slack[self.own.ravel()]
        if form == "dual" or follows_from_alpha(self):
            unit = alpha_unit(solution.alpha, self.box)[:, None]
            stated = math.nan if solution.expansion is None else solution.expansion / unit
            yield "expansion", stated, solution.alpha / unit
        elif self.is_linear:
            yield "expansion", 0.0 if solution.expansion is None else math.inf, 0.0

    def weights_difference(self, solution: JointSolution) -> float:
        """``|W - W(tau)| / |W|`` over all weights and intercepts: both describe one machine."""
        alpha, b = solution.alpha, solution.intercept
        apart = b - self.intercepts(alpha)
        implied = self.coef(alpha)
        if solution.coef is not None and implied is not None:
            distance = self.squared_size(solution.coef - implied, None, apart)
            terms = abs(self.data.X).T @ np.abs(alpha)
        elif solution.expansion is not None:
            distance = self.squared_size(None, solution.expansion - alpha, apart)
            terms = np.sqrt(np.abs(self.gram.diagonal())) @ np.abs(alpha)
        else:
            return math.inf
        own = math.sqrt(self.squared_size(solution.coef, solution.expansion, b))
        # an optimum of w = 0 is a sum that cancels: its rounding is that of its terms
        size = max(own, CANCELLING * float(np.linalg.norm(terms)), TINY)
        ratio = math.sqrt(distance) / size
        return ratio if math.isfinite(ratio) else math.inf
