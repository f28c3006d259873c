"""Verification and recovery of a support vector machine of any family.

``primal_dual`` has the two objectives. What else a solution is held against is a function of them,
one module per question, and a method here: ``accuracy`` (what rounding can do),
``complementarity`` (the gap as a sum that does not cancel), ``samples`` (the KKT conditions one by
one), ``consistency`` (whether the parts of a solution describe one machine).
"""

from __future__ import annotations

import math

import numpy as np

from qpsvm.machines import (
    accuracy,
    complementarity,
    consistency,
    feasibility,
    more_digits,
    samples,
)
from qpsvm.machines.evaluation import Evaluation, Multiply, evaluated, hessian_product
from qpsvm.machines.intercept import Interval
from qpsvm.machines.negative_curvature import hidden_square, negative_bound
from qpsvm.machines.offsets import best_offsets
from qpsvm.machines.primal_dual import PrimalDualPair
from qpsvm.machines.setup import NO_MULTIPLIERS, DecisionValues
from qpsvm.machines.solution import SVMSolution, alpha_unit
from qpsvm.machines.stated_solution import stated_solution
from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.threads import one_blas_thread
from qpsvm.qp.solution import QPSolution


class SupportVectorModel(PrimalDualPair):
    """A ``PrimalDualPair`` whose solutions can be recovered and verified; a ``VerifiableModel``."""

    # --- what a verifier asks --------------------------------------------------------------------

    infeasibility = accuracy.infeasibility
    rounding = accuracy.rounding
    dual_rounding = accuracy.dual_rounding
    gap_bound = complementarity.gap_bound
    refined = more_digits.refined
    sample_table = samples.sample_table
    summary = samples.margin_summary
    require_own = consistency.require_own
    implications = consistency.implications
    weights_difference = consistency.weights_difference
    hessian_product = hessian_product

    @one_blas_thread()
    def evaluate(self, solution: SVMSolution, multiply: Multiply | None = None) -> Evaluation:
        """Evaluate a candidate on the training samples, in one pass over them."""
        return evaluated(self, solution, multiply)

    @property
    def negative_bound(self) -> float:
        """A delta with ``K + delta I`` positive semidefinite; 0 where K itself is."""
        return negative_bound(self.gram)

    def hidden_square(self, evaluation: Evaluation) -> float:
        """Bound ``2 delta |beta - beta*|^2`` for every optimum; 0 where K is semidefinite."""
        own = evaluation.solution.expansion
        if not self.negative_bound > 0.0:
            return 0.0
        if own is None:
            return math.inf
        differences = own - evaluation.dual.expansion
        upper = self.primal_objective(evaluation)
        return hidden_square(self, evaluation.point.alpha, differences, upper)

    def feasible_machine(self, evaluation: Evaluation) -> feasibility.FeasibleMachine | None:
        """The nearest machine found that satisfies all constraints; None without constraints."""
        return feasibility.feasible_machine(self, evaluation.solution, evaluation.point)

    def dual_objective(self, evaluation: Evaluation) -> float:
        """``p'a - h'z - b_eq'y - 1/2 (kappa |w|^2 + d'a^2)`` for the feasible point."""
        return self.dual_value(evaluation.point, evaluation.dual)

    def repair_size(self, evaluation: Evaluation) -> float:
        """Largest change the repair made to an alpha, relative to ``alpha_unit``."""
        alpha = evaluation.solution.alpha
        moved = (evaluation.point.alpha - alpha) / alpha_unit(alpha, self.conditions)
        return float(np.max(np.abs(moved), initial=0.0))

    def best_intercepts(self, values: DecisionValues) -> Interval:
        """The interval of intercepts that are optimal for the weights of a solution."""
        solution = values.solution
        return best_offsets(self, values.scores, solution.intercept, solution.width)[0]

    # --- recovery --------------------------------------------------------------------------------

    def recovered(
        self,
        qp: QPSolution,
        alpha: Vector,
        *,
        expansion: Vector | None = None,
        coef: Vector | None = None,
        multipliers: Vector = NO_MULTIPLIERS,
        b: float = 0.0,
        t: float = 0.0,
        multiply: Multiply | None = None,
    ) -> Evaluation:
        """Build an SVMSolution with the exact intercept, width and slack of its weights.

        With a free intercept, b is the exact minimiser of the objective for these weights (the
        midpoint, if there are many). ``b`` and ``t`` are the program's own. ``multiply`` is that of
        ``evaluated``.
        """
        draft = stated_solution(
            self, alpha, 0.0, coef=coef, expansion=expansion, multipliers=multipliers, qp=qp
        )
        if self.constraints is not None:
            draft = feasibility.cleaned(self, draft.replace(intercept=b))
            b = draft.intercept
        evaluation = self.evaluate(draft, multiply)
        interval, width = best_offsets(self, evaluation.scores, b, t)
        v = self.violations(evaluation.scores, interval.midpoint, width)
        return evaluation.of(
            draft.replace(
                intercept=interval.midpoint,
                intercept_interval=interval,
                width=width,
                slack=self.slack(v),
            )
        )
