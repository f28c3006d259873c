"""The proof that two classes cannot be separated: one point in both convex hulls.

Weights ``l >= 0`` that sum to one over each class and give both classes the same mean::

    sum_{s_i = +1} l_i x_i  =  sum_{s_i = -1} l_i x_i

leave no room for a hyperplane between them: whatever separates the classes has a margin no wider
than the distance of the two means. (Without an intercept the hyperplane passes through the origin,
the weights sum to one over both classes, and ``sum_i s_i l_i x_i = 0``.)

Solvers deliver such weights as Farkas multipliers of the margin rows (primal) or as a ray (dual).
They are measured here, in the data's own units, before anyone is told.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.display import short_repr
from qpsvm.exceptions import NotSeparableError
from qpsvm.machines.problem import SVMProblem
from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.rows import row_squares
from qpsvm.qp.solution import QPSolution

SEPARATION_RTOL = 1e-9
"""Distance of the two means, relative to the radius of the data, that counts as zero. A margin
narrower than that would need weights beyond what double precision can tell from noise."""

KERNEL_SEPARATION_RTOL = 1e-7
"""The same without explicit features: the distance is then the root of a sum that cancels, and the
rounding of the sum is added to it."""


@short_repr
@dataclass(frozen=True, eq=False)
class Inseparability:
    """Evidence that no hyperplane separates the classes.

    Attributes
    ----------
    weights : array of shape (n,)
    common_point : array of shape (d,) or None
        In both convex hulls; the origin without an intercept; None for a kernel without explicit
        features.
    distance : float
        Between the two weighted means, in feature space: no margin is wider. Without an intercept,
        between the origin and the mean of the samples times their signs: no margin is wider than
        twice that.
    radius : float
        Largest distance of a sample from the mean (from the origin without an intercept).
    """

    weights: Vector
    common_point: Vector | None
    distance: float
    radius: float

    @property
    def tolerance(self) -> float:
        """Largest ratio of the means' distance to the data's radius that counts as zero."""
        return KERNEL_SEPARATION_RTOL if self.common_point is None else SEPARATION_RTOL

    @property
    def is_proof(self) -> bool:
        """Return whether the two means coincide up to the tolerance (NaN does not)."""
        return self.distance <= self.tolerance * self.radius


def inseparability(problem: SVMProblem, evidence: QPSolution) -> Inseparability | None:
    """Turn a solver's infeasibility ray into two points, one in the convex hull of each class.

    Parameters
    ----------
    problem : SVMProblem
        A hard margin, in either form.
    evidence : QPSolution
        Multipliers or a direction from any source.

    Returns
    -------
    Inseparability or None
        The weights and how close to each other they bring the classes; None if the evidence is of
        another shape, not finite, or all on one class.

    Examples
    --------
    >>> import qpsvm
    >>> from qpsvm.qp import QPSolution, Status
    >>> problem = qpsvm.HardMargin().primal([[0.0], [2.0], [1.0]], [-1, -1, 1])
    >>> evidence = QPSolution(Status.PRIMAL_INFEASIBLE, z=np.array([1.0, 1.0, 2.0]))
    >>> proof = inseparability(problem, evidence)
    >>> proof.weights, proof.common_point, proof.is_proof
    (array([0.5, 0.5, 1. ]), array([1.]), True)
    """
    model = problem.model
    s, n = model.conditions.signs, model.data.n_samples
    raw = evidence.z if problem.form == "primal" else evidence.x
    if raw is None or raw.shape != (n,) or not np.isfinite(raw).all():
        return None
    weights = np.maximum(raw, 0.0)
    # a penalised intercept is an extra feature of ones, so its evidence is balanced as well
    balanced = model.intercept != "none"
    for members in (s > 0, s < 0) if balanced else (np.full(n, True),):
        total = float(np.sum(weights[members]))
        if not total > 0.0:
            return None
        weights[members] /= total
    signed = s * weights
    if not model.is_linear:
        # |sum_i s_i l_i phi(x_i)|^2 = (s . l)' K (s . l), at most as large as its rounding
        largest = float(np.max(np.abs(model.gram.diagonal())))
        square = 0.0
        if not _cancels(model.data.X, signed):
            product = model.kernel_product(signed)
            rounding = n * float(np.finfo(float).eps) * largest
            square = max(float(signed @ product), 0.0) + rounding
        return Inseparability(weights, None, math.sqrt(square), _kernel_radius(problem, balanced))
    X = model.data.X
    if sp.issparse(X):
        centre, squares = np.zeros(X.shape[1]), row_squares(X)
        difference = np.asarray(X.T @ signed)
    else:
        # a common offset cancels; taking it out first keeps its rounding out
        centre = np.mean(X, axis=0) if balanced else np.zeros(X.shape[1])
        squares = np.sum((X - centre) ** 2, axis=1)
        difference = (X - centre).T @ signed
    point = np.asarray(X.T @ np.where(s > 0, weights, 0.0)) if balanced else np.zeros(X.shape[1])
    radius = math.sqrt(float(np.max(squares)))
    return Inseparability(weights, point, float(np.linalg.norm(difference)), radius)


def _cancels(X: Any, signed: Vector) -> bool:
    """Return whether ``sum_i s_i l_i phi(x_i)`` is exactly zero because equal samples cancel.

    Different samples may seem to, where the kernel rounds their difference away.
    """
    sums = defaultdict[bytes, Fraction](Fraction)
    for i in np.flatnonzero(signed):
        row = X[[i]].toarray() if sp.issparse(X) else X[i]
        sums[(row + 0.0).tobytes()] += Fraction(float(signed[i]))  # -0.0 becomes 0.0
    return not any(sums.values())


def not_separable(problem: SVMProblem, proof: Inseparability) -> NotSeparableError:
    """Build the error for classes that no hyperplane separates, with the proof attached.

    Parameters
    ----------
    problem : SVMProblem
        A hard margin that has no solution.
    proof : Inseparability
        The weights of its samples.

    Returns
    -------
    NotSeparableError
        To be raised by the caller.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.HardMargin().primal([[0.0], [2.0], [1.0]], [-1, -1, 1])
    >>> proof = Inseparability(np.array([0.5, 0.5, 1.0]), np.array([1.0]), 0.0, 1.0)
    >>> error = not_separable(problem, proof)
    >>> error.common_point, error.distance
    (array([1.]), 0.0)
    """
    width, shared = proof.distance, "the convex hulls of the two classes come that close"
    if problem.model.intercept == "none":
        width = 2.0 * proof.distance
        shared = (
            "a convex combination of the samples times their signs is only "
            f"{proof.distance:.2g}, half of that, away from the origin"
        )
    involved = int(np.count_nonzero(proof.weights > 1e-12))
    return NotSeparableError(
        f"The classes cannot be separated with a margin wider than {width:.2g} (the "
        f"radius of the data is {proof.radius:.2g}): {shared}, shown by weights on {involved} "
        "samples (see .weights and .common_point). Use SoftMargin(C=...), or a kernel with more "
        "features.",
        proof.weights,
        proof.common_point,
        proof.distance,
    )


def _kernel_radius(problem: SVMProblem, centred: bool) -> float:
    """Radius of the data in feature space: ``max_i |phi(x_i) - mean|`` or ``max_i |phi(x_i)|``."""
    model = problem.model
    squares = model.gram.diagonal()
    if centred:
        # |phi_i - mean|^2 = K_ii - 2 (K 1)_i / n + 1'K 1 / n^2
        n = model.data.n_samples
        means = model.kernel_product(np.full(n, 1.0 / n))
        squares = squares - 2.0 * means + float(np.mean(means))
    return math.sqrt(max(float(np.max(squares)), 0.0))
