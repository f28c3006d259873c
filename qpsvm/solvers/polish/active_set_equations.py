"""The linear equations of optimality on a guessed active set.

With F the free variables, B those at a bound, and J the active rows of G::

    [ P_FF  G_JF'  A_F' ] [ x_F ]   [ -q_F - P_FB x_B ]
    [ G_JF              ] [ z_J ] = [  h_J - G_JB x_B ]        M u = r
    [ A_F               ] [ y   ]   [  b   - A_B  x_B ]

M is singular whenever samples repeat or more constraints are active than there are unknowns. It is
therefore never factored itself but with a proximal term, ``M + D`` with ``D = diag(+d, -e, -e)``:
one step ``u = c + (M + D)^-1 (r - M c)`` is a step of the proximal method of multipliers from the
centre c, and repeating it with the centre moved along solves ``M u = r`` (among many solutions it
finds the one next to where it started).

Source: Rockafellar, *Mathematics of Operations Research* 1 (1976), section 4 (the proximal method
of multipliers).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from qpsvm.numerics.arrays import Dense, Index, Mask, Sparse, Vector
from qpsvm.numerics.interrupts import interruptible
from qpsvm.numerics.rows import take_rows
from qpsvm.qp.program import QuadraticProgram, row_gradient
from qpsvm.qp.solution import QPSolution
from qpsvm.solvers.polish.settings import DEFAULTS, PolishSettings


@dataclass(frozen=True, eq=False)
class Point:
    """A primal point and the multipliers of its rows; bounds' multipliers follow from them."""

    x: Vector
    z: Vector
    y: Vector

    def gradient(self, program: QuadraticProgram) -> Vector:
        """``Px + q + G'z + A'y``, which the multipliers of the bounds balance."""
        from_rows = row_gradient(program, self.z, self.y)
        return np.asarray(program.P.matvec(self.x) + program.q + from_rows)


System: TypeAlias = tuple[
    Callable[[Vector], Vector], Callable[[float, float], Callable[[Vector], Vector]]
]
"""Two functions of an equation system: its product with a vector, and its factorisation."""


@dataclass(frozen=True, eq=False)
class ActiveSetGuess:
    """A guess of the constraints that hold with equality.

    Attributes
    ----------
    where : array of int of shape (n,)
        0 free, -1 at its lower bound, +1 at its upper bound.
    active : array of bool of shape (m,)
        Rows of G.
    """

    where: Index
    active: Mask

    @classmethod
    def from_solution(
        cls, program: QuadraticProgram, solution: QPSolution
    ) -> ActiveSetGuess | None:
        """Guess the constraints whose multiplier exceeds their slack; None without multipliers."""
        x, z, lower, upper = solution.x, solution.z, solution.z_lower, solution.z_upper
        if x is None or z is None or lower is None or upper is None or solution.y is None:
            return None
        # a slack times the curvature has the unit of a multiplier
        curvature = typical_curvature(program)
        where = np.zeros(program.n_variables, dtype=np.intp)
        where[lower > curvature * (x - program.lb)] = -1
        where[upper > curvature * (program.ub - x)] = 1
        where[program.lb == program.ub] = -1
        return cls(where, z > curvature * (program.h - program.G @ x))

    def key(self) -> bytes:
        """Bytes that are equal for equal guesses."""
        return bytes(self.where.astype(np.int8).tobytes() + self.active.tobytes())


