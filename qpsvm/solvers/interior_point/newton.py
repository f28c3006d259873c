"""The Newton system of an interior-point iteration, reduced to the rank of F.

    (F F' + Theta) dx + A'dy = r,      A dx = e,      Theta = d + z / s + v / t + rho

With ``dw = F'dx`` and ``D = Theta^-1``, ``dx = D (r - F dw - A'dy)``; put into the two equations
that it must meet, this is a system of as many unknowns as F has columns and A has rows::

    [ I + F'D F    F'D A' ] [ dw ]   [ F'D r     ]
    [ A D F        A D A' ] [ dy ] = [ A D r - e ]

Where there are fewer variables than columns, the same dw and dy come from ``M = Theta + F F'``::

    M v = F a + A'dy,   A v = b,   dw = a - F'v          for the right-hand side (a, b)

Source: Ferris and Munson, "Interior-point methods for massive support vector machines", *SIAM J.
Optim.* 13 (2002), section 4, who eliminate with Sherman, Morrison and Woodbury's formula.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs, dsytrf, dsytrf_lwork, dsytrs, dtrtrs

from qpsvm.numerics.arrays import Dense, Vector
from qpsvm.numerics.cholesky import UNDIVIDED
from qpsvm.numerics.interrupts import interruptible
from qpsvm.solvers.interior_point.factor import Factor
from qpsvm.solvers.interior_point.settings import chunks

PROJECTIONS = 16
"""Random projections by which sizes of rows are estimated, to within a factor of two."""


class NewtonSystem(ABC):
    """A Newton system, factored once and solved for several right-hand sides.

    Attributes
    ----------
    F : Factor
    A : array of shape (p, n)
    D : array of shape (n,)
    """

    def __init__(self, F: Factor, A: Dense, D: Vector) -> None:
        self.F, self.A, self.D = F, A, D

    @staticmethod
    def of(F: Factor, A: Dense, D: Vector, *, keeps_heavy: bool = False) -> NewtonSystem:
        """Choose the smaller Newton system, or the one that rounds least.

        Raises
        ------
        numpy.linalg.LinAlgError
            Rounding has made it indefinite.
        """
        if F.rank > F.size:
            return OfVariables(F, A, D)
        return (OfBoth if keeps_heavy else OfWeights)(F, A, D)

    @abstractmethod
    def solve(self, of_weights: Vector, of_rows: Vector) -> tuple[Vector, Vector]:
        """``dw`` and ``dy`` for one right-hand side."""

    @abstractmethod
    def direction(self, Dr: Vector, e: Vector, dx: Vector) -> tuple[Vector, Vector]:
        """Solve for ``dw`` and ``dy``; dx, shape (n,), is overwritten."""

    def sizes(self) -> Vector:
        """Estimates of ``sqrt(f_i'K^-1 f_i)`` for the rows ``f_i = (F_i, A_i)`` of all variables.

        By how much ``g_i`` changes along a step of length 1 in the norm of K, at most. The squares
        are estimated from random projections, each to within a third or so: ``K = J'J`` with
        ``J = [I, 0; D^1/2 F, D^1/2 A']``, so that for random signs z the covariance of
        ``u = K^-1 J'z`` is ``K^-1``, and ``E (f_i'u)^2 = f_i'K^-1 f_i`` (Achlioptas, *J. Comput.
        Syst. Sci.* 66 (2003), theorem 1.1).
        """
        F, A, root, count = self.F, self.A, np.sqrt(self.D), PROJECTIONS
        rng = np.random.default_rng(0)
        V, W = np.empty((F.rank, count)), np.empty((len(A), count))
        for k in range(count):
            z = root * rng.choice([-1.0, 1.0], F.size)
            V[:, k], W[:, k] = self.solve(F.transposed(z) + rng.choice([-1.0, 1.0], F.rank), A @ z)
        return np.asarray(np.sqrt(F.squared_products(V, A, W) / count))


class OfWeights(NewtonSystem):
    """Newton system in the weights and row multipliers."""

    def __init__(self, F: Factor, A: Dense, D: Vector) -> None:
        super().__init__(F, A, D)
        self.upper = _cholesky(_of_weights(F, A, D))

    def solve(self, of_weights: Vector, of_rows: Vector) -> tuple[Vector, Vector]:
        found = dpotrs(self.upper, np.concatenate([of_weights, of_rows]))[0]
        return found[: self.F.rank], found[self.F.rank :]

    def direction(self, Dr: Vector, e: Vector, dx: Vector) -> tuple[Vector, Vector]:
        dw, dy = self.solve(self.F.transposed(Dr), self.A @ Dr - e)
        _eliminated(self.F, self.A, self.D, Dr, dw, dy, dx)
        return dw, dy

    def sizes(self) -> Vector:
        """Estimates of ``sqrt(f_i'K^-1 f_i)`` with the factor for J."""
        r, count = self.F.rank, PROJECTIONS
        signs = np.random.default_rng(0).choice([-1.0, 1.0], (len(self.upper), count))
        V = dtrtrs(self.upper, signs)[0]
        return np.asarray(np.sqrt(self.F.squared_products(V[:r], self.A, V[r:]) / count))


class OfVariables(NewtonSystem):
    """Newton system in the variables."""

    def __init__(self, F: Factor, A: Dense, D: Vector) -> None:
        super().__init__(F, A, D)
        with np.errstate(divide="ignore"):
            self.theta = 1.0 / D
        M = np.array(F.gram, order="F")
        M[np.diag_indices(F.size)] += self.theta
        self.upper = _cholesky(M)
        self.of_rows = dpotrs(self.upper, A.T)[0] if len(A) else A.T
        self.inner = A @ self.of_rows

    def solve(self, of_weights: Vector, of_rows: Vector) -> tuple[Vector, Vector]:
        v = dpotrs(self.upper, self.F.times(of_weights, np.empty(self.F.size)))[0]
        dy = np.zeros(0)
        if len(self.A):
            dy = _least_squares(self.inner, of_rows - self.A @ v)
            v = v + self.of_rows @ dy
        return of_weights - self.F.transposed(v), dy

    def direction(self, Dr: Vector, e: Vector, dx: Vector) -> tuple[Vector, Vector]:
        """Solve for dx first, which loses fewer digits than dw in this system."""
        dx[:] = dpotrs(self.upper, self.theta * Dr)[0]
        dy: Vector = np.zeros(0)
        if len(self.A):
            dy = _least_squares(self.inner, self.A @ dx - e)
            dx -= self.of_rows @ dy
        return self.F.transposed(dx), dy


class OfBoth(NewtonSystem):
    """Quasidefinite Newton system in weights, row multipliers and the heaviest variables.

    Few variables with a large D drown the others in ``F'D F``: where they are linear combinations
    of less than F has columns, what the others say of the rest is lost to rounding. So they are not
    eliminated, B: those, S: the others, G = (F, A')::

        [ I + F_S'D F_S   F_S'D A_S'   F_B' ] [  dw  ]   [ F_S'D r_S     ]
        [ A_S D F_S       A_S D A_S'   A_B  ] [  dy  ] = [ A_S D r_S - e ]
        [ F_B             A_B'     -Theta_B ] [ -dx_B ]  [ r_B           ]

    Source: Vanderbei, "Symmetric quasidefinite matrices", *SIAM J. Optim.* 5 (1995).
    """

    def __init__(self, F: Factor, A: Dense, D: Vector) -> None:
        super().__init__(F, A, D)
        N = F.rank + len(A)
        weights = D * (F.diagonal() + np.einsum("ij,ij->j", A, A))
        most = min(N + F.settings.heavy_beyond_rank, F.size)
        kept = np.sort(np.argpartition(-weights, most - 1)[:most])
        self.kept = kept = kept[weights[kept] >= F.settings.heavy_share * np.max(weights)]
        count = len(kept)
        self.rest = D.copy()
        self.rest[kept] = 0.0
        self.theta = 1.0 / D[kept]
        M = np.zeros((N + count, N + count), order="F")
        M[:N, :N] = _of_weights(F, A, self.rest)
        M[: F.rank, N:] = F.rows(kept).T
        M[F.rank : N, N:] = A[:, kept]
        M[np.arange(N, N + count), np.arange(N, N + count)] = -self.theta
        eliminated = A * A @ D
        spread = np.where(eliminated > 0.0, eliminated, np.max(D))
        M[np.arange(F.rank, N), np.arange(F.rank, N)] += 1e-13 * spread  # rows may be dependent
        size = np.abs(M.diagonal())
        self.scale = 1.0 / np.sqrt(np.where(size > 0.0, size, 1.0))
        M *= self.scale[:, None]
        M *= self.scale
        # by blocks, which it does only in the memory it asks for
        room = int(dsytrf_lwork(len(M))[0])
        self.factor, self.pivots, info = dsytrf(M, lwork=room, overwrite_a=1)
        if info:
            raise np.linalg.LinAlgError("the normal matrix is singular")

    def _solved(self, right: Dense) -> Dense:
        found = dsytrs(self.factor, self.pivots, (right.T * self.scale).T)[0]
        return np.asarray((found.T * self.scale).T)

    def solve(self, of_weights: Vector, of_rows: Vector) -> tuple[Vector, Vector]:
        right = np.concatenate([of_weights, of_rows, np.zeros(len(self.kept))])
        found = self._solved(right)
        return found[: self.F.rank], found[self.F.rank : self.F.rank + len(self.A)]

    def direction(self, Dr: Vector, e: Vector, dx: Vector) -> tuple[Vector, Vector]:
        F, A, N = self.F, self.A, self.F.rank + len(self.A)
        others = Dr.copy()
        others[self.kept] = 0.0
        r = Dr[self.kept] * self.theta
        found = self._solved(np.concatenate([F.transposed(others), A @ others - e, r]))
        dw, dy = found[: F.rank], found[F.rank : N]
        _eliminated(F, A, self.rest, others, dw, dy, dx)
        dx[self.kept] = -found[N:]
        return dw, dy


def _of_weights(F: Factor, A: Dense, D: Vector) -> Dense:
    """The upper triangle of ``[I + F'D F, F'D A'; A D F, A D A']``."""
    r, p = F.rank, len(A)
    K = np.zeros((r + p, r + p), order="F")
    K[:r, :r] = F.normal(D)
    K[np.arange(r), np.arange(r)] += 1.0
    for k, row in enumerate(A):
        weighted = D * row
        K[:r, r + k] = F.transposed(weighted)
        K[r : r + k + 1, r + k] = A[: k + 1] @ weighted
    return K


def _eliminated(
    F: Factor, A: Dense, D: Vector, Dr: Vector, dw: Vector, dy: Vector, dx: Vector
) -> None:
    """Recover ``dx = D (r - F dw - A'dy)`` in place."""
    F.times(dw, dx)
    for i in chunks(len(dx)):
        step = dx[i]
        for value, row in zip(dy, A, strict=True):
            step += value * row[i]
        step *= D[i]
        np.subtract(Dr[i], step, out=step)


def _least_squares(inner: Dense, right: Vector) -> Vector:
    """Solve for row multipliers by least squares, since rows of A may be dependent."""
    return np.linalg.lstsq(inner, right, rcond=1e-13)[0].astype(np.float64)


def _cholesky(K: Dense) -> Dense:
    """Cholesky factor of a matrix from its upper triangle."""
    diagonal, shift = K.diagonal().copy(), 0.0
    for _ in range(8):
        factor = _upper_factor(K)
        if factor is not None:
            return factor
        shift = max(10.0 * shift, 1e-15)
        np.fill_diagonal(K, diagonal * (1.0 + shift))
    raise np.linalg.LinAlgError("the normal matrix is not positive definite")


def _upper_factor(K: Dense) -> Dense | None:
    """Cholesky factor from the upper triangle; None if K is not positive definite."""
    if len(K) <= UNDIVIDED:
        factor, info = dpotrf(K)
        return np.asarray(factor) if info == 0 else None
    try:  # in a call that Ctrl-C can leave
        return interruptible(partial(np.linalg.cholesky, K.T)).T
    except np.linalg.LinAlgError:
        return None
