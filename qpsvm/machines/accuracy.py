"""Accuracy of computed figures: violated conditions and constraints, and rounding errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from qpsvm.machines.feasibility import missed_constraints
from qpsvm.machines.losses import slopes
from qpsvm.machines.primal_dual import DualPoint, PrimalDualPair
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arrays import IN_CACHE, Vector, row_blocks
from qpsvm.numerics.precision import EPS, TINY
from qpsvm.numerics.row_sums import common_offset


def infeasibility(model: PrimalDualPair, solution: SVMSolution) -> float:
    """Largest violation of a hard condition or a constraint on (w, b).

    Conditions relative to their unit; a constraint ``g'w + g_b b <= h`` relative to the sum of its
    terms, ``sum_j |g_j w_j| + |g_b b| + |h|``.
    """
    missed = np.append(_missed_conditions(model, solution), missed_constraints(model, solution))
    return float(np.max(missed, initial=0.0))


def _missed_conditions(model: PrimalDualPair, solution: SVMSolution) -> Vector:
    """``max(0, v)`` of the hard conditions."""
    hard = model.conditions.is_hard
    if not hard.any():
        return np.zeros(0)
    v = model.violations(model.scores_and_norm(solution)[0], solution.intercept, 0.0)
    return np.asarray(np.maximum(v[hard], 0.0))


def rounding(model: PrimalDualPair, solution: SVMSolution, objective: float) -> float:
    """Estimated rounding error of the objective, relative to it (hard margin: to the margin).

    A decision value is a sum whose terms may be far larger than it is, and each of them is rounded,
    however well they are added up: its error is of the order of ``e_i = u (sum |terms| + |b| +
    |p|)`` with the rounding unit u, and each condition passes on its slope times that. An
    estimate, not an enclosure.
    """
    c = model.conditions
    sizes = term_sizes(model, solution)
    weights = solution.coef if solution.coef is not None else solution.expansion
    if sizes is None or weights is None:
        return math.inf
    square = float(weights @ weights if solution.coef is not None else np.abs(weights) @ sizes)
    terms = np.asarray(abs(c.rows) @ sizes) + np.abs(c.signs * solution.intercept)
    errors = EPS * (terms + abs(c.width * solution.width) + np.abs(c.required))
    scores, _ = model.scores_and_norm(solution)
    if model.is_hard:
        # weights that miss a margin are scaled up until they reach it, their errors with them
        margin = float(np.min(model.row_values(scores, solution.intercept) / c.required))
        scaled_up = model.constraints is None and margin < 1.0
        return float(np.max(errors)) / (max(margin, TINY) if scaled_up else 1.0)
    v = model.violations(scores, solution.intercept, solution.width)
    steepest = np.maximum(
        np.abs(slopes(v + errors, c.lower, c.upper, c.curvature)),
        np.abs(slopes(v - errors, c.lower, c.upper, c.curvature)),
    )
    soft = ~c.is_hard
    total = float(steepest[soft] @ errors[soft]) + EPS * c.norm_weight * square
    offsets = abs(c.intercept_price * solution.intercept) + abs(c.width_price * solution.width)
    total += EPS * offsets
    return total / max(abs(objective), model.objective_floor, TINY)


def dual_rounding(model: PrimalDualPair, solution: SVMSolution, point: DualPoint) -> float:
    """Estimated rounding error of the dual objective of a point, absolute.

    Its sums are rounded like those of the primal objective: ``p'a``, the prices of constraints, and
    ``|w|^2`` of weights whose own terms may be far larger than they are. And the point is feasible
    up to rounding only: if ``(R 1)'a`` misses its value by r, some exactly feasible point differs
    by variables that add up to r, at a price of ``|b|`` each (of ``|t|`` for the sum of a width).
    An estimate, not an enclosure.
    """
    c, a = model.conditions, np.abs(point.alpha)
    mu = np.abs(point.constraint_multipliers)
    beta = model.expansion(point.alpha)
    linear = float(np.abs(c.required) @ a)
    balance = [*(c.signs * point.alpha).tolist(), -c.intercept_price]
    if model.is_linear:
        w = np.abs(model.weights(beta, point.constraint_multipliers))
        columns = _column_sizes(model.data.X, beta)
        if model.constraints is not None:
            rules = model.constraints
            linear += float(np.abs(rules.right) @ mu)
            columns = columns + np.asarray(abs(rules.rows[:, :-1]).T @ mu) / c.norm_weight
            balance += (-rules.intercept_column * point.constraint_multipliers).tolist()
        square = 2.0 * c.norm_weight * float(w @ columns)
    else:
        square = c.norm_weight * float(np.abs(beta) @ expansion_sizes(model, beta))
    square += float((c.curvature * a) @ a)
    missed = abs(_exact_sum(balance))
    hidden = missed * abs(solution.intercept) if model.intercept == "free" else 0.0
    if model.constant:
        square += 2.0 * missed * float(np.sum(a))
    if c.width:  # e 1'a <= price_t
        excess = _exact_sum([*(c.width * point.alpha).tolist(), -c.width_price])
        hidden += max(0.0, excess) * abs(solution.width)
    return EPS * (linear + 0.5 * square) + hidden


def _column_sizes(X: Any, beta: Vector) -> Vector:
    """Sum of absolute terms of ``X'beta``, with an offset that all samples share taken off."""
    offset = common_offset(X)
    if offset is None:
        return np.asarray(abs(X).T @ np.abs(beta))
    sizes = np.abs(offset) * abs(_exact_sum(beta.tolist()))
    for rows in row_blocks(X.shape[0], X.shape[1], IN_CACHE):
        sizes = sizes + np.abs(X[rows] - offset).T @ np.abs(beta[rows])
    return np.asarray(sizes)


def _exact_sum(terms: list[float]) -> float:
    try:
        return math.fsum(terms)
    except (OverflowError, ValueError):
        return math.inf


def term_sizes(model: PrimalDualPair, solution: SVMSolution) -> Vector | None:
    """The sum of the absolute terms of ``w'phi(x_i)``, or an upper bound on it, shape (n,)."""
    if solution.coef is not None:
        return np.asarray(abs(model.data.X) @ np.abs(solution.coef))
    if solution.expansion is None:
        return None
    return expansion_sizes(model, solution.expansion)


def expansion_sizes(model: PrimalDualPair, expansion: Vector) -> Vector:
    """``|K| |beta|``, or an upper bound on it, shape (n,)."""
    v = np.abs(expansion)
    if model.kernel.is_nonnegative:
        return model.kernel_product(v)
    # |k(x, z)| <= |phi(x)| |phi(z)|
    norms = np.sqrt(np.abs(model.gram.diagonal()))
    return np.asarray(norms * float(norms @ v))