@dataclass(frozen=True, eq=False)
class Equations:
    """The linear system ``M u = r`` of optimality on one guess of the active set."""

    program: QuadraticProgram
    free: Index
    rows: Index
    fixed: Vector
    rhs: Vector
    multiply: Callable[[Vector], Vector]
    factor: Callable[[float, float], Callable[[Vector], Vector]]
    curvature: float
    settings: PolishSettings

    @classmethod
    def of(
        cls, program: QuadraticProgram, guess: ActiveSetGuess, settings: PolishSettings = DEFAULTS
    ) -> Equations | None:
        """Set up the equations; None if a variable would be at an infinite bound."""
        P, where = program.P, guess.where
        free, rows = np.flatnonzero(where == 0), np.flatnonzero(guess.active)
        fixed = np.where(where == -1, program.lb, np.where(where == 1, program.ub, 0.0))
        if not np.isfinite(fixed).all() or not np.isfinite(program.h[rows]).all():
            return None
        G_J, A = take_rows(program.G, rows), program.A
        rhs = np.concatenate(
            [
                -(program.q + P.matvec(fixed))[free],
                program.h[rows] - G_J @ fixed,
                program.b - A @ fixed,
            ]
        )
        C = sp.vstack([sp.csr_array(G_J), sp.csr_array(A)], format="csc")[:, free]
        if P.prefers_sparse:
            multiply, factor = _sparse(P.to_sparse()[free][:, free], C)
        else:
            multiply, factor = _dense(P.block(free, free), C.toarray())
        curvature = typical_curvature(program)
        return cls(program, free, rows, fixed, rhs, multiply, factor, curvature, settings)

    @property
    def size(self) -> int:
        """Number of unknowns."""
        return len(self.rhs)

    def proximal_step(self, centre: Point, sigma: float) -> Point:
        """One step from the centre with the relative proximal term ``sigma``."""
        u = self._unknowns(centre)
        return self._point(u + self._factored(sigma)(self.rhs - self.multiply(u)))

    def solve(self, start: Point) -> Point | None:
        """Solve ``M u = r`` to rounding, by proximal steps with decreasing weights."""
        goal = self.settings.refined * _positive(np.max(np.abs(self.rhs), initial=0.0))
        best, best_norm = self._unknowns(start), np.inf
        for sigma in self.settings.proximal_terms:
            step_from = self._factored(sigma)
            u = best
            for _ in range(self.settings.max_refinements):
                residual = self.rhs - self.multiply(u)
                norm = float(np.max(np.abs(residual), initial=0.0))
                stalled = not norm < 0.5 * best_norm
                if norm < best_norm:
                    best, best_norm = u, norm
                if best_norm <= goal:
                    return self._point(best)
                if stalled and u is not best:
                    break
                step = step_from(residual)
                if not np.isfinite(step).all():
                    break
                u = u + step
        return self._point(best) if np.isfinite(best_norm) else None

    def _factored(self, sigma: float) -> Callable[[Vector], Vector]:
        return self.factor(sigma * self.curvature, sigma / self.curvature)

    def _unknowns(self, point: Point) -> Vector:
        return np.concatenate([point.x[self.free], point.z[self.rows], point.y])

    def _point(self, u: Vector) -> Point:
        n_free, n_rows = len(self.free), len(self.rows)
        x, z = self.fixed.copy(), np.zeros(self.program.n_inequalities)
        x[self.free] = u[:n_free]
        z[self.rows] = u[n_free : n_free + n_rows]
        return Point(x, z, u[n_free + n_rows :])


def typical_curvature(program: QuadraticProgram) -> float:
    """Largest diagonal entry of P, 1 for a linear program: what proximal terms are relative to."""
    return _positive(np.max(np.abs(program.P.diagonal()), initial=0.0))


def _dense(hessian: Dense, constraints: Dense) -> System:
    from scipy.linalg.lapack import dgetrf, dgetrs

    n, m = hessian.shape[0], constraints.shape[0]
    M = np.zeros((n + m, n + m))
    M[:n, :n], M[n:, :n], M[:n, n:] = hessian, constraints, constraints.T

    def factor(d: float, e: float) -> Callable[[Vector], Vector]:
        shifted = M.copy()
        shifted[np.diag_indices(n + m)] += _proximal(n, m, d, e)
        if n + m == 0:
            return lambda r: r
        lu, pivots, info = interruptible(partial(dgetrf, shifted, overwrite_a=True))
        if info != 0:
            raise np.linalg.LinAlgError("singular even with the proximal term")
        return lambda r: np.asarray(dgetrs(lu, pivots, r)[0])

    return (lambda v: M @ v), factor


def _sparse(hessian: Sparse, constraints: Sparse) -> System:
    from scipy.sparse.linalg import splu

    n, m = hessian.shape[0], constraints.shape[0]
    M = sp.block_array([[hessian, constraints.T], [constraints, None]], format="csc")

    def factor(d: float, e: float) -> Callable[[Vector], Vector]:
        shift = sp.dia_array((_proximal(n, m, d, e)[None], [0]), shape=M.shape)
        # not in another thread: SuperLU frees memory only in the thread that it comes from
        solve: Callable[[Vector], Vector] = splu(sp.csc_array(M + shift)).solve
        return solve

    return (lambda v: np.asarray(M @ v)), factor


def _proximal(n: int, m: int, d: float, e: float) -> Vector:
    return np.concatenate([np.full(n, d), np.full(m, -e)])


def _positive(value: float) -> float:
    return float(value) if value > 0.0 else 1.0
