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

import numpy as np

from qpsvm.numerics.arrays import Dense, Index, Vector


class Cholesky:
    """``r -> (matrix + shift I)^-1 r`` for r of shape (n,) or (n, p). The matrix is overwritten.

    Raises
    ------
    LinAlgError
        It is not positive definite.
    """

    def __init__(self, matrix: Dense, shift: float) -> None:
        from scipy.linalg.lapack import dpotrf

        self.size = len(matrix)
        if self.size == 0:
            return
        matrix[np.diag_indices(self.size)] += shift
        # in place: the transpose of a C-ordered array is what LAPACK calls a matrix
        self._factor, info = dpotrf(matrix.T, lower=1, clean=0, overwrite_a=1)
        if info != 0:
            raise np.linalg.LinAlgError("The matrix is not positive definite.")

    def __call__(self, r: Dense) -> Dense:
        from scipy.linalg.lapack import dpotrs

        return r if self.size == 0 else np.asarray(dpotrs(self._factor, r, lower=1)[0])

    def half(self, r: Dense, *, transposed: bool = False) -> Dense:
        """``L^-1 r``, or ``L^-T r``; r is overwritten where it is in LAPACK's order."""
        from scipy.linalg.lapack import dtrtrs

        return np.asarray(dtrtrs(self._factor, r, lower=1, trans=int(transposed), overwrite_b=1)[0])


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
