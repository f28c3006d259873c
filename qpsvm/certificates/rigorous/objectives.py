"""Enclosures of both objectives for machines of every kind.

``machines.primal_dual`` has both objectives; here each part of them is enclosed. For the dual, with
an exactly feasible a in a ball around ``a^`` and ``beta = R'a`` in one around ``beta^``::

    linear    kappa w(a)    =   X'beta - G'z - A'y,   a ball as it stands
    kernel    kappa |w(a)|  <=  sqrt(beta^'K beta^) + sum_i |beta_i - beta^_i| |phi(x_i)|

With one decision function per class, in every row of tau the entries of the other classes are
numbers <= 0, and that of the own class is exactly minus their sum: a real number, known to the
rounding of the sum. So tau is feasible exactly as soon as the sum is certain to be within the box.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.certificates.rigorous.feasible import FeasibleBall, feasible_ball
from qpsvm.certificates.rigorous.kernels import (
    Enclosure,
    gram_product,
    larger,
    own_norms,
    require_ieee,
    required,
    smaller,
    upper_bound_error,
)
from qpsvm.constraints import LinearConstraints
from qpsvm.machines.accuracy import negative_curvature_error
from qpsvm.machines.joint.model import JointModel
from qpsvm.machines.joint.solution import JointSolution
from qpsvm.machines.model import SupportVectorModel
from qpsvm.machines.settings import MACHINES
from qpsvm.machines.setup import NO_MULTIPLIERS
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arrays import Dense, Matrix, Vector, is_sparse
from qpsvm.numerics.balls import (
    Ball,
    down,
    gamma,
    outward,
    product,
    sum_lower,
    sum_upper,
    transposed_product,
    up,
)
from qpsvm.numerics.threads import one_blas_thread
from qpsvm.qp.low_rank import LowRankQuadratic


def row_values(model: SupportVectorModel, scores: Ball, b: float) -> Ball:
    """``R f`` for ``f = scores + b`` as a ball, shape (N,)."""
    c = model.conditions
    return product(c.rows, scores) + Ball.exact(c.signs) * Ball.exact(b)


def objective_upper(
    model: SupportVectorModel, solution: SVMSolution, scores: Ball, penalty: float
) -> tuple[float, bool, float]:
    """Upper bound of ``penalty + price_b b + price_t t + sum of losses``; proof of feasibility.

    A hard margin without constraints is scaled up until its smallest margin is 1, as
    ``SupportVectorModel.primal_objective`` does: the objective is that of the scaled machine, which
    satisfies every condition. It is divided by the square of the margin's lower bound.

    Parameters
    ----------
    model : SupportVectorModel
    solution : SVMSolution
    scores : Ball of shape (n,)
        ``w'phi(x_i)``.
    penalty : float
        ``kappa/2 |w|^2`` and the like, from above.

    Returns
    -------
    objective : float
    feasible : bool
        Whether hard conditions and constraints provably hold.
    margin : float
        ``margin_lower`` of a hard margin that was scaled, else 1.
    """
    c, b, t = model.conditions, solution.intercept, solution.width
    error = upper_bound_error(model.data.weights, len(c))
    rows, p = row_values(model, scores, b), required(model)
    if model.is_hard and model.constraints is None:
        margin = margin_lower(rows, p)
        objective = float(outward(penalty / margin / margin)) if margin > 0.0 else math.inf
        return objective, margin > 0.0, margin
    v = p - rows - Ball.exact(c.width_sign * t)
    soft = ~c.is_hard
    holds = bool((v.upper[c.is_hard] <= 0.0).all())
    rules, w = model.constraints, solution.coef
    if rules is not None:
        holds = holds and w is not None and constraints_hold(rules, np.append(w, b))
    width = Ball(c.width_price, error * abs(c.width_price)) * Ball.exact(t)
    fixed = [penalty, (Ball.exact(c.intercept_price) * Ball.exact(b)).upper, width.upper]
    return sum_upper([*fixed, *_losses(model, v, error)[soft]]), holds, 1.0


def margin_lower(rows: Ball, p: Ball) -> float:
    """Lower bound of ``min(1, smallest margin)`` of a hard margin; 0 if it may not separate."""
    worst = np.min(rows.lower / p.upper) * (1.0 - 2.0**-50)
    margin = float(np.minimum(1.0, worst))  # NaN stays NaN
    return margin if margin > MACHINES.smallest_margin else 0.0


def _losses(model: SupportVectorModel, v: Ball, error: float) -> Vector:
    """Upper bounds of ``loss(v)``, shape (N,).

    Losses are convex with their minimum, zero, at v = 0: the largest in an interval is at an end.
    """
    c = model.conditions
    d = smaller(c.curvature, error)
    over = one_sided_loss(np.maximum(v.upper, 0.0), larger(c.upper, error), d)
    under = one_sided_loss(np.maximum(-v.lower, 0.0), larger(c.lower, error), d)
    return np.asarray(np.maximum(over, under))


def one_sided_loss(v: Vector, bound: Vector, d: Vector) -> Vector:
    """Upper bound of ``max { a v - d/2 a^2 : 0 <= a <= bound }`` for v >= 0."""
    linear = outward(bound * v)
    squared = outward(0.5 * v / d * v)  # v * v could underflow and d be as small
    clipped = up(linear - 0.5 * d * bound * bound * (1.0 - 2.0**-50))
    # where the bound is not certain to matter, the loss without it is not smaller
    beyond = v >= outward(d * bound)
    return np.asarray(np.where(d > 0.0, np.where(beyond, clipped, squared), linear))


def constraints_hold(constraints: LinearConstraints, point: Vector) -> bool:
    """Return whether ``G (w, b) <= h`` and ``A (w, b) = b_eq`` hold in exact arithmetic.

    Rows that floating point cannot decide are evaluated in rational numbers.
    """
    rows, right = constraints.rows, constraints.right
    if not np.isfinite(point).all():
        return False
    values = product(rows, Ball.exact(point))
    equality = constraints.lower < 0.0
    surely = ~equality & (values.upper <= right)
    possibly = (values.lower <= right) & ~(equality & (values.upper < right))
    if not (surely | possibly).all():  # NaN is neither
        return False
    return all(
        _row_holds(rows, int(i), point, float(right[i]), bool(equality[i]))
        for i in np.flatnonzero(~surely)
    )


def _row_holds(rows: Matrix, i: int, point: Vector, right: float, equality: bool) -> bool:
    if is_sparse(rows):
        entries = slice(rows.indptr[i], rows.indptr[i + 1])
        values, columns = rows.data[entries], rows.indices[entries]
    else:
        columns = np.flatnonzero(rows[i])
        values = rows[i][columns]
    terms = zip(values.tolist(), point[columns].tolist(), strict=True)
    miss = sum((Fraction(a) * Fraction(x) for a, x in terms), start=-Fraction(right))
    return miss == 0 if equality else miss <= 0


def single_enclosure(model: SupportVectorModel, solution: SVMSolution) -> Enclosure:
    """Enclose both objectives; see ``enclose``."""
    point = model.feasible_dual(solution.alpha, solution.constraint_multipliers)
    dual = feasible_ball(model, point) or _unknown(model)
    scores, size, dual_size = _weights(model, _expansion(model, dual), solution, dual.multipliers)
    c, b, t = model.conditions, solution.intercept, solution.width
    upper, feasible, margin = math.inf, False, 1.0
    has_others = (model.intercept == "none" and b != 0.0) or (not c.width_sign and t != 0.0)
    if t >= 0.0 and not has_others:
        penalty = model.norm.penalty_upper(size, c.norm_weight, model.constant * b)
        upper, feasible, margin = objective_upper(model, solution, scores, penalty)
    lower = _dual(model, dual, dual_size)
    lower = float(down(lower - negative_curvature_error(model, dual.alpha.mid, upper)))
    return Enclosure(upper, feasible, lower, margin)


def dual_lower(model: SupportVectorModel, dual: FeasibleBall, upper: float) -> float:
    """Lower bound of the dual objective at the feasible point in a ball."""
    error = negative_curvature_error(model, dual.alpha.mid, upper)
    dual_size = _weights(model, _expansion(model, dual), None, dual.multipliers)[2]
    return float(down(_dual(model, dual, dual_size) - error))


def _expansion(model: SupportVectorModel, dual: FeasibleBall) -> Ball:
    """``R'a``, shape (n,)."""
    return product(sp.csr_array(model.conditions.rows.T), dual.alpha)


