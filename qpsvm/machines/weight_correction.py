"""Weights beside those that alpha implies, for which the conditions of free alphas hold exactly.

The weights of a linear machine are ``X'R'a / kappa``. With a large C the rounding of alpha alone
moves decision values by more than C allows, although the weights of the optimum are doubles like
others. Primal and dual objective need not belong to one point: the certificate takes the weights
for the one and alpha for the other. So the smallest change of (w, b, t) is made that brings all
conditions whose alpha is free to where their loss begins to cost::

    minimize  |dw|^2    subject to    R_i (X dw + db) + e_i dt = v_i - d_i a_i    for free alphas

It costs ``kappa/2 |dw|^2``, the square of a rounding error, and saves C times the error.
"""

from __future__ import annotations

import numpy as np

from qpsvm.machines.evaluation import Evaluation
from qpsvm.machines.model import SupportVectorModel
from qpsvm.numerics.arrays import Dense, Index, Vector, as_dense

LARGEST_SYSTEM = 4_000_000
"""Entries of the equations, free alphas times features, up to which they are solved."""


def corrected(model: SupportVectorModel, evaluation: Evaluation) -> Evaluation | None:
    """Evaluate a machine with corrected weights, on its own alpha; None where there is no such one.

    Parameters
    ----------
    model : SupportVectorModel
    evaluation : Evaluation
        Of a machine of the dual form; its weights follow from alpha, or are corrected already.
    """
    solution, c = evaluation.solution, model.conditions
    has_weights = model.is_linear and model.norm.weights_follow and solution.coef is not None
    if not has_weights or model.constraints is not None:
        return None
    missed = model.violations(evaluation.scores, solution.intercept, solution.width)
    missed = missed - c.curvature * solution.alpha
    free = _free(model, solution.alpha, missed)
    if len(free) == 0 or len(free) * model.data.n_features > LARGEST_SYSTEM:
        return None
    costly = as_dense(c.rows[free] @ model.data.X)
    signs = c.signs[free]
    if model.constant:
        costly = np.column_stack([costly, signs])
    costless = []
    if c.intercept == "free":
        costless.append(signs)
    if c.width_sign:
        costless.append(np.full(len(free), c.width_sign))
    try:
        change, offsets = _least_change(costly, np.array(costless).T, missed[free])
    except np.linalg.LinAlgError:
        return None
    step = change[: model.data.n_features]
    b = solution.intercept + (float(change[-1]) if model.constant else 0.0)
    if c.intercept == "free":
        b += float(offsets[0])
    assert solution.coef is not None
    return model.recovered(
        solution.qp, solution.alpha, expansion=solution.expansion, coef=solution.coef + step, b=b
    )


def _free(model: SupportVectorModel, alpha: Vector, missed: Vector) -> Index:
    """Conditions whose alpha is farther from its bounds than the condition from holding exactly."""
    c = model.conditions
    largest = float(np.max(np.abs(alpha), initial=0.0))
    with np.errstate(invalid="ignore"):
        width = np.minimum(c.upper - c.lower, 2.0 * largest) if largest > 0.0 else np.inf
        room = np.minimum(alpha - c.lower, c.upper - alpha)
        unit = max(float(np.max(np.abs(c.required), initial=0.0)), abs(c.unit))
        return np.flatnonzero(room * unit > np.abs(missed) * width)


def _least_change(costly: Dense, costless: Dense, right: Vector) -> tuple[Vector, Vector]:
    """``(u, v)`` with ``costly u + costless v = right`` and the smallest u, by least squares."""
    if costless.size == 0:
        return np.asarray(np.linalg.lstsq(costly, right)[0]), np.zeros(0)
    Q, _ = np.linalg.qr(costless)
    u = np.asarray(np.linalg.lstsq(costly - Q @ (Q.T @ costly), right - Q @ (Q.T @ right))[0])
    return u, np.asarray(np.linalg.lstsq(costless, right - costly @ u)[0])
