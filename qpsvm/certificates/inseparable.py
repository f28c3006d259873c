"""The proof that two classes cannot be separated: one point in both convex hulls."""

from __future__ import annotations

import math

import numpy as np

from qpsvm.exceptions import NotSeparableError
from qpsvm.formulations.problem import SVMProblem
from qpsvm.qp.solution import QPSolution


def not_separable(problem: SVMProblem, evidence: QPSolution) -> NotSeparableError:
    """Farkas multipliers of the margin rows, or a ray of the dual: weights on the samples.

    Both satisfy ``sum_i s_i l_i x_i = 0`` and ``sum_i s_i l_i = 0`` with ``l >= 0``; scaled so
    that each class sums to one they produce a point of both convex hulls. (Without an intercept
    only the first sum is zero: the weights then sum to one over both classes.)
    """
    model = problem.model
    s = model.data.signs
    raw = evidence.z if problem.form == "primal" else evidence.x
    weights = np.maximum(np.zeros(len(s)) if raw is None else raw[: len(s)], 0.0)
    where = "the convex hulls of the two classes share a point"
    # a penalised intercept is an extra feature of ones, so its evidence is balanced as well
    balanced = model.intercept != "none"
    if balanced:
        for sign in (-1.0, 1.0):
            weights[s == sign] /= max(float(np.sum(weights[s == sign])), np.finfo(float).tiny)
    else:
        weights /= max(float(np.sum(weights)), np.finfo(float).tiny)
        where = "the origin is a convex combination of the samples times their signs"
    signed = s * weights
    # |sum_i s_i l_i phi(x_i)| = distance between the two weighted means, in feature space
    distance = math.sqrt(max(float(signed @ model.kernel_product(signed)), 0.0))
    point = None
    if model.is_linear and balanced:
        point = np.asarray(model.data.X.T @ np.where(s > 0, weights, 0.0))
    involved = int(np.count_nonzero(weights > 1e-12))
    return NotSeparableError(
        f"The classes cannot be separated with a margin: {where} (weights on {involved} samples "
        f"produce it from either side, {distance:.2g} apart; see .weights and .common_point). Use "
        "SoftMargin(C=...), or a kernel with more features.",
        weights,
        point,
        distance,
    )
