"""Choice of independent support vectors where samples depend on each other linearly."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from qpsvm.numerics.arrays import Dense, Index, Vector
from qpsvm.selection.settings import LEAVE_ONE_OUT
from qpsvm.selection.staircase import AT_A, Staircase


def independent(
    K: Dense, beta: Vector, staircase: Staircase, share: float, *, intercept: bool
) -> Vector:
    """Coefficients of the same machine whose free support vectors are linearly independent.

    Samples that depend on each other (equal ones, or more of them than features) can share their
    coefficients in many ways. Along a direction that changes no decision value each is moved until
    one of them is at the end of its step.

    Parameters
    ----------
    K : array of shape (n, n)
    beta : array of shape (n,)
    staircase : Staircase
    share : float
        Distance from the end of a step that is rounding, relative to the step.
    intercept : bool
        Whether the coefficients add up to zero.

    Returns
    -------
    array of shape (n,)
    """
    beta = beta.copy()
    for _ in range(LEAVE_ONE_OUT.rounds):
        steps = staircase.steps(beta, share)
        F = np.flatnonzero(np.abs(steps) == 1)
        if not len(F):
            return beta
        M = K[np.ix_(F, F)]
        largest = float(np.max(np.diagonal(M)))
        if intercept:
            M += largest  # of no direction along which the sum of coefficients changes
        # semidefinite: a direction v is in the kernel exactly if v'Mv is zero
        R, order, rank, _ = dpstrf(M, tol=LEAVE_ONE_OUT.dependent * largest)
        if rank == len(F):
            return beta
        order = order - 1
        first = solve_triangular(R[:rank, :rank], R[:rank, rank:])
        is_moved = np.zeros(len(F), dtype=bool)
        for k, d in enumerate(order[rank:]):
            v = np.zeros(len(F))
            v[order[:rank]], v[d] = -first[:, k], 1.0
            v[np.abs(v) < 1e-6] = 0.0
            if (is_moved & (v != 0.0)).any():
                continue
            is_moved |= v != 0.0
            _move(beta, F, v, steps, staircase)
    return beta


def _move(beta: Vector, F: Index, v: Vector, steps: Index, staircase: Staircase) -> None:
    """Move coefficients along a direction until the first is at the end of its step."""
    low = np.where(steps[F] == AT_A, 0.0, staircase.lowest[F])
    high = np.where(steps[F] == AT_A, staircase.upper[F], 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        up = np.where(v > 0.0, (high - beta[F]) / v, np.where(v < 0.0, (low - beta[F]) / v, np.inf))
    first = int(np.argmin(up))
    beta[F] += up[first] * v
    beta[F[first]] = high[first] if v[first] > 0.0 else low[first]
