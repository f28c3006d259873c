"""Upper bound on a machine's excess over the optimum, as a sum of terms that do not cancel.

With the weights ``w_a`` and the penalised intercept ``b_a`` that a feasible dual point a implies,
the duality gap is a sum of non-negative terms::

    P(w, b, t) - D(a)  =  kappa/2 |w - w_a|^2  [+ 1/2 (b - b_a)^2]  +  t (price_t - e 1'a)
                          +  sum_k h_k(v_k),        h(v) = loss(v) + d/2 a^2 - a v

h is convex and zero where a is the slope of the loss at v. So an error of v costs nothing in a
condition whose variable is at the end of its box and whose violation is clear of zero, and only the
values of the others, mostly of free support vectors, have to be known well. Where kernel values
leave too much open, ``refined`` evaluates these few with digits to spare.

Source: Fenchel and Young's inequality; Shalev-Shwartz and Zhang, "Stochastic dual coordinate ascent
methods for regularized loss minimization", *JMLR* 14 (2013), section 6, for the gap as this sum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from qpsvm.kernels.errors import precise_expansion
from qpsvm.machines.accuracy import (
    condition_errors,
    expansion_rounding,
    implied_rounding,
    negative_curvature_error,
    onto_sums,
)
from qpsvm.machines.conditions import gap_terms
from qpsvm.machines.evaluation import Evaluation, PreciseViolations
from qpsvm.machines.norms import SQUARED
from qpsvm.machines.primal_dual import PrimalDualPair
from qpsvm.machines.settings import MACHINES
from qpsvm.numerics.arrays import Index, Mask, Vector, as_dense
from qpsvm.numerics.compensated import PreciseSums, precise_product
from qpsvm.numerics.precision import EPS, DoubleDouble, exact_sum, two_sum


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
    hidden, moved = _missed(model, evaluation, v)
    rest = 0.0
    if c.width_sign and t:
        rest = t * max(exact_sum(-c.width_sign * a, c.width_price), 0.0)
    bounds, terms = list[float](), list[Vector]()
    for sign in (0.0, 1.0):  # for the computed values, and at the worse ends of their errors
        margin = _smallest_margin(model, v + sign * errors) if model.is_hard else 1.0
        if not margin > MACHINES.smallest_margin:
            gap = bounds[0] if bounds else math.inf
            return GapBound(gap, math.inf, 2.0 * a * errors, 0.0)
        penalty = _penalty_terms(model, evaluation, margin, sign, moved)
        terms.append(_loss_terms(model, a, v, sign * errors, margin))
        bounds.append(float(np.sum(terms[-1])) + penalty + rest)
    gap, upper = bounds
    upper += hidden + negative_curvature_error(model, a, primal)
    # upper bounds are products of parameters, rounded
    upper += MACHINES.product_roundings * EPS * abs(primal)
    shares = np.maximum(terms[1] - terms[0], 0.0)
    gentler = 2.0 * errors * np.minimum(a - c.lower, c.upper - a)
    return GapBound(gap, upper, shares, float(np.sum(np.maximum(shares - gentler, 0.0))))


def _smallest_margin(model: PrimalDualPair, v: Vector) -> float:
    """Smallest margin of a hard margin with violations v, at most 1."""
    required = model.conditions.required
    return min(1.0, float(np.min((required - v) / required)))


def _loss_terms(
    model: PrimalDualPair, a: Vector, v: Vector, errors: Vector, margin: float
) -> Vector:
    """The largest ``h_k`` within errors of v, for the machine divided by its margin, shape (N,)."""
    c = model.conditions
    v = (v - (1.0 - margin) * c.required) / margin  # v itself where the margin is 1
    ends = v + errors / margin, v - errors / margin
    if model.is_hard:  # no condition is violated
        ends = np.minimum(ends[0], 0.0), np.minimum(ends[1], 0.0)
    return np.maximum(*(gap_terms(end, a, c.lower, c.upper, c.curvature) for end in ends))


def _penalty_terms(
    model: PrimalDualPair, evaluation: Evaluation, margin: float, sign: float, moved: float
) -> float:
    """``kappa/2 |w/m - w_a|^2 [+ 1/2 (b/m - b_a)^2]``, for sign 1 the largest within the errors.

    ``moved`` is how far w_a may be from the weights of an exactly feasible dual point.
    """
    distance, error = weights_distance(model, evaluation)
    farthest = distance + sign * (error + moved)
    square = farthest * farthest
    if margin < 1.0:
        # |w/m - w_a|^2 = |w - w_a|^2 + 2 (1/m - 1) w'(w - w_a) + (1/m - 1)^2 |w|^2
        more, own = 1.0 / margin - 1.0, evaluation.solution.expansion
        size = max(evaluation.square, 0.0)
        if evaluation.solution.coef is None and own is not None:
            size += float(np.abs(own) @ evaluation.errors)
        along, along_error = _along_difference(evaluation)
        across = along + sign * (along_error + math.sqrt(size) * moved)
        square = max(square + more * (2.0 * across + more * size), 0.0)
    penalty = 0.5 * model.conditions.norm_weight * square
    if model.constant:
        terms = -model.conditions.signs * evaluation.point.alpha
        step = exact_sum(terms, evaluation.solution.intercept / margin)
        penalty += 0.5 * step * step
    return penalty


def _difference(evaluation: Evaluation) -> tuple[Vector, Vector] | None:
    """``w - w_a`` of explicit weights, or its products with all samples; bounds on the errors."""
    solution, dual, scores = evaluation.solution, evaluation.dual, evaluation.dual_scores
    if solution.coef is not None and dual.coef is not None:
        one, other, errors = solution.coef, dual.coef, evaluation.dual_errors
    elif solution.coef is None and solution.expansion is not None and scores is not None:
        one, other, errors = evaluation.scores, scores, evaluation.errors + evaluation.dual_errors
    else:
        return None
    return one - other, errors + EPS * (np.abs(one) + np.abs(other))


def _along_difference(evaluation: Evaluation) -> tuple[float, float]:
    """``w'(w - w_a)`` of the machine's weights and those that its dual point implies; its error."""
    solution, difference = evaluation.solution, _difference(evaluation)
    if difference is None:
        return math.nan, math.nan
    w = solution.expansion if solution.coef is None else solution.coef
    if solution.coef is None and np.array_equal(w, evaluation.dual.expansion):
        return 0.0, 0.0
    return float(w @ difference[0]), float(np.abs(w) @ difference[1])


def _missed(model: PrimalDualPair, evaluation: Evaluation, v: Vector) -> tuple[float, float]:
    """Price of dual equality constraints that hold only up to rounding; the change of w_a by it.

    An exactly feasible point differs in the variables of ``onto_sums``: in the terms of these, and
    in its weights.
    """
    moves = onto_sums(model, evaluation)
    k, size, c = moves.conditions, np.abs(moves.steps), model.conditions
    slopes = np.abs(v[k] - c.curvature[k] * evaluation.point.alpha[k])
    price = float(size @ (slopes + c.curvature[k] * size)) + implied_rounding(model, evaluation)
    return 2.0 * price, moves.of_weights(model)


def weights_distance(model: PrimalDualPair, evaluation: Evaluation) -> tuple[float, float]:
    """``|w - w_a|`` of the machine's weights and those that its dual point implies; its error."""
    own, difference = evaluation.solution.expansion, _difference(evaluation)
    if difference is None:
        return math.inf, math.inf
    products, errors = difference
    if evaluation.solution.coef is not None:
        return float(np.linalg.norm(products)), float(np.linalg.norm(errors))
    error = expansion_rounding(model, evaluation)
    if np.array_equal(own, evaluation.dual.expansion):
        return 0.0, error
    delta = own - evaluation.dual.expansion
    square, hidden = float(delta @ products), float(np.abs(delta) @ errors)
    middle = math.sqrt(max(square, 0.0))
    return middle, math.sqrt(max(square, 0.0) + hidden) - middle + error


