"""Bounds on the optimal machine, derived from the certified gap.

The objective minus ``kappa/2 |w|^2`` is convex, so a gap bounds the distance of the weights,
``|w - w*| <= r = sqrt(2 gap / kappa)``. With ``c`` any point of feature space

    |f*(x) - f(x)|  <=  r |phi(x) - c|  +  |b~* - b~|,      b~ = b + w'c

(an intercept measured at c, amid the samples, is known better than one at the origin). And b~* is
a minimiser of ``phi(b)`` (see ``machines.intercept``) for targets that are known to
``r |phi(x_i) - c|``, which encloses it. So every condition's violation is known to an interval, and
where that does not contain zero it is known what the optimal dual variable is::

    v* < 0:  alpha* = lower bound ("zero", where that is 0)        v* > 0:  alpha* = C ("bound")

All of it holds for every program whose ``C_i`` are within ``upper_bound_error`` of the stored ones:
the program of the parameters, and the one with the ``C_i`` as they were rounded
(``docs/rounding.md``).

Source: the ball and the test are those of gap-safe screening: Ogawa, Suzuki and Takeuchi, "Safe
screening of non-support vectors in pathwise SVM computation", ICML 2013; Ndiaye, Fercoq, Gramfort
and Salmon, "Gap safe screening rules for sparsity enforcing penalties", *JMLR* 18 (2017), section
3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from qpsvm.certificates.rigorous import decision_enclosure, feature_norms
from qpsvm.certificates.rigorous.feasible import between
from qpsvm.certificates.rigorous.kernels import gram_product, own_norms, required, upper_bound_error
from qpsvm.kernels import Precomputed
from qpsvm.machines.evaluation import Evaluation
from qpsvm.machines.intercept import EVERYWHERE, Interval, enclosing_intercepts, signed
from qpsvm.machines.model import SupportVectorModel
from qpsvm.machines.setup import KernelSetup
from qpsvm.numerics.arrays import Dense, Vector
from qpsvm.numerics.balls import SUM_ROUNDING, UNDERFLOW, root
from qpsvm.numerics.precision import EPS
from qpsvm.numerics.single_precision import Stored
from qpsvm.qp.kernel_quadratic import KernelQuadratic

NOTHING = Interval(0.0, 0.0)


@dataclass(frozen=True, eq=False)
class OptimumBounds:
    """Bounds on the optimal machine: its weights, intercept, width and violations.

    Attributes
    ----------
    radius : float
        ``|w - w*|`` is at most this (with a penalised intercept ``|(w, b) - (w*, b*)|``).
    centre : array of shape (d,) or None
        c; None for the origin.
    shift : Interval
        ``b~* - b~``, for every optimal intercept.
    intercept : Interval
        Contains every optimal intercept b*.
    width : Interval
        Contains the optimal width t*.
    low, high : arrays of shape (N,)
        ``low <= v* <= high``, the violation of every condition at an optimum.
    intercept_moves : bool
        Proven: b is optimal for the optimal weights, and so are its neighbours on either side. Then
        low and high are about this b; otherwise about every optimal one.
    """

    radius: float
    centre: Vector | None
    shift: Interval
    intercept: Interval
    width: Interval
    low: Vector
    high: Vector
    intercept_moves: bool = False


def locate(
    model: SupportVectorModel, evaluation: Evaluation, radius: float, *, rigorous: bool = False
) -> OptimumBounds:
    """Bound weights, intercept, width and violations of the optimal machine.

    Parameters
    ----------
    model : SupportVectorModel
    evaluation : Evaluation
        Of the solution.
    radius : float
        Of the ball around the solution's weights that contains the optimal ones.
    rigorous : bool
        Enclose the decision values of the training samples, for one more pass over the kernel;
        otherwise their rounding is estimated.
    """
    c, solution = model.conditions, evaluation.solution
    b, t = solution.intercept, solution.width
    v = model.violations(evaluation.scores, b, t)
    centre = centre_of(model)
    delta = distances(model, centre, model.data.X, _own_squares(model))
    errors = score_errors(model, evaluation, rigorous) + EPS * abs(b)
    rows = SUM_ROUNDING * c.row_sizes(radius * delta + errors) + UNDERFLOW
    rows += required(model).rad + EPS * (np.abs(c.required) + np.abs(v) + abs(c.width_sign * t))
    known = _offsets(model, v + c.width_sign * t, rows)
    moves = _is_flat(model, v, rows)
    if moves:  # an alpha is known by its condition beside any one optimal intercept
        known = replace(known, low=np.zeros(len(c)), high=np.zeros(len(c)))
    # v* = v + e t - R (w* - w)'(phi - c) - (s shift + e t*)
    low, high = v + c.width_sign * t - rows - known.high, v + c.width_sign * t + rows - known.low
    # what overflows is not known
    low, high = np.where(np.isfinite(v), low, np.nan), np.where(np.isfinite(v), high, np.nan)
    pad = 4.0 * EPS * (np.abs(v) + abs(t) + rows + np.maximum(np.abs(low), np.abs(high)))
    away = 0.0 if centre is None else SUM_ROUNDING * radius * float(root(centre @ centre))
    if model.constant:
        away = radius
    lower, upper = b + known.shift.lower, b + known.shift.upper
    away += UNDERFLOW + 4.0 * EPS * (abs(b) + away)
    lower, upper = lower - away - 4.0 * EPS * abs(lower), upper + away + 4.0 * EPS * abs(upper)
    intercept = EVERYWHERE if math.isnan(lower) or math.isnan(upper) else Interval(lower, upper)
    return OptimumBounds(
        radius=radius,
        centre=centre,
        shift=known.shift,
        intercept=NOTHING if model.intercept == "none" else intercept,
        width=known.width,
        low=np.where(np.isnan(low - pad), -np.inf, low - pad),
        high=np.where(np.isnan(high + pad), np.inf, high + pad),
        intercept_moves=moves,
    )


# --- distances in feature space ------------------------------------------------------------------


def centre_of(model: SupportVectorModel) -> Vector | None:
    """Mean of the samples where a free b can absorb the shift; None for the origin."""
    if model.intercept != "free" or not model.is_linear or sp.issparse(model.data.X):
        return None
    n = model.data.n_samples
    return np.asarray(model.data.X.T @ np.full(n, 1.0 / n))


def distances(
    model: SupportVectorModel, centre: Vector | None, X: Stored, squares: Vector
) -> Vector:
    """Upper bounds of ``|phi(x) - c|`` for every row of X.

    ``squares`` are ``k(x, x)``. A penalised intercept is the weight of a feature that is always 1.
    Where K has eigenvalues down to ``-delta``, the features are those of ``K + 2 delta I``.
    """
    if centre is not None:
        return feature_norms(model.kernel, X, centre)
    return SUM_ROUNDING * np.asarray(root(squares + model.constant + 2.0 * model.negative_bound))


def _own_squares(model: SupportVectorModel) -> Vector:
    """``k(x_i, x_i)`` of the training samples; upper bounds if a function computes them."""
    if model.exact_kernel is None:
        return np.abs(model.gram.diagonal())
    return np.asarray(SUM_ROUNDING * own_norms(model) ** 2)


def score_errors(model: KernelSetup, evaluation: Evaluation, rigorous: bool) -> Dense:
    """Bound on the rounding errors of ``w'phi(x_i)`` for the training samples, as scores are."""
    solution, scores = evaluation.solution, evaluation.scores
    if rigorous and model.repair is None:
        # the diagonal of a precomputed matrix is k(x, x), as it was handed in
        diagonal = model.gram.diagonal() if isinstance(model.kernel, Precomputed) else None
        values, errors = decision_enclosure(solution, model.data.X, diagonal)
        if solution.is_ball:
            values = values + model.gram.diagonal()
        return np.asarray(np.abs(evaluation.decisions - values) + errors)
    if rigorous and isinstance(model.gram, KernelQuadratic) and solution.expansion is not None:
        # the repaired matrix is the problem
        beta = solution.expansion.reshape(len(scores), -1)
        own = gram_product(model.gram.gram, None, beta)
        mid, rad = own.mid.reshape(scores.shape), own.rad.reshape(scores.shape)
        return np.asarray(np.abs(scores - mid) + rad)
    return np.asarray(evaluation.errors + EPS * np.abs(scores) + UNDERFLOW)


