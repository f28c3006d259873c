"""Newton systems of linear machines, on the smaller side of ``P_II = F_I F_I' + Theta``.

I are the variables between their bounds, and Theta is their curvature with the proximal term. One
system gives steps of the variables and of the weights alike::

    [ F_I F_I' + Theta   A_I' ] [ dx ]   [ r ]        [ I + F_I'D F_I   F_I'D A_I' ] [ dw ]   [ a ]
    [ A_I                 0   ] [ dy ] = [ e ]        [ A_I D F_I       A_I D A_I' ] [ dy ] = [ b ]

with ``D = Theta^-1``. From one follows the other: ``dx = D (r - F_I dw - A_I'dy)`` solves the left
one where (dw, dy) solves the right one for ``(F_I'D r, A_I D r - e)``; and ``dw = a - F_I'dx`` with
``-dy`` the right one where (dx, dy) solves the left one for ``(F_I a, b)``.

Source: Ferris and Munson, "Interior-point methods for massive support vector machines", *SIAM J.
Optim.* 13 (2002), section 4, who eliminate with Sherman, Morrison and Woodbury's formula.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import suppress

import numpy as np

from qpsvm.numerics.arrays import Dense, Index, Vector
from qpsvm.numerics.cholesky import Cholesky
from qpsvm.numerics.precision import EPS
from qpsvm.solvers.linear.factor import Factor
from qpsvm.solvers.linear.program import FactorProgram


class NormalMatrix:
    """``F'DF`` for one D after the other, from the entries that changed.

    Parameters
    ----------
    F : Factor
    """

    def __init__(self, F: Factor) -> None:
        self.F, self.D = F, np.zeros(F.size)
        self._matrix: Dense = np.zeros((0, 0))
        self.n_changed = 0

    def of(self, D: Vector) -> Dense:
        """``F'DF``, upper triangle; the same array at every call."""
        change = D - self.D
        self.n_changed += int(np.count_nonzero(change))
        if self.n_changed >= np.count_nonzero(D):  # from the start: no rounding adds up
            return self.anew(D)
        for part, sign in ((np.maximum(change, 0.0), 1.0), (np.maximum(-change, 0.0), -1.0)):
            if part.any():
                self._matrix += sign * self.F.normal(part)
        self.D = D
        return self._matrix

    def anew(self, D: Vector) -> Dense:
        """``F'DF`` without the rounding of changes."""
        self._matrix, self.D, self.n_changed = self.F.normal(D), D, 0
        return self._matrix


class NewtonSystem(ABC):
    """The Newton system of the variables between their bounds, factored once.

    Sums of rows of A in which no such variable is have no curvature in their multipliers. They get
    that of one variable, so that a step moves these, though not to the minimum.

    Attributes
    ----------
    program : FactorProgram
    free : array of int
        I.
    A : array of shape (p, len(free))
        Rows of these variables.
    theta : array of shape (len(free),)
    lone : array of shape (p, k)
        These sums of rows, orthonormal.
    added : array of shape (p, p)
        Their curvature.
    """

    def __init__(self, program: FactorProgram, free: Index, theta: Vector, weight: float) -> None:
        self.program, self.free, self.theta = program, free, theta
        self.A: Dense = program.A[:, free]
        sizes, vectors = np.linalg.eigh(self.A @ self.A.T)
        largest = float(np.max(np.sum(program.A * program.A, axis=1), initial=0.0))
        self.lone: Dense = vectors[:, sizes <= 1e-12 * largest]
        curvature = np.max((self.lone.T @ program.A) ** 2, axis=1, initial=0.0) / weight
        # dependent rows: no variable is in such a sum
        curvature[curvature <= 1e-12 * largest / weight] = 1.0
        self.added: Dense = (self.lone * curvature) @ self.lone.T

    def misses(self, b: Vector, x: Vector) -> bool:
        """Return whether rows that miss b do so in a sum that no free variable is in."""
        terms = float(np.max(np.abs(self.program.A) @ np.abs(x), initial=0.0))
        return bool((np.abs(self.lone.T @ b) > 16.0 * EPS * terms).any())

    @abstractmethod
    def of_weights(self, a: Vector, b: Vector) -> tuple[Vector, Vector]:
        """``dw`` and ``dy`` for one right-hand side."""

    @abstractmethod
    def of_variables(self, r: Vector, e: Vector) -> tuple[Vector, Vector]:
        """``dx`` of the free variables and ``dy`` for one right-hand side."""


