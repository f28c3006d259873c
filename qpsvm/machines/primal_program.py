"""The primal of any family as a quadratic program, with its recovery.

The mathematics is on the first page of ``conditions``; constraints on (w, b) are on that of
``setup``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from qpsvm.machines.blocks import (
    NO_WEIGHTS,
    ModelRecovery,
    blocks,
    of_machine,
    repaired_program,
    vector_or_nan,
)
from qpsvm.machines.consistency import follows_from_alpha
from qpsvm.machines.evaluation import Evaluation
from qpsvm.machines.model import SupportVectorModel
from qpsvm.machines.setup import DecisionValues
from qpsvm.numerics.arrays import Index, Matrix, require_memory
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.quadratic import SparseQuadratic
from qpsvm.qp.solution import QPSolution


class Layout(NamedTuple):
    """Order of the variables and rows of the primal program.

    Variables: weights, b, t, then the slack. A violation is split as ``v = inside + over - under``:
    the part ``inside`` costs its square over 2 d (rows with a curvature), ``over`` costs ``upper``
    and ``under`` costs ``-lower`` a unit (rows where these are finite). Rows that only look one way
    are inequalities ``R f + e t + slack >= p``, the others equalities.

    Parameters
    ----------
    has_b, has_t : int
        Number of intercepts and of width variables t, 0 or 1 each.
    inequalities, equalities : arrays of int
        Rows with a one-sided loss, and with a two-sided one.
    inside, over, under : arrays of int
        Rows with a squared slack, and with linear slack for values below and above the required.
    blocks : dict
        Slices of x that hold the parts of the variables, by name.
    """

    has_b: int
    has_t: int
    inequalities: Index
    equalities: Index
    inside: Index
    over: Index
    under: Index
    blocks: dict[str, slice]

    @classmethod
    def of(cls, model: SupportVectorModel) -> Layout:
        """Compute the slices of weights, intercept, width and slack in the primal's x."""
        c = model.conditions
        has_b, has_t = int(model.intercept != "none"), int(c.width_sign != 0.0)
        is_one_sided = c.lower == 0.0
        rows = (
            is_one_sided,
            ~is_one_sided,
            c.curvature > 0.0,
            ~c.is_hard & np.isfinite(c.upper),
            ~is_one_sided & np.isfinite(c.lower),
        )
        inequalities, equalities, inside, over, under = map(np.flatnonzero, rows)
        sizes = {
            "w" if model.is_linear else "beta": model.n_weights,
            "b": has_b,
            "rho" if c.width_sign < 0.0 else "epsilon": has_t,
            "xi": len(inside) or len(over),
            "xi+": len(over) if len(inside) else 0,
            "xi'": len(under),
        }
        return cls(has_b, has_t, inequalities, equalities, inside, over, under, blocks(sizes))

    @property
    def size(self) -> int:
        """Number of variables."""
        return int(list(self.blocks.values())[-1].stop)

    def has_linear_slack_alone(self, model: SupportVectorModel) -> bool:
        """Return whether all rows are conditions on samples with slack of linear cost."""
        if model.constraints is not None or len(self.inside) > 0:
            return False
        return len(self.over) == len(self.inequalities) == len(model.conditions)


def primal_program(model: SupportVectorModel) -> QuadraticProgram:
    """The primal program in (w, b, t, xi), or in (beta, b, t, xi) without explicit features.

    ``minimize kappa/2 |w|^2 [+ 1/2 b^2] + price_b b + price_t t + cost(slack)``, see ``Layout``.
    Variables that do not exist (b without an intercept, xi for a hard margin) are left out.
    """
    c, data, layout = model.conditions, model.data, Layout.of(model)
    N = len(c)
    if model.is_linear:
        features: Matrix = data.X
        norm = sp.eye_array(model.n_weights) * c.norm_weight
    else:
        n = data.n_samples
        require_memory(n, n, "The kernel primal", "use the dual form.")
        features = model.gram.to_dense()
        norm = sp.csc_array(features * c.norm_weight)
    has_b, has_t, _, _, inside, over, under, _ = layout
    # R f + e t + inside + over - under, for every row
    columns = [sp.csc_array(c.rows @ features)]
    columns += [sp.csc_array(c.signs[:, None])] * has_b
    columns += [sp.csc_array(np.full((N, 1), c.width_sign))] * has_t
    identity = sp.eye_array(N, format="csc")
    columns += [identity[:, inside], identity[:, over], -identity[:, under]]
    row_matrix = sp.hstack(columns, format="csr")
    p, first = model.n_weights + has_b, model.n_weights + has_b + has_t
    offset_costs = [c.intercept_price] * has_b + [c.width_price] * has_t
    costs = np.concatenate([np.zeros(len(inside)), c.upper[over], -c.lower[under]])
    q = np.concatenate([np.zeros(model.n_weights), offset_costs, costs])
    diagonal, lb = np.zeros(len(q)), np.zeros(len(q))
    squared = slice(first, first + len(inside))
    diagonal[squared] = 1.0 / c.curvature[inside]
    lb[:p] = lb[squared] = -np.inf  # a quadratic slack below zero would cost as well, for nothing
    rest = sp.diags_array(diagonal[p:], shape=(len(q) - p,) * 2)
    parts = [norm, *[sp.csc_array([[model.constant]])] * has_b, rest]
    G, A = [-row_matrix[layout.inequalities]], [row_matrix[layout.equalities]]
    h, b = [-c.required[layout.inequalities]], [c.required[layout.equalities]]
    if model.constraints is not None:
        extra = model.constraints
        for matrix, right, rows, values in ((extra.G, extra.h, G, h), (extra.A, extra.b, A, b)):
            if len(right):
                rows.append(_on_variables(matrix, layout))
                values.append(right)
    return QuadraticProgram(
        SparseQuadratic(sp.block_diag(parts, format="csc")),
        q,
        G=sp.vstack(G, format="csc"),
        h=np.concatenate(h),
        A=sp.vstack(A, format="csc"),
        b=np.concatenate(b),
        lb=lb,
        names={"x": ", ".join(layout.blocks)},
    )


