"""Why a program has no optimum, for solvers whose algorithm cannot tell."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from qpsvm.exceptions import MemoryLimitError
from qpsvm.qp._arrays import require_memory
from qpsvm.qp.kkt import farkas_violation, ray_violation
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution, Status

EVIDENCE = 1e-6
"""Violation up to which a vector is taken for a certificate."""


def classified(program: QuadraticProgram, solution: QPSolution) -> QPSolution:
    """The solution with the status that its own vectors prove, if they prove one.

    Without an optimum the iterates of an interior-point method diverge, and their direction is a
    certificate: that of the multipliers for an infeasible program, that of x for an unbounded one.
    """
    if farkas_violation(program, solution) <= EVIDENCE:
        return solution.replace(status=Status.PRIMAL_INFEASIBLE)
    if ray_violation(program, solution) <= EVIDENCE:
        return solution.replace(status=Status.DUAL_INFEASIBLE)
    return solution


def projected_ray(program: QuadraticProgram) -> QPSolution:
    """The steepest descent of the objective among the directions with ``Px = 0`` and ``Ax = 0``.

    ``x = -(q - M'w)`` with the least-squares fit ``w`` of ``M'w = q``, ``M = [P; A]``. When it also
    respects Gx <= 0 and the bounds, it proves that the objective falls without end.
    """
    none = QPSolution(Status.UNKNOWN)
    n, p = program.n_variables, program.n_equalities
    try:
        require_memory(n, n + p, "P and A", "this test is skipped.")
        P = program.P.to_dense()
    except MemoryLimitError:
        return none
    A = program.A.toarray() if sp.issparse(program.A) else program.A
    M = np.vstack([P, A])
    fit = np.linalg.lstsq(M.T, program.q, rcond=None)[0]
    return classified(program, none.replace(x=M.T @ fit - program.q))


def find_evidence(
    program: QuadraticProgram,
    solution: QPSolution,
    feasibility: Callable[[], QPSolution],
) -> QPSolution:
    """Look for a certificate where a solver gave up; cheapest test first.

    Parameters
    ----------
    program : QuadraticProgram
    solution : QPSolution
        What the solver left.
    feasibility : callable
        Solves ``min 0`` under the constraints; its multipliers are a Farkas certificate where
        there is no feasible point.

    Returns
    -------
    QPSolution
        ``solution`` itself when nothing was found.
    """
    looks: tuple[Callable[[], QPSolution], ...] = (
        lambda: solution,
        feasibility,
        lambda: projected_ray(program),
    )
    for look in looks:
        found = classified(program, look())
        if found.status in (Status.PRIMAL_INFEASIBLE, Status.DUAL_INFEASIBLE):
            return found.replace(
                native_status=solution.native_status, statistics=solution.statistics
            )
    return solution
