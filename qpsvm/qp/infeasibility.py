"""Evidence that a program has no optimum: how it is measured, and how it is found.

Many QP solvers say "infeasible" without proof, or say nothing. Both kinds of evidence are
solutions of linear programs, which HiGHS (through SciPy) solves to a vertex; whatever comes back,
from there or from a solver, is measured before anyone believes it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.qp._arrays import Vector
from qpsvm.qp.kkt import checked_vectors
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution, Status
from qpsvm.qp.structured import LowRankQuadratic

EVIDENCE_TOLERANCE = 1e-7
"""Largest violation of a certificate that counts as proof. At 1e-7, no x with a 1-norm below
1e7 can be feasible (see ``farkas_violation``)."""

MAX_DENSE_RAY = 1500
"""Rays need the null space of P; beyond this size an unstructured P is not searched."""


# --- measured ------------------------------------------------------------------------------------


def farkas_violation(program: QuadraticProgram, solution: QPSolution) -> float:
    """How far ``z, y, z_lower, z_upper`` are from proving that the constraints contradict.

    They prove it when ``z >= 0``, ``G'z + A'y - z_lower + z_upper = 0`` and
    ``h'z + b'y - lb'z_lower + ub'z_upper = -c < 0`` (Farkas' lemma; Boyd and Vandenberghe,
    section 5.8.3). Returned is ``max|G'z + ...| / c`` or the largest wrong sign over c, whichever
    is larger: every x of 1-norm below its reciprocal is then infeasible. Infinite when ``c <= 0``
    or a vector is missing or not finite.
    """
    vectors, _ = checked_vectors(program, solution.replace(x=np.zeros(program.n_variables)))
    if vectors is None:
        return math.inf
    _, z, y, z_lower, z_upper = vectors
    with np.errstate(all="ignore"):
        combination = np.abs(program.G.T @ z + program.A.T @ y - z_lower + z_upper)
        value = float(program.b @ y)
        wrong_sign = 0.0
        for bound, multiplier, sign in (
            (program.h, z, 1.0),
            (program.lb, z_lower, -1.0),
            (program.ub, z_upper, 1.0),
        ):
            finite = np.isfinite(bound)
            if multiplier[~finite].any():
                return math.inf
            value += sign * float(bound[finite] @ multiplier[finite])
            wrong_sign = max(wrong_sign, float(np.max(-multiplier, initial=0.0)))
        if not value < 0.0:
            return math.inf
        return _or_infinite(max(float(np.max(combination, initial=0.0)), wrong_sign) / -value)


def ray_violation(program: QuadraticProgram, solution: QPSolution) -> float:
    """How far ``x`` is from proving that the objective falls without end.

    It proves it when ``q'x < 0``, ``Px = 0``, ``Ax = 0``, ``Gx <= 0``, and x points into every
    finite bound. Returned is the largest violation over ``-q'x``; infinite when ``q'x >= 0`` or x
    is missing or not finite. (A feasible point is needed besides: the program may be infeasible.)
    """
    x = solution.x
    if x is None or x.shape != (program.n_variables,) or not np.isfinite(x).all():
        return math.inf
    with np.errstate(all="ignore"):
        descent = -float(program.q @ x)
        if not descent > 0.0:
            return math.inf
        Gx = (program.G @ x)[np.isfinite(program.h)]
        violations = [
            np.abs(program.P.matvec(x)),
            np.abs(program.A @ x),
            Gx,
            -x[np.isfinite(program.lb)],
            x[np.isfinite(program.ub)],
        ]
        return _or_infinite(max(float(np.max(v, initial=0.0)) for v in violations) / descent)


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


def _or_infinite(value: float) -> float:
    return value if math.isfinite(value) else math.inf


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
