"""Verification and recovery of a support vector machine of any family.

``primal_dual`` has the two objectives. What else a solution is held against is a function of them,
one module per question, and a method here: ``accuracy`` (what rounding can do),
``complementarity`` (the gap as a sum that does not cancel), ``samples`` (the KKT conditions one by
one), ``consistency`` (whether the parts of a solution describe one machine).
"""

from __future__ import annotations

from qpsvm.machines import accuracy, complementarity, consistency, feasibility, samples
from qpsvm.machines.evaluation import Evaluation, Multiply, evaluated, hessian_product
from qpsvm.machines.intercept import Interval
from qpsvm.machines.primal_dual import PrimalDualPair
from qpsvm.machines.setup import NO_MULTIPLIERS, DecisionValues, stated_solution
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.threads import one_blas_thread
from qpsvm.qp.solution import QPSolution


class SupportVectorModel(PrimalDualPair):
    """A ``PrimalDualPair`` whose solutions can be recovered and verified."""

    # --- what a verifier asks --------------------------------------------------------------------

    infeasibility = accuracy.infeasibility
    rounding = accuracy.rounding
    dual_rounding = accuracy.dual_rounding
    distance_bounds = accuracy.distance_bounds
    indefinite_term_bound = accuracy.indefinite_term_bound
    repair_size = accuracy.repair_size
    gap_bound = complementarity.gap_bound
    refined = complementarity.refined
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

    def feasible_machine(self, evaluation: Evaluation) -> feasibility.FeasibleMachine | None:
        """The nearest machine found that satisfies all constraints; None without constraints."""
        return feasibility.feasible_machine(self, evaluation.solution, evaluation.point)

    def dual_objective(self, evaluation: Evaluation) -> float:
        """``p'a - h'z - b_eq'y - 1/2 (kappa |w|^2 + d'a^2)`` for the feasible point."""
        return self.dual_value(evaluation.point, evaluation.dual)

    def alpha_unit(self, alpha: Vector) -> Vector:
        """Unit of every alpha, shape (N,)."""
        return self.conditions.alpha_unit(alpha)

    def optimal_intercepts(self, values: DecisionValues) -> Interval:
        """The interval of intercepts that are optimal for the weights of a solution."""
        return self.best_offsets(values.scores, values.solution.intercept)[0]

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
        multiply: Multiply | None = None,
    ) -> Evaluation:
        """Build an SVMSolution with the exact intercept, width and slack of its weights.

        With a free intercept, b is the exact minimiser of the objective for these weights (the
        midpoint, if there are many). ``b`` is the program's own. ``multiply`` is that of
        ``evaluated``.
        """
        parts = {"coef": coef, "expansion": expansion, "constraint_multipliers": multipliers}
        draft = stated_solution(self, alpha, 0.0, qp=qp, **parts)
        if self.constraints is not None:
            draft = feasibility.project_onto_constraints(self, draft.replace(intercept=b))
            b = draft.intercept
        evaluation = self.evaluate(draft, multiply)
        interval, width = self.best_offsets(evaluation.scores, b)
        v = self.violations(evaluation.scores, interval.midpoint, width)
        return evaluation.of(
            draft.replace(
                intercept=interval.midpoint,
                intercept_interval=interval,
                width=width,
                slack=self.slack(v),
            )
        )
