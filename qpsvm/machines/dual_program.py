"""The dual of any family as a quadratic program, with its recovery.

The mathematics is on the first page of ``conditions``; constraints on (w, b) are on that of
``setup``.
"""

from __future__ import annotations

import numpy as np

from qpsvm.machines.blocks import ModelRecovery, blocks, of_machine, vector_or_nan
from qpsvm.machines.evaluation import Evaluation
from qpsvm.machines.feasibility import joined
from qpsvm.machines.model import SupportVectorModel
from qpsvm.machines.setup import DecisionValues
from qpsvm.numerics.arrays import Vector, freeze
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.quadratic import Quadratic
from qpsvm.qp.solution import QPSolution


def dual_program(model: SupportVectorModel) -> QuadraticProgram:
    """The dual program in ``(a, z, y)``: variables of the conditions, then of the constraints.

    ``P = R K R' / kappa + diag(d)``, ``q = (-p, h, b_eq)``, the equality ``(R 1)'a = price_b``
    (free intercept only), the inequality ``e 1'a <= price_t`` (families with a width only).
    """
    c, constraints = model.conditions, model.constraints
    P: Quadratic = model.dual_hessian()
    q, lower, upper, balance = freeze(-c.required), c.lower, c.upper, c.signs
    if constraints is not None:
        P = _constrained_hessian(model)
        q = np.concatenate([q, constraints.right])
        lower = np.concatenate([lower, constraints.lower])
        upper = np.concatenate([upper, np.full(len(constraints), np.inf)])
        balance = np.concatenate([balance, -constraints.intercept_column])
    free, e = c.intercept == "free", c.width_sign
    return QuadraticProgram(
        P,
        q,
        G=np.where(np.arange(len(q)) < len(c), e, 0.0)[None, :] if e else None,
        h=np.array([c.width_price]) if e else None,
        A=balance[None, :] if free else None,
        b=np.array([c.intercept_price]) if free else None,
        lb=lower,
        ub=upper,
        names={"x": ", ".join(dual_blocks(model))},
    )


def _constrained_hessian(model: SupportVectorModel) -> LowRankQuadratic:
    """``F F' + diag(d)`` with the constraints' rows ``-G`` and ``-A`` below the samples' rows."""
    c, constraints = model.conditions, model.constraints
    assert constraints is not None
    rows = [c.rows @ model.data.X, -constraints.rows[:, :-1]]
    if model.constant:
        last = [c.signs[:, None], -constraints.rows[:, [-1]]]
        rows = [joined(pair, axis=1) for pair in zip(rows, last, strict=True)]
    factor = joined(rows) / np.sqrt(c.norm_weight)
    return LowRankQuadratic(factor, np.concatenate([c.curvature, np.zeros(len(constraints))]))


def dual_blocks(model: SupportVectorModel) -> dict[str, slice]:
    """Slices of x that hold the parts of the dual program's variables, by name."""
    m = model.n_inequalities
    return blocks({"alpha": len(model.conditions), "z": m, "y": model.n_constraints - m})


class DualRecovery(ModelRecovery[SupportVectorModel]):
    """Map between ``x = (alpha, z, y)`` and the SVM; multipliers are intercept, width, slack."""

    blocks_of = staticmethod(dual_blocks)

    def recover(self, qp: QPSolution) -> Evaluation:
        """Recover w, b, alpha and slack from a solution of the dual program."""
        model, c = self.model, self.model.conditions
        n = len(c)
        x = vector_or_nan(qp.x, n + model.n_constraints)
        alpha, multipliers = x[:n], x[n:]
        expansion = model.expansion(alpha)
        if model.constant:  # the weight of the constant feature
            b = float(c.signs @ alpha) - model.balance_of_constraints(multipliers)
        else:
            b = float(vector_or_nan(qp.y, 1)[0]) if c.intercept == "free" else 0.0
        return model.recovered(
            qp,
            alpha,
            expansion=expansion,
            coef=model.coef(expansion, multipliers),
            multipliers=multipliers,
            b=b,
        )

    def to_qp(self, values: DecisionValues) -> QPSolution:
        """Build the dual program's solution from any alpha and (w, b).

        Multipliers are read off the decision values: the gradient of the Lagrangian is
        ``d a - v``; its positive part is z_lower and its negative part z_upper.
        """
        model, c, solution = self.model, self.model.conditions, values.solution
        v = model.violations(values.scores, solution.intercept, solution.width)
        gradient = c.curvature * solution.alpha - v
        lower, upper = c.lower, c.upper
        constraints = model.constraints
        if constraints is not None and solution.coef is not None:
            point = np.append(solution.coef, solution.intercept)
            room = constraints.right - np.asarray(constraints.rows @ point)
            gradient = np.concatenate([gradient, room])
            lower = np.concatenate([lower, constraints.lower])
            upper = np.concatenate([upper, np.full(len(constraints), np.inf)])
        at_lower, at_upper = bound_multipliers(gradient, lower, upper)
        return of_machine(
            x=np.concatenate([solution.alpha, solution.constraint_multipliers]),
            z=[solution.width] if c.width_sign else [],
            y=[solution.intercept] if c.intercept == "free" else [],
            z_lower=at_lower,
            z_upper=at_upper,
        )


def bound_multipliers(gradient: Vector, lower: Vector, upper: Vector) -> tuple[Vector, Vector]:
    """Split the gradient of the Lagrangian into the multipliers of both bounds, shape (n,) each.

    Its positive part is z_lower and its negative part z_upper; a variable with one bound has all
    of it there.
    """
    one_sided = np.isinf(upper)
    at_lower = np.where(one_sided, gradient, np.maximum(gradient, 0.0))
    at_lower = np.where(np.isinf(lower), 0.0, at_lower)
    return at_lower, np.where(one_sided, 0.0, np.maximum(-gradient, 0.0))