# --- what does not depend on the weights ---------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Offsets:
    """Intervals of ``b~* - b~`` and t*, and bounds on ``s_k (b~* - b~) + e t*`` per condition."""

    shift: Interval
    width: Interval
    low: Vector
    high: Vector


def _offsets(model: SupportVectorModel, targets: Vector, rows: Vector) -> _Offsets:
    """Bound intercept and width by the conditions, whose targets are known within ``rows``."""
    c, error = model.conditions, _upper_bound_error(model)
    free = model.intercept == "free"
    if free and model.intercept_is_constrained:
        unknown = np.full(len(c), np.inf)  # more than losses decides about b
        return _Offsets(EVERYWHERE, Interval(0.0, math.inf), -unknown, unknown)
    if not c.width_sign:
        shift = _shifts(model, targets, rows) if free else NOTHING
        return _Offsets(shift, NOTHING, *_along(c.signs, shift))
    if not free:
        step = enclosing_intercepts(
            targets, rows, c.lower, c.upper, c.curvature, c.width_sign * c.width_price, error
        )
        width = _not_negative(_times(c.width_sign, step))
        both = _times(c.width_sign, width)
        ends = np.full(len(c), both.lower), np.full(len(c), both.upper)
        return _Offsets(NOTHING, width, *ends)
    # rows of either sign see one unknown each, shift + e t* and -shift + e t*
    above, below = (
        enclosing_intercepts(
            targets[group], rows[group], c.lower[group], c.upper[group], c.curvature[group],
            0.5 * c.width_sign * c.width_price, error,
        )
        for group in (c.signs > 0.0, c.signs < 0.0)
    )  # fmt: skip
    sums = between(above.lower + below.lower, above.upper + below.upper)
    differences = between(above.lower - below.upper, above.upper - below.lower)
    width, shift = _times(0.5 * c.width_sign, sums), _times(0.5, differences)
    if width.lower > 0.0:
        positive = c.signs > 0.0
        low = np.where(positive, above.lower, below.lower)
        return _Offsets(shift, width, low, np.where(positive, above.upper, below.upper))
    # t* may be zero, and then b is best for that
    alone = _shifts(model, targets, rows)
    shift = Interval(min(shift.lower, alone.lower), max(shift.upper, alone.upper))
    width = _not_negative(width)
    low, high = _along(c.signs, shift)
    both = _times(c.width_sign, width)
    return _Offsets(shift, width, low + both.lower, high + both.upper)


