"""A candidate with one decision function per class on the training samples, each product once."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from qpsvm.display import short_repr
from qpsvm.machines.joint.primal_dual import JointPair
from qpsvm.machines.joint.solution import JointSolution
from qpsvm.numerics.arrays import Dense


@short_repr
@dataclass(frozen=True, eq=False)
class JointEvaluation:
    """Decision values of a machine, and the weights that its dual variables imply.

    Attributes
    ----------
    solution : JointSolution
    decisions : array of shape (n, k)
        ``f_m(x_i)``, NaN without weights.
    square : float
        ``sum_m |w_m|^2 + sum_m b_m^2`` of the machine.
    sizes : array of shape (n, k) or None
        The sums of the absolute terms of ``w_m'phi(x_i)``, or upper bounds; None without weights.
    point : array of shape (n, k)
        The feasible tau nearest to alpha.
    coef : array of shape (k, d) or None
        The weights of that point, for the linear kernel.
    dual_square : float
        ``sum_m |w_m|^2 + sum_m b_m^2`` of that point.
    """

    solution: JointSolution
    decisions: Dense
    square: float
    sizes: Dense | None
    point: Dense
    coef: Dense | None
    dual_square: float


def evaluated(model: JointPair, solution: JointSolution) -> JointEvaluation:
    """Evaluate a machine and its dual variables, kernel products in one pass over K."""
    point = model.feasible_dual(solution.alpha)
    coef, own, b = model.coef(point), solution.expansion, solution.intercept
    given = None
    if solution.coef is not None:
        sizes = np.asarray(abs(model.data.X) @ np.abs(solution.coef).T)
        decisions = np.asarray(model.data.X @ solution.coef.T) + b
        square = float(np.sum(solution.coef * solution.coef))
    elif own is not None:
        v, norms = np.abs(own), np.sqrt(np.abs(model.gram.diagonal()))
        is_positive = model.kernel.is_nonnegative
        given, terms = _products(model, own, v if is_positive else own)
        decisions = given + b
        square = float(np.maximum(np.sum(own * given), 0.0))
        # |k(x, z)| <= |phi(x)| |phi(z)|
        sizes = terms if is_positive else np.outer(norms, norms @ v)
    else:
        decisions, square, sizes = np.full(model.own.shape, np.nan), math.nan, None
    if coef is not None:
        dual_square = float(np.sum(coef * coef))
    else:
        is_known = given is not None and own is not None and np.array_equal(point, own)
        product = given if is_known and given is not None else model.kernel_product(point)
        dual_square = float(np.maximum(np.sum(point * product), 0.0))
    own_b = model.intercepts(point)
    return JointEvaluation(
        solution,
        decisions,
        square + float(b @ b),
        sizes,
        point,
        coef,
        dual_square + float(own_b @ own_b),
    )


def _products(model: JointPair, left: Dense, right: Dense) -> tuple[Dense, Dense]:
    """``K left`` and ``K right``, in one pass over K."""
    if left is right:
        product = model.kernel_product(left)
        return product, product
    products = model.kernel_product(np.hstack([left, right]))
    return products[:, : left.shape[1]], products[:, left.shape[1] :]
