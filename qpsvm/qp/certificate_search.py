"""Search for Farkas certificates, unbounded rays and feasible points, by linear programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.numerics.arrays import Index, Vector
from qpsvm.qp.infeasibility import (
    PROOF_TOLERANCE,
    farkas_violation,
    null_space_rows,
    ray_violation,
)
from qpsvm.qp.nearest import nearest_feasible
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.restrictions import linear_program, primal_restrictions
from qpsvm.qp.row_proofs import prove_rows
from qpsvm.qp.solution import QPSolution, Status
from qpsvm.qp.transforms import rows_as_bounds


def _least_violation(program: QuadraticProgram, finite: Index, seconds: float) -> Any:
    """Solve ``min t`` subject to ``Gx - t <= h``, ``|Ax - b| <= t``, ``lb <= x <= ub``, ``t >= 0``.

    ``finite`` are the rows of G that bind. None where HiGHS finds no point.
    """
    n = program.n_variables
    rows = sp.vstack(
        [sp.csr_array(program.G)[finite], sp.csr_array(program.A), -sp.csr_array(program.A)]
    )
    return linear_program(
        np.append(np.zeros(n), 1.0),
        (np.append(program.lb, 0.0), np.append(program.ub, np.inf)),
        seconds,
        dual_eps=1e-10,
        A_ub=sp.hstack([rows, -np.ones((rows.shape[0], 1))], format="csc"),
        b_ub=np.concatenate([program.h[finite], program.b, -program.b]),
    )


def find_feasible_point(program: QuadraticProgram, seconds: float = 10.0) -> Vector | None:
    """Find a point beside which all rows and bounds are proven to hold, or None.

    Rows that contradict each other by no more than the rounding of their numbers count as holding,
    as in every verdict (``qp.row_proofs``).
    """
    bounded, _ = rows_as_bounds(program)
    finite = np.flatnonzero(np.isfinite(bounded.h))
    start = np.zeros(program.n_variables)
    if finite.size + program.n_equalities:
        result = _least_violation(bounded, finite, seconds)
        if result is None:
            return None
        start = result.x[:-1]
    restrictions = primal_restrictions(bounded)
    found = prove_rows(restrictions, nearest_feasible(restrictions, start))
    return found.point if found.blocked is None else None


def find_farkas_certificate(program: QuadraticProgram, seconds: float = 10.0) -> QPSolution | None:
    """Find multipliers that prove the constraints contradictory, or None.

    They are the dual solution of ``min t`` subject to ``Gx - t <= h``, ``|Ax - b| <= t``,
    ``lb <= x <= ub``, ``t >= 0``: if the smallest t is positive, no point satisfies everything.
    """
    n, p = program.n_variables, program.n_equalities
    finite = np.flatnonzero(np.isfinite(program.h))
    if finite.size + p == 0:
        return None  # bounds alone never contradict: lb <= ub was checked on construction
    result = _least_violation(program, finite, seconds)
    if result is None or result.status != 0:
        return None
    multipliers = np.maximum(-result.ineqlin.marginals, 0.0)
    z = np.zeros(program.n_inequalities)
    z[finite] = multipliers[: finite.size]
    y = multipliers[finite.size : finite.size + p] - multipliers[finite.size + p :]
    certificate = QPSolution(
        Status.PRIMAL_INFEASIBLE,
        z=z,
        y=y,
        z_lower=np.where(np.isfinite(program.lb), np.maximum(result.lower.marginals[:n], 0), 0),
        z_upper=np.where(np.isfinite(program.ub), np.maximum(-result.upper.marginals[:n], 0), 0),
        native_status="certificate from a linear program",
    )
    return certificate if farkas_violation(program, certificate) <= PROOF_TOLERANCE else None


def find_ray(program: QuadraticProgram, seconds: float = 10.0) -> QPSolution | None:
    """Find a direction along which the objective is unbounded below, or None.

    The solution of ``min q'd`` subject to ``Pd = 0``, ``Ad = 0``, ``Gd <= 0``, d pointing into
    every finite bound, ``-1 <= d <= 1``.
    """
    null_space = null_space_rows(program)
    if null_space is None:
        return None
    finite = np.flatnonzero(np.isfinite(program.h))
    A = sp.vstack([null_space, sp.csr_array(program.A)], format="csc")
    lower = np.where(np.isfinite(program.lb), 0.0, -1.0)
    upper = np.where(np.isfinite(program.ub), 0.0, 1.0)
    rows: dict[str, Any] = {}
    if finite.size:
        rows |= {"A_ub": sp.csr_array(program.G)[finite], "b_ub": np.zeros(finite.size)}
    steepest = max(float(np.max(np.abs(program.q))), np.finfo(float).tiny)
    rows |= {"A_eq": A, "b_eq": np.zeros(A.shape[0])}
    result = linear_program(program.q / steepest, (lower, upper), seconds, dual_eps=1e-10, **rows)
    if result is None or result.status != 0:
        return None
    certificate = QPSolution(
        Status.DUAL_INFEASIBLE, x=result.x, native_status="certificate from a linear program"
    )
    return certificate if ray_violation(program, certificate) <= PROOF_TOLERANCE else None
