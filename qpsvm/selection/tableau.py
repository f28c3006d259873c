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
from scipy.linalg.lapack import dgecon, dgetrf, dgetrs, dsytrf, dsytri

from qpsvm.display import short_repr
from qpsvm.numerics.arrays import Dense, Index, Mask, Vector
from qpsvm.selection.settings import LEAVE_ONE_OUT
from qpsvm.selection.staircase import Staircase


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
        F, N = np.flatnonzero(free), np.flatnonzero(~free & (staircase.given(steps) != 0.0))
        m = len(F) + has_intercept
        if has_intercept and not len(F):
            return None  # any intercept of an interval is optimal
        M = np.zeros((m, m))
        M[: len(F), : len(F)] = K[np.ix_(F, F)]
        if has_intercept:
            M[-1, :-1] = M[:-1, -1] = 1.0
        inverse = _inverse(M)
        if inverse is None:
            return None
        across = np.zeros((n, m))
        across[:, : len(F)] = K[:, F]
        if has_intercept:
            across[:, -1] = 1.0
        moved = across @ inverse
        columns = moved[:, : len(F)]
        transposed = moved @ across.T  # row by row a column of T: a few of these are added up often
        np.subtract(K, transposed, out=transposed)
        transposed[:, F] = -columns
        rows = np.ascontiguousarray(columns.T)
        rows[:, F] = inverse[: len(F), : len(F)]
        transposed[F] = rows
        of_b = np.zeros(n)
        if has_intercept:
            of_b = -moved[:, -1]
            of_b[F] = inverse[-1, :-1]
        given = staircase.given(steps)
        sums = np.array([0.0]) if has_intercept else np.zeros(0)
        right = np.concatenate([given[F] - K[np.ix_(F, N)] @ given[N], sums])
        if has_intercept:
            right[-1] -= float(np.sum(given[N]))
        found = inverse @ right
        beta, b = given.copy(), float(found[-1]) if has_intercept else 0.0
        beta[F] = found[: len(F)]
        f = K @ beta + b
        f[F] = given[F]
        unit = float(np.max(np.diagonal(K), initial=0.0)) or 1.0
        return cls(
            transposed.T, steps, staircase, f, beta, b, of_b, _equals(K), has_intercept, unit
        )

    @cached_property
    def is_free(self) -> Mask:
        """Mask of the samples whose coefficient is not fixed by their step, shape (n,)."""
        return np.asarray(np.abs(self.steps) == 1)

    @cached_property
    def scale(self) -> Vector:
        """Scale of the rows and columns of T, which has units of K and of 1/K; shape (n,)."""
        root = np.sqrt(self.unit)
        return np.asarray(np.where(self.is_free, root, 1.0 / root))

    def solved(self, index: Index, right: Dense) -> Dense | None:
        """Solve ``T_SS U = R`` for samples S; None if they depend on each other.

        Parameters
        ----------
        index : array of int of shape (k,)
            S.
        right : array of shape (k, p)
        """
        scale = self.scale[index]
        block = scale[:, None] * self.T[index[:, None], index] * scale
        norm = np.abs(block).sum(axis=0).max()
        lu, pivots, info = dgetrf(block)
        if info or not dgecon(lu, norm)[0] > LEAVE_ONE_OUT.dependent:
            return None
        return np.asarray(scale[:, None] * dgetrs(lu, pivots, scale[:, None] * right)[0])

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
    factor, pivots, info = dsytrf(M, lower=1)
    inverse, singular = dsytri(factor, pivots, lower=1)
    if info or singular:
        return None
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
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
