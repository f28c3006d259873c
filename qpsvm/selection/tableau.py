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
from qpsvm.selection.settings import LEAVE_ONE_OUT
from qpsvm.selection.staircase import AT_A, Staircase


@short_repr
@dataclass(frozen=True, eq=False)
class Tableau:
    """Linear map from fixed to dependent decision values and coefficients of one machine.

    Attributes
    ----------
    T : array of shape (n, n)
    steps : array of int of shape (n,)
    staircase : Staircase
    f, beta : arrays of shape (n,)
        On their steps exactly; what follows is what T makes of it.
    b : float
    of_b : array of shape (n,)
        Change of b with what is given.
    equals : array of int of shape (n,)
        The same number for samples that are equal for the kernel.
    has_intercept : bool
    unit : float
        The largest ``K_jj``.
    """

    T: Dense
    steps: Index
    staircase: Staircase
    f: Vector
    beta: Vector
    b: float
    of_b: Vector
    equals: Index
    has_intercept: bool
    unit: float

    @classmethod
    def of(
        cls, K: Dense, staircase: Staircase, steps: Index, *, has_intercept: bool
    ) -> Tableau | None:
        """Build the tableau of a machine's steps; None if they do not determine the machine.

        Parameters
        ----------
        K : array of shape (n, n)
        staircase : Staircase
        steps : array of int of shape (n,)
        has_intercept : bool
            Whether there is a free intercept.
        """
        n, free = len(K), np.abs(steps) == 1
        F, N = np.flatnonzero(free), np.flatnonzero(~free)
        if has_intercept and not len(F):
            return None  # any intercept of an interval is optimal
        k, m = len(F), len(F) + has_intercept
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
        if has_intercept:
            of_b[F], of_b[N] = inverse[-1, :-1], -moved[:, -1]
        beta, b = staircase.given(steps), 0.0
        right = np.concatenate([beta[F] - across[:, :k].T @ beta[N], np.zeros(m - k)])
        right[k:] -= np.sum(beta[N])
        f_of_F, found = beta[F], inverse @ right
        beta[F] = found[:k]
        b = float(np.sum(found[k:]))
        f = K @ beta + b
        f[F] = f_of_F
        unit = float(np.max(np.diagonal(K), initial=0.0)) or 1.0
        equals = _equals(K)
        return cls(columns.T, steps, staircase, f, beta, b, of_b, equals, has_intercept, unit)

    @cached_property
    def is_free(self) -> Mask:
        """Mask of the samples whose coefficient is not fixed by their step, shape (n,)."""
        return np.asarray(np.abs(self.steps) == 1)

    @cached_property
    def scale(self) -> Vector:
        """Scale of the rows and columns of T, which has units of K and of 1/K; shape (n,)."""
        root = np.sqrt(self.unit)
        return np.asarray(np.where(self.is_free, root, 1.0 / root))

    def span_errors(self, samples: Index) -> int:
        """Number of some samples with ``alpha_i kappa_i >= s_i f(x_i)``, for a classifier."""
        diagonal = np.diagonal(self.T)
        with np.errstate(divide="ignore"):
            kappa = np.where(self.is_free, 1.0 / diagonal, diagonal)
        signs = np.where(self.staircase.upper > 0.0, 1.0, -1.0)
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


def _equals(K: Dense) -> Index:
    """Return group numbers of the samples: equal for samples with equal kernel rows, shape (n,)."""
    sums = K @ np.random.default_rng(0).uniform(1.0, 2.0, len(K))
    order = np.argsort(sums)
    is_next = np.diff(sums[order], prepend=-np.inf) > LEAVE_ONE_OUT.noise * np.max(np.abs(sums))
    numbers = np.empty(len(K), dtype=np.int64)
    numbers[order] = np.cumsum(is_next)
    return numbers


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
