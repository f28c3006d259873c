"""Gap-safe screening: proofs about the optimal dual variables.

Where a condition's violation at the optimum surely has a sign, its dual variable is known (see
``optimum``). For those left over, U, the dual objective's own curvature helps. With a feasible a'
that has the known values outside U, every optimal a* differs from a' on U alone, and::

    1/2 (a* - a')'P_UU(a* - a')  <=  D(a*) - D(a')  <=  primal - D(a')  =:  delta

(the optimum's gradient does not point towards a'). If ``P_UU + rho I - diag(1/g)`` is positive
semidefinite, then ``(a*_i - a'_i)^2 <= g_i (2 delta + rho |a* - a'|^2)``: an interval that may lie
strictly inside the box, whose size bounds the last term. Definiteness is shown by a Cholesky
factorisation that succeeds with the rounding taken off the diagonal; rho is as much as that, so
that copies of a sample, which make P_UU singular, leave the others alone.

As in ``optimum``, every status holds for the program of the parameters and for the one with the
``C_i`` as they were rounded: a' is any exactly feasible point in a ball, D(a') is bounded from
below over that ball, and an alpha is inside its box when it is inside the smaller one.

Source: Rump, "Verification of positive definiteness", *BIT* 46 (2006), theorem 2.3.

With one decision function per class, a sample pays ``C_i max_m c_m`` with ``c_m = f_m(x_i) + 1 -
f_y(x_i)`` for the other classes and ``c_y = 0`` for its own; ``tau_im = C_i ([m = y] - p_m)`` with
p a distribution over the largest. Two decision functions differ from the optimum's by at most
``sqrt(2) r |phi(x_i)|`` together, so every c_m is known to an interval, and a class below another
one for sure has ``p_m = 0``, whatever ``C_i`` is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy.linalg

from qpsvm.certificates.optimum import OptimumBounds, score_errors
from qpsvm.certificates.rigorous.feasible import feasible_ball
from qpsvm.certificates.rigorous.kernels import (
    larger,
    own_norms,
    smaller,
    upper_bound_error,
)
from qpsvm.certificates.rigorous.objectives import dual_lower
from qpsvm.display import Column, ColumnTable
from qpsvm.machines.evaluation import Evaluation
from qpsvm.machines.joint.model import JointModel
from qpsvm.machines.model import SupportVectorModel
from qpsvm.machines.primal_dual import DualPoint
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arrays import Dense, Index, Vector, freeze
from qpsvm.numerics.balls import SUM_ROUNDING, UNDERFLOW, outward, root, up
from qpsvm.numerics.balls import U as U_ROUNDING
from qpsvm.numerics.precision import EPS

STATUSES = ("undecided", "zero", "free", "bound")
UNDECIDED, ZERO, FREE, BOUND = range(4)

MAX_UNDECIDED = 1500
"""More variables than that are left undecided: their matrix would be factored several times."""

SHARES = (0.5, 0.1, 0.01)
"""Shares of ``1 / (P_UU^-1)_ii`` that are tried as ``1 / g_i``; 1/|U| comes last."""

SMALLEST_ROUNDING = 2.0**-900
"""Nothing is proven by a matrix whose rounding is smaller: its products may have underflowed."""

Counts: TypeAlias = dict[str, int]


@dataclass(frozen=True, eq=False, repr=False)
class Screening(ColumnTable):
    """The proven status of every condition's dual variable at the exact optimum.

    Attributes
    ----------
    status : array of int of shape (N,)
        Index into ``STATUSES``: ``"zero"`` (the optimum would be the same without it), ``"bound"``
        (alpha = C), ``"free"`` (strictly between), or ``"undecided"`` at this accuracy.
    degenerate : array of int
        Rows that are undecided and look degenerate: on their margin with an alpha at a bound, both
        up to the root of the relative gap.
    """

    status: Index
    degenerate: Index

    def columns(self) -> dict[str, Column]:
        """The status of every condition as a word, and whether it looks degenerate."""
        degenerate = np.zeros(len(self.status), dtype=bool)
        degenerate[self.degenerate] = True
        return {"status": np.array(STATUSES)[self.status], "degenerate": degenerate}

    def __repr__(self) -> str:
        counts = ", ".join(f"{count} {name}" for name, count in self.counts.items())
        return f"Screening({len(self.status)} conditions: {counts}; .to_frame() has all)"

    def count(self, name: str) -> int:
        """Number of conditions with the status of that name."""
        return int(np.count_nonzero(self.status == STATUSES.index(name)))

    @property
    def counts(self) -> Counts:
        """Number of conditions by status."""
        return {name: self.count(name) for name in STATUSES}

    @property
    def strictly_complementary(self) -> bool | None:
        """Return True if strict complementarity is proven, else None."""
        return None if self.count("undecided") else True


def screen(
    model: SupportVectorModel,
    evaluation: Evaluation,
    optimum: OptimumBounds,
    primal_upper: float,
    relative_gap: float,
) -> Screening:
    """Determine the proven status of every dual variable."""
    status = _by_sign(model, optimum)
    if (status == UNDECIDED).any():
        known = np.where(optimum.low > 0.0, model.conditions.upper, model.conditions.lower)
        known = np.where(status == ZERO, 0.0, known)
        status = _by_curvature(model, evaluation.solution, status, known, primal_upper)
    degenerate = _looks_degenerate(model, evaluation, relative_gap) & (status == UNDECIDED)
    return Screening(freeze(status), freeze(np.flatnonzero(degenerate)))


def _by_sign(model: SupportVectorModel, optimum: OptimumBounds) -> Index:
    c, low, high = model.conditions, optimum.low, optimum.high
    error = upper_bound_error(model.data.weights, len(c))
    status = np.full(len(c), UNDECIDED, dtype=np.intp)
    if c.curvature.any():  # alpha = clip(v / d)
        lowest, highest = c.curvature * c.lower, c.curvature * c.upper
        above = np.isinf(c.lower) | (low > -smaller(lowest, 4.0 * error))
        below = np.isinf(c.upper) | (high < smaller(highest, 4.0 * error))
        status[above & below] = FREE
        beyond = (low > larger(highest, 4.0 * error)) | (high < -larger(lowest, 4.0 * error))
        status[beyond] = BOUND
    else:
        status[(low > 0.0) & np.isfinite(c.upper)] = BOUND
        status[(high < 0.0) & np.isfinite(c.lower)] = BOUND
    status[(high < 0.0) & (c.lower == 0.0)] = ZERO
    return status


def _by_curvature(
    model: SupportVectorModel,
    solution: SVMSolution,
    status: Index,
    known: Vector,
    primal_upper: float,
) -> Index:
    c = model.conditions
    U = np.flatnonzero(status == UNDECIDED)
    if len(U) > MAX_UNDECIDED or model.n_constraints or c.curvature.any():
        return status
    if not model.norm_curvature > 0.0:
        return status  # the dual is no such quadratic
    point = _with_known_values(model, solution, known, U)
    ball = None if point is None else feasible_ball(model, point, status != UNDECIDED)
    if ball is None:
        return status
    delta = float(up(primal_upper - dual_lower(model, ball, primal_upper)))
    A = model.dual_hessian().block(U, U)
    if model.intercept == "free":
        # (R 1)'a is the same for all feasible points: this adds nothing to the square
        s = c.signs[U]
        A += float(np.mean(np.diagonal(A))) * np.outer(s, s)
    a, off = ball.alpha.mid[U], ball.alpha.rad[U]
    error = upper_bound_error(model.data.weights, len(c))
    most, least = larger(c.upper[U], error), -larger(c.lower[U], error)
    farthest = float(outward(np.sum(np.maximum(a - least, most - a) ** 2)))
    rounding = _rounding(A) + _entry_rounding(model, U)
    if not SMALLEST_ROUNDING < rounding < math.inf:
        return status
    rho = 2.0 * rounding if math.isfinite(farthest) else 0.0
    inverse_weights = _weights_below(A + rho * np.eye(len(U)), rounding)
    if inverse_weights is None or not 0.0 <= delta < math.inf:
        return status
    square = outward(2.0 * delta + (rho * farthest if rho else 0.0))
    # the roots apart: their squares may underflow where they do not
    bound = off + np.sqrt(square) * np.sqrt(inverse_weights) * (1.0 + 1e-12)
    bound += UNDERFLOW + 4.0 * EPS * (np.abs(a) + bound)
    ends = -smaller(c.lower[U], error), smaller(c.upper[U], error)
    inside = (a - bound > ends[0]) & (a + bound < ends[1])
    result = status.copy()
    result[U[inside]] = FREE
    return result


def _with_known_values(
    model: SupportVectorModel, solution: SVMSolution, known: Vector, U: Index
) -> DualPoint | None:
    """Feasible dual point near alpha with proven variables fixed, or None."""
    c = model.conditions
    values = known.copy()
    values[U] = np.minimum(np.maximum(solution.alpha[U], c.lower[U]), c.upper[U])
    point = model.feasible_dual(values)
    moved = point.alpha != values
    moved[U] = False
    return None if moved.any() else point


def _rounding(A: Dense) -> float:
    """Amount to subtract from the diagonal so that a Cholesky factorisation proves definiteness.

    Rump: ``A - c I`` for c from (n + 1) eps times the trace on; on top comes the rounding of the
    entries, at most n times that of the largest.
    """
    return (2.0 * len(A) + 100.0) * EPS * float(np.trace(np.abs(A)))


def _entry_rounding(model: SupportVectorModel, U: Index) -> float:
    """Bound on the change of ``P_UU`` by rounding of kernel values, in the spectral norm.

    With ``|K^_ij - K_ij| <= h n_i n_j + l_i q_j`` the matrix of errors is no larger than the sum of
    two matrices of rank one. Differences of kernel values (of a pair) are rounded relative to
    their terms.
    """
    c = model.conditions
    rows = abs(c.rows[U])
    used = np.unique(rows.indices)
    rows = rows[:, used]
    norms = rows @ np.sqrt(np.abs(model.gram.diagonal()[used]))
    left = right = np.zeros(1)
    growth = 16.0 * U_ROUNDING
    if model.kernel_errors is not None:
        errors = model.kernel_errors.of_part(used, used)
        norms = rows @ own_norms(model)[used]
        left, right = rows @ errors.left, rows @ errors.right
        growth += float((1.0 + np.max(errors.rows)) * (1.0 + np.max(errors.columns)) - 1.0)
    ranks = growth * float(norms @ norms) + math.sqrt(float(left @ left) * float(right @ right))
    return SUM_ROUNDING * (ranks / c.norm_weight + len(U) * UNDERFLOW)


def _weights_below(A: Dense, rounding: float) -> Vector | None:
    """Find ``g > 0`` with ``A - diag(1/g)`` positive semidefinite, shape (n,), or None."""
    n = len(A)
    A = 0.5 * (A + A.T)
    try:
        L = scipy.linalg.cholesky(A, lower=True)
        inverse = scipy.linalg.lapack.dtrtri(L, lower=1)[0]
    except np.linalg.LinAlgError:
        return None
    g = np.sum(np.tril(inverse) ** 2, axis=0)  # the diagonal of A^-1
    if not (np.isfinite(g).all() and (g > 0.0).all()):
        return None
    for share in (*SHARES, 1.0 / n):
        try:
            scipy.linalg.cholesky(A - np.diag(share / g + rounding), lower=True)
        except np.linalg.LinAlgError:
            continue
        return np.asarray(g / share)
    return None


def fixes_intercept(model: SupportVectorModel, screening: Screening) -> bool:
    """Return whether the conditions proven to be met exactly determine the intercept.

    One does. Where the program chooses a width as well, it takes one of either sign: those of one
    sign alone let both move together.
    """
    c, met = model.conditions, screening.status == FREE
    if not c.width_sign:
        return bool(met.any())
    return bool((met & (c.signs > 0.0)).any() and (met & (c.signs < 0.0)).any())


def _looks_degenerate(
    model: SupportVectorModel, evaluation: Evaluation, relative_gap: float
) -> Vector:
    """Mask of conditions that seem to be met exactly with alpha at a bound."""
    c, solution, scores = model.conditions, evaluation.solution, evaluation.scores
    v = model.violations(scores, solution.intercept, solution.width)
    unit = model.unit_of(model.row_values(scores, solution.intercept))
    alpha = np.minimum(np.maximum(solution.alpha, c.lower), c.upper)
    from_bound = np.minimum(alpha - c.lower, c.upper - alpha) / c.alpha_unit(alpha)
    tolerance = max(math.sqrt(min(relative_gap, 1.0)), 1e-8)
    return np.asarray(np.maximum(np.abs(v) / unit, from_bound) <= tolerance)


def screen_classes(model: JointModel, evaluation: Evaluation, radius: float) -> Screening:
    """Screen every pair of a sample and a class; return one row per sample."""
    decisions, own = evaluation.decisions, model.own
    c = np.where(own, 0.0, decisions + 1.0 - decisions[own][:, None])
    norms = root(own_norms(model) ** 2 + model.constant)
    errors = np.max(score_errors(model, evaluation, rigorous=True), axis=1)
    errors += 4.0 * EPS * (1.0 + np.max(np.abs(decisions), axis=1))
    bound = SUM_ROUNDING * (math.sqrt(2.0) * radius * norms + 2.0 * errors)[:, None] + UNDERFLOW
    bound = np.where(own, 0.0, bound)
    surely, possibly = c - bound, c + bound
    idle = possibly < _largest_other(surely)
    alone = ~idle & (np.sum(~idle, axis=1) == 1)[:, None]
    status = np.full(c.shape, UNDECIDED, dtype=np.intp)
    status[idle] = np.where(own, BOUND, ZERO)[idle]
    status[alone] = np.where(own, ZERO, BOUND)[alone]
    return Screening(freeze(status.ravel()), freeze(np.zeros(0, dtype=np.intp)))


def _largest_other(values: Dense) -> Dense:
    """Largest other entry of its row for every entry; -inf where that is NaN."""
    values = np.where(np.isnan(values), -np.inf, values)
    ordered = np.partition(values, -2, axis=1)  # as far as the two largest
    is_largest = np.arange(values.shape[1]) == np.argmax(values, axis=1)[:, None]
    return np.asarray(np.where(is_largest, ordered[:, [-2]], ordered[:, [-1]]))
