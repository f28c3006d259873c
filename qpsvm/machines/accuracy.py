"""Accuracy of computed figures: violated conditions and constraints, and rounding errors.

A kernel matrix may have slightly negative eigenvalues, and weak duality needs ``x'Kx >= 0``. Where
a matrix that callers give has eigenvalues down to ``-delta``, a dual point and a machine with
coefficients beta satisfy::

    D(a) <= P(beta, b) + kappa/2 delta |beta - R'a / kappa|^2

so that the certified gap holds up to the second term, for the farthest dual point there can be.
What the gap says about weights needs more: with ``v = beta - beta*`` it bounds ``v'Kv``, which is
not a squared distance. But ``K + 2 delta I`` is a Gram matrix, also with any sample repeated, and::

    (Kv)_i^2  <=  (K_ii + 2 delta) v'(K + 2 delta I)v  <=  (K_ii + 2 delta) (v'Kv + 2 delta |v|^2)

So 2 delta is added to every squared norm of a sample, and ``2 delta |v|^2`` to the squared distance
of the weights. A primal program with such a matrix is not convex, and may be unbounded; what is
certified of it is about machines whose coefficients come from dual variables.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from qpsvm.machines.conditions import steepest
from qpsvm.machines.evaluation import Evaluation
from qpsvm.machines.feasibility import missed_constraints
from qpsvm.machines.primal_dual import PrimalDualPair
from qpsvm.machines.setup import DecisionValues
from qpsvm.numerics.arrays import Dense, Index, Vector, as_dense, is_sparse
from qpsvm.numerics.precision import EPS, TINY, exact_sum, product_parts
from qpsvm.numerics.single_precision import rows_of

SQUARE_ROUNDING = 1.0 + 1e-9
"""Factor by which a computed sum of squares is enlarged, so that its rounding is covered."""


def negative_curvature_error(model: Any, alpha: Dense, upper: float) -> float:
    """Bound on the error of the duality gap by negative eigenvalues of K; 0 without any.

    Parameters
    ----------
    model : SupportVectorModel or JointModel
    alpha : array of shape (N,) or (n, k)
        Dual feasible.
    upper : float
        At least the optimal objective.
    """
    delta = model.negative_bound * model.norm_curvature
    return _times_square(0.5 * delta, model.distance_bounds(alpha, upper)) if delta > 0.0 else 0.0


def indefinite_term_bound(model: Any, evaluation: Evaluation) -> float:
    """Bound ``2 delta |beta - beta*|^2`` for every optimum; 0 where K is semidefinite."""
    own, delta = evaluation.solution.expansion, model.negative_bound
    if not delta > 0.0:
        return 0.0
    if own is None:
        return math.inf
    distances = model.distance_bounds(evaluation.point.alpha, model.primal_objective(evaluation))
    return _times_square(2.0 * delta, distances + np.abs(own - evaluation.dual.expansion))


def _times_square(factor: float, moved: Dense) -> float:
    """``factor |moved|^2`` with its rounding; infinite for NaN."""
    bound = SQUARE_ROUNDING * factor * float(np.sum(moved * moved))
    return bound if bound >= 0.0 else math.inf


def distance_bounds(model: PrimalDualPair, alpha: Vector, upper: float) -> Vector:
    """Bound the distance of every coefficient from those of an optimum, shape (n,).

    From the box of the dual variables and the objective: a quadratic loss is at most the objective,
    ``d a^2 / 2 <= upper``; and where dual points may be scaled down, the best multiple of an
    optimum is the optimum itself: ``p'a <= 2 upper``.
    """
    c = model.conditions
    with np.errstate(all="ignore"):
        curved = np.sqrt(2.0 * upper / np.where(c.curvature > 0.0, c.curvature, np.nan))
        curved = np.where(c.curvature > 0.0, curved, np.inf)
        lower, highest = np.maximum(c.lower, -curved), np.minimum(c.upper, curved)
        scales = c.intercept_price == 0.0 and not c.width_sign and model.constraints is None
        if scales and (c.lower >= 0.0).all() and (c.required > 0.0).all():
            highest = np.minimum(highest, 2.0 * upper / c.required)
    return c.sample_sizes(np.maximum(alpha - lower, highest - alpha)) / c.norm_weight


def repair_size(model: Any, evaluation: Evaluation) -> float:
    """Largest change the repair made to an alpha, relative to ``alpha_unit``."""
    alpha = evaluation.solution.alpha
    moved = np.abs(evaluation.point.alpha - alpha) / model.alpha_unit(alpha)
    return float(np.max(moved, initial=0.0))


# --- conditions, constraints and rounding --------------------------------------------------------


def infeasibility(model: PrimalDualPair, values: DecisionValues) -> float:
    """Largest violation of a hard condition or a constraint on (w, b).

    Conditions relative to their unit; a constraint ``g'w + g_b b <= h`` relative to the sum of its
    terms, ``sum_j |g_j w_j| + |g_b b| + |h|``.
    """
    v = model.violations(values.scores, values.solution.intercept, 0.0)
    missed = v[model.conditions.is_hard], missed_constraints(model, values.solution)
    return float(np.max(np.concatenate(missed), initial=0.0))


def rounding(model: PrimalDualPair, evaluation: Evaluation, objective: float) -> float:
    """Bound on the rounding error of the objective, relative to it (hard margin: to the margin).

    Each condition passes on its slope times the error of its value, that of kernel values
    included. So is ``|w|^2``, a sum over pairs of samples.

    A condition within its error of the kink of its loss passes on the steeper slope.
    """
    c, solution = model.conditions, evaluation.solution
    weights = solution.coef if solution.coef is not None else solution.expansion
    if weights is None:
        return math.inf
    errors, square = condition_errors(model, evaluation), _square_error(model, evaluation)
    scores = evaluation.scores
    if model.is_hard:
        # weights that miss a margin are scaled up until they reach it, their errors with them
        rows = model.row_values(scores, solution.intercept)
        margin = float(np.min(rows / c.required))
        nearest = float(np.min((rows - errors) / c.required))  # the smallest that it may be
        scaled_up = model.constraints is None and margin < 1.0
        scale = max(margin, TINY) if scaled_up else 1.0
        # the objective is that of the given weights over the scale squared
        norm = max(abs(objective) * scale * scale, TINY)
        return 2.0 * max(min(margin, 1.0) - nearest, 0.0) / scale + square / norm
    v = model.violations(scores, solution.intercept, solution.width)
    steepest_slopes = steepest(v, errors, c.lower, c.upper, c.curvature)
    soft = ~c.is_hard
    total = float(steepest_slopes[soft] @ errors[soft]) + square
    offsets = abs(c.intercept_price * solution.intercept) + abs(c.width_price * solution.width)
    total += EPS * offsets
    return float(total / max(abs(objective), model.objective_floor, TINY))


def condition_errors(model: PrimalDualPair, evaluation: Evaluation) -> Vector:
    """Bounds on the errors of the violations of all conditions, shape (N,)."""
    c, solution = model.conditions, evaluation.solution
    terms = c.row_sizes(np.abs(evaluation.scores)) + np.abs(c.signs * solution.intercept)
    terms += abs(c.width_sign * solution.width) + np.abs(c.required)
    errors = c.row_sizes(evaluation.errors) + 2.0 * EPS * terms
    if c.minus_self_similarity:
        errors += c.at_samples(model.diagonal_errors)
    return np.asarray(errors)


def _square_error(model: PrimalDualPair, evaluation: Evaluation) -> float:
    """Bound on the error of ``kappa |w|^2`` of the machine as it predicts."""
    solution, kappa = evaluation.solution, model.conditions.norm_weight
    if solution.coef is not None:
        return EPS * kappa * float(solution.coef @ solution.coef)
    assert solution.expansion is not None
    size = np.abs(solution.expansion)
    return kappa * float(size @ (evaluation.errors + EPS * np.abs(evaluation.scores)))


def dual_rounding(model: PrimalDualPair, evaluation: Evaluation, objective: float) -> float:
    """Bound on the rounding error of the dual objective of the feasible point, absolute.

    Its sums are rounded like those of the primal objective: ``p'a``, the terms of constraints, and
    ``|w|^2`` of weights whose own terms may be far larger than they are. To these ``missed_sums``
    and ``negative_curvature_error`` are added. ``objective`` is that of the machine.
    """
    c, point, dual = model.conditions, evaluation.point, evaluation.dual
    a, mu = np.abs(point.alpha), np.abs(point.constraint_multipliers)
    linear = EPS * float(np.abs(c.required) @ a)
    if c.minus_self_similarity:
        linear += float(c.at_samples(model.diagonal_errors) @ a)
    if model.constraints is not None:
        linear += EPS * float(np.abs(model.constraints.right) @ mu)
    if model.norm.weights_follow:
        penalty = 0.5 * c.norm_weight * _dual_square_error(model, evaluation)
    else:
        # the point is feasible once it is divided by what the largest weight may exceed 1 by, a
        # penalised intercept among the weights
        excess = float(np.max(evaluation.dual_errors))
        if model.constant:
            column = 0.0 if model.constraints is None else model.constraints.intercept_column
            rounded = 2.0 * EPS * float(np.sum(np.abs(column) * mu))
            beyond = missed_balance(model, evaluation) - 1.0  # its sum is exact
            excess = float(np.maximum(excess, beyond + rounded))
        penalty = excess * abs(model.dual_value(point, dual))
    penalty += 0.5 * EPS * float((c.curvature * a) @ a)
    curvature = negative_curvature_error(model, point.alpha, objective)
    return linear + penalty + missed_sums(model, evaluation) + curvature


def _dual_square_error(model: PrimalDualPair, evaluation: Evaluation) -> float:
    """Bound on the error of ``|w_a|^2`` of the weights that the feasible point implies.

    Where they all but vanish, the squares of their errors are what is left.
    """
    dual, errors = evaluation.dual, evaluation.dual_errors
    if dual.coef is not None:
        w = np.abs(dual.coef)
        return float(w @ (2.0 * errors + EPS * w) + errors @ errors)
    scores = evaluation.dual_scores
    assert scores is not None
    moved = expansion_rounding(model, evaluation)
    size = math.sqrt(max(dual.square, 0.0))
    square = float(np.abs(dual.expansion) @ (errors + EPS * np.abs(scores)))
    return square + moved * (2.0 * size + moved)


def expansion_rounding(model: PrimalDualPair, evaluation: Evaluation) -> float:
    """Bound on the distance of weights with the rounded ``beta = R'a / kappa`` from exact ones."""
    c = model.conditions
    if c.selection is not None and c.selection.index is None and c.norm_weight == 1.0:
        return 0.0
    norms = np.sqrt(np.abs(model.gram.diagonal()) + model.diagonal_errors)
    sizes = c.sample_sizes(np.abs(evaluation.point.alpha))
    return float(2.0 * EPS * sizes / c.norm_weight @ norms)


