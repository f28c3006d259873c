"""The feasible machine: the nearest one that satisfies all constraints and hard conditions.

Only the objective of a machine that satisfies every constraint bounds the optimum from above. One
that misses a constraint, by however little, may cost less than the optimum, and no multiplier that
came with it says how much less. So the nearest machine that satisfies all rows is looked for
(``qpsvm.qp.nearest``), and its objective is the bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from qpsvm.display import short_repr
from qpsvm.machines.conditions import steepest
from qpsvm.machines.primal_dual import DualPoint, PrimalDualPair
from qpsvm.machines.setup import DecisionValues
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arrays import Matrix, Vector
from qpsvm.numerics.compensated import row_residuals, without_tiny_rows
from qpsvm.qp.nearest import nearest_feasible
from qpsvm.qp.restrictions import Restrictions, fast_rows
from qpsvm.qp.row_proofs import prove_rows


@short_repr
@dataclass(frozen=True)
class FeasibleMachine:
    """A machine near a given one that satisfies all constraints and hard conditions.

    Attributes
    ----------
    objective : float
        Its objective, from above but for rounding: at least the optimum. Infinite if no such
        machine was found.
    distance : float
        How far its weights are from those of the given machine (with a penalised intercept, of
        (w, b)).
    coef, intercept : array of shape (d,), float
    blocked : str
        Name of the constraint that could not be satisfied; empty if all are.
    left : array of shape (m,)
        What the rows of ``restrictions_of`` miss even so, where they contradict each other by the
        rounding of their own numbers; empty if nothing is known.
    """

    objective: float
    distance: float
    coef: Vector
    intercept: float
    blocked: str = ""
    left: Vector = field(default_factory=lambda: np.zeros(0))


def feasible_machine(
    model: PrimalDualPair, solution: SVMSolution, point: DualPoint | None = None
) -> FeasibleMachine | None:
    """Find the nearest machine that satisfies all constraints; None for a problem without any.

    Parameters
    ----------
    model : PrimalDualPair
    solution : SVMSolution
        Its ``coef`` and ``intercept`` are looked at, and nothing else.
    point : DualPoint, optional
        A dual feasible point. Its multipliers weight what rows that contradict each other by
        rounding leave: ``objective`` is then compared with the optimum of the problem whose right
        hand sides give way by that much.
    """
    if model.constraints is None or solution.coef is None:
        return None
    given = np.append(solution.coef, solution.intercept)
    if not np.isfinite(given).all():
        return FeasibleMachine(
            math.inf, math.inf, solution.coef, solution.intercept, "weights that are not finite"
        )
    restrictions = restrictions_of(model)
    found = prove_rows(restrictions, nearest_feasible(restrictions, given))
    coef, b = found.point[:-1], float(found.point[-1])
    if found.blocked is not None:
        name = row_name(model, found.blocked)
        return FeasibleMachine(math.inf, math.inf, solution.coef, solution.intercept, name)
    near = model.decision_values(solution.replace(coef=coef, intercept=b))
    objective = model.primal_objective(near)
    if point is not None and found.left.any():
        objective += float(_multipliers_of(model, point) @ found.left)
    moved = found.point - given
    if not model.constant:
        moved = moved[:-1]
    return FeasibleMachine(
        objective + _objective_change_bound(model, near, found.change),
        float(np.linalg.norm(moved)) + float(np.linalg.norm(found.change)),
        coef,
        b,
        left=found.left,
    )


def _multipliers_of(model: PrimalDualPair, point: DualPoint) -> Vector:
    """Absolute multipliers of the rows of ``restrictions_of``, shape (m,)."""
    hard = np.flatnonzero(model.conditions.is_hard)
    return np.asarray(np.abs(np.concatenate([point.constraint_multipliers, point.alpha[hard]])))


def restrictions_of(model: PrimalDualPair) -> Restrictions:
    """Rows that (w, b) must satisfy: the constraints, then the conditions of a hard margin."""
    rules, c = model.constraints, model.conditions
    assert rules is not None
    rows, right = rules.rows, rules.right
    is_equality = rules.lower < 0.0
    hard = np.flatnonzero(c.is_hard)
    if len(hard):
        own = joined([c.rows[hard] @ model.data.X, c.signs[hard][:, None]], axis=1)
        rows = joined([rows, -own])
        right = np.append(right, -c.required[hard])
        is_equality = np.append(is_equality, np.zeros(len(hard), dtype=bool))
    ends = np.full(rows.shape[1], np.inf)
    if model.intercept == "none":
        ends[-1] = 0.0
    return Restrictions(fast_rows(rows), right, is_equality, -ends, ends)


def joined(parts: Sequence[Matrix], axis: int = 0) -> Matrix:
    """Join matrices along an axis, to a CSR array if one of them is sparse."""
    if any(map(sp.issparse, parts)):
        stack = sp.hstack if axis else sp.vstack
        return sp.csr_array(stack([sp.csr_array(part) for part in parts]))
    return np.concatenate(parts, axis)


def row_name(model: PrimalDualPair, row: int) -> str:
    """The name of a row of ``restrictions_of``."""
    rules = model.constraints
    assert rules is not None
    if row < len(rules):
        return f"constraint {rules.names[row]!r}"
    sample = int(
        model.conditions.samples[np.flatnonzero(model.conditions.is_hard)[row - len(rules)]]
    )
    return f"the margin of sample {int(model.data.kept[sample])}"


def missed_constraints(model: PrimalDualPair, solution: SVMSolution) -> Vector:
    """Violation of each constraint on (w, b), relative to its terms, shape (m,).

    ``max(0, g'w + g_b b - h) / (sum_j |g_j w_j| + |g_b b| + |h|)``: the smallest relative change of
    the row's numbers that makes it hold. The absolute value for equalities. Residuals are rounded
    once.
    """
    rules = model.constraints
    if rules is None or solution.coef is None:
        return np.zeros(0)
    rows, right, _ = without_tiny_rows(rules.rows, rules.right)
    residuals = row_residuals(rows, np.append(solution.coef, solution.intercept), right)
    value = np.where(rules.lower < 0.0, np.abs(residuals.value), np.maximum(residuals.value, 0.0))
    missed = np.where(
        value == 0.0, 0.0, value / np.where(residuals.size > 0.0, residuals.size, 1.0)
    )
    return np.where(np.isnan(residuals.value), np.inf, missed)


def project_onto_constraints(model: PrimalDualPair, solution: SVMSolution) -> SVMSolution:
    """Move a machine onto the constraints that it violates, if there is a way."""
    if not missed_constraints(model, solution).any():
        return solution
    found = feasible_machine(model, solution)
    if found is None or found.blocked:
        return solution
    return solution.replace(coef=found.coef, intercept=found.intercept)


def _objective_change_bound(model: PrimalDualPair, near: DecisionValues, change: Vector) -> float:
    """Bound on the change of the objective when (w, b) changes by no more than rounding."""
    if not change.any():
        return 0.0
    c, dw, db = model.conditions, np.abs(change[:-1]), abs(float(change[-1]))
    coef, b = np.asarray(near.solution.coef), near.solution.intercept
    v = model.violations(near.scores, b, near.solution.width)
    moved = c.row_sizes(np.asarray(abs(model.data.X) @ dw)) + np.abs(c.signs) * db
    slope = steepest(v, moved, c.lower, c.upper, c.curvature)
    soft = ~c.is_hard
    bound = float(slope[soft] @ moved[soft]) + abs(c.intercept_price) * db
    if model.norm_curvature > 0.0:
        bound += model.norm_curvature * float(dw @ np.abs(coef) + 0.5 * dw @ dw)
        return float(bound + model.constant * (db * abs(b) + 0.5 * db * db))
    return bound + float(np.sum(dw)) + model.constant * db
