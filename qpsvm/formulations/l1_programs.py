"""The two programs of the 1-norm machine, each with its recovery."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from qpsvm.machines.blocks import NO_WEIGHTS, ModelRecovery, blocks, of_machine, vector_or_nan
from qpsvm.machines.dual_program import dual_blocks
from qpsvm.machines.evaluation import Evaluation
from qpsvm.machines.model import SupportVectorModel
from qpsvm.machines.primal_dual import DualPoint
from qpsvm.machines.setup import DecisionValues
from qpsvm.numerics.arrays import Matrix
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution

if TYPE_CHECKING:
    pass


def _features(model: SupportVectorModel) -> Matrix:
    """Matrix that is multiplied by the weights, shape (n, n_weights): X, or K for a kernel."""
    return model.data.X if model.is_linear else model.gram.to_dense()


def l1_primal(model: SupportVectorModel) -> QuadraticProgram:
    """The primal program in ``(w+, w-, b, xi)`` with rows ``-s_i (w'x_i + b) - xi_i <= -1``."""
    c, n_weights = model.conditions, model.n_weights
    N, has_b = len(c), int(model.intercept != "none")
    Phi = sp.csc_array(c.rows @ _features(model))
    columns = [-Phi, Phi, *[sp.csc_array(-c.signs[:, None])] * has_b, -sp.eye_array(N)]
    G, h = [sp.hstack(columns, format="csr")], [-c.required]
    A, b = [sp.csr_array((0, G[0].shape[1]))], [np.zeros(0)]
    if model.constraints is not None:
        extra = model.constraints
        for matrix, right, rows, values in ((extra.G, extra.h, G, h), (extra.A, extra.b, A, b)):
            W, last = sp.csr_array(matrix[:, :-1]), sp.csr_array(matrix[:, [-1]])
            parts = [W, -W, *[last] * has_b, sp.csr_array((len(right), N))]
            rows.append(sp.hstack(parts, format="csr"))
            values.append(right)
    return QuadraticProgram(
        None,
        np.concatenate([np.ones(2 * n_weights), np.zeros(has_b), c.upper]),
        G=sp.vstack(G, format="csc"),
        h=np.concatenate(h),
        A=sp.vstack(A, format="csc"),
        b=np.concatenate(b),
        lb=np.concatenate([np.zeros(2 * n_weights), np.full(has_b, -np.inf), np.zeros(N)]),
        names={"x": ", ".join(l1_blocks(model))},
    )


def l1_blocks(model: SupportVectorModel) -> dict[str, slice]:
    """Slices of x that hold the parts of the primal program's variables, by name."""
    n, has_b = model.n_weights, int(model.intercept != "none")
    return blocks({"w+": n, "w-": n, "b": has_b, "xi": len(model.conditions)})


def l1_dual(model: SupportVectorModel) -> QuadraticProgram:
    """The dual program in ``(alpha, z, y)`` with rows ``-1 <= adjoint <= 1``."""
    c, constraints = model.conditions, model.constraints
    columns = [sp.csc_array((c.rows @ _features(model)).T)]
    q, lower, upper, balance = [-c.required], [c.lower], [c.upper], [c.signs]
    if constraints is not None:
        columns.append(sp.csc_array(-constraints.rows[:, :-1].T))
        balance.append(-constraints.intercept_column)
        q.append(constraints.right)
        lower.append(constraints.lower)
        upper.append(np.full(len(constraints), np.inf))
    adjoint = sp.hstack(columns, format="csc")
    free = model.intercept == "free"
    return QuadraticProgram(
        None,
        np.concatenate(q),
        G=sp.vstack([adjoint, -adjoint], format="csc"),
        h=np.ones(2 * model.n_weights),
        A=np.concatenate(balance)[None, :] if free else None,
        b=np.zeros(1) if free else None,
        lb=np.concatenate(lower),
        ub=np.concatenate(upper),
        names={"x": ", ".join(dual_blocks(model))},
    )


class L1PrimalRecovery(ModelRecovery[SupportVectorModel]):
    """Map between ``x = (w+, w-, b, xi)`` and the SVM; the margin rows' multipliers are alpha."""

    blocks_of = staticmethod(l1_blocks)

    def recover(self, qp: QPSolution) -> Evaluation:
        """Recover w, b, alpha and slack from a solution of the primal program."""
        model, n = self.model, self.model.n_weights
        N, has_b = len(model.conditions), int(model.intercept != "none")
        m = model.n_inequalities
        k = model.n_constraints - m
        x = vector_or_nan(qp.x, 2 * n + has_b + N)
        z, y = vector_or_nan(qp.z, N + m), vector_or_nan(qp.y, k)
        weights = x[:n] - x[n : 2 * n]
        return model.recovered(
            qp,
            z[:N],
            expansion=None if model.is_linear else weights,
            coef=weights if model.is_linear else None,
            multipliers=np.concatenate([z[N:], y]),
            b=float(x[2 * n]) if has_b else 0.0,
        )

    def to_qp(self, values: DecisionValues) -> QPSolution:
        """Build the primal program's solution from any alpha and (w, b)."""
        model, solution = self.model, values.solution
        weights = solution.coef if model.is_linear else solution.expansion
        if weights is None:
            return NO_WEIGHTS
        b = [solution.intercept] * (model.intercept != "none")
        adjoint = model.adjoint(DualPoint(solution.alpha, solution.constraint_multipliers))
        m = model.n_inequalities
        multipliers = solution.constraint_multipliers
        x = np.concatenate([np.maximum(weights, 0.0), np.maximum(-weights, 0.0), b, solution.slack])
        at_bound = [1.0 - adjoint, 1.0 + adjoint, np.zeros(len(b)), solution.upper - solution.alpha]
        return of_machine(
            x=x,
            z=np.concatenate([solution.alpha, multipliers[:m]]),
            y=multipliers[m:],
            z_lower=np.concatenate(at_bound),
            z_upper=np.zeros(len(x)),
        )


class L1DualRecovery(ModelRecovery[SupportVectorModel]):
    """Map between ``x = (alpha, z, y)`` and the SVM; the rows' multipliers give w."""

    blocks_of = staticmethod(dual_blocks)

    def recover(self, qp: QPSolution) -> Evaluation:
        """Recover w, b, alpha and slack from a solution of the dual program."""
        model, n, N = self.model, self.model.n_weights, len(self.model.conditions)
        x, z = vector_or_nan(qp.x, N + model.n_constraints), vector_or_nan(qp.z, 2 * n)
        weights = z[:n] - z[n:]
        free = model.intercept == "free"
        return model.recovered(
            qp,
            x[:N],
            expansion=None if model.is_linear else weights,
            coef=weights if model.is_linear else None,
            multipliers=x[N:],
            b=float(vector_or_nan(qp.y, 1)[0]) if free else 0.0,
        )

    def to_qp(self, values: DecisionValues) -> QPSolution:
        """Build the dual program's solution from any alpha and (w, b)."""
        model, solution = self.model, values.solution
        weights = solution.coef if model.is_linear else solution.expansion
        if weights is None:
            return NO_WEIGHTS
        gradient = -model.violations(values.scores, solution.intercept, 0.0)
        upper = np.maximum(-gradient, 0.0)
        if model.constraints is not None:
            rules = model.constraints
            point = np.append(weights, solution.intercept)
            room = rules.right - np.asarray(rules.rows @ point)
            gradient = np.concatenate([gradient, np.where(rules.lower == 0.0, room, 0.0)])
            upper = np.append(upper, np.zeros(len(rules)))
        return of_machine(
            x=np.concatenate([solution.alpha, solution.constraint_multipliers]),
            z=np.concatenate([np.maximum(weights, 0.0), np.maximum(-weights, 0.0)]),
            y=np.full(int(model.intercept == "free"), solution.intercept),
            z_lower=np.maximum(gradient, 0.0),
            z_upper=upper,
        )
