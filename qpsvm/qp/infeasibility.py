"""Certificates that a program has no optimum: Farkas multipliers and unbounded rays.

Many QP solvers say "infeasible" without proof, or say nothing. Both kinds of certificates are
solutions of linear programs (``certificate_search``); whatever comes back, from there or from a
solver, is measured before it counts.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from qpsvm.numerics.arrays import EIGENVALUE_SIZE, Sparse, Vector
from qpsvm.numerics.compensated import row_residuals
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.qp.kkt import checked_vectors
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.qp.nearest import CONTRADICTION, nearest_feasible
from qpsvm.qp.program import QuadraticProgram, row_gradient_sizes
from qpsvm.qp.restrictions import NearestPoint, Restrictions, fast_rows
from qpsvm.qp.row_proofs import prove_rows
from qpsvm.qp.solution import QPSolution

PROOF_TOLERANCE = 1e-9
"""Largest violation of a certificate that counts as proof: seven digits above the rounding of its
sums, and far below any coefficient that means something beside the others of its column."""


def farkas_violation(program: QuadraticProgram, solution: QPSolution) -> float:
    """Violation of ``z`` and ``y`` as a proof that the constraints contradict each other.

    For ``z >= 0`` every feasible x satisfies ``c'x <= h'z + b'y`` with ``c = G'z + A'y``. The proof
    is that c'x cannot be that small within the bounds: its minimum over ``lb <= x <= ub`` is larger
    (Farkas' lemma; Boyd and Vandenberghe, section 5.8.3). Where the bound that this needs does not
    exist, ``c_k`` must be zero.

    Returned is the largest ``|c_k| / (|G|'z + |A|'|y|)_k`` over those k: what is left of a sum
    whose terms should cancel, so that a small coefficient is not mistaken for none. Infinite when
    the minimum is not larger, when no multipliers beside these make every such ``c_k`` zero and
    prove it still (``qp.nearest``: a remainder may be there because the rows do not contradict each
    other), or when a vector is missing or not finite. Negative z count as zero, and ``z_lower``,
    ``z_upper`` are not needed: c says what they are.
    """
    vectors, _ = checked_vectors(program, solution.replace(x=np.zeros(program.n_variables)))
    if vectors is None:
        return math.inf
    _, z, y, _, _ = vectors
    z = np.where(np.isfinite(program.h), np.maximum(z, 0.0), 0.0)
    multipliers, m = _without_noise(np.concatenate([z, y])), len(z)

    def remainder(found: Vector, change: Vector) -> float:
        return _remainder(program, *np.split(found, [m]), *np.split(np.abs(change), [m]))

    with np.errstate(all="ignore"):
        violation = remainder(multipliers, np.zeros(len(multipliers)))
        if not violation <= PROOF_TOLERANCE:
            return violation
        exact = _nearest_in_cone(multipliers, _contradiction(program), in_exact_arithmetic=True)
        is_proven = exact is not None and remainder(exact.point, exact.change) <= PROOF_TOLERANCE
        return violation if is_proven else math.inf


def _remainder(program: QuadraticProgram, z: Vector, y: Vector, dz: Vector, dy: Vector) -> float:
    """Remainder of sums ``c_k`` that should be zero; infinite if there is no contradiction.

    There has to be one whatever z and y change by, up to dz and dy.
    """
    multipliers, nothing = np.concatenate([z, y]), np.zeros(program.n_variables)
    used = np.flatnonzero(multipliers)
    # rounded once each: a sum that rounding made zero would hide the bound that it presses on
    c, terms, error = row_residuals(_columns(program)[:, used], multipliers[used], nothing)
    bound = np.where(c > 0.0, program.lb, program.ub)  # where c_k x_k is smallest
    is_bounded, binding = np.isfinite(bound), z > 0.0
    left = c[is_bounded] * bound[is_bounded]
    right = np.concatenate([program.h[binding] * z[binding], program.b * y])
    sizes = float(np.sum(np.abs(left))) + float(np.sum(np.abs(right)))
    # how far the changes move both sides
    lb, ub, h = (
        np.where(np.isfinite(v), np.abs(v), 0.0) for v in (program.lb, program.ub, program.h)
    )
    moved = np.maximum(lb, ub) @ row_gradient_sizes(program, dz, dy)
    moved += h @ dz + np.abs(program.b) @ dy + error @ np.maximum(lb, ub)
    least = CONTRADICTION * sizes + 2.0 * float(moved)
    if not math.fsum([*left.tolist(), *(-right).tolist()]) > least:
        return math.inf
    return _largest_ratio(c[~is_bounded], terms[~is_bounded])


def _contradiction(program: QuadraticProgram) -> Restrictions:
    """Conditions on multipliers (z, y) of contradictory rows, without the contradiction itself.

    ``(G'z + A'y)_k`` is zero for a variable without bounds, not negative for one without an upper
    bound, not positive for one without a lower bound; ``z >= 0``, zero where h is infinite.
    """
    has_lower, has_upper = np.isfinite(program.lb), np.isfinite(program.ub)
    needed = np.flatnonzero(~(has_lower & has_upper))
    signs = sp.diags_array(np.where(has_lower[needed], -1.0, 1.0))
    free = np.full(program.n_equalities, np.inf)
    return Restrictions(
        fast_rows(signs @ _columns(program)[needed]),
        np.zeros(len(needed)),
        ~has_lower[needed] & ~has_upper[needed],
        np.concatenate([np.zeros(program.n_inequalities), -free]),
        np.concatenate([np.where(np.isfinite(program.h), np.inf, 0.0), free]),
    )


def _columns(program: QuadraticProgram) -> Sparse:
    """The transpose ``[G' A']`` of all constraint rows as a sparse matrix, shape (n, m + p)."""
    return sp.hstack([sp.csr_array(M.T) for M in (program.G, program.A)], format="csr")


def ray_violation(program: QuadraticProgram, solution: QPSolution) -> float:
    """Violation of ``x`` as a proof that the objective is unbounded.

    It proves it when ``q'x < 0``, ``Px = 0``, ``Ax = 0``, ``Gx <= 0``, and x points into every
    finite bound. Returned is the largest violation, each relative to the terms of its sum (as in
    ``farkas_violation``); infinite when ``q'x >= 0``, when it is not proven that a real direction
    beside x satisfies all of them exactly and descends, or when x is missing or not finite. (A
    feasible point is needed besides: the program may be infeasible.) ``P = [[1, 1], [1, 1 + u]]``
    with u a rounding error has no such direction, and a minimum far away.

    The Hessian of a kernel is the exception: its values are rounded already, ``Px = 0`` is asked
    up to rounding, and only measured with more than 1,500 samples. What follows for a hard margin
    is measured once more, as the distance of two points (``certificates.infeasibility``).
    """
    x = solution.x
    if x is None or x.shape != (program.n_variables,) or not np.isfinite(x).all():
        return math.inf
    x = _without_noise(x)
    with np.errstate(all="ignore"):
        violation = _missed_by_ray(program, x, np.zeros(len(x)))
        if not violation <= PROOF_TOLERANCE:
            return violation
        of_kernel, null_space = isinstance(program.P, KernelQuadratic), null_space_rows(program)
        if null_space is None and not of_kernel:
            return math.inf
        cone = _recession(program, null_space)
        exact = _nearest_in_cone(x, cone, in_exact_arithmetic=not of_kernel)
        is_proven = (
            exact is not None
            and _missed_by_ray(program, exact.point, exact.change) <= PROOF_TOLERANCE
        )
        return violation if is_proven else math.inf


def _missed_by_ray(program: QuadraticProgram, x: Vector, change: Vector) -> float:
    """The largest violation of a ray's conditions; infinite if the objective does not fall.

    It has to fall whatever x changes by, up to ``|change|``.
    """
    descent = program.q * x
    least = CONTRADICTION * float(np.sum(np.abs(descent)))
    least += 2.0 * float(np.sum(np.abs(program.q * change)))
    if not -math.fsum(descent.tolist()) > least:
        return math.inf
    finite, largest = np.isfinite(program.h), float(np.max(np.abs(x)))
    of_rows = np.maximum(program.G @ x, 0.0)[finite], (abs(program.G) @ np.abs(x))[finite]
    return max(
        program.P.null_violation(x),
        _largest_ratio(program.A @ x, abs(program.A) @ np.abs(x)),
        _largest_ratio(*of_rows),
        float(np.max(-x[np.isfinite(program.lb)], initial=0.0)) / largest,
        float(np.max(x[np.isfinite(program.ub)], initial=0.0)) / largest,
    )


def _recession(program: QuadraticProgram, null_space: Sparse | None) -> Restrictions:
    """Conditions on a direction x along which rows, bounds and curvature allow any step."""
    finite = np.flatnonzero(np.isfinite(program.h))
    parts = [] if null_space is None else [null_space]
    parts += [sp.csr_array(program.A), sp.csr_array(program.G)[finite]]
    rows = sp.vstack([sp.csr_array(part) for part in parts], format="csr")
    return Restrictions(
        fast_rows(rows),
        np.zeros(rows.shape[0]),
        np.arange(rows.shape[0]) < rows.shape[0] - len(finite),
        np.where(np.isfinite(program.lb), 0.0, -np.inf),
        np.where(np.isfinite(program.ub), 0.0, np.inf),
    )


def _nearest_in_cone(
    vector: Vector, cone: Restrictions, *, in_exact_arithmetic: bool
) -> NearestPoint | None:
    """Nearest vector in a cone; None unless close, since every cone contains zero.

    ``in_exact_arithmetic``: None, too, unless it is proven that a real vector beside it is there.
    """
    found = nearest_feasible(cone, vector)
    if in_exact_arithmetic:
        found = prove_rows(cone, found)
    if found.blocked is not None or (in_exact_arithmetic and not found.is_exact):
        return None
    moved = np.abs(found.point - vector) + np.abs(found.change)
    # no valid certificate is further from the cone, relative to its largest entry
    return found if np.max(moved) <= 1e-3 * np.max(np.abs(vector)) else None


def _without_noise(vector: Vector) -> Vector:
    """Set entries below the rounding level of the largest to zero."""
    largest = float(np.max(np.abs(vector), initial=0.0))
    return np.where(np.abs(vector) > PROOF_TOLERANCE * largest, vector, 0.0)


def _largest_ratio(sums: Vector, terms: Vector) -> float:
    """``max |sum_k| / terms_k``, zero where there are no terms."""
    used = terms > 0.0
    ratio = float(np.max(np.abs(sums[used]) / terms[used], initial=0.0))
    return ratio if math.isfinite(ratio) else math.inf


def null_space_rows(program: QuadraticProgram) -> Sparse | None:
    """Rows R whose null space is that of the Hessian: ``R d = 0`` means ``P d = 0``; or None."""
    P = program.P
    if isinstance(P, LowRankQuadratic):  # d'(FF' + D)d = 0 exactly when F'd = 0 and Dd = 0
        return sp.vstack([sp.csr_array(P.factor.T), sp.diags_array(P.diag, format="csr")])
    if P.prefers_sparse:
        return P.to_sparse()
    return None if P.size > EIGENVALUE_SIZE else sp.csr_array(P.to_dense())
