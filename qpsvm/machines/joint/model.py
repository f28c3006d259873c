"""Training problem of the machine with one decision function per class: objectives, KKT conditions.

With ``f_m(x) = w_m'phi(x) + b_m``, a sample of class ``y_i`` pays for the strongest of the others::

    1/2 sum_m (|w_m|^2 [+ b_m^2]) + sum_i C_i max_m (f_m(x_i) + 1 - [m = y_i] - f_{y_i}(x_i))

The maximum over m is one over a simplex, ``max_m c_m = max { p'c : p >= 0, 1'p = 1 }``, and the
dual variables of a sample are ``tau_im = C_i ([m = y_i] - p_m)``::

    sum_m tau_im = 0,     tau_im <= C_i [m = y_i],     w_m = sum_i tau_im phi(x_i)

A penalised intercept is the weight of a feature that is 1 everywhere: ``b_m = sum_i tau_im``.

The table has one row per sample and class. In the row of sample i and another class m, the margin
``f_{y_i}(x_i) - f_m(x_i)`` is asked to reach 1, and alpha is ``tau_im <= 0``: at the optimum it is
zero unless no class comes nearer than m. The row of the sample's own class sums them up: its margin
is the smallest of the others, its alpha ``tau_{i,y_i} = -sum_m tau_im``, which is below ``C_i``
only where that margin reaches 1. All of it says that tau_i minimises over its set T_i (rows that
sum to zero, below their bounds). The violation is the natural residual of that, in units of both::

    violation_im = | tau_im/u - t_im |,     u = min(C_i, max |tau|)
    t_i = nearest point of T_i/u to tau_i/u - g_i,     g_im = f_m(x_i) - [m = y_i]

Sources: Crammer and Singer, "On the algorithmic implementation of multiclass kernel-based vector
machines", *JMLR* 2 (2001), sections 4 and 5; Keerthi et al., "A sequential dual method for large
scale multi-class linear SVMs", KDD 2008, section 2; Facchinei and Pang, *Finite-Dimensional
Variational Inequalities*, section 1.5.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from qpsvm.data.training_sets import MulticlassTrainingSet
from qpsvm.display import Column, short_repr
from qpsvm.exceptions import InvalidDataError
from qpsvm.kernels import Kernel
from qpsvm.kernels.gram import Gram
from qpsvm.kernels.kernel_repair import KernelRepair
from qpsvm.machines import accuracy
from qpsvm.machines.conditions import alpha_unit
from qpsvm.machines.consistency import follows_from_alpha, require_same_problem
from qpsvm.machines.evaluation import Evaluation, hessian_product, kernel_sums
from qpsvm.machines.exact_types import require_own_properties
from qpsvm.machines.joint.solution import JointSolution
from qpsvm.machines.norms import SQUARED
from qpsvm.machines.primal_dual import ColumnSizes, DualPoint, DualWeights
from qpsvm.machines.repair import nearest_rows
from qpsvm.machines.samples import MarginSummary, SampleTable
from qpsvm.machines.score_errors import product_errors, sums_of_rows_errors
from qpsvm.machines.settings import MACHINES
from qpsvm.machines.setup import NO_MULTIPLIERS, Form, Implication, KernelSetup
from qpsvm.numerics.arguments import Labels
from qpsvm.numerics.arrays import Dense, Mask, Vector, freeze
from qpsvm.numerics.precision import EPS, TINY
from qpsvm.numerics.threads import one_blas_thread
from qpsvm.qp.solution import QPSolution

JointIntercept: TypeAlias = Literal["none", "penalized"]


@dataclass(frozen=True, eq=False, repr=False)
class ClassTable(SampleTable):
    """One row per sample and class, the classes of a sample together.

    Attributes
    ----------
    against : array of shape (N,)
        The label of the class the sample is told from; its own in the row that sums them up.
    """

    against: Labels

    def columns(self) -> dict[str, Column]:
        return super().columns() | {"against": self.against}


@short_repr
@dataclass(frozen=True, eq=False)
class JointModel(KernelSetup):
    """Data, ``C_i`` and kernel of one training problem, with what a verifier asks of its solutions.

    Attributes
    ----------
    data, kernel, gram, repair
        As for ``KernelSetup``.
    box : array of shape (n,)
        ``C_i``.
    intercept : "none" or "penalized"
    """

    data: MulticlassTrainingSet
    kernel: Kernel
    box: Vector
    intercept: JointIntercept
    gram: Gram
    repair: KernelRepair | None = None

    def __post_init__(self) -> None:
        freeze(self.box)

    hessian_product = hessian_product
    indefinite_term_bound = accuracy.indefinite_term_bound
    repair_size = accuracy.repair_size
    always_has_an_optimum = True
    is_hard = False
    unit = 1.0
    norm = SQUARED
    norm_curvature = 1.0
    constraints = None
    objective_floor = 0.0  # w = 0 pays C_i for every sample: the optimum is above zero

    @property
    def constant(self) -> float:
        """The number that a penalised intercept adds to every entry of K."""
        return 1.0 if self.intercept == "penalized" else 0.0

    @property
    def n_classes(self) -> int:
        """Number of classes k."""
        return len(self.data.classes)

    @cached_property
    def own(self) -> Mask:
        """``[m = y_i]``, bool array of shape (n, k)."""
        return np.asarray(freeze(self.data.codes[:, None] == np.arange(self.n_classes)))

    @property
    def upper(self) -> Dense:
        """``C_i [m = y_i]``, shape (n, k)."""
        return np.where(self.own, self.box[:, None], 0.0)

    # --- the machine and its objectives ----------------------------------------------------------

    def coef(self, expansion: Dense) -> Dense | None:
        """``w_m = sum_i beta_im x_i``, shape (k, d), for the linear kernel; None for the others."""
        return np.asarray(self.data.X.T @ expansion).T if self.is_linear else None

    def intercepts(self, alpha: Dense) -> Vector:
        """``b_m = sum_i tau_im`` if penalised, else zero."""
        return np.asarray(self.constant * np.sum(alpha, axis=0))

    def shortfall(self, decisions: Dense) -> Vector:
        """``max_{m != y_i} f_m(x_i) + 1 - f_{y_i}(x_i)``, shape (n,): the slack where positive."""
        best = np.max(decisions, axis=1, where=~self.own, initial=-np.inf)
        return np.asarray(best + 1.0 - decisions[self.own])

    def feasible_dual(self, alpha: Dense, multipliers: Vector = NO_MULTIPLIERS) -> DualPoint:
        """Project tau onto the feasible set, row by row."""
        return DualPoint(nearest_rows(alpha, self.upper), multipliers)

    def dual_weights(self, tau: Dense) -> DualWeights:
        """The weights that dual variables imply; of a kernel machine their square is not known."""
        coef = self.coef(tau)
        if coef is None:
            return DualWeights(tau, None, math.nan)
        columns = np.asarray(abs(self.data.X).T @ np.abs(tau))
        return DualWeights(tau, coef, float(np.vdot(coef, coef)), ColumnSizes(columns, columns))

    @one_blas_thread()
    def evaluate(self, solution: JointSolution) -> Evaluation:
        """Evaluate a machine and its dual variables, kernel products in one pass over K."""
        point, own, alpha = self.feasible_dual(solution.alpha), solution.coef, solution.alpha
        tau, scores, dual_scores = point.alpha, None, None
        errors = np.full(self.own.shape, np.inf)
        beta, dual = solution.expansion if own is None else None, self.dual_weights(tau)
        implied = dual if np.array_equal(alpha, tau) else self.dual_weights(alpha)
        if dual.coef is None or beta is not None:
            sums, found = kernel_sums(self, beta, tau, np.abs(tau), self.kernel_products)
            if beta is not None:
                scores, errors = sums[0], found[0]
        if dual.column_sizes is not None:
            dual_errors = sums_of_rows_errors(self.data.X, dual.column_sizes.of_terms)
            if own is not None:
                sizes = np.asarray(abs(self.data.X) @ np.abs(own).T)
                errors = product_errors(self.data.X, sizes)
        else:
            dual_scores, dual_errors = sums[-1], found[-1]
            dual = replace(dual, square=float(np.maximum(np.vdot(tau, dual_scores), 0.0)))
        values = self.decision_values(solution, scores)
        return Evaluation(
            solution,
            values.scores,
            float(np.maximum(values.square, 0.0)),
            errors=errors,
            point=point,
            dual=dual,
            dual_errors=dual_errors,
            implied=implied,
            dual_scores=dual_scores,
        )

    def primal_objective(self, evaluation: Evaluation) -> float:
        """Primal objective of the machine; infinite for intercepts that it must not have."""
        b = evaluation.solution.intercept
        if self.intercept == "none" and np.any(b != 0.0):
            return math.inf
        slack = np.maximum(self.shortfall(evaluation.decisions), 0.0)
        return 0.5 * (evaluation.square + float(b @ b)) + float(self.box @ slack)

    def dual_objective(self, evaluation: Evaluation) -> float:
        """``sum_i tau_{i,y_i} - 1/2 (sum_m |w_m|^2 + sum_m b_m^2)`` for the feasible tau."""
        tau = evaluation.point.alpha
        return float(np.sum(tau[self.own])) - 0.5 * self._dual_square(evaluation)

    def _dual_square(self, evaluation: Evaluation) -> float:
        b = self.intercepts(evaluation.point.alpha)
        return evaluation.dual.square + float(b @ b)

    def rounding(self, evaluation: Evaluation, objective: float) -> float:
        """Bound on the rounding error of the objective, relative to it.

        A sample passes on the errors of two decision values, those of kernel values included, if it
        pays at all.
        """
        solution, scores = evaluation.solution, np.abs(evaluation.scores)
        if solution.coef is not None:
            square = EPS * float(np.sum(solution.coef * solution.coef))
        else:
            own = np.abs(np.asarray(solution.expansion, dtype=np.float64))  # None becomes NaN
            square = float(np.sum(own * (evaluation.errors + EPS * scores)))
        terms = EPS * (scores + np.abs(solution.intercept) + 1.0)
        errors = 2.0 * np.max(evaluation.errors + terms, axis=1)
        pays = ~(self.shortfall(evaluation.decisions) + errors <= 0.0)
        square += EPS * float(solution.intercept @ solution.intercept)
        return (float(self.box @ (errors * pays)) + square) / max(abs(objective), TINY)

    def dual_rounding(self, evaluation: Evaluation, objective: float) -> float:
        """Bound on the rounding error of the dual objective of the feasible point, absolute."""
        tau = evaluation.point.alpha
        v = np.abs(tau)
        if evaluation.dual.coef is not None:
            errors = evaluation.dual_errors.T
            square = float(np.sum((2.0 * np.abs(evaluation.dual.coef) + errors) * errors))
        else:
            square = float(np.sum(v * evaluation.dual_errors))
        size = self.constant * float(np.sum(np.sum(v, axis=0) ** 2)) + self._dual_square(evaluation)
        hidden = accuracy.negative_curvature_error(self, tau, objective)
        # rows of tau sum to zero up to the rounding of their k terms: those of an exactly feasible
        # point differ by that, times a decision value of the weights that tau implies
        norms = np.sqrt(np.abs(self.gram.diagonal()))[:, None]
        decisions = np.abs(evaluation.decisions)
        if evaluation.dual_scores is not None:
            decisions = np.abs(evaluation.dual_scores + self.intercepts(tau))
        elif evaluation.solution.coef is not None:
            step = np.linalg.norm(evaluation.solution.coef - evaluation.dual.coef, axis=1)
            decisions += norms * step + np.abs(evaluation.solution.intercept - self.intercepts(tau))
        terms = float(np.sum(v[self.own])) + size
        rows, moved = float(np.sum(v * (decisions + 1.0))), EPS * float(np.sum(v * norms))
        k = self.n_classes
        return square + k * EPS * (terms + rows) + 0.5 * (k * moved) ** 2 + hidden

    def infeasibility(self, _: Evaluation) -> float:
        """Return zero: there are no hard conditions."""
        return 0.0

    def feasible_machine(self, _: Evaluation) -> None:
        """Return None: there are no constraints on the weights."""

    def optimal_intercepts(self, _: Evaluation) -> None:
        """Return None: penalised intercepts are weights, and no interval of them is optimal."""

    def gap_bound(self, _: Evaluation) -> None:
        """Return None: the gap of this model is the difference of its objectives."""

    def refined(self, evaluation: Evaluation, _: float) -> Evaluation:
        """Return the evaluation unchanged: this model has no values with more digits."""
        return evaluation

    def distance_bounds(self, alpha: Dense, upper: float) -> Dense:
        """Bound the distance of every dual variable from those of an optimum, shape (n, k)."""
        del upper
        highest = self.upper
        return np.maximum(alpha - (highest - self.box[:, None]), highest - alpha)

    # --- what else a solution states -------------------------------------------------------------

    def alpha_unit(self, alpha: Dense) -> Dense:
        """Unit of the alphas of every sample, shape (n, 1)."""
        return alpha_unit(alpha, self.box)[:, None]

    def require_own(self, solution: JointSolution) -> None:
        """Raise InvalidDataError unless the solution is of this problem."""
        n, d, k = self.data.n_samples, self.data.n_features, self.n_classes
        shapes = {"alpha": (n, k), "expansion": (n, k), "coef": (k, d), "intercept": (k,)}
        require_same_problem(self, solution, JointSolution, shapes)
        if not np.array_equal(solution.upper, self.box):
            raise InvalidDataError(
                "The solution has another C than the problem; it belongs to another one."
            )
        require_own_properties(solution)

    def sample_table(self, evaluation: Evaluation) -> ClassTable:
        """Compare every sample and class with the KKT case of its alpha.

        Nothing is taken from the solution but alpha and the decision functions.
        """
        data, own, upper = self.data, self.own, self.upper
        decisions, alpha = evaluation.decisions, evaluation.solution.alpha
        n, k = own.shape
        with np.errstate(all="ignore"):
            margin = decisions[own][:, None] - decisions
            margin[own] = 1.0 - self.shortfall(decisions)
            unit = self.alpha_unit(alpha)
            target = nearest_rows(alpha / unit - (decisions - own), upper / unit)
            violation = np.abs(alpha / unit - target)
            size, threshold = np.abs(alpha), MACHINES.support * unit
            at_bound = size >= self.box[:, None] - threshold
            case = np.where(size <= threshold, 0, np.where(at_bound, 2, 1))
        return ClassTable(
            sample=np.repeat(data.kept, k),
            label=np.repeat(data.targets, k),
            against=np.tile(data.classes, n),
            decision=decisions.ravel(),
            margin=margin.ravel(),
            required=np.ones(n * k),
            alpha=alpha.ravel(),
            lower=(upper - self.box[:, None]).ravel(),
            upper=upper.ravel(),
            slack=np.maximum(1.0 - margin, 0.0).ravel(),
            violation=np.where(np.isfinite(violation), violation, np.inf).ravel(),
            case=case.ravel().astype(np.intp),
        )

    def summary(
        self, evaluation: Evaluation, table: ClassTable, n_possible: Callable[[], int]
    ) -> MarginSummary:
        """Count support vectors and training errors, by the row of each sample's own class."""
        del evaluation, n_possible  # the table says it all
        own = self.own.ravel()
        counts = MarginSummary.counts(table.case[own])
        return MarginSummary(*counts, training_errors=int(np.sum(table.margin[own] <= 0.0)))

    def implications(
        self, form: Form, evaluation: Evaluation, table: ClassTable, best: None
    ) -> Iterator[Implication]:
        """Yield (name, stated value, value implied by the weights) for other fields."""
        del best
        solution = evaluation.solution
        yield "slack", solution.slack, table.slack[self.own.ravel()]
        if form == "dual" or follows_from_alpha(self.repair):
            unit = self.alpha_unit(solution.alpha)
            stated = math.nan if solution.expansion is None else solution.expansion / unit
            yield "expansion", stated, solution.alpha / unit
        elif self.is_linear:
            yield "expansion", 0.0 if solution.expansion is None else math.inf, 0.0

    def weights_difference(self, evaluation: Evaluation) -> float:
        """``|W - W(tau)| / |W|`` over all weights and intercepts."""
        solution, implied = evaluation.solution, evaluation.implied
        alpha, b, known = solution.alpha, solution.intercept, implied.column_sizes
        if solution.coef is not None and known is not None:
            step, terms = solution.coef - implied.coef, known.of_terms
            square = float(np.sum(step * step))
        elif solution.expansion is not None:
            step = solution.expansion - alpha
            square = max(float(np.sum(step * self.kernel_product(step))), 0.0)
            terms = np.sqrt(np.abs(self.gram.diagonal())) @ np.abs(alpha)
        else:
            return math.inf
        delta = b - self.intercepts(alpha)
        own = math.sqrt(evaluation.square + float(b @ b))
        # an optimum of w = 0 is a sum that cancels: its rounding is that of its terms
        size = max(own, MACHINES.cancelling * float(np.linalg.norm(terms)), TINY)
        ratio = math.sqrt(square + float(delta @ delta)) / size
        return ratio if math.isfinite(ratio) else math.inf

    # --- recovery --------------------------------------------------------------------------------

    def of_tau(self, qp: QPSolution, tau: Dense) -> Evaluation:
        """Compute weights and intercepts from dual variables, and evaluate them on the samples."""
        coef, b = self.coef(tau), self.intercepts(tau)
        return self.recovered(qp, tau, expansion=tau, coef=coef, intercept=b)

    def recovered(
        self,
        qp: QPSolution,
        alpha: Dense,
        *,
        expansion: Dense | None,
        coef: Dense | None,
        intercept: Vector,
    ) -> Evaluation:
        """Build the JointSolution whose slack is exact for its weights, evaluated."""
        slack, rest = np.zeros(self.data.n_samples), (self.box, self.kernel, self.data, qp)
        draft = JointSolution(alpha, expansion, coef, intercept, slack, *rest, self.repair)
        evaluation = self.evaluate(draft)
        slack = np.maximum(self.shortfall(evaluation.decisions), 0.0)
        return evaluation.of(draft.replace(slack=slack))