def _is_flat(model: SupportVectorModel, v: Vector, rows: Vector) -> bool:
    """Return whether ``phi'`` is exactly zero at b for all weights that may be optimal.

    Every loss has then one slope around b, and the slopes add up to the cost of b: those that are
    stored, and those of the parameters.
    """
    c = model.conditions
    if model.intercept != "free" or c.width_sign or c.curvature.any() or model.n_constraints:
        return False
    slopes = np.where(v > 0.0, c.upper, c.lower)
    if not (np.abs(v) > 2.0 * rows).all() or not np.isfinite(slopes).all():
        return False
    if math.fsum([c.intercept_price, *(-c.signs * slopes)]) != 0.0 or c.exact_upper is None:
        return False
    return c.exact_upper.sum_of_slopes(c.signs, v > 0.0) == c.intercept_price


def _upper_bound_error(model: SupportVectorModel) -> float:
    return upper_bound_error(model.data.weights, len(model.conditions))


def _shifts(model: SupportVectorModel, targets: Vector, rows: Vector) -> Interval:
    c = model.conditions
    sided = signed(targets, c.signs, c.lower, c.upper)
    error = _upper_bound_error(model)
    return enclosing_intercepts(sided[0], rows, *sided[1:], c.curvature, c.intercept_price, error)


def _along(signs: Vector, shift: Interval) -> tuple[Vector, Vector]:
    """Lower and upper ends of the interval ``s shift`` for every sign s."""
    with np.errstate(invalid="ignore"):
        ends = np.where(signs == 0.0, 0.0, np.multiply.outer(np.array(shift), signs))
    return np.min(ends, axis=0), np.max(ends, axis=0)


def _times(factor: float, interval: Interval) -> Interval:
    ends = sorted(factor * end for end in interval)
    return Interval(*ends)


def _not_negative(interval: Interval) -> Interval:
    return Interval(max(0.0, interval.lower), max(0.0, interval.upper))