def refined(model: PrimalDualPair, evaluation: Evaluation, allowance: float) -> Evaluation:
    """Evaluate some decision values with digits to spare: those on which a bound depends.

    Parameters
    ----------
    model : PrimalDualPair
    evaluation : Evaluation
    allowance : float
        How much the errors of the remaining values may add to the gap together.

    Returns
    -------
    Evaluation
        The given one where no digits are to be had: K is data, or rows have other entries than
        -1 and 1.
    """
    c, own = model.conditions, evaluation.solution.expansion
    if not (np.abs(c.rows.data) == 1.0).all():
        return evaluation
    chosen = _decisive(model, evaluation, allowance)
    samples = np.unique(c.rows[chosen].indices).astype(np.intp)
    sums = _precise_scores(model, evaluation, samples) if len(samples) else None
    if sums is None:
        return evaluation
    scores, errors = evaluation.scores.copy(), evaluation.errors.copy()
    scores[samples] = sums.hi + sums.lo
    errors[samples] = sums.error + EPS * np.abs(sums.hi)
    precise = None
    if not (c.minus_self_similarity and model.diagonal_errors.any()):
        precise = _precise_violations(model, evaluation, chosen, samples, sums)
    changed = replace(evaluation, scores=scores, errors=errors, precise=precise)
    if own is None or evaluation.solution.coef is not None:
        return changed
    changed = replace(changed, square=float(own @ scores))
    if np.array_equal(own, evaluation.dual.expansion):
        dual = replace(evaluation.dual, square=float(own @ scores))
        changed = replace(changed, dual=dual, dual_scores=scores, dual_errors=errors)
    return changed


