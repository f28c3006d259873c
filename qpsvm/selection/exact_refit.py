"""Coefficients of one machine of a stored kernel matrix, from ``qpsvm.solve``."""

from __future__ import annotations

import numpy as np

from qpsvm.backends.base import Settings
from qpsvm.formulations import EpsilonRegression, SoftMargin
from qpsvm.formulations.family import Family
from qpsvm.kernels import Precomputed
from qpsvm.numerics.arrays import Dense, Vector
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.qp.sample_gram import SampleGram
from qpsvm.selection.staircase import Staircase
from qpsvm.solving import solve_with


def refitted(K: Dense, stair: Staircase, eps: float) -> Vector:
    """Solve for the coefficients as accurately as possible, without a warning; shape (n,).

    Parameters
    ----------
    K : array of shape (n, n)
        Positive semidefinite.
    stair : Staircase
        Of a hinge loss, or of tubes of one width.
    eps : float
        Relative duality gap to be certified.
    """
    positive, negative = stair.upper > 0.0, stair.lowest < 0.0
    prices = np.maximum(stair.upper, -stair.lowest)
    family: Family = SoftMargin(C=1.0)
    targets = np.where(positive, 1.0, -1.0)
    if (positive & negative).any():
        width = float(np.median(stair.c - stair.a))
        family, targets = EpsilonRegression(C=1.0, epsilon=0.5 * width), stair.a + 0.5 * width
    data = family.training_set(K, targets, Precomputed(), prices)
    gram = KernelQuadratic(SampleGram.of_matrix(K, positive_semidefinite=True))
    problem = family.of_training_set(data, Precomputed(), "dual", gram=(gram, None))
    solution = solve_with(problem, "active-set", Settings(eps=eps).started(), None).solution
    return np.asarray(solution.expansion)
