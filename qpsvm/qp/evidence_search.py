"""Search for evidence that a program has no optimum, by linear programs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from qpsvm.numerics.arrays import Sparse, Vector
from qpsvm.numerics.interrupts import interruptible
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution, Status

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult
from qpsvm.qp.infeasibility import (
    has_proof_of_infeasibility,
    has_proof_of_unboundedness,
    null_space_rows,
)


def find_infeasibility(program: QuadraticProgram, seconds: float = 10.0) -> QPSolution | None:
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
    """Find a direction along which the objective is unbounded below, or None.

    The solution of ``min q'd`` subject to ``Pd = 0``, ``Ad = 0``, ``Gd <= 0``, d pointing into
    every finite bound, ``-1 <= d <= 1``.
    """
    null_space = null_space_rows(program)
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


def _highs(
    cost: Vector,
    *,
    G: Sparse,
    h: Vector,
    lb: Vector,
    ub: Vector,
    seconds: float,
    A: Sparse | None = None,
    b: Vector | None = None,
) -> OptimizeResult | None:
    from scipy.optimize import linprog

    run = partial(
        linprog,
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
    result = interruptible(run)
    return result if result.status == 0 else None
