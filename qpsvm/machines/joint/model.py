"""Verification and recovery of the machine with one decision function per class.

``joint.primal_dual`` has the two objectives, ``joint.samples`` the KKT conditions one by one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from qpsvm.exceptions import InvalidDataError
from qpsvm.machines.consistency import follows_from_alpha, require_unchanged_samples, same_repair
from qpsvm.machines.exact_types import (
    require_own_properties,
    require_stored,
    same_data,
    same_kernel,
)
from qpsvm.machines.joint import samples
from qpsvm.machines.joint.evaluation import JointEvaluation, evaluated, hessian_product
from qpsvm.machines.joint.primal_dual import JointPair
from qpsvm.machines.joint.samples import ClassTable
from qpsvm.machines.joint.solution import JointSolution, alpha_unit
from qpsvm.machines.negative_curvature import joint_hidden_square, joint_price, negative_bound
from qpsvm.machines.settings import MACHINES
from qpsvm.machines.verifiable import Form, Implication
from qpsvm.numerics.arrays import Dense, Vector
from qpsvm.numerics.precision import EPS, TINY
from qpsvm.numerics.threads import one_blas_thread
from qpsvm.qp.solution import QPSolution


class JointModel(JointPair):
    """A ``JointPair`` whose solutions can be recovered and verified; a ``VerifiableModel``."""

    # --- what a verifier asks --------------------------------------------------------------------

    sample_table = samples.class_table
    summary = samples.class_summary
    hessian_product = hessian_product

    @one_blas_thread()
    def evaluate(self, solution: JointSolution) -> JointEvaluation:
        """Evaluate a candidate on the training samples, in one pass over them."""
        return evaluated(self, solution)

    def primal_objective(self, evaluation: JointEvaluation) -> float:
        """Primal objective of the machine; infinite for intercepts that it must not have."""
        if self.intercept == "none" and np.any(evaluation.solution.intercept != 0.0):
            return math.inf
        slack = np.maximum(self.shortfall(evaluation.decisions), 0.0)
        return 0.5 * evaluation.square + float(self.box @ slack)

    def dual_objective(self, evaluation: JointEvaluation) -> float:
        """``sum_i tau_{i,y_i} - 1/2 (sum_m |w_m|^2 + sum_m b_m^2)`` for the feasible tau."""
        return float(np.sum(evaluation.point[self.own])) - 0.5 * evaluation.dual_square

    def repair_size(self, evaluation: JointEvaluation) -> float:
        """Largest change the repair made to an alpha, relative to ``alpha_unit``."""
        alpha = evaluation.solution.alpha
        moved = np.abs(evaluation.point - alpha) / alpha_unit(alpha, self.box)[:, None]
        return float(np.max(moved, initial=0.0))

    def best_intercepts(self, evaluation: JointEvaluation) -> None:
        """Return None: intercepts are weights of a constant feature here."""
        del evaluation

    def feasible_machine(self, evaluation: JointEvaluation) -> None:
        """Return None: there are no constraints on the weights."""
        del evaluation

    def infeasibility(self, evaluation: JointEvaluation) -> float:
        """Return zero: there are no hard conditions."""
        del evaluation
        return 0.0

    def rounding(self, evaluation: JointEvaluation, objective: float) -> float:
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

    def dual_rounding(self, evaluation: JointEvaluation, objective: float) -> float:
        """Bound on the rounding error of the dual objective of the feasible point, absolute."""
        del objective
        v = np.abs(evaluation.point)
        if evaluation.coef is not None:
            errors = evaluation.dual_errors.T
            square = float(np.sum((2.0 * np.abs(evaluation.coef) + errors) * errors))
        else:
            square = float(np.sum(v * evaluation.dual_errors))
        size = self.constant * float(np.sum(np.sum(v, axis=0) ** 2)) + evaluation.dual_square
        hidden = self.negative_curvature_price(evaluation.point)
        # rows of tau sum to zero up to the rounding of their k terms, times a decision value
        terms = float(np.sum(v[self.own])) + size
        rows = float(np.sum(v * (np.abs(evaluation.decisions) + 1.0)))
        return square + self.n_classes * EPS * (terms + rows) + hidden

    def gap_bound(self, evaluation: JointEvaluation) -> None:
        """Return None: the gap of this model is the difference of its objectives."""
        del evaluation

    def refined(
        self, evaluation: JointEvaluation, allowance: float, *, everywhere: bool = False
    ) -> JointEvaluation:
        """Return the evaluation unchanged: this model has no values with more digits."""
        del allowance, everywhere
        return evaluation

    @property
    def negative_bound(self) -> float:
        """A delta with ``K + delta I`` positive semidefinite; 0 where K itself is."""
        return negative_bound(self.gram)

    def hidden_square(self, evaluation: JointEvaluation) -> float:
        """Bound ``2 delta |B - B*|^2`` for every optimum; 0 where K is semidefinite."""
        own, point = evaluation.solution.expansion, evaluation.point
        if not self.negative_bound > 0.0:
            return 0.0
        if own is None:
            return math.inf
        return joint_hidden_square(self.negative_bound, point, own - point, self.own, self.box)

    def negative_curvature_price(self, tau: Dense) -> float:
        """Bound on the error of the duality gap by negative eigenvalues of K; 0 without any."""
        return joint_price(self.negative_bound, tau, self.own, self.box)

    def require_own(self, solution: JointSolution) -> None:
        """Raise InvalidDataError unless the solution is of this problem."""
        require_stored(solution, JointSolution)
        require_unchanged_samples(self.data)
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
        require_own_properties(solution)

    def implications(
        self, form: Form, evaluation: JointEvaluation, table: ClassTable, best: None
    ) -> Iterator[Implication]:
        """Yield (name, stated value, value implied by the weights) for other fields."""
        del best
        solution = evaluation.solution
        yield "slack", solution.slack, table.slack[self.own.ravel()]
        if form == "dual" or follows_from_alpha(self.repair):
            unit = alpha_unit(solution.alpha, self.box)[:, None]
            stated = math.nan if solution.expansion is None else solution.expansion / unit
            yield "expansion", stated, solution.alpha / unit
        elif self.is_linear:
            yield "expansion", 0.0 if solution.expansion is None else math.inf, 0.0

    def weights_difference(self, evaluation: JointEvaluation) -> float:
        """``|W - W(tau)| / |W|`` over all weights and intercepts."""
        solution = evaluation.solution
        alpha, b = solution.alpha, solution.intercept
        apart = b - self.intercepts(alpha)
        same = np.array_equal(alpha, evaluation.point)
        implied = evaluation.coef if same else self.coef(alpha)
        if solution.coef is not None and implied is not None:
            distance = self.squared_size(solution.coef - implied, None, apart)
            known = evaluation.column_sizes if same else None
            terms = abs(self.data.X).T @ np.abs(alpha) if known is None else known
        elif solution.expansion is not None:
            distance = self.squared_size(None, solution.expansion - alpha, apart)
            terms = np.sqrt(np.abs(self.gram.diagonal())) @ np.abs(alpha)
        else:
            return math.inf
        own = math.sqrt(evaluation.square)
        # an optimum of w = 0 is a sum that cancels: its rounding is that of its terms
        size = max(own, MACHINES.cancelling * float(np.linalg.norm(terms)), TINY)
        ratio = math.sqrt(distance) / size
        return ratio if math.isfinite(ratio) else math.inf

    # --- recovery --------------------------------------------------------------------------------

    def recovered(
        self,
        qp: QPSolution,
        alpha: Dense,
        *,
        expansion: Dense | None,
        coef: Dense | None,
        intercept: Vector,
    ) -> JointEvaluation:
        """Build the JointSolution whose slack is exact for its weights, evaluated."""
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
        evaluation = self.evaluate(draft)
        slack = np.maximum(self.shortfall(evaluation.decisions), 0.0)
        return evaluation.of(draft.replace(slack=slack))
