"""Decision values with digits to spare, for the few samples on which a bound depends.

Where errors of kernel values alone would refuse a machine, ``refined`` evaluates its decisive
values again: those of free support vectors and of samples near the kink of their loss, and the
distance of its weights from those that its dual variables imply.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from qpsvm.kernels.errors import PreciseSums, precise_expansion, precise_products
from qpsvm.machines.accuracy import condition_errors
from qpsvm.machines.complementarity import gap_bound, weights_apart
from qpsvm.machines.evaluation import Evaluation, PreciseViolations, evaluated
from qpsvm.machines.primal_dual import PrimalDualPair
from qpsvm.machines.score_errors import exact_kernel
from qpsvm.numerics.arrays import Index, Mask
from qpsvm.numerics.precision import EPS, DoubleDouble, two_sum


def refined(
    model: PrimalDualPair, evaluation: Evaluation, allowance: float, *, everywhere: bool = False
) -> Evaluation:
    """Evaluate some decision values with digits to spare: those on which a bound depends.

    Parameters
    ----------
    model : PrimalDualPair
    evaluation : Evaluation
    allowance : float
        How much the errors of the remaining values may add to the gap together.
    everywhere : bool
        Include all support vectors: the objectives themselves are then known.

    Returns
    -------
    Evaluation
        The given one where no digits are to be had: K is data, or rows have other entries than
        -1 and 1.
    """
    c, own = model.conditions, evaluation.solution.expansion
    is_expansion = own is not None and evaluation.solution.coef is None
    if not (np.abs(c.rows.data) == 1.0).all() or (is_expansion and exact_kernel(model) is None):
        return evaluation
    if is_expansion and c.is_cone:
        # the best multiple of the dual variables followed from values without digits
        evaluation = evaluated(model, evaluation.solution, best_multiple=False)
    chosen = _decisive(model, evaluation, allowance)
    if everywhere:
        chosen = np.union1d(chosen, np.flatnonzero(evaluation.point.alpha))
    evaluation = _with_precise_scores(model, evaluation, chosen)
    if not is_expansion:
        return evaluation
    return replace(evaluation, square_apart=_precise_square_apart(model, evaluation, allowance))


def _with_precise_scores(
    model: PrimalDualPair, evaluation: Evaluation, chosen: Index
) -> Evaluation:
    """Replace the values of some conditions by values with digits to spare."""
    c, own = model.conditions, evaluation.solution.expansion
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
        return precise_products(X[samples], solution.coef)
    kernel, own = exact_kernel(model), solution.expansion
    if kernel is None or own is None or not np.isfinite(own).all():
        return None
    used = np.flatnonzero(own)
    return precise_expansion(kernel, X[samples], X[used], own[used])


def _precise_square_apart(
    model: PrimalDualPair, evaluation: Evaluation, allowance: float
) -> tuple[float, float] | None:
    """``|w - w_a|^2`` of a kernel machine, and a bound on its error; None if it is good enough."""
    distance, error = weights_apart(model, evaluation)
    own, kernel = evaluation.solution.expansion, exact_kernel(model)
    adds = 0.5 * model.conditions.norm_weight * error * (2.0 * distance + error)
    if own is None or kernel is None or adds <= allowance:
        return None
    apart = own - evaluation.dual.expansion
    used = np.flatnonzero(apart)
    X = model.data.X[used]
    sums = precise_expansion(kernel, X, X, apart[used])
    if sums is None:
        return None
    weights = np.abs(apart[used])
    # the difference of coefficients was rounded itself, by less than its error here
    return float(apart[used] @ sums.hi), float(weights @ (sums.error + 4.0 * EPS * np.abs(sums.hi)))


def _precise_violations(
    model: PrimalDualPair,
    evaluation: Evaluation,
    chosen: Index,
    samples: Index,
    sums: PreciseSums,
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
