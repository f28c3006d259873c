"""Enclosures of a program's exact data, which float64 has rounded.

The numbers of a program were computed from parameters: ``C_i = C x weights / W``,
``p_i = t_i - epsilon``, ``d_i = 1/(2 C_i)``, ``p_i = k(x_i, x_i)``. Bounds are to hold for the
program of the parameters, so each of them is taken to be near what is stored (lemma 8).
"""

from __future__ import annotations

import numpy as np

from qpsvm.certificates.rigorous.kernels import squares
from qpsvm.machines.joint.model import JointModel
from qpsvm.machines.model import SupportVectorModel
from qpsvm.machines.score_errors import exact_kernel
from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.balls import Ball, gamma, outward, root, within

PRICE_ROUNDINGS = 32
"""More than a price goes through: 8 products, quotients and differences, and what underflow adds to
a result whose inverse is finite."""


def price_error(weights: Vector, n_rows: int) -> float:
    """Bound on the relative error of the prices C_i.

    Sums of weights, and of their products in pairs, are exact where they are whole numbers.
    """
    whole = bool((weights == np.floor(weights)).all()) and float(np.sum(weights)) < 2.0**26
    return gamma(PRICE_ROUNDINGS + (0 if whole else 3 * max(n_rows, len(weights))))


def larger(bound: Vector, error: float) -> Vector:
    """Upper bound of the magnitude of the exact bound; infinity is kept."""
    return outward(np.abs(bound) * (1.0 + 2.0 * error))


def smaller(bound: Vector, error: float) -> Vector:
    """Lower bound of the magnitude of the exact bound; infinity is kept."""
    return np.abs(bound) * (1.0 - 2.0 * error)


def own_squares(model: SupportVectorModel | JointModel) -> Ball:
    """``|phi(x_i)|^2 = K_ii`` of the training samples, as a ball."""
    kernel = exact_kernel(model)
    return Ball.exact(model.gram.diagonal()) if kernel is None else squares(kernel, model.data.X)


def own_norms(model: SupportVectorModel | JointModel) -> Vector:
    """Upper bounds of ``|phi(x_i)|`` of the training samples: ``|K_ij| <= norms_i norms_j``.

    Where K has eigenvalues down to ``-delta`` those of ``K + 2 delta I``. NaN where a matrix that
    is data has a negative diagonal: it is no kernel's.
    """
    upper = own_squares(model).upper
    return np.where(upper < 0.0, np.nan, root(upper + 2.0 * model.negative_bound))


def required(model: SupportVectorModel) -> Ball:
    """The required values p as a ball: rounded once, or ``k(x_i, x_i)`` of the samples."""
    c = model.conditions
    return own_squares(model) if c.minus_self_similarity else within(c.required, 1)