def missed_sums(model: PrimalDualPair, evaluation: Evaluation) -> float:
    """Bound on what a dual point that is feasible only up to rounding may gain, absolute.

    An exactly feasible point (``onto_sums``) has its objective but for the slope of the moved
    variables, and half of the square by which the weights move.
    """
    rounded = implied_rounding(model, evaluation)
    if model.intercept != "free" and not model.conditions.width_sign:
        return rounded
    moves = onto_sums(model, evaluation)
    k, size = moves.conditions, np.abs(moves.steps)
    c, a, moved = model.conditions, evaluation.point.alpha[k], moves.of_weights(model)
    if not model.norm.weights_follow:  # the point is scaled until no weight exceeds 1
        value = abs(model.dual_value(evaluation.point, evaluation.dual))
        return float(size @ np.abs(c.required[k])) + moved * value
    slopes = c.required[k] - c.curvature[k] * a
    own = _missed_balance(model, evaluation) if model.constant else 0.0  # the intercept of alpha
    slopes -= c.signs[k] * (_dual_scores(model, evaluation, c.samples[k]) + own)
    curved = 0.5 * float(c.curvature[k] @ np.square(size))
    return float(size @ np.abs(slopes)) + 0.5 * c.norm_weight * moved * moved + curved + rounded


def implied_rounding(model: PrimalDualPair, evaluation: Evaluation) -> float:
    """Bound how much the rounding of a penalised intercept, a sum over alpha, adds to the gap."""
    if not (model.constant and model.norm.weights_follow):
        return 0.0
    size = float(np.sum(np.abs(evaluation.point.alpha)))
    return EPS * missed_balance(model, evaluation) * size


