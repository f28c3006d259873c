"""Enclosures of both objectives for a machine with one decision function per class.

In every row of tau the entries of the other classes are numbers <= 0, and that of the own class is
exactly minus their sum: a real number, known to the rounding of the sum. So tau is feasible exactly
as soon as the sum is certain to be within the box.
"""

from __future__ import annotations

import math

import numpy as np

from qpsvm.certificates.rigorous.arithmetic import Enclosure
from qpsvm.certificates.rigorous.figures import (
    larger,
    own_norms,
    price_error,
    smaller,
)
from qpsvm.certificates.rigorous.kernels import gram_product
from qpsvm.machines.joint.model import JointModel
from qpsvm.machines.joint.solution import JointSolution
from qpsvm.machines.score_errors import exact_kernel
from qpsvm.numerics.arrays import Dense
from qpsvm.numerics.balls import (
    Ball,
    down,
    gamma,
    outward,
    product,
    root,
    squared_norm,
    sum_lower,
    sum_upper,
    transposed_product,
)
from qpsvm.qp.low_rank import LowRankQuadratic


def joint_enclosure(model: JointModel, solution: JointSolution) -> Enclosure:
    """Enclose both objectives; see ``enclose``."""
    tau = _feasible_ball(model, model.feasible_dual(solution.alpha))
    X = model.data.X
    if isinstance(model.gram, LowRankQuadratic):
        if solution.coef is not None:
            w = Ball.exact(solution.coef.T)
        else:
            w = transposed_product(X, Ball.exact(solution.expansion))
        scores, size = product(X, w), squared_norm(w)
        dual_size = squared_norm(transposed_product(X, tau))
    else:
        k, own = model.n_classes, np.asarray(solution.expansion)
        products = gram_product(
            model.gram.gram, exact_kernel(model), np.column_stack([own, tau.mid])
        )
        scores, middle = products[:, :k], products[:, k:]
        size = max(sum_upper((Ball.exact(own) * scores).upper), 0.0)
        rest = product(own_norms(model)[None], Ball.exact(tau.rad)).upper[0]
        squares = (Ball.exact(tau.mid) * middle).upper
        roots = [root(sum_upper(column)) for column in squares.T]
        dual_size = sum_upper(outward((np.array(roots) + rest) ** 2))
    upper = _primal(model, solution, scores, size)
    lower = float(down(_dual(model, tau, dual_size) - model.negative_curvature_price(tau.mid)))
    return Enclosure(upper, feasible=True, dual_lower=lower)


def _feasible_ball(model: JointModel, point: Dense) -> Ball:
    """A ball around a tau in its boxes whose rows sum to zero; NaN where none is known."""
    box = smaller(model.box, price_error(model.data.weights, model.data.n_samples))
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


def _primal(model: JointModel, solution: JointSolution, scores: Ball, size: float) -> float:
    """Upper bound of ``1/2 sum_m (|w_m|^2 + b_m^2) + sum_i C_i max_m (f_m + 1 - f_y)``."""
    b = solution.intercept
    if model.intercept == "none" and np.any(b != 0.0):
        return math.inf
    f = scores + Ball.exact(np.broadcast_to(b, scores.mid.shape))
    shortfall = f + Ball.exact(np.ones(f.mid.shape)) - f[model.own][:, None]
    # NaN must not be passed over: no `where` of the maximum
    strongest = np.max(np.where(model.own, 0.0, np.maximum(shortfall.upper, 0.0)), axis=1)
    error = price_error(model.data.weights, model.data.n_samples)
    losses = outward(larger(model.box, error) * strongest)
    return sum_upper([outward(0.5 * size), *outward(0.5 * b * b), *losses])


def _dual(model: JointModel, tau: Ball, dual_size: float) -> float:
    """Lower bound of ``sum_i tau_{i,y_i} - 1/2 sum_m (|w_m|^2 + b_m^2)``."""
    sums = transposed_product(np.ones((len(tau.mid), 1)), tau)
    b = model.constant * sums.magnitude
    square = sum_upper([dual_size, *outward(b * b).ravel()])
    lower = float(down(sum_lower(tau[model.own].lower) - 0.5 * square))
    return lower if math.isfinite(lower) else -math.inf