def _weights(
    model: SupportVectorModel | JointModel,
    beta: Ball,
    solution: SVMSolution | JointSolution | None,
    multipliers: Ball,
) -> tuple[Ball, float, float]:
    """Bounds on the weights for both objectives; those of a machine only if there is one.

    Parameters
    ----------
    model : SupportVectorModel or JointModel
    beta : Ball of shape (n,), or (n, k) with one decision function per class
        kappa times the coefficients that dual variables imply.
    solution : SVMSolution or JointSolution, optional
    multipliers : Ball of shape (m,)
        Of constraints on (w, b).

    Returns
    -------
    scores : Ball of shape (n,) or (n, k)
        ``w'phi(x_i)`` of the machine as it predicts.
    size : float
        ``|w|^2``, or ``|w|_1`` of an L1-norm, from above.
    dual_size : float
        Upper bound of ``|kappa w(a)|^2`` of the dual variables; of ``|kappa w(a)|_inf`` for the
        1-norm.
    """
    X, norm, scores, size = model.data.X, model.norm, Ball.exact(np.zeros(0)), math.inf
    if isinstance(model.gram, LowRankQuadratic):
        adjoint = transposed_product(X, beta)
        if model.constraints is not None:
            adjoint -= transposed_product(model.constraints.rows[:, :-1], multipliers)
        if solution is not None:
            if solution.coef is not None:
                w = Ball.exact(solution.coef.T)
            else:
                w = transposed_product(X, Ball.exact(solution.expansion))
            scores, size = product(X, w), norm.size_upper(w)
        return scores, size, norm.dual_size_upper(adjoint)
    own = [] if solution is None else [np.asarray(solution.expansion)]
    products = gram_product(  # one pass over K
        model.gram.gram, model.exact_kernel, np.column_stack([*own, beta.mid])
    )
    mid, rad = (part.reshape(len(part), -1) for part in (beta.mid, beta.rad))
    k, norms, dual_sizes = mid.shape[1], own_norms(model), list[float]()
    if own:
        shape = own[0].shape
        scores = Ball(products.mid[:, :k].reshape(shape), products.rad[:, :k].reshape(shape))
        size = norm.expansion_upper(own[0], scores)
    for m in range(k):
        rest, column = sum_upper(outward(norms * rad[:, m])), Ball(mid[:, m], rad[:, m])
        implied = products[:, m - k]
        dual_sizes.append(norm.expanded_dual_size_upper(column, implied, norms, rest))
    return scores, size, sum_upper(dual_sizes)