def _dual_scores(model: PrimalDualPair, evaluation: Evaluation, samples: Index) -> Vector:
    """Decision values ``w'x`` of some samples, for the weights w that dual variables imply."""
    if evaluation.dual_scores is not None:
        return np.asarray(evaluation.dual_scores[samples])
    assert evaluation.dual.coef is not None  # as for every linear machine
    return _dense_rows(model, samples) @ evaluation.dual.coef


def _dense_rows(model: PrimalDualPair, samples: Index) -> Dense:
    rows = rows_of(model.data.X, samples)
    return as_dense(rows) if is_sparse(rows) else np.asarray(rows, dtype=np.float64)


class Moves(NamedTuple):
    """Steps of some dual variables after which all equality constraints hold exactly.

    Attributes
    ----------
    conditions : array of int of shape (m,)
    steps : array of shape (m,)
    """

    conditions: Index
    steps: Vector

    def of_weights(self, model: PrimalDualPair) -> float:
        """Bound on the distance by which the weights move."""
        samples = model.conditions.samples[self.conditions]
        if model.is_linear:
            squares = SQUARE_ROUNDING * np.sum(np.square(_dense_rows(model, samples)), axis=1)
        else:
            squares = np.abs(model.gram.diagonal()[samples]) + model.diagonal_errors[samples]
        norms = np.sqrt(squares + model.constant)
        return float(np.abs(self.steps) @ norms) / model.conditions.norm_weight


