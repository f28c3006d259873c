"""Verification and recovery of a support vector machine of any family.

``primal_dual`` has the two objectives. What else a solution is held against is a function of them,
one module per question, and a method here: ``accuracy`` (what rounding can do), ``samples`` (the
KKT conditions one by one), ``consistency`` (whether the parts of a solution describe one machine).
"""

from __future__ import annotations

import numpy as np

from qpsvm.machines import accuracy, consistency, feasibility, samples
from qpsvm.machines.intercept import Interval
from qpsvm.machines.offsets import best_offsets
from qpsvm.machines.primal_dual import DualPoint, PrimalDualPair
from qpsvm.machines.setup import NO_MULTIPLIERS
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arrays import Vector
from qpsvm.qp.solution import QPSolution


class SupportVectorModel(PrimalDualPair):
    """A ``PrimalDualPair`` whose solutions can be recovered and verified; a ``VerifiableModel``."""

    # --- what a verifier asks --------------------------------------------------------------------

    infeasibility = accuracy.infeasibility
    rounding = accuracy.rounding
    dual_rounding = accuracy.dual_rounding
    sample_table = samples.sample_table
    summary = samples.margin_summary
    require_own = consistency.require_own
    implications = consistency.implications
    weights_difference = consistency.weights_difference

    def best_intercepts(self, solution: SVMSolution) -> Interval:
        """The interval of intercepts that are optimal for the weights of a solution."""
        scores, _ = self.scores_and_norm(solution)
        return best_offsets(self, scores, solution.intercept, solution.width)[0]

    # --- recovery --------------------------------------------------------------------------------

    def solution(
        self,
        qp: QPSolution,
        alpha: Vector,
        *,
        expansion: Vector | None = None,
        coef: Vector | None = None,
        multipliers: Vector = NO_MULTIPLIERS,
        b: float = 0.0,
        t: float = 0.0,
    ) -> SVMSolution:
        """Build an SVMSolution with the exact intercept, width and slack of its weights.

        With a free intercept, b is the exact minimiser of the objective for these weights (the
        midpoint, if there are many). ``b`` and ``t`` are the program's own.
        """
        draft = SVMSolution(
            alpha=alpha,
            expansion=expansion,
            coef=coef,
            intercept=0.0,
            intercept_interval=Interval(0.0, 0.0),
            width=0.0,
            slack=np.zeros(len(self.conditions)),
            constraint_multipliers=multipliers,
            conditions=self.conditions,
            kernel=self.kernel,
            data=self.data,
            qp=qp,
            repair=self.repair,
        )
        if self.constraints is not None:
            draft = feasibility.cleaned(self, draft.replace(intercept=b))
            b = draft.intercept
        self.prefetch(draft, DualPoint(alpha))
        scores, _ = self.scores_and_norm(draft)
        interval, width = best_offsets(self, scores, b, t)
        v = self.violations(scores, interval.midpoint, width)
        return draft.replace(
            intercept=interval.midpoint,
            intercept_interval=interval,
            width=width,
            slack=self.slack(v),
        )