def _unknown(model: SupportVectorModel) -> FeasibleBall:
    """Dual variables of NaN, from which no bound follows."""
    alpha, multipliers = (np.full(n, np.nan) for n in (len(model.conditions), model.n_constraints))
    return FeasibleBall(Ball(alpha, alpha), Ball(multipliers, multipliers))


def _dual(model: SupportVectorModel, dual: FeasibleBall, dual_size: float) -> float:
    """Lower bound of ``p'a - h'z - b_eq'y - 1/2 (kappa |w|^2 + [b^2] + d'a^2)``."""
    c, rules, alpha = model.conditions, model.constraints, dual.alpha
    gains = (required(model) * alpha).lower
    balance = Ball.exact(c.signs) * alpha
    if rules is not None:
        gains = np.append(gains, -(Ball.exact(rules.right) * dual.multipliers).upper)
        column = -(Ball.exact(rules.intercept_column) * dual.multipliers)
        balance = Ball(np.append(balance.mid, column.mid), np.append(balance.rad, column.rad))
    linear = sum_lower(gains)
    b = model.constant * max(abs(sum_upper(balance.upper)), abs(sum_lower(balance.lower)))
    error = upper_bound_error(model.data.weights, len(c))
    curved = outward(larger(c.curvature, error) * alpha.magnitude * alpha.magnitude)
    lower = model.norm.dual_lower(linear, dual_size, c.norm_weight, b, curved)
    return lower if math.isfinite(lower) else -math.inf


