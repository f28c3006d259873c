"""What is left between a machine and its figures: hard conditions missed, and rounding."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from qpsvm.machines.losses import slopes
from qpsvm.machines.solution import SVMSolution
from qpsvm.qp._arrays import as_dense

if TYPE_CHECKING:
    from qpsvm.machines.model import SupportVectorModel

EPS = float(np.finfo(np.float64).eps)
TINY = float(np.finfo(np.float64).tiny)


def infeasibility(model: SupportVectorModel, solution: SVMSolution) -> float:
    """By how much a condition or constraint is missed that must hold.

    Conditions relative to their unit; a constraint ``g'w + g_b b <= h`` relative to
    ``|h| + max|g| max|w| + |g_b b|``.
    """
    worst = 0.0
    if model.conditions.is_hard.any():
        v = model.violations(model.scores_and_norm(solution)[0], solution.intercept, 0.0)
        worst = float(np.max(np.maximum(v[model.conditions.is_hard], 0.0), initial=0.0))
    c = model.constraints
    if c is not None and solution.coef is not None:
        point = np.append(solution.coef, solution.intercept)
        size = float(np.max(np.abs(solution.coef)))
        missed = np.asarray(c.rows @ point) - c.right
        missed = np.where(c.lower == 0.0, np.maximum(missed, 0.0), np.abs(missed))
        on_w = as_dense(abs(c.rows[:, :-1]).max(axis=1)).ravel()
        scale = np.abs(c.right) + size * on_w + np.abs(solution.intercept * c.intercept_column)
        worst = float(np.maximum(worst, np.max(missed / np.maximum(scale, TINY))))
    return worst


def rounding(model: SupportVectorModel, solution: SVMSolution, objective: float) -> float:
    """What rounding can add to the objective, relative to it (hard margin: to the margins).

    A decision value is a sum whose terms may be far larger than it is: its error is of the
    order of ``e_i = u (sum |terms| + |b| + |p|)`` with the rounding unit u, and each condition
    passes on its slope times that. An estimate, not an enclosure.
    """
    c = model.conditions
    if solution.coef is not None:
        sizes = np.asarray(abs(model.data.X) @ np.abs(solution.coef))
        square = float(solution.coef @ solution.coef)
    elif solution.expansion is not None:
        v = np.abs(solution.expansion)
        if model.kernel.is_nonnegative:
            sizes = model.kernel_product(v)
        else:  # |k(x, z)| <= |phi(x)| |phi(z)|
            norms = np.sqrt(np.abs(model.gram.diagonal()))
            sizes = norms * float(norms @ v)
        square = float(v @ sizes)
    else:
        return math.inf
    terms = np.asarray(abs(c.rows) @ sizes) + np.abs(c.signs * solution.intercept)
    errors = EPS * (terms + abs(c.width * solution.width) + np.abs(c.required))
    if model.is_hard:
        return float(np.max(errors))
    scores, _ = model.scores_and_norm(solution)
    v = model.violations(scores, solution.intercept, solution.width)
    steepest = np.maximum(
        np.abs(slopes(v + errors, c.lower, c.upper, c.curvature)),
        np.abs(slopes(v - errors, c.lower, c.upper, c.curvature)),
    )
    soft = ~c.is_hard
    total = float(steepest[soft] @ errors[soft]) + EPS * c.norm_weight * square
    return total / max(abs(objective), model.objective_floor, TINY)