def onto_sums(model: PrimalDualPair, evaluation: Evaluation) -> Moves:
    """Find variables that can make up for what ``(R 1)'a`` and ``1'a`` miss by rounding.

    Of those with room in their boxes they are the ones whose condition is nearest to the kink of
    its loss, so that a step costs least. Where none has room, exact upper bounds, which are rounded
    here, leave each variable a little: the costliest ones stand for all.
    """
    c, a = model.conditions, evaluation.point.alpha
    missed, excess = _missed_balance(model, evaluation), 0.0
    if c.width_sign:
        excess = c.width_sign * max(exact_sum(c.width_sign * a, -c.width_price), 0.0)
    if model.intercept != "free":
        groups = [(c.signs != 0.0, np.full(len(a), -excess))]
    elif not c.width_sign:
        is_moved = c.signs != 0.0
        groups = [(is_moved, -missed / np.where(is_moved, c.signs, 1.0))]
    else:  # the sum of either sign
        is_positive = c.signs > 0.0
        shares = np.where(is_positive, -0.5 * (missed + excess), 0.5 * (missed - excess))
        groups = [(is_positive, shares), (~is_positive, shares)]
    v = model.violations(
        evaluation.scores, evaluation.solution.intercept, evaluation.solution.width
    )
    slopes = np.abs(v - c.curvature * a)
    chosen, steps = list[int](), list[float]()
    for members, step in groups:
        if not step[members].any():
            continue
        has_room = members & (c.upper - a >= step) & (a - c.lower >= -step)
        if has_room.any():
            own = [int(np.argmin(np.where(has_room, slopes, np.inf)))]
        else:
            norms = c.at_samples(np.abs(model.gram.diagonal()))
            own = [int(np.argmax(np.where(members, sizes, 0.0))) for sizes in (slopes, norms)]
        chosen += own
        steps += step[own].tolist()
    return Moves(np.array(chosen, dtype=np.intp), np.array(steps))


def missed_balance(model: PrimalDualPair, evaluation: Evaluation) -> float:
    """Absolute residual of the dual equality constraint ``(R 1)'a = price_b``."""
    return abs(_missed_balance(model, evaluation))


def _missed_balance(model: PrimalDualPair, evaluation: Evaluation) -> float:
    """``(R 1)'a - price_b``, what constraints on the intercept contribute included."""
    c, point = model.conditions, evaluation.point
    terms, rules = c.signs * point.alpha, model.constraints
    if rules is not None:
        own = product_parts(-rules.intercept_column, point.constraint_multipliers)
        terms = np.concatenate([terms, *own])
    return exact_sum(terms, -c.intercept_price)
