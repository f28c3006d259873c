"""The Newton system of one iteration, through matrices of the rank of F.

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

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs, dtrtrs

from qpsvm.backends.ipm.chunks import chunks
from qpsvm.backends.ipm.factor import Factor
from qpsvm.qp._arrays import Dense, Vector

PROJECTIONS = 16
"""Each estimates the size of a row; their mean is wanted to within a factor of two."""

ROUNDING = 1e-12
"""Of a row's own size, that of a difference of larger numbers."""

_SEED = 0

PIVOT = 1e-15
"""Added to the diagonal, relative to each entry, where rounding left the matrix indefinite."""


class NewtonSystem(ABC):
    """Factored once, solved for every right-hand side of the iteration."""

    @staticmethod
    def of(F: Factor, A: Dense, D: Vector) -> NewtonSystem:
        """The smaller one.

        Raises
        ------
        numpy.linalg.LinAlgError
            Rounding has made it indefinite.
        """
        return OfWeights(F, A, D) if F.rank <= F.size else OfVariables(F, A, D)

    @abstractmethod
    def solve(self, of_weights: Vector, of_rows: Vector) -> tuple[Vector, Vector]:
        """``dw`` and ``dy`` for one right-hand side."""

    @abstractmethod
    def direction(self, Dr: Vector, e: Vector, dx: Vector) -> tuple[Vector, Vector]:
        """``dw`` and ``dy`` of the system at the top; dx, shape (n,), is overwritten."""

    @abstractmethod
    def sizes(self) -> Vector:
        """``sqrt(f_i'K^-1 f_i)`` for the rows ``f_i = (F_i, A_i)`` of all variables, about.

        By how much ``g_i`` changes along a step of length 1 in the norm of K, at most.
        """


class OfWeights(NewtonSystem):
    """As many unknowns as F has columns and A has rows."""

    def __init__(self, F: Factor, A: Dense, D: Vector) -> None:
        self.F, self.A, self.D = F, A, D
        r, p = F.rank, len(A)
        K = np.zeros((r + p, r + p), order="F")
        K[:r, :r] = F.normal(D)
        K[np.arange(r), np.arange(r)] += 1.0
        for k, row in enumerate(A):
            weighted = D * row
            K[:r, r + k] = F.transposed(weighted)
            K[r : r + k + 1, r + k] = A[: k + 1] @ weighted
        self.upper = _cholesky(K)

    def solve(self, of_weights: Vector, of_rows: Vector) -> tuple[Vector, Vector]:
        found = dpotrs(self.upper, np.concatenate([of_weights, of_rows]))[0]
        return found[: self.F.rank], found[self.F.rank :]

    def direction(self, Dr: Vector, e: Vector, dx: Vector) -> tuple[Vector, Vector]:
        dw, dy = self.solve(self.F.transposed(Dr), self.A @ Dr - e)
        self.F.times(dw, dx)
        for i in chunks(len(dx)):
            step = dx[i]
            for value, row in zip(dy, self.A, strict=True):
                step += value * row[i]
            step *= self.D[i]
            np.subtract(Dr[i], step, out=step)
        return dw, dy

    def sizes(self) -> Vector:
        """The squares are estimated from random projections, each to within a third or so.

        With random signs z, ``E (f'K^-1/2 z)^2 = f'K^-1 f`` (Achlioptas, *J. Comput. Syst. Sci.* 66
        (2003), theorem 1.1).
        """
        signs = np.random.default_rng(_SEED).integers(0, 2, (len(self.upper), PROJECTIONS))
        V = dtrtrs(self.upper, 2.0 * signs - 1.0)[0]
        r = self.F.rank
        return np.sqrt(self.F.squared_products(V[:r], self.A, V[r:]) / PROJECTIONS)


class OfVariables(NewtonSystem):
    """As many unknowns as there are variables."""

    def __init__(self, F: Factor, A: Dense, D: Vector) -> None:
        self.F, self.A = F, A
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
            dy = np.linalg.solve(self.inner, of_rows - self.A @ v)
            v = v + self.of_rows @ dy
        return of_weights - self.F.transposed(v), dy

    def direction(self, Dr: Vector, e: Vector, dx: Vector) -> tuple[Vector, Vector]:
        """First dx: it is no difference of longer vectors, as dw would be here."""
        dx[:] = dpotrs(self.upper, self.theta * Dr)[0]
        dy: Vector = np.zeros(0)
        if len(self.A):
            dy = np.linalg.solve(self.inner, self.A @ dx - e).astype(np.float64)
            dx -= self.of_rows @ dy
        return self.F.transposed(dx), dy

    def sizes(self) -> Vector:
        """Without the rows of A: ``F (I + F'D F)^-1 F' = Theta - Theta M^-1 Theta``."""
        inverse = dpotri(self.upper)[0].diagonal()
        squares = self.theta - self.theta * self.theta * inverse
        return np.asarray(np.sqrt(np.maximum(squares, ROUNDING * self.F.gram.diagonal())))


def _cholesky(K: Dense) -> Dense:
    """The upper factor of a matrix of which only the upper triangle is read."""
    diagonal, shift = K.diagonal().copy(), 0.0
    for _ in range(8):
        factor, info = dpotrf(K)
        if info == 0:
            return np.asarray(factor)
        shift = max(10.0 * shift, PIVOT)
        np.fill_diagonal(K, diagonal * (1.0 + shift))
    raise np.linalg.LinAlgError("the normal matrix is not positive definite")
