"""Certificates of infeasibility and unboundedness: proofs that a problem has no optimum.

Farkas multipliers of an infeasible program say which of the user's constraints contradict each
other or the samples: rows with a positive multiplier, added up, ask for the impossible. From the
primal program they are its multipliers, from the dual program (whose objective falls without end)
its direction.

That two classes cannot be separated is proven by one point in both convex hulls. Weights ``l >= 0``
that sum to one over each class and give both classes the same mean::

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
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np

from qpsvm.constraints.rows import NEGLIGIBLE, conflicting
from qpsvm.display import one_line, short_repr
from qpsvm.exceptions import ConflictingConstraintsError, InvalidParameterError, NotSeparableError
from qpsvm.machines.arguments import require_program_solution
from qpsvm.machines.model import SupportVectorModel
from qpsvm.machines.primal_program import PrimalRecovery, primal_program
from qpsvm.machines.problem import Program, SVMProblem, TrainingProblem
from qpsvm.numerics.arguments import explains_calls
from qpsvm.numerics.arrays import Vector, as_dense, is_sparse, row_blocks
from qpsvm.numerics.precision import EPS
from qpsvm.numerics.rows import row_squares
from qpsvm.qp.infeasibility import PROOF_TOLERANCE, farkas_violation, ray_violation
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution, Status


@short_repr
@dataclass(frozen=True, eq=False)
class Inseparability:
    """Certificate that no hyperplane separates the classes.

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
    separation : float
        Width of the gap between the classes along the line through both means, less its rounding;
        at most 0 where they overlap there, and without explicit features.
    """

    weights: Vector
    common_point: Vector | None
    distance: float
    radius: float
    separation: float = 0.0

    @property
    def violation(self) -> float:
        """Ratio of the means' distance to the data's radius; 0 where all samples are one point.

        Infinite where a hyperplane across the line through both means separates the classes.
        """
        if self.separation > 0.0:
            return math.inf
        if self.radius > 0.0:
            return self.distance / self.radius
        return 0.0 if self.distance == 0.0 else math.inf

    @property
    def tolerance(self) -> float:
        """Largest violation that counts as zero.

        A narrower margin would need weights beyond what double precision can tell from noise.
        Without explicit features the distance is the root of a sum that cancels, and the rounding
        of the sum is added to it.
        """
        return 1e-7 if self.common_point is None else 1e-9

    @property
    def is_proof(self) -> bool:
        """Return whether the two means coincide up to the tolerance (NaN does not)."""
        return self.violation <= self.tolerance


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
        The weights and how close to each other they bring the classes; None if the certificate is
        of another shape, not finite, or all on one class.

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
    # a penalised intercept is an extra feature of ones, so its certificate is balanced as well
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
            X = model.data.X
            stored = X.data if is_sparse(X) else np.asarray(X)
            if largest == 0.0 and model.exact_kernel is not None and np.any(stored):
                return None  # kernel values that underflow say nothing
            product = model.kernel_product(signed)
            rounding = n * float(np.finfo(float).eps) * largest
            square = max(float(signed @ product), 0.0) + rounding
        return Inseparability(weights, None, math.sqrt(square), _kernel_radius(model, balanced))
    X = model.data.X
    centre = np.zeros(X.shape[1])
    if balanced:  # a common offset cancels; taking it out first keeps its rounding out
        centre = np.asarray(X.T @ np.full(n, 1.0 / n))
    blocks = row_blocks(*X.shape)
    difference, squares = np.zeros(X.shape[1]), np.zeros(n)
    for rows in blocks:
        centred = as_dense(X[rows]) - centre
        difference += centred.T @ signed[rows]
        squares[rows] = row_squares(centred)
    along = np.concatenate([(as_dense(X[rows]) - centre) @ difference for rows in blocks])
    point = np.asarray(X.T @ np.where(s > 0, weights, 0.0)) if balanced else np.zeros(X.shape[1])
    distance, radius = float(np.linalg.norm(difference)), math.sqrt(float(np.max(squares)))
    sizes = np.sqrt(squares) + float(np.linalg.norm(centre))
    separation = 0.0
    if distance > 0.0:
        nearest = s * along / distance - (X.shape[1] + 8.0) * EPS * sizes
        sides = (s > 0, s < 0) if balanced else (np.full(n, True),)
        separation = sum(float(np.min(nearest[side])) for side in sides)
    return Inseparability(weights, point, distance, radius, separation)


def _cancels(X: Any, signed: Vector) -> bool:
    """Return whether ``sum_i s_i l_i phi(x_i)`` is exactly zero because equal samples cancel.

    Different samples may seem to, where the kernel rounds their difference away.
    """
    sums = defaultdict[bytes, Fraction](Fraction)
    for i in np.flatnonzero(signed):
        row = X[[i]].toarray() if is_sparse(X) else X[i]
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


def _kernel_radius(model: SupportVectorModel, centred: bool) -> float:
    """Radius of the data in feature space: ``max_i |phi(x_i) - mean|`` or ``max_i |phi(x_i)|``."""
    squares = model.gram.diagonal()
    if centred:
        # |phi_i - mean|^2 = K_ii - 2 (K 1)_i / n + 1'K 1 / n^2
        squares = squares - 2.0 * model.mean_products + float(np.mean(model.mean_products))
    return math.sqrt(max(float(np.max(squares)), 0.0))


def conflict(problem: SVMProblem, evidence: QPSolution) -> ConflictingConstraintsError | None:
    """Build the error that names contradicting constraints; None if constraints are not the cause.

    Parameters
    ----------
    problem : SVMProblem
        The problem without an optimum.
    evidence : QPSolution
        A verified certificate that the problem has no optimum.

    Returns
    -------
    ConflictingConstraintsError or None
        To be raised by the caller; None where the samples contradict each other by themselves.

    Examples
    --------
    >>> import qpsvm
    >>> from qpsvm.constraints import LinearConstraints
    >>> rows = LinearConstraints(G=[[1.0], [-1.0]], h=[1.0, -2.0])  # w <= 1 and w >= 2
    >>> problem = qpsvm.SoftMargin().primal([[0.0], [2.0]], [0, 1], constraints=rows)
    >>> try:
    ...     qpsvm.solve(problem)
    ... except qpsvm.exceptions.ConflictingConstraintsError as error:
    ...     evidence = error.certificate.evidence
    >>> sorted(conflict(problem, evidence).rows)
    ['G[0]', 'G[1]']
    """
    constraints = problem.model.constraints
    if constraints is None:
        return None
    solution = problem.recover(evidence)
    m = len(constraints.h)
    multipliers = np.nan_to_num(solution.constraint_multipliers)
    rows = conflicting(constraints, np.maximum(multipliers[:m], 0.0), multipliers[m:])
    if not rows:
        return None  # the samples contradict each other, without any help
    hard = problem.model.conditions.is_hard
    alpha = np.abs(np.where(hard, np.nan_to_num(solution.alpha), 0.0))
    # shares, whatever the units of samples and rows are
    of_samples = alpha * (abs(problem.model.conditions.rows @ problem.data.X).sum(axis=1) + 1.0)
    sizes = np.asarray(abs(constraints.rows).sum(axis=1)).ravel() + np.abs(constraints.right)
    of_rows = np.abs(multipliers) * sizes
    largest = max(float(np.max(of_rows)), float(np.max(of_samples)))
    if float(np.max(of_rows)) <= NEGLIGIBLE * largest:
        return None
    involved = int(np.count_nonzero(of_samples > NEGLIGIBLE * largest))
    with_samples = f" together with the margins of {involved} samples" if involved else ""
    return ConflictingConstraintsError(
        f"The constraints contradict each other: no (w, b) satisfies {_listed(rows)}"
        f"{with_samples}. Relax or drop one of them.",
        tuple(rows),
    )


def _listed(rows: Sequence[str]) -> str:
    """The first names of rows, and how many more there are."""
    more = len(rows) - 12
    return ", ".join(rows[:12]) + (f" and {more} more: .rows" if more > 0 else "")


def without_constraints(problem: SVMProblem) -> SVMProblem:
    """Build the primal program of the same family and data, without constraints on (w, b).

    Parameters
    ----------
    problem : SVMProblem
        A problem with constraints, in either form.

    Returns
    -------
    SVMProblem
        Its primal form without them.

    Examples
    --------
    >>> import qpsvm
    >>> from qpsvm.constraints import nonnegative
    >>> problem = qpsvm.SoftMargin().dual([[0.0], [2.0]], [0, 1], constraints=nonnegative(0))
    >>> free = without_constraints(problem)
    >>> free.form, free.model.constraints
    ('primal', None)
    """
    model = replace(problem.model, constraints=None)
    program, recovery = primal_program(model), PrimalRecovery(model)
    return SVMProblem(program, problem.formulation, "primal", model, recovery)


Kind: TypeAlias = Literal["common point", "contradiction", "descent"]

MEANINGS: dict[Kind, str] = {
    "common point": "the hulls of the two classes come that close: no margin is wider",
    "contradiction": "the constraints, added up with these multipliers, ask for the impossible",
    "descent": "from every feasible point the objective falls without end along this direction",
}


@short_repr
@dataclass(frozen=True, eq=False)
class InfeasibilityCertificate:
    """Certificate that a problem has no optimum, with its measured violation.

    Attributes
    ----------
    kind : {"common point", "contradiction", "descent"}
        Of a hard margin: a point in both convex hulls, or two points so close that double
        precision cannot tell a margin between them. Of other programs: multipliers that make the
        constraints contradict each other (Farkas), or a direction of descent.
    violation : float
        How far the certificate is from being exact, relative: the distance of the two means over
        the radius of the data, or the largest remainder of a sum that should cancel over its terms.
        Infinite where there is no certificate.
    tolerance : float
        Largest violation that counts as proof.
    evidence : QPSolution
        The vectors: multipliers ``z``, ``y`` or a direction ``x``.
    hulls : Inseparability or None
        Weights of the samples and the common point.
    rows : tuple of str
        The caller's constraints on (w, b) that take part, the largest share first.
    problem : str
        In one line.
    """

    kind: Kind
    violation: float
    tolerance: float
    evidence: QPSolution
    hulls: Inseparability | None
    rows: tuple[str, ...]
    problem: str

    @property
    def passed(self) -> bool:
        """Return whether the violation is within its tolerance (NaN is not)."""
        return self.violation <= self.tolerance

    @property
    def meaning(self) -> str:
        """The statement that this kind of certificate proves, in words."""
        return MEANINGS[self.kind]

    def to_dict(self) -> dict[str, object]:
        """The figures by name, for JSON (infinities as they are)."""
        point = None if self.hulls is None else self.hulls.common_point
        return {
            "problem": self.problem,
            "kind": self.kind,
            "meaning": self.meaning,
            "passed": self.passed,
            "violation": self.violation,
            "tolerance": self.tolerance,
            "rows": list(self.rows),
            "weights": None if self.hulls is None else self.hulls.weights.tolist(),
            "common_point": None if point is None else point.tolist(),
        }

    def __str__(self) -> str:
        verdict = "PROVEN" if self.passed else "NOT PROVEN"
        lines = [f"{verdict} to have no optimum: {self.problem}"]
        lines.append(f"  up to {self.violation:.2e} (allowed {self.tolerance:.0e}): {self.meaning}")
        if self.rows:
            lines.append(f"  rows: {_listed(self.rows)}")
        return "\n".join(lines)


@explains_calls
def certify_infeasible(problem: Program, evidence: QPSolution) -> InfeasibilityCertificate:
    r"""Measure a certificate from any source that a problem has no optimum.

    Parameters
    ----------
    problem : SVMProblem, JointProblem or QuadraticProgram
        The problem that is said to have no optimum.
    evidence : QPSolution
        Of the problem's program: multipliers that prove the constraints contradictory, or x as a
        direction of descent. Its status says which of them to read; with another status both are
        measured.

    Returns
    -------
    InfeasibilityCertificate
        ``passed`` says whether it is a proof; what the certificate claims is not looked at.

    Raises
    ------
    InvalidParameterError
        Arguments of the wrong kind.

    Notes
    -----
    For a hard margin the certificate is measured in the data's own units, however large or small
    the features are: weights :math:`l \ge 0` that sum to one over each class and give both the same
    mean. Source: Boyd and Vandenberghe, *Convex Optimization*, section 5.8; for the convex hulls
    Bennett and Bredensteiner, "Duality and geometry in SVM classifiers", ICML 2000.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.HardMargin().dual([[0.0], [1.0], [2.0]], [1, -1, 1])
    >>> try:
    ...     qpsvm.solve(problem)
    ... except qpsvm.exceptions.NotSeparableError as error:
    ...     proof = error.certificate
    >>> proof.kind, proof.passed, proof.hulls.common_point.round(6)
    ('common point', True, array([1.]))
    """
    require_program_solution("certify_infeasible", evidence)
    if isinstance(problem, QuadraticProgram):
        return _of_program(problem, evidence, one_line(problem))
    if not isinstance(problem, TrainingProblem):
        raise InvalidParameterError(
            "certify_infeasible takes an SVMProblem, JointProblem or QuadraticProgram, got "
            f"{type(problem).__name__}."
        )
    if isinstance(problem, SVMProblem) and problem.model.constraints is None:
        hulls = inseparability(problem, evidence) if problem.model.is_hard else None
        violation, tolerance = math.inf, 0.0
        if hulls is not None:
            violation, tolerance = hulls.violation, hulls.tolerance
        return InfeasibilityCertificate(
            "common point", violation, tolerance, evidence, hulls, (), one_line(problem)
        )
    measured = _of_program(problem.qp, evidence, one_line(problem))
    error = conflict(problem, evidence) if isinstance(problem, SVMProblem) else None
    return measured if error is None else replace(measured, rows=error.rows)


def _of_program(
    program: QuadraticProgram, evidence: QPSolution, name: str
) -> InfeasibilityCertificate:
    found: list[tuple[float, Kind]] = []
    if evidence.status is not Status.DUAL_INFEASIBLE:
        found.append((farkas_violation(program, evidence), "contradiction"))
    if evidence.status is not Status.PRIMAL_INFEASIBLE:
        found.append((ray_violation(program, evidence), "descent"))
    violation, kind = min(found)
    return InfeasibilityCertificate(kind, violation, PROOF_TOLERANCE, evidence, None, (), name)
