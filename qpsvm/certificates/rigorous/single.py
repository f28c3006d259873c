"""Enclosures of both objectives for a machine with one decision function.

``machines.primal_dual`` has both objectives; here each part of them is enclosed. For the dual, with
an exactly feasible a in a ball around ``a^`` and ``beta = R'a`` in one around ``beta^``::

    linear    kappa w(a)    =   X'beta - G'z - A'y,   a ball as it stands
    kernel    kappa |w(a)|  <=  sqrt(beta^'K beta^) + sum_i |beta_i - beta^_i| |phi(x_i)|
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from qpsvm.certificates.rigorous.arithmetic import Enclosure
from qpsvm.certificates.rigorous.feasible import FeasibleBall, feasible_ball
from qpsvm.certificates.rigorous.figures import (
    larger,
    own_norms,
    price_error,
    required,
)
from qpsvm.certificates.rigorous.kernels import gram_product
from qpsvm.certificates.rigorous.primal import objective_upper
from qpsvm.machines.model import SupportVectorModel
from qpsvm.machines.negative_curvature import negative_curvature_price
from qpsvm.machines.score_errors import exact_kernel
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.balls import (
    Ball,
    down,
    outward,
    product,
    sum_lower,
    sum_upper,
    transposed_product,
)
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.qp.sample_gram import SampleGram


@dataclass(frozen=True, eq=False)
class _Weights:
    """Bounds on the weights for both objectives.

    Attributes
    ----------
    scores : Ball of shape (n,)
        ``w'phi(x_i)`` of the machine as it predicts.
    size : float
        ``|w|^2``, or ``|w|_1`` of an L1-norm, from above.
    dual_size : float
        Upper bound of ``|kappa w(a)|^2`` of the dual variables; of ``|kappa w(a)|_inf`` for the
        1-norm.
    """

    scores: Ball
    size: float
    dual_size: float


def single_enclosure(model: SupportVectorModel, solution: SVMSolution) -> Enclosure:
    """Enclose both objectives; see ``enclose``."""
    point = model.feasible_dual(solution.alpha, solution.constraint_multipliers)
    dual = feasible_ball(model, point) or _unknown(model)
    beta = product(sp.csr_array(model.conditions.rows.T), dual.alpha)
    if isinstance(model.gram, LowRankQuadratic):
        weights = _explicit(model, solution, beta, dual.multipliers)
    else:
        weights = _expanded(model, model.gram.gram, solution, beta)
    upper, feasible, margin = _primal(model, solution, weights)
    lower = _dual(model, dual, weights.dual_size)
    lower = float(down(lower - negative_curvature_price(model, dual.alpha.mid, upper)))
    return Enclosure(upper, feasible, lower, margin)


def dual_lower(model: SupportVectorModel, dual: FeasibleBall, upper: float) -> float:
    """Lower bound of the dual objective at the feasible point in a ball."""
    beta = product(sp.csr_array(model.conditions.rows.T), dual.alpha)
    if isinstance(model.gram, LowRankQuadratic):
        return _dual(model, dual, _explicit_dual_size(model, beta, dual.multipliers))
    products = gram_product(model.gram.gram, exact_kernel(model), beta.mid[:, None])
    norms = own_norms(model)
    rest = sum_upper(outward(norms * beta.rad))
    dual_size = model.norm.expanded_dual_size_upper(beta, products[:, 0], norms, rest)
    price = negative_curvature_price(model, dual.alpha.mid, upper)
    return float(down(_dual(model, dual, dual_size) - price))


def _unknown(model: SupportVectorModel) -> FeasibleBall:
    """Dual variables of NaN, from which no bound follows."""
    alpha, multipliers = (np.full(n, np.nan) for n in (len(model.conditions), model.n_constraints))
    return FeasibleBall(Ball(alpha, alpha), Ball(multipliers, multipliers))


def _explicit(
    model: SupportVectorModel, solution: SVMSolution, beta: Ball, multipliers: Ball
) -> _Weights:
    X = model.data.X
    if solution.coef is not None:
        w = Ball.exact(solution.coef)
    else:
        w = transposed_product(X, Ball.exact(solution.expansion))
    dual_size = _explicit_dual_size(model, beta, multipliers)
    return _Weights(product(X, w), model.norm.size_upper(w), dual_size)


def _explicit_dual_size(model: SupportVectorModel, beta: Ball, multipliers: Ball) -> float:
    adjoint = transposed_product(model.data.X, beta)
    if model.constraints is not None:
        rows = model.constraints.rows[:, :-1]
        adjoint -= transposed_product(rows, multipliers)
    return model.norm.dual_size_upper(adjoint)


def _expanded(
    model: SupportVectorModel, samples: SampleGram, solution: SVMSolution, beta: Ball
) -> _Weights:
    own = np.asarray(solution.expansion)
    both = np.column_stack([own, beta.mid])  # one pass over K
    products = gram_product(samples, exact_kernel(model), both)
    scores, middle = products[:, 0], products[:, 1]
    norms = own_norms(model)
    rest = sum_upper(outward(norms * beta.rad))
    dual_size = model.norm.expanded_dual_size_upper(beta, middle, norms, rest)
    return _Weights(scores, model.norm.expansion_upper(own, scores), dual_size)


def _primal(
    model: SupportVectorModel, solution: SVMSolution, weights: _Weights
) -> tuple[float, bool, float]:
    c, b, t = model.conditions, solution.intercept, solution.width
    if (model.intercept == "none" and b != 0.0) or (not c.width_sign and t != 0.0) or not t >= 0.0:
        return math.inf, False, 1.0
    penalty = model.norm.penalty_upper(weights.size, c.norm_weight, model.constant * b)
    return objective_upper(model, solution, weights.scores, penalty)


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
    error = price_error(model.data.weights, len(c))
    curved = outward(larger(c.curvature, error) * alpha.magnitude * alpha.magnitude)
    lower = model.norm.dual_lower(linear, dual_size, c.norm_weight, b, curved)
    return lower if math.isfinite(lower) else -math.inf