def _on_variables(matrix: Matrix, layout: Layout) -> Matrix:
    """Extend rows of constraints on (w, b) to all variables of the primal program."""
    parts = [sp.csr_array(matrix[:, :-1])]
    if layout.has_b:
        parts.append(sp.csr_array(matrix[:, [-1]]))
    missing = layout.size - sum(part.shape[1] for part in parts)
    return sp.hstack([*parts, sp.csr_array((matrix.shape[0], missing))], format="csr")


class PrimalRecovery(ModelRecovery[SupportVectorModel]):
    """Map between ``x = (w, b, t, xi)`` or ``(beta, b, t, xi)`` and the SVM; z, y give alpha."""

    @staticmethod
    def blocks_of(model: SupportVectorModel) -> dict[str, slice]:
        """Slices of the primal program's x, by name."""
        return Layout.of(model).blocks

    def recover(self, qp: QPSolution) -> Evaluation:
        """Recover w (or beta), b, t, alpha and slack from a solution of the primal program.

        A solver satisfies rows only to its own tolerance. Where every row has slack of linear cost,
        the x of the program's solution is therefore replaced by the x of the machine, which has
        the best intercept and slack for these weights. The multipliers are kept.
        """
        model, layout = self.model, Layout.of(self.model)
        n = model.n_weights
        x = vector_or_nan(qp.x, layout.size)
        m = model.n_inequalities
        k = model.n_constraints - m
        z = vector_or_nan(qp.z, len(layout.inequalities) + m)
        y = vector_or_nan(qp.y, len(layout.equalities) + k)
        alpha = np.empty(len(model.conditions))
        alpha[layout.inequalities] = z[: len(z) - m]
        alpha[layout.equalities] = -y[: len(y) - k]
        beta = model.expansion(alpha) if follows_from_alpha(model.repair) else x[:n]
        found = model.recovered(
            qp,
            alpha,
            expansion=None if model.is_linear else beta,
            coef=x[:n] if model.is_linear else None,
            multipliers=np.concatenate([z[len(z) - m :], y[len(y) - k :]]),
            b=float(x[n]) if layout.has_b else 0.0,
        )
        if not layout.has_linear_slack_alone(model):
            return found
        own = qp.replace(x=self.to_qp(found).x)
        unit = max(1.0, float(np.max(np.abs(x))))  # NaN stays 1
        return found.of(found.solution.replace(qp=repaired_program(qp, own, unit)))

    def to_qp(self, values: DecisionValues) -> QPSolution:
        """Build the primal program's solution from any alpha and (w, b)."""
        model, c, layout = self.model, self.model.conditions, Layout.of(self.model)
        solution = values.solution
        weights = solution.coef if model.is_linear else solution.expansion
        if weights is None:
            return NO_WEIGHTS
        v = model.violations(values.scores, solution.intercept, solution.width)
        inside = np.zeros(len(c))
        curved = layout.inside
        ends = c.curvature[curved] * np.stack([c.lower[curved], c.upper[curved]])
        inside[curved] = np.clip(v[curved], *ends)
        a = solution.alpha
        offsets = [solution.intercept] * layout.has_b + [solution.width] * layout.has_t
        beyond = np.maximum(v - inside, 0.0)[layout.over], np.maximum(inside - v, 0.0)[layout.under]
        # stationarity in t and in the slack that has a bound
        t_bound = [c.width_price - c.width_sign * float(np.sum(a))] * layout.has_t
        of_slack = np.zeros(len(curved)), (c.upper - a)[layout.over], (a - c.lower)[layout.under]
        free = np.zeros(model.n_weights + layout.has_b)
        m = model.n_inequalities
        multipliers = solution.constraint_multipliers
        return of_machine(
            x=np.concatenate([weights, offsets, inside[curved], *beyond]),
            z=np.concatenate([a[layout.inequalities], multipliers[:m]]),
            y=np.concatenate([-a[layout.equalities], multipliers[m:]]),
            z_lower=np.concatenate([free, t_bound, *of_slack]),
            z_upper=np.zeros(layout.size),
        )
