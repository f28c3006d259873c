"""Upper bound on a machine's excess over the optimum, as a sum of terms that do not cancel.

With the weights ``w_a`` and the penalised intercept ``b_a`` that a feasible dual point a implies,
the duality gap is a sum of non-negative terms::

    P(w, b, t) - D(a)  =  kappa/2 |w - w_a|^2  [+ 1/2 (b - b_a)^2]  +  t (price_t - e 1'a)
                          +  sum_k h_k(v_k),        h(v) = loss(v) + d/2 a^2 - a v

h is convex and zero where a is the slope of the loss at v. So an error of v costs nothing in a
condition whose variable is at the end of its box and whose violation is clear of zero, and only the
values of the others, mostly of free support vectors, have to be known well. Where kernel values
leave too much open these few are evaluated with digits to spare (``machines.more_digits``).

Source: Fenchel and Young's inequality; Shalev-Shwartz and Zhang, "Stochastic dual coordinate ascent
methods for regularized loss minimization", *JMLR* 14 (2013), section 6, for the gap as this sum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from qpsvm.machines.accuracy import (
    condition_errors,
    expansion_rounding,
    missed_balance,
    missed_sums,
    missed_width,
)
from qpsvm.machines.evaluation import Evaluation
from qpsvm.machines.losses import slopes
from qpsvm.machines.negative_curvature import negative_curvature_price
from qpsvm.machines.norms import SQUARED
from qpsvm.machines.primal_dual import PrimalDualPair
from qpsvm.machines.settings import MACHINES
from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.precision import EPS, exact_sum


@dataclass(frozen=True, eq=False)
class GapBound:
    """Duality gap of a machine as a sum of non-negative terms, and an upper bound on it.

    Attributes
    ----------
    gap : float
        For the computed decision values.
    upper : float
        At least the objective minus the optimum, errors of kernel values and rounding included.
    shares : array of shape (N,)
        What the error of its value adds for each condition.
    avoidable : float
        What answers may save of these shares together: where the value of a condition is clear of
        the kink of its loss, its error costs no more than the gentler of the slopes on both sides.
    """

    gap: float
    upper: float
    shares: Vector
    avoidable: float


def gap_bound(model: PrimalDualPair, evaluation: Evaluation) -> GapBound | None:
    """Bound a machine's excess over the optimum; None under constraints on (w, b).

    Parameters
    ----------
    model : PrimalDualPair
    evaluation : Evaluation

    Returns
    -------
    GapBound or None
        None also for a 1-norm, and for a machine without weights or with an infinite objective.
    """
    c, solution = model.conditions, evaluation.solution
    primal = model.primal_objective(evaluation)
    if model.constraints is not None or model.norm is not SQUARED:
        return None
    if c.is_hard.any() and not model.is_hard:
        return None
    if not math.isfinite(primal):
        return None
    a, t = evaluation.point.alpha, solution.width
    v = model.violations(evaluation.scores, solution.intercept, t)
    errors = condition_errors(model, evaluation)
    if evaluation.precise is not None:
        some, values, known = evaluation.precise
        v[some], errors[some] = values, known
    if model.is_hard:
        return _of_hard_margin(model, evaluation, v, errors)
    middle = _complementarity(model, a, v)
    highest = np.maximum(
        _complementarity(model, a, v + errors), _complementarity(model, a, v - errors)
    )
    distance, error = weights_apart(model, evaluation)
    hidden, moved = _missed(model, evaluation)
    error += moved
    rest = 0.0
    if model.constant:
        apart = _intercept_apart(model, evaluation, 1.0)
        rest += 0.5 * apart * apart
    if c.width_sign and t:
        room = exact_sum([c.width_price, *(-c.width_sign * a).tolist()])
        rest += t * max(room, 0.0)
    kappa = c.norm_weight
    gap = float(np.sum(middle)) + 0.5 * kappa * distance * distance + rest
    farthest = distance + error
    upper = float(np.sum(highest)) + 0.5 * kappa * farthest * farthest + rest + hidden
    upper += negative_curvature_price(model, a, primal)
    # prices are products of parameters, rounded
    upper += MACHINES.price_roundings * EPS * abs(primal)
    shares = np.maximum(highest - middle, 0.0)
    gentler = 2.0 * errors * np.minimum(a - c.lower, c.upper - a)
    return GapBound(gap, upper, shares, float(np.sum(np.maximum(shares - gentler, 0.0))))


def _of_hard_margin(
    model: PrimalDualPair, evaluation: Evaluation, v: Vector, errors: Vector
) -> GapBound:
    """Bound the excess of a hard margin, whose machine is scaled up until it is feasible.

    ``P(w/m, b/m) - D(a) = kappa/2 |w/m - w_a|^2 [+ 1/2 (b/m - b_a)^2] + a'(R f / m - p)`` with the
    smallest margin m, at most 1.
    """
    c, a = model.conditions, evaluation.point.alpha
    rows = c.required - v
    distance, error = weights_apart(model, evaluation)
    hidden, moved = _missed(model, evaluation)
    square, own = max(evaluation.square, 0.0), evaluation.solution.expansion
    if evaluation.solution.coef is None and own is not None:
        square += float(np.abs(own) @ evaluation.errors)
    size, along = math.sqrt(square), _along_difference(evaluation)
    values = list[float]()
    for sign in (0.0, 1.0):
        margin = min(1.0, float(np.min((rows - sign * errors) / c.required)))
        if not margin > MACHINES.smallest_margin:
            values.append(math.inf)
            continue
        # |w/m - w_a|^2 = |w - w_a|^2 + 2 (1/m - 1) w'(w - w_a) + (1/m - 1)^2 |w|^2
        more, far = 1.0 / margin - 1.0, distance + sign * (error + moved)
        across = along[0] + sign * (along[1] + size * moved)
        away = math.sqrt(max(far * far + more * (2.0 * across + more * size * size), 0.0))
        total = 0.5 * c.norm_weight * away * away
        if model.constant:
            apart = _intercept_apart(model, evaluation, margin)
            total += 0.5 * apart * apart
        beyond = (rows + sign * errors) / margin - c.required
        values.append(total + float(a @ np.maximum(beyond, 0.0)) + sign * hidden)
    gap, upper = values
    upper += negative_curvature_price(model, a, model.primal_objective(evaluation))
    upper += MACHINES.price_roundings * EPS * abs(model.primal_objective(evaluation))
    return GapBound(gap, upper, 2.0 * a * errors, 0.0)


def _along_difference(evaluation: Evaluation) -> tuple[float, float]:
    """``w'(w - w_a)`` of the machine's weights and those that its dual point implies; its error."""
    solution, dual, scores = evaluation.solution, evaluation.dual, evaluation.dual_scores
    if solution.coef is not None and dual.coef is not None:
        w, apart, errors = solution.coef, solution.coef - dual.coef, evaluation.dual_errors
        rounding = EPS * (np.abs(w) + np.abs(dual.coef))
    elif solution.expansion is not None and scores is not None:
        w, apart = solution.expansion, evaluation.scores - scores
        errors = evaluation.errors + evaluation.dual_errors
        rounding = EPS * (np.abs(evaluation.scores) + np.abs(scores))
        if np.array_equal(w, dual.expansion):
            return 0.0, 0.0
    else:
        return math.nan, math.nan
    return float(w @ apart), float(np.abs(w) @ (errors + rounding))


def _intercept_apart(model: PrimalDualPair, evaluation: Evaluation, margin: float) -> float:
    """``b / m - b_a`` of a penalised intercept, with the one that the dual variables imply."""
    terms = -model.conditions.signs * evaluation.point.alpha
    return exact_sum([*terms.tolist(), evaluation.solution.intercept / margin])


def _missed(model: PrimalDualPair, evaluation: Evaluation) -> tuple[float, float]:
    """Cost of dual equality constraints that hold only up to rounding, and the change of w by it.

    A free intercept is measured where it is smallest: at the origin, or at the sample whose
    decision value is nearest to zero.
    """
    if model.intercept != "free":
        return 2.0 * missed_sums(model, evaluation), 0.0
    missed, b = missed_balance(model, evaluation), evaluation.solution.intercept
    of_width, price, apart = missed_width(model, evaluation), abs(b), 0.0
    decisions = np.abs(evaluation.scores + b) + evaluation.errors
    m = int(np.argmin(decisions))
    if decisions[m] < price:
        norm = float(np.sqrt(np.abs(model.gram.diagonal()[m]) + model.diagonal_errors[m]))
        price, apart = float(decisions[m]), missed * norm / model.conditions.norm_weight
    return 2.0 * (missed * price + of_width), apart


def _complementarity(model: PrimalDualPair, a: Vector, v: Vector) -> Vector:
    """``loss(v) + d/2 a^2 - a v`` for every condition: zero where a is the slope of the loss."""
    c = model.conditions
    best = slopes(v, c.lower, c.upper, c.curvature)
    terms = (best - a) * (v - 0.5 * c.curvature * (best + a))
    return np.where(best == a, 0.0, np.maximum(terms, 0.0) if not np.isnan(terms).any() else terms)


def weights_apart(model: PrimalDualPair, evaluation: Evaluation) -> tuple[float, float]:
    """``|w - w_a|`` of the machine's weights and those that its dual point implies; its error."""
    solution, dual = evaluation.solution, evaluation.dual
    if solution.coef is not None and dual.coef is not None:
        apart = solution.coef - dual.coef
        rounding = evaluation.dual_errors + EPS * (np.abs(solution.coef) + np.abs(dual.coef))
        return float(np.linalg.norm(apart)), float(np.linalg.norm(rounding))
    own, scores = solution.expansion, evaluation.dual_scores
    if own is None or scores is None or solution.coef is not None:
        return math.inf, math.inf
    error = expansion_rounding(model, evaluation)
    if np.array_equal(own, dual.expansion):
        return 0.0, error
    if evaluation.square_apart is not None:
        square, hidden = evaluation.square_apart
    else:
        apart = own - dual.expansion
        square = float(apart @ (evaluation.scores - scores))
        errors = evaluation.errors + evaluation.dual_errors
        errors += EPS * (np.abs(evaluation.scores) + np.abs(scores))
        hidden = float(np.abs(apart) @ errors)
    middle = math.sqrt(max(square, 0.0))
    return middle, math.sqrt(max(square, 0.0) + hidden) - middle + error
