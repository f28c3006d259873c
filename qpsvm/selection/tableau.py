"""Optimality conditions of a machine as a linear map, the principal pivot transform of K.

On a vertical step of a sample's staircase ``f_j`` is given and ``beta_j`` follows, on a flat one
the reverse. The tableau T maps what is given to what follows, linearly, for the steps of one
optimal machine: the principal pivot transform of K.

Source: Tsatsomeros, "Principal pivot transforms", *Linear Algebra and its Applications* 307 (2000).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpotrf, dpstrf

from qpsvm.display import short_repr
from qpsvm.numerics.arrays import Dense, Index, Mask, Vector
from qpsvm.numerics.balls import gamma, outward
from qpsvm.selection.kernel_matrix import KernelMatrix
from qpsvm.selection.settings import LEAVE_ONE_OUT
from qpsvm.selection.staircase import AT_A, Staircase


@short_repr
@dataclass(frozen=True, eq=False)
class Program:
    """Kernel, staircases and rounding errors of a training problem that samples are left out of.

    Attributes
    ----------
    kernel : KernelMatrix
    stair : Staircase
    price_error : float
        Relative error of its prices.
    is_free : bool
        Whether coefficients have to add up to zero: with a free intercept.
    equals : array of int of shape (n,)
        The index of the first sample that is equal.
    """

    kernel: KernelMatrix
    stair: Staircase
    price_error: float
    is_free: bool
    equals: Index

    @cached_property
    def twins(self) -> Index:
        """The samples that are equal to another one."""
        return np.flatnonzero(np.bincount(self.equals)[self.equals] > 1)

    def missed(self, beta: Dense) -> Vector:
        """Bound on ``|sum(beta)|`` of each machine, which is zero up to rounding, shape (m,)."""
        size = np.sum(np.abs(beta), axis=1)
        return np.asarray(self.is_free * outward(gamma(2 * beta.shape[1] + 4) * size))


@short_repr
@dataclass(frozen=True, eq=False)
class Tableau:
    """Linear map from fixed to dependent decision values and coefficients of one machine.

    Attributes
    ----------
    program : Program
    T : array of shape (n, n)
    steps : array of int of shape (n,)
    f, beta : arrays of shape (n,)
        On their steps exactly; what follows is what T makes of it.
    b : float
    of_b : array of shape (n,)
        Change of b with what is given.
    """

    program: Program
    T: Dense
    steps: Index
    f: Vector
    beta: Vector
    b: float
    of_b: Vector

    @classmethod
    def of(cls, program: Program, steps: Index) -> Tableau | None:
        """Build the tableau of a machine's steps; None if they do not determine the machine.

        Parameters
        ----------
        program : Program
        steps : array of int of shape (n,)
        """
        K, is_free = program.kernel.values, program.is_free
        n, free = len(K), np.abs(steps) == 1
        F, N = np.flatnonzero(free), np.flatnonzero(~free)
        if is_free and not len(F):
            return None  # any intercept of an interval is optimal
        k, m = len(F), len(F) + is_free
        M, across = np.ones((m, m)), np.ones((len(N), m))
        M[:k, :k], across[:, :k] = K[np.ix_(F, F)], K[np.ix_(N, F)]
        M[k:, k:] = 0.0
        inverse = _inverse(M)
        if inverse is None:
            return None
        moved = across @ inverse
        columns = np.empty((n, n))  # row by row a column of T: a few of these are added up often
        columns[np.ix_(F, F)] = inverse[:k, :k]
        columns[np.ix_(F, N)] = moved[:, :k].T
        columns[np.ix_(N, F)] = -moved[:, :k]
        columns[np.ix_(N, N)] = K[np.ix_(N, N)] - moved @ across.T
        of_b = np.zeros(n)
        if is_free:
            of_b[F], of_b[N] = inverse[-1, :-1], -moved[:, -1]
        beta, b = program.stair.given(steps), 0.0
        right = np.concatenate([beta[F] - across[:, :k].T @ beta[N], np.zeros(m - k)])
        right[k:] -= np.sum(beta[N])
        f_of_F, found = beta[F], inverse @ right
        beta[F] = found[:k]
        b = float(np.sum(found[k:]))
        f = K @ beta + b
        f[F] = f_of_F
        return cls(program, columns.T, steps, f, beta, b, of_b)

    @cached_property
    def is_free(self) -> Mask:
        """Mask of the samples whose coefficient is not fixed by their step, shape (n,)."""
        return np.asarray(np.abs(self.steps) == 1)

    @cached_property
    def scale(self) -> Vector:
        """Scale of the rows and columns of T, which has units of K and of 1/K; shape (n,)."""
        root = np.sqrt(float(np.max(np.diagonal(self.program.kernel.values), initial=0.0)) or 1.0)
        return np.asarray(np.where(self.is_free, root, 1.0 / root))

    def span_errors(self, samples: Index) -> int:
        """Number of some samples with ``alpha_i kappa_i >= s_i f(x_i)``, for a classifier."""
        diagonal = np.diagonal(self.T)
        with np.errstate(divide="ignore"):
            kappa = np.where(self.is_free, 1.0 / diagonal, diagonal)
        signs = np.where(self.program.stair.upper > 0.0, 1.0, -1.0)
        return int(np.count_nonzero((np.abs(self.beta) * kappa >= signs * self.f)[samples]))


def _inverse(M: Dense) -> Dense | None:
    """The inverse of a symmetric matrix; None if its condition number is too large."""
    if not len(M):
        return M
    try:
        inverse = np.linalg.inv(M)
    except np.linalg.LinAlgError:
        return None
    inverse = 0.5 * (inverse + inverse.T)
    norms = [np.max(np.sum(np.abs(A), axis=0), initial=0.0) for A in (M, inverse)]
    return inverse if norms[0] * norms[1] < 1.0 / LEAVE_ONE_OUT.dependent else None


def independent(program: Program, beta: Vector) -> Vector:
    """Coefficients of the same machine whose free support vectors are linearly independent.

    Samples that depend on each other (equal ones, or more of them than features) can share their
    coefficients in many ways. Along a direction that changes no decision value each is moved until
    one of them is at the end of its step.

    Parameters
    ----------
    program : Program
    beta : array of shape (n,)

    Returns
    -------
    array of shape (n,)
    """
    beta, K, stair = beta.copy(), program.kernel.values, program.stair
    for _ in range(LEAVE_ONE_OUT.rounds):
        steps = stair.steps(beta, LEAVE_ONE_OUT.end_of_step)
        F = np.flatnonzero(np.abs(steps) == 1)
        if not len(F):
            return beta
        M = K[np.ix_(F, F)]
        largest = float(np.max(np.diagonal(M)))
        if program.is_free:
            M += largest  # of no direction along which the sum of coefficients changes
        factor, failed = dpotrf(M)
        if not failed and np.min(np.diagonal(factor)) ** 2 > LEAVE_ONE_OUT.dependent * largest:
            return beta
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
            _move(beta, F, v, steps, stair)
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
