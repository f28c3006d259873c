"""Accuracy of computed figures: violated conditions and constraints, and rounding errors."""

from __future__ import annotations

import math

import numpy as np

from qpsvm.machines.evaluation import Evaluation
from qpsvm.machines.feasibility import missed_constraints
from qpsvm.machines.losses import slopes
from qpsvm.machines.negative_curvature import negative_curvature_price
from qpsvm.machines.primal_dual import PrimalDualPair
from qpsvm.machines.setup import DecisionValues
from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.exact_sums import exact_sum
from qpsvm.numerics.precision import EPS, TINY


def infeasibility(model: PrimalDualPair, values: DecisionValues) -> float:
    """Largest violation of a hard condition or a constraint on (w, b).

    Conditions relative to their unit; a constraint ``g'w + g_b b <= h`` relative to the sum of its
    terms, ``sum_j |g_j w_j| + |g_b b| + |h|``.
    """
    missed = np.append(
        _missed_conditions(model, values), missed_constraints(model, values.solution)
    )
    return float(np.max(missed, initial=0.0))


def _missed_conditions(model: PrimalDualPair, values: DecisionValues) -> Vector:
    """``max(0, v)`` of the hard conditions."""
    hard = model.conditions.is_hard
    if not hard.any():
        return np.zeros(0)
    v = model.violations(values.scores, values.solution.intercept, 0.0)
    return np.asarray(np.maximum(v[hard], 0.0))


def rounding(
    model: PrimalDualPair, evaluation: Evaluation, objective: float, *, at_kinks: bool = True
) -> float:
    """Estimated rounding error of the objective, relative to it (hard margin: to the margin).

    A decision value is a sum whose terms may be far larger than it is, and each of them is rounded,
    however well they are added up: its error is of the order of ``e_i = u (sum |terms| + |b| +
    |p|)`` with the rounding unit u, and each condition passes on its slope times that. So is
    ``|w|^2``, a sum over pairs of samples. An estimate, not an enclosure.

    A condition within its error of the kink of its loss passes on the steeper slope; if not
    ``at_kinks`` the gentler one, as in answers that are clear of the kink, at hardly any price.
    """
    c, solution = model.conditions, evaluation.solution
    sizes, scores = evaluation.sizes, evaluation.scores
    weights = solution.coef if solution.coef is not None else solution.expansion
    if sizes is None or weights is None:
        return math.inf
    square = float(weights @ weights if solution.coef is not None else np.abs(weights) @ sizes)
    terms = c.row_sizes(sizes) + np.abs(c.signs * solution.intercept)
    errors = EPS * (terms + abs(c.width_sign * solution.width) + np.abs(c.required))
    if model.is_hard:
        # weights that miss a margin are scaled up until they reach it, their errors with them
        margin = float(np.min(model.row_values(scores, solution.intercept) / c.required))
        scaled_up = model.constraints is None and margin < 1.0
        scale = max(margin, TINY) if scaled_up else 1.0
        # the objective is that of the given weights over the scale squared
        norm = max(abs(objective) * scale * scale, TINY)
        return 2.0 * float(np.max(errors)) / scale + EPS * c.norm_weight * square / norm
    v = model.violations(scores, solution.intercept, solution.width)
    passed_on = (np.maximum if at_kinks else np.minimum)(
        np.abs(slopes(v + errors, c.lower, c.upper, c.curvature)),
        np.abs(slopes(v - errors, c.lower, c.upper, c.curvature)),
    )
    soft = ~c.is_hard
    total = float(passed_on[soft] @ errors[soft]) + EPS * c.norm_weight * square
    offsets = abs(c.intercept_price * solution.intercept) + abs(c.width_price * solution.width)
    total += EPS * offsets
    return total / max(abs(objective), model.objective_floor, TINY)


def dual_rounding(model: PrimalDualPair, evaluation: Evaluation) -> float:
    """Estimated rounding error of the dual objective of the feasible point, absolute.

    Its sums are rounded like those of the primal objective: ``p'a``, the prices of constraints, and
    ``|w|^2`` of weights whose own terms may be far larger than they are. And the point is feasible
    up to rounding only: if ``(R 1)'a`` misses its value by r, some exactly feasible point differs
    by variables that add up to r, at a price of ``|b|`` each (of ``|t|`` for the sum of a width).
    A kernel matrix that is positive semidefinite up to a tolerance only has a price as well
    (``negative_curvature``). An estimate, not an enclosure.
    """
    c, solution, point = model.conditions, evaluation.solution, evaluation.point
    a, mu = np.abs(point.alpha), np.abs(point.constraint_multipliers)
    dual, sizes = evaluation.dual, evaluation.dual_sizes
    linear = float(np.abs(c.required) @ a)
    balance = [*(c.signs * point.alpha).tolist(), -c.intercept_price]
    if model.constraints is not None:
        rules = model.constraints
        linear += float(np.abs(rules.right) @ mu)
        balance += (-rules.intercept_column * point.constraint_multipliers).tolist()
    if dual.coef is not None:
        square = 2.0 * c.norm_weight * float(np.abs(dual.coef) @ sizes)
    else:
        square = c.norm_weight * float(np.abs(dual.expansion) @ sizes)
    square += float((c.curvature * a) @ a)
    missed = abs(exact_sum(balance))
    hidden = missed * abs(solution.intercept) if model.intercept == "free" else 0.0
    if model.constant:
        square += 2.0 * missed * float(np.sum(a))
    if c.width_sign:  # e 1'a <= price_t
        excess = exact_sum([*(c.width_sign * point.alpha).tolist(), -c.width_price])
        hidden += max(0.0, excess) * abs(solution.width)
    upper = model.primal_objective(evaluation)
    hidden += negative_curvature_price(model, point.alpha, upper)
    return EPS * (linear + 0.5 * square) + hidden
