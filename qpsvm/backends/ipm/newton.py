"""The Newton system of one iteration, through matrices of the rank of F.

    [ F F' + Theta   A' ] [ dx ]   [ r ]
    [ A              0  ] [ dy ] = [ e ],      Theta = d + z_lower / s + z_upper / t

With ``D = Theta^-1`` and ``M = I + F' D F`` (Sherman, Morrison, Woodbury)::

    H^-1 v = (F F' + Theta)^-1 v = D (v - F M^-1 F' D v),      F' H^-1 v = M^-1 F' D v

so that ``F' dx``, by which the weights change, costs nothing more.

Source: Ferris and Munson, "Interior-point methods for massive support vector machines", *SIAM J.
Optim.* 13 (2002), section 4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from qpsvm.backends.ipm.factor import Factor
from qpsvm.qp._arrays import Dense, Vector

REFINEMENTS = 2
"""Steps of iterative refinement, at most."""

ACCURATE = 1e-8
"""Residual of a direction, relative to its right-hand side, that is small enough."""

PIVOT = 1e-15
"""Added to the diagonal, relative to its largest entry, where rounding left M indefinite."""


@dataclass(frozen=True, eq=False)
class Direction:
    """``dx``, ``dy``, ``dw = F' dx`` and ``F dw``."""

    dx: Vector
    dy: Vector
    dw: Vector
    Fdw: Vector


class NewtonSystem:
    """Factored once, solved for every right-hand side of the iteration."""

    def __init__(self, F: Factor, A: Dense, theta: Vector) -> None:
        self.F, self.A, self.theta = F, A, theta
        self.D = 1.0 / theta
        self.error = 0.0
        self.M = _cholesky(F.normal(self.D))
        self.columns = [self._inverse(row) for row in A]
        HA = np.array([column.dx for column in self.columns]).reshape(len(A), len(theta))
        self.S = A @ HA.T

    def solve(self, r: Vector, e: Vector) -> Direction:
        """The direction for one right-hand side."""
        step = self._inverse(r)
        if not len(self.A):
            return step
        dy = np.linalg.solve(self.S, self.A @ step.dx - e)
        dx, dw, Fdw = step.dx, step.dw, step.Fdw
        for value, column in zip(dy, self.columns, strict=True):
            dx -= value * column.dx
            dw -= value * column.dw
            Fdw -= value * column.Fdw
        return Direction(dx, dy, dw, Fdw)

    def inconsistency(self, found: Direction) -> float:
        """``F' dx - dw``, relative to both: what rounding makes of an equation that holds."""
        true = self.F.transposed(found.dx)
        size = float(np.linalg.norm(true) + np.linalg.norm(found.dw))
        return float(np.linalg.norm(true - found.dw)) / max(size, 1e-300)

    def refined(self, r: Vector, e: Vector) -> Direction:
        """The same with iterative refinement, and with ``dw = F' dx`` as it is."""
        found, size = self.solve(r, e), float(np.max(np.abs(r), initial=0.0))
        for attempt in range(REFINEMENTS + 1):
            dw = self.F.transposed(found.dx)
            found = Direction(found.dx, found.dy, dw, self.F.times(dw))
            left = r - found.Fdw - self.theta * found.dx - found.dy @ self.A
            self.error = float(np.max(np.abs(left), initial=0.0)) / max(size, 1e-300)
            if self.error < ACCURATE or attempt == REFINEMENTS:
                break
            more = self.solve(left, e - self.A @ found.dx)
            found = Direction(found.dx + more.dx, found.dy + more.dy, found.dw, found.Fdw)
        return found

    def _inverse(self, v: Vector) -> Direction:
        """``H^-1 v``."""
        dw = dpotrs(self.M, self.F.transposed(self.D * v))[0]
        Fdw = self.F.times(dw)
        dx = self.D * (v - Fdw)
        return Direction(dx, np.zeros(0), dw, Fdw)


def _cholesky(M: Dense) -> Dense:
    """The upper factor of ``I + M``, of which only the upper triangle is read."""
    shift, diagonal = 1.0, M.diagonal().copy()
    for _ in range(8):
        np.fill_diagonal(M, diagonal + shift)
        factor, info = dpotrf(M)
        if info == 0:
            return np.asarray(factor)
        shift = max(10.0 * shift, PIVOT * float(np.max(diagonal)))
    raise np.linalg.LinAlgError("the normal matrix is not positive definite")