def _decisive(model: PrimalDualPair, evaluation: Evaluation, allowance: float) -> Index:
    """Indices of the conditions whose errors must be reduced to bring the bound within reach."""
    found = gap_bound(model, evaluation)
    if found is None or model.is_hard:
        near = _may_be_nearest(model, evaluation)
        return np.flatnonzero(near | (evaluation.point.alpha != 0.0))
    order = np.argsort(found.shares, kind="stable")
    total = np.cumsum(found.shares[order])
    return np.sort(order[~(total <= allowance)])  # NaN counts


def _may_be_nearest(model: PrimalDualPair, evaluation: Evaluation) -> Mask:
    """Return which conditions of a hard margin may have the smallest margin, given their errors."""
    c = model.conditions
    rows = model.row_values(evaluation.scores, evaluation.solution.intercept)
    errors = condition_errors(model, evaluation)
    smallest = np.min((rows + errors) / c.required)
    return np.asarray(~((rows - errors) / c.required > smallest))


def _precise_scores(
    model: PrimalDualPair, evaluation: Evaluation, samples: Index
) -> PreciseSums | None:
    """``w'phi(x_i)`` of some samples with digits to spare; None where K is data."""
    solution, X = evaluation.solution, model.data.X
    if solution.coef is not None:
        return precise_product(as_dense(X[samples]), solution.coef)
    kernel, own = model.exact_kernel, solution.expansion
    if kernel is None or own is None or not np.isfinite(own).all():
        return None
    used = np.flatnonzero(own)
    return precise_expansion(kernel, X[samples], X[used], own[used])


def _precise_violations(
    model: PrimalDualPair, evaluation: Evaluation, chosen: Index, samples: Index, sums: PreciseSums
) -> PreciseViolations:
    """``v = p - R f - e t`` of some conditions, added up in twice the precision."""
    c, solution = model.conditions, evaluation.solution
    place = np.zeros(model.data.n_samples, dtype=np.intp)
    place[samples] = np.arange(len(samples))
    total = two_sum(c.required[chosen], -c.signs[chosen] * solution.intercept)
    sizes = np.abs(total.hi) + np.abs(c.required[chosen])
    terms = [np.full(len(chosen), -c.width_sign * solution.width)]
    first, length = c.rows.indptr[chosen], np.diff(c.rows.indptr)[chosen]
    for k in range(int(np.max(length, initial=0))):
        entry = np.minimum(first + k, len(c.rows.data) - 1)
        own, sign = place[c.rows.indices[entry]], np.where(k < length, -c.rows.data[entry], 0.0)
        terms += [sign * sums.hi[own], sign * sums.lo[own]]
    for term in terms:
        after = two_sum(total.hi, term)
        total = DoubleDouble(after.hi, total.lo + after.lo)
        sizes += np.abs(term)
    values = total.hi + total.lo
    all_errors = np.zeros(model.data.n_samples)
    all_errors[samples] = sums.error
    errors = c.row_sizes(all_errors)[chosen] + EPS * np.abs(values)
    errors += 2.0 * len(terms) ** 2 * EPS * EPS * sizes
    if not (np.abs(c.required) <= 1.0).all() or np.any(c.required % 1.0):
        errors += EPS * np.abs(c.required[chosen])  # p = t - epsilon was rounded
    return PreciseViolations(chosen, values, errors)
