"""Removal of linearly dependent equality rows ``Ax = b``, on which some solvers break down."""

from __future__ import annotations

import numpy as np

from qpsvm.backends.base import Stop
from qpsvm.numerics.arrays import is_sparse
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution, Status
from qpsvm.qp.transforms import Chain, Inverse, drop_dependent_equalities

INCONSISTENT = 1e-9
"""Relative size of ``min |Ax - b|`` above which dependent rows contradict each other."""


def independent_equalities(
    program: QuadraticProgram, inverse: Inverse
) -> tuple[QuadraticProgram, Inverse]:
    """Drop the equality rows that others imply.

    Parameters
    ----------
    program : QuadraticProgram
    inverse : Inverse
        From solutions of ``program`` to those of the program it was made from.

    Returns
    -------
    program, inverse
        The smaller program, and the way back from it.

    Raises
    ------
    Stop
        The rows contradict each other; the residual ``r`` of the least-squares fit proves it,
        because ``A'r = 0`` and ``b'r > 0`` (Farkas' lemma with ``y = -r``).
    """
    smaller, restore = drop_dependent_equalities(program)
    if smaller is program:
        return program, inverse
    A = program.A.toarray() if is_sparse(program.A) else program.A
    residual = program.b - A @ np.linalg.lstsq(A, program.b)[0]
    if np.abs(residual).max() > INCONSISTENT * max(1.0, np.abs(program.b).max()):
        none = np.zeros(program.n_variables)
        evidence = QPSolution(
            Status.PRIMAL_INFEASIBLE,
            z=np.zeros(program.n_inequalities),
            y=-residual,
            z_lower=none,
            z_upper=none,
            native_status="not asked: the rows of Ax = b contradict each other",
        )
        raise Stop(Status.PRIMAL_INFEASIBLE, inverse(evidence))
    return smaller, Chain((inverse, restore))
