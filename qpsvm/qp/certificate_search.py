"""Search for Farkas certificates and unbounded rays, by linear programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.qp.infeasibility import (
    PROOF_TOLERANCE,
    farkas_violation,
    null_space_rows,
    ray_violation,
)
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.restrictions import linear_program
from qpsvm.qp.solution import QPSolution, Status


def find_farkas_certificate(program: QuadraticProgram, seconds: float = 10.0) -> QPSolution | None:
    """Find multipliers that prove the constraints contradictory, or None.

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
    result = linear_program(
        np.append(np.zeros(n), 1.0),
        (np.append(program.lb, 0.0), np.append(program.ub, np.inf)),
        seconds,
        dual_eps=1e-10,
        A_ub=sp.hstack([rows, -np.ones((rows.shape[0], 1))], format="csc"),
        b_ub=np.concatenate([program.h[finite], program.b, -program.b]),
    )
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
