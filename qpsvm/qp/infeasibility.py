"""Evidence that a program has no optimum: Farkas multipliers and unbounded rays.

Many QP solvers say "infeasible" without proof, or say nothing. Both kinds of evidence are
solutions of linear programs, which HiGHS (through SciPy) solves to a vertex; whatever comes back,
from there or from a solver, is measured before anyone believes it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.numerics.arrays import Vector
from qpsvm.qp.kkt import checked_vectors
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution, Status

EVIDENCE_TOLERANCE = 1e-9
"""Largest violation of a certificate that counts as proof: seven digits above the rounding of its
sums, and far below any coefficient that means something beside the others of its column."""

MAX_DENSE_RAY = 1500
"""Rays need the null space of P; beyond this size an unstructured P is not searched."""


# --- measured ------------------------------------------------------------------------------------


def farkas_violation(program: QuadraticProgram, solution: QPSolution) -> float:
    """How far ``z`` and ``y`` are from proving that the constraints contradict each other.

    For ``z >= 0`` every feasible x satisfies ``c'x <= h'z + b'y`` with ``c = G'z + A'y``. The proof
    is that c'x cannot be that small within the bounds: its minimum over ``lb <= x <= ub`` is larger
    (Farkas' lemma; Boyd and Vandenberghe, section 5.8.3). Where the bound that this needs does not
    exist, ``c_k`` must be zero.

    Returned is the largest ``|c_k| / (|G|'z + |A|'|y|)_k`` over those k: what is left of a sum
    whose terms should cancel, so that a small coefficient is not mistaken for none. Infinite when
    the minimum is not larger, or a vector is missing or not finite. Negative z count as zero, and
    ``z_lower``, ``z_upper`` are not needed: c says what they are.
    """
    vectors, _ = checked_vectors(program, solution.replace(x=np.zeros(program.n_variables)))
    if vectors is None:
        return math.inf
    _, z, y, _, _ = vectors
    z = np.where(np.isfinite(program.h), np.maximum(z, 0.0), 0.0)
    z, y = _without_noise(z, y)
    with np.errstate(all="ignore"):
        c = program.G.T @ z + program.A.T @ y
        bound = np.where(c > 0.0, program.lb, program.ub)  # where c_k x_k is smallest
        is_bounded = np.isfinite(bound)
        binding = z > 0.0
        right = np.concatenate([program.h[binding] * z[binding], program.b * y])
        left = c[is_bounded] * bound[is_bounded]
        excess = float(np.sum(left)) - float(np.sum(right))
        if not excess > EVIDENCE_TOLERANCE * float(np.sum(np.abs(left)) + np.sum(np.abs(right))):
            return math.inf
        terms = abs(program.G).T @ z + abs(program.A).T @ np.abs(y)
        return _largest_ratio(c[~is_bounded], terms[~is_bounded])


def ray_violation(program: QuadraticProgram, solution: QPSolution) -> float:
    """How far ``x`` is from proving that the objective falls without end.

    It proves it when ``q'x < 0``, ``Px = 0``, ``Ax = 0``, ``Gx <= 0``, and x points into every
    finite bound. Returned is the largest violation, each relative to the terms of its sum (as in
    ``farkas_violation``); infinite when ``q'x >= 0`` or x is missing or not finite. (A feasible
    point is needed besides: the program may be infeasible.)
    """
    x = solution.x
    if x is None or x.shape != (program.n_variables,) or not np.isfinite(x).all():
        return math.inf
    (x,) = _without_noise(x)
    with np.errstate(all="ignore"):
        descent = program.q * x
        if not -float(np.sum(descent)) > EVIDENCE_TOLERANCE * float(np.sum(np.abs(descent))):
            return math.inf
        finite = np.isfinite(program.h)
        largest = float(np.max(np.abs(x)))
        return max(
            program.P.null_violation(x),
            _largest_ratio(program.A @ x, abs(program.A) @ np.abs(x)),
            _largest_ratio(
                np.maximum(program.G @ x, 0.0)[finite], (abs(program.G) @ np.abs(x))[finite]
            ),
            float(np.max(-x[np.isfinite(program.lb)], initial=0.0)) / largest,
            float(np.max(x[np.isfinite(program.ub)], initial=0.0)) / largest,
        )


def _without_noise(*vectors: Vector) -> tuple[Vector, ...]:
    """Set entries below the rounding level of the largest to zero."""
    largest = max((float(np.max(np.abs(v), initial=0.0)) for v in vectors), default=0.0)
    return tuple(np.where(np.abs(v) > EVIDENCE_TOLERANCE * largest, v, 0.0) for v in vectors)


def _largest_ratio(sums: Vector, terms: Vector) -> float:
    """``max |sum_k| / terms_k``, zero where there are no terms."""
    used = terms > 0.0
    ratio = float(np.max(np.abs(sums[used]) / terms[used], initial=0.0))
    return ratio if math.isfinite(ratio) else math.inf


def has_proof_of_infeasibility(program: QuadraticProgram, solution: QPSolution) -> bool:
    """True when the multipliers prove that the constraints contradict each other."""
    return farkas_violation(program, solution) <= EVIDENCE_TOLERANCE


def has_proof_of_unboundedness(program: QuadraticProgram, solution: QPSolution) -> bool:
    """True when x is a direction in which the objective falls without leaving the constraints."""
    return ray_violation(program, solution) <= EVIDENCE_TOLERANCE


# --- found ---------------------------------------------------------------------------------------


def find_infeasibility(program: QuadraticProgram, seconds: float = 10.0) -> QPSolution | None:
    """Multipliers that prove the constraints contradictory, or None.

    They are the dual solution of ``min t`` subject to ``Gx - t <= h``, ``|Ax - b| <= t``,
    ``lb <= x <= ub``, ``t >= 0``: if the smallest t is positive, no point satisfies everything.
    """
    n, p = program.n_variables, program.n_equalities
    finite = np.flatnonzero(np.isfinite(program.h))
    if finite.size + p == 0:
        return None  # bounds alone never contradict: lb <= ub was checked on construction
    rows = sp.vstack(
        [sp.csr_array(program.G)[finite], sp.csr_array(program.A), -sp.csr_array(program.A)]
    )
    result = _highs(
        np.append(np.zeros(n), 1.0),
        G=sp.hstack([rows, -np.ones((rows.shape[0], 1))], format="csc"),
        h=np.concatenate([program.h[finite], program.b, -program.b]),
        lb=np.append(program.lb, 0.0),
        ub=np.append(program.ub, np.inf),
        seconds=seconds,
    )
    if result is None:
        return None
    multipliers = np.maximum(-result.ineqlin.marginals, 0.0)
    z = np.zeros(program.n_inequalities)
    z[finite] = multipliers[: finite.size]
    y = multipliers[finite.size : finite.size + p] - multipliers[finite.size + p :]
    evidence = QPSolution(
        Status.PRIMAL_INFEASIBLE,
        z=z,
        y=y,
        z_lower=np.where(np.isfinite(program.lb), np.maximum(result.lower.marginals[:n], 0), 0),
        z_upper=np.where(np.isfinite(program.ub), np.maximum(-result.upper.marginals[:n], 0), 0),
        native_status="certificate from a linear program",
    )
    return evidence if has_proof_of_infeasibility(program, evidence) else None


def find_unboundedness(program: QuadraticProgram, seconds: float = 10.0) -> QPSolution | None:
    """A direction along which the objective falls without end, or None.

    The solution of ``min q'd`` subject to ``Pd = 0``, ``Ad = 0``, ``Gd <= 0``, d pointing into
    every finite bound, ``-1 <= d <= 1``.
    """
    null_space = _null_space_rows(program)
    if null_space is None:
        return None
    finite = np.flatnonzero(np.isfinite(program.h))
    A = sp.vstack([null_space, sp.csr_array(program.A)], format="csc")
    result = _highs(
        program.q / max(float(np.max(np.abs(program.q))), np.finfo(float).tiny),
        G=sp.csr_array(program.G)[finite],
        h=np.zeros(finite.size),
        A=A,
        b=np.zeros(A.shape[0]),
        lb=np.where(np.isfinite(program.lb), 0.0, -1.0),
        ub=np.where(np.isfinite(program.ub), 0.0, 1.0),
        seconds=seconds,
    )
    if result is None:
        return None
    evidence = QPSolution(
        Status.DUAL_INFEASIBLE, x=result.x, native_status="certificate from a linear program"
    )
    return evidence if has_proof_of_unboundedness(program, evidence) else None


def _null_space_rows(program: QuadraticProgram) -> Any:
    """Rows R with ``R d = 0`` exactly when ``P d = 0``."""
    P = program.P
    if isinstance(P, LowRankQuadratic):  # d'(FF' + D)d = 0 exactly when F'd = 0 and Dd = 0
        return sp.vstack([sp.csr_array(P.factor.T), sp.diags_array(P.diag, format="csr")])
    if P.prefers_sparse:
        return P.to_sparse()
    if P.size > MAX_DENSE_RAY:
        return None
    return sp.csr_array(P.to_dense())


def _highs(
    cost: Vector,
    *,
    G: Any,
    h: Vector,
    lb: Vector,
    ub: Vector,
    seconds: float,
    A: Any = None,
    b: Any = None,
) -> Any:
    from scipy.optimize import linprog

    result = linprog(
        cost,
        A_ub=G if G.shape[0] else None,
        b_ub=h if G.shape[0] else None,
        A_eq=A,
        b_eq=b,
        bounds=np.column_stack([lb, ub]),
        method="highs",
        options={
            "time_limit": seconds,
            "primal_feasibility_tolerance": 1e-10,
            "dual_feasibility_tolerance": 1e-10,
        },
    )
    return result if result.status == 0 else None
