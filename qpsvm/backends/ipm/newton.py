"""The Newton system of one iteration, through matrices of the rank of F.

    (F F' + Theta) dx + A'dy = r,      A dx = e,      Theta = d + z / s + v / t + rho

With ``dw = F'dx`` and ``D = Theta^-1``, ``dx = D (r - F dw - A'dy)``; put into the two equations
that it must meet, this is a system of as many unknowns as F has columns and A has rows::

    [ I + F'D F    F'D A' ] [ dw ]   [ F'D r     ]
    [ A D F        A D A' ] [ dy ] = [ A D r - e ]

Source: Ferris and Munson, "Interior-point methods for massive support vector machines", *SIAM J.
Optim.* 13 (2002), section 4, who eliminate with Sherman, Morrison and Woodbury's formula.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs

from qpsvm.backends.ipm.factor import Factor
from qpsvm.qp._arrays import Dense, Vector

PROJECTIONS = 16
"""Each estimates the size of a row; their mean is wanted to within a factor of two."""

_SEED = 0

PIVOT = 1e-15
"""Added to the diagonal, relative to each entry, where rounding left the matrix indefinite."""


class NewtonSystem:
    """Factored once, solved for every right-hand side of the iteration."""

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
        """``dw`` and ``dy`` for one right-hand side."""
        found = dpotrs(self.upper, np.concatenate([of_weights, of_rows]))[0]
        return found[: self.F.rank], found[self.F.rank :]

    def sizes(self) -> Vector:
        """``sqrt(f_i'K^-1 f_i)`` for the rows ``f_i = (F_i, A_i)`` of all variables, about.

        By how much ``g_i`` changes along a step of length 1 in the norm of K, at most. The squares
        are estimated from random projections, each to within a third or so: with signs Z,
        ``E (f'K^-1/2 z)^2 = f'K^-1 f`` (Johnson and Lindenstrauss; Achlioptas, *J. Comput. Syst.
        Sci.* 66 (2003), theorem 1.1).
        """
        signs = np.random.default_rng(_SEED).integers(0, 2, (len(self.upper), PROJECTIONS))
        V = dtrtrs(self.upper, 2.0 * signs - 1.0)[0]
        r = self.F.rank
        return np.sqrt(self.F.squared_products(V[:r], self.A, V[r:]) / PROJECTIONS)


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