class OfWeights(NewtonSystem):
    """Newton system in as many unknowns as there are weights and rows.

    Parameters
    ----------
    matrix : NormalMatrix
        Of the whole program.
    kept : array of int
        Numbers of the program's variables in the whole program.
    weight : float
        Weight of the proximal term, by which entries of D are divided before they are compared with
        those of the last system.
    """

    def __init__(
        self,
        program: FactorProgram,
        free: Index,
        theta: Vector,
        weight: float,
        matrix: NormalMatrix,
        kept: Index,
    ) -> None:
        super().__init__(program, free, theta, weight)
        share = np.zeros(matrix.F.size)
        share[kept[free]] = weight / theta
        r, m = program.F.rank, len(self.A)
        K = np.zeros((r + m, r + m))
        for k, row in enumerate(self.A):
            weighted = row / theta
            K[:r, r + k] = self._transposed(weighted)
            K[r : r + k + 1, r + k] = self.A[: k + 1] @ weighted
        K[r:, r:] += np.triu(self.added)
        diagonal = np.arange(r)

        def factored(normal: Dense) -> Cholesky:
            K[:r, :r] = normal / weight
            K[diagonal, diagonal] += 1.0
            return _cholesky(K)

        try:
            self.factor = factored(matrix.of(share))
        except np.linalg.LinAlgError:  # rounding may have eaten a pivot of the sums
            self.factor = factored(matrix.anew(share))

    def _transposed(self, v: Vector) -> Vector:
        whole = np.zeros(self.program.size)
        whole[self.free] = v
        return self.program.F.transposed(whole)

    def of_weights(self, a: Vector, b: Vector) -> tuple[Vector, Vector]:
        found = self.factor(np.concatenate([a, b]))
        return found[: len(a)], found[len(a) :]

    def of_variables(self, r: Vector, e: Vector) -> tuple[Vector, Vector]:
        scaled = r / self.theta
        dw, dy = self.of_weights(self._transposed(scaled), self.A @ scaled - e)
        moved = self.program.F.times(dw, np.empty(self.program.size))[self.free]
        return scaled - (moved + dy @ self.A) / self.theta, dy


class OfVariables(NewtonSystem):
    """Newton system in as many unknowns as there are free variables and rows."""

    def __init__(self, program: FactorProgram, free: Index, theta: Vector, weight: float) -> None:
        super().__init__(program, free, theta, weight)
        M = np.array(program.F.block(free, free))
        M[np.diag_indices(len(free))] += theta
        self.factor = _cholesky(M)
        self.across = self.factor(self.A.T) if self.A.size else self.A.T
        self.inner = self.A @ self.across + self.added

    def of_weights(self, a: Vector, b: Vector) -> tuple[Vector, Vector]:
        F, right = self.program.F, np.empty(self.program.size)
        right = F.times(a, right)
        dx, dy = self.of_variables(right[self.free], b)
        right[:] = 0.0
        right[self.free] = dx
        return a - F.transposed(right), -dy

    def of_variables(self, r: Vector, e: Vector) -> tuple[Vector, Vector]:
        dx = self.factor(r)
        if not len(e):
            return dx, e
        dy = np.asarray(np.linalg.solve(self.inner, self.A @ dx - e), dtype=np.float64)
        return dx - self.across @ dy, dy


def _cholesky(K: Dense) -> Cholesky:
    """Cholesky factor of a matrix from its upper triangle; rounding may need a larger diagonal.

    Raises
    ------
    numpy.linalg.LinAlgError
        It is not positive definite.
    """
    for shift in (0.0, 1e-15, 1e-14, 1e-13, 1e-12):
        larger = K.copy()
        np.fill_diagonal(larger, K.diagonal() * (1.0 + shift))
        with suppress(np.linalg.LinAlgError):
            return Cholesky(larger, 0.0)
    raise np.linalg.LinAlgError("the Newton system is not positive definite")