def joint_enclosure(model: JointModel, solution: JointSolution) -> Enclosure:
    """Enclose both objectives; see ``enclose``."""
    tau = _feasible_ball(model, model.feasible_dual(solution.alpha).alpha)
    scores, size, dual_size = _weights(model, tau, solution, Ball.exact(NO_MULTIPLIERS))
    upper = _joint_primal(model, solution, scores, size)
    lower = float(
        down(_joint_dual(model, tau, dual_size) - negative_curvature_error(model, tau.mid, upper))
    )
    return Enclosure(upper, feasible=True, dual_lower=lower)


def _feasible_ball(model: JointModel, point: Dense) -> Ball:
    """A ball around a tau in its boxes whose rows sum to zero; NaN where none is known."""
    box = smaller(model.box, upper_bound_error(model.data.weights, model.data.n_samples))
    others = np.where(model.own, 0.0, np.minimum(point, 0.0))
    error = gamma(model.n_classes)
    total = outward(np.sum(-others, axis=1) * (1.0 + 2.0 * error))
    inwards = 1.0 - 2.0 * gamma(model.n_classes + 64)  # more than all roundings of what follows
    others = others * np.where(total <= box, 1.0, inwards * box / total)[:, None]
    mid = np.sum(-others, axis=1)
    rad = outward(error * mid * (1.0 + 2.0 * error))
    own = Ball(mid, rad)
    fits = (own.upper <= box) & np.isfinite(point).all(axis=1)
    mid = np.where(fits, mid, np.nan)
    return Ball(np.where(model.own, mid[:, None], others), np.where(model.own, rad[:, None], 0.0))


def _joint_primal(model: JointModel, solution: JointSolution, scores: Ball, size: float) -> float:
    """Upper bound of ``1/2 sum_m (|w_m|^2 + b_m^2) + sum_i C_i max_m (f_m + 1 - f_y)``."""
    b = solution.intercept
    if model.intercept == "none" and np.any(b != 0.0):
        return math.inf
    f = scores + Ball.exact(np.broadcast_to(b, scores.mid.shape))
    shortfall = f + Ball.exact(np.ones(f.mid.shape)) - f[model.own][:, None]
    # NaN must not be passed over: no `where` of the maximum
    strongest = np.max(np.where(model.own, 0.0, np.maximum(shortfall.upper, 0.0)), axis=1)
    error = upper_bound_error(model.data.weights, model.data.n_samples)
    losses = outward(larger(model.box, error) * strongest)
    return sum_upper([outward(0.5 * size), *outward(0.5 * b * b), *losses])


def _joint_dual(model: JointModel, tau: Ball, dual_size: float) -> float:
    """Lower bound of ``sum_i tau_{i,y_i} - 1/2 sum_m (|w_m|^2 + b_m^2)``."""
    sums = transposed_product(np.ones((len(tau.mid), 1)), tau)
    b = model.constant * sums.magnitude
    square = sum_upper([dual_size, *outward(b * b).ravel()])
    lower = float(down(sum_lower(tau[model.own].lower) - 0.5 * square))
    return lower if math.isfinite(lower) else -math.inf


@one_blas_thread()
def enclose(model: Any, solution: Any) -> Enclosure:
    """Enclose both objectives of a solution.

    Parameters
    ----------
    model : SupportVectorModel or JointModel
    solution : SVMSolution or JointSolution
        One that ``model.require_own`` accepts. Numbers that are not finite give no bound.

    Returns
    -------
    Enclosure

    Raises
    ------
    ArithmeticModeError
        The processor does not round as IEEE 754 does.

    Notes
    -----
    ``docs/rounding.md`` has the proof and what it assumes: IEEE 754, rounding to nearest, products
    of matrices that are sums of products in any order, and tanh to 4 ulp. Kernel matrices that are
    data (precomputed, a callable's, repaired) count as positive semidefinite.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.SoftMargin(C=1.0).dual([[0.0], [2.0]], [-1, 1])
    >>> bounds = enclose(problem.model, qpsvm.solve(problem))
    >>> bounds.dual_lower <= 0.5 <= bounds.primal_upper
    True
    """
    require_ieee()
    with np.errstate(all="ignore"):
        if isinstance(model, JointModel):
            return joint_enclosure(model, solution)
        return single_enclosure(model, solution)
