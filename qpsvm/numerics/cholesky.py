"""Cholesky factors, reused for sets of variables that differ from the factored set by a few.

With ``M = P_FF + sigma I = L L'`` known, take the variables A in and R out. What is asked for
solves ::

    [ M   B ] [ u ]   [ r_F ]         B = [ P_FA  I_R ],   C = [ P_AA + sigma I  0 ]
    [ B'  C ] [ t ] = [ r_A ]                                  [ 0               0 ]

with ``u_R = 0``, and t the entries of A and what holds R at zero. With ``W = L^-1 B`` it takes
``S = C - W'W``, which has as many rows as variables changed, and not a factorisation of its own.

Source: Gill, Murray, Saunders and Wright, "A Schur-complement method for sparse quadratic
programming", in *Reliable Numerical Computation* (1990).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from qpsvm.numerics.arrays import Dense, Index, Vector

UNDIVIDED = 1500
"""Rows up to which LAPACK factors a matrix in one call, in a tenth of a second."""

PRODUCTS = 3e9
"""Products of numbers in one call of BLAS on a larger matrix, a quarter of a second: Ctrl-C waits
for a call to end."""


def factored_in_place(matrix: Dense) -> Dense:
    """Compute the Cholesky factor U, ``U'U = matrix``, in the upper triangle of a C-ordered array.

    Large matrices are factored by blocks of rows: with those above done, a block is ::

        S_kj = M_kj - sum_i<k U_ik'U_ij,    U_kk'U_kk = S_kk,    U_kj = U_kk^-T S_kj

    so that Ctrl-C and deadlines are heard between them.

    Raises
    ------
    LinAlgError
        It is not positive definite.
    """
    from scipy.linalg.lapack import dpotrf, dtrtrs

    n = len(matrix)
    step = n if n <= UNDIVIDED else max(64, min(512, round(4.0 * PRODUCTS / n**2)))
    for first in range(0, n, step):
        block = slice(first, min(first + step, n))
        rows, right = matrix[block, first:], slice(block.stop, n)
        if first:
            rows -= matrix[:first, block].T @ matrix[:first, first:]
        own = matrix[block, block].T
        factor, info = dpotrf(own, lower=1, clean=0, overwrite_a=1)
        if info != 0:
            raise np.linalg.LinAlgError("The matrix is not positive definite.")
        if step == n:  # in place
            break
        matrix[block, block] = factor.T
        if block.stop < n:
            matrix[block, right] = dtrtrs(factor, matrix[block, right], lower=1)[0]
    return matrix


class Cholesky:
    """``r -> (matrix + shift I)^-1 r`` for r of shape (n,) or (n, p). The matrix is overwritten.

    Raises
    ------
    LinAlgError
        It is not positive definite.
    """

    def __init__(self, matrix: Dense, shift: float) -> None:
        self.size = len(matrix)
        if self.size == 0:
            return
        matrix[np.diag_indices(self.size)] += shift
        # in place: the transpose of a C-ordered array is what LAPACK calls a matrix
        self._factor = factored_in_place(matrix).T

    def __call__(self, r: Dense) -> Dense:
        from scipy.linalg.lapack import dpotrs

        return r if self.size == 0 else np.asarray(dpotrs(self._factor, r, lower=1)[0])

    def half(self, r: Dense, *, transposed: bool = False) -> Dense:
        """``L^-1 r``, or ``L^-T r``; r is overwritten where it is in LAPACK's order."""
        from scipy.linalg.lapack import dtrtrs

        solve = partial(dtrtrs, self._factor, lower=1, trans=int(transposed), overwrite_b=1)
        if r.ndim == 1 or self.size <= UNDIVIDED:
            return np.asarray(solve(r)[0])
        found, width = np.empty_like(r), max(1, round(PRODUCTS / self.size**2))
        for first in range(0, r.shape[1], width):
            some = slice(first, first + width)
            found[:, some] = solve(r[:, some])[0]
        return found


class Bordered:
    """``r -> (P_FF + sigma I)^-1 r`` from the factor of a nearby set, by a bordered system.

    Parameters
    ----------
    factor : Cholesky
    before : pair of arrays of int
        Positions in the factored set of the variables that are kept, and of those removed.
    after : pair of arrays of int
        Positions in the new set of those kept, and of those added.
    border : array of shape (n_added + n_removed, n)
        Whose first rows are ``P_AF`` of the factored set F. It is overwritten.
    corner : array of shape (n_added, n_added)
        ``P_AA + sigma I``.
    product : callable
        ``u -> (P_FF + sigma I) u`` of the new set, for a refinement: S may be worse conditioned
        than M.

    Raises
    ------
    LinAlgError
        S is singular.
    """

    def __init__(
        self,
        factor: Cholesky,
        before: tuple[Index, Index],
        after: tuple[Index, Index],
        border: Dense,
        corner: Dense,
        product: Callable[[Dense], Dense],
    ) -> None:
        from scipy.linalg.lapack import dgetrf

        self.factor, self.product = factor, product
        self.kept, removed = before
        self.positions, self.added = after
        n_added = len(self.added)
        border[n_added:] = 0.0
        border[np.arange(n_added, len(border)), removed] = 1.0
        self.W: Dense = factor.half(border.T)
        S = -(self.W.T @ self.W)
        S[:n_added, :n_added] += corner
        lu, pivots, info = dgetrf(S)
        if info != 0 or not np.isfinite(lu).all():
            raise np.linalg.LinAlgError("The Schur complement is singular.")
        self._schur: tuple[Dense, Index] = lu, pivots

    def __call__(self, r: Dense) -> Dense:
        u = self._solved(r)
        return u + self._solved(r - self.product(u))

    def _solved(self, r: Dense) -> Dense:
        from scipy.linalg.lapack import dgetrs

        shape = (self.factor.size, *r.shape[1:])
        of_factor = np.zeros(shape, order="F")
        of_factor[self.kept] = r[self.positions]
        right = np.zeros((self.W.shape[1], *r.shape[1:]), order="F")
        right[: len(self.added)] = r[self.added]
        w = self.factor.half(of_factor)
        t: Vector = dgetrs(*self._schur, right - self.W.T @ w)[0]
        u = self.factor.half(np.asfortranarray(w - self.W @ t), transposed=True)
        result = np.empty(r.shape)
        result[self.positions] = u[self.kept]
        result[self.added] = t[: len(self.added)]
        return result


# --- memory for factors --------------------------------------------------------------------------


class Memory:
    """Named work arrays; pages that were never written take no memory.

    To write into fresh memory takes longer than to evaluate a kernel, or to factor a matrix of
    thousands: pages are found and zeroed first.
    """

    def __init__(self) -> None:
        self._arrays: dict[str, Vector] = {}

    def matrix(self, name: str, rows: int, columns: int) -> Dense:
        """Return the named array in a shape; its contents are arbitrary."""
        size = rows * columns
        self.reserve(name, size)
        return self._arrays[name][:size].reshape(rows, columns)

    def reserve(self, name: str, size: int, room: int = 0) -> None:
        """Enlarge a named array to ``size`` entries; a new one gets ``room`` entries more."""
        if name not in self._arrays or len(self._arrays[name]) < size:
            self._arrays[name] = np.empty(size + room)
