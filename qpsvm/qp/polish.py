"""From a solver's answer to machine precision: a proximal primal-dual active-set method.

An approximate solution says which constraints are active: those whose multiplier exceeds their
slack. On a guess of the active set the optimality conditions are linear equations. With F the
free variables, J the active rows of G, and the other variables fixed at their bounds, solve ::

    [ P_FF + d I   G_JF'   A_F' ] [ x_F ]   [ -q_F - P_FB x_B ]
    [ G_JF        -d I          ] [ z_J ] = [  h_J - G_JB x_B ]
    [ A_F                  -d I ] [ y   ]   [  b   - A_B x_B  ]

by factoring once with a small d > 0 and refining towards d = 0 from the last iterate (each
refinement is a proximal-point step, so a singular matrix does no harm: among many solutions the
one nearest to where we come from is kept). Then move whatever has the wrong sign and repeat.

Nothing is taken on faith: every iterate is measured, and the best one is returned.

Source: the semismooth Newton view is Hintermueller, Ito and Kunisch, *SIAM J. Optim.* 13 (2002),
algorithm in section 2; the proximal term is that of Rockafellar, *SIAM J. Control Optim.* 14
(1976).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.qp._arrays import Index, Vector
from qpsvm.qp._rows import take_rows
from qpsvm.qp.kkt import residuals
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution

MAX_ROUNDS = 25
MAX_REFINEMENTS = 40
MAX_DENSE_SYSTEM = 4000
MAX_SPARSE_SYSTEM = 200_000
REGULARISATIONS = (1e-7, 1e-10, 1e-13)
"""d, relative to the largest diagonal entry of P. The first is large enough to factor a singular
matrix; along directions with curvature below d the refinement crawls, and a smaller d follows."""

REFINED = 1e-14
"""Residual of the linear equations, relative to their right-hand side, at which to stop."""


def polish(program: QuadraticProgram, solution: QPSolution) -> QPSolution:
    """The best point found from ``solution``; ``solution`` itself if nothing better was.

    Parameters
    ----------
    program : QuadraticProgram
    solution : QPSolution
        Approximate x and multipliers. Missing or non-finite ones are returned unchanged.

    Returns
    -------
    QPSolution
        Its measured worst residual is at most that of ``solution``.
    """
    best, best_score = solution, _score(program, solution)
    state = _State.from_solution(program, solution)
    if state is None or not np.isfinite(best_score):
        return solution
    seen: set[bytes] = set()
    for _ in range(MAX_ROUNDS):
        key = state.key()
        if key in seen:
            break
        seen.add(key)
        try:
            candidate = _solve_on(program, state)
        except (np.linalg.LinAlgError, RuntimeError, ValueError):
            break
        if candidate is None:
            break
        point = candidate.to_solution(solution)
        score = _score(program, point)
        if score < best_score:
            best, best_score = point, score
        following = candidate.next_state(program)
        if following.key() == key:
            break
        state = following
    if best is solution:
        return solution
    return best.with_statistics(polished=True)


def _score(program: QuadraticProgram, solution: QPSolution) -> float:
    return residuals(program, solution).worst


@dataclass(frozen=True, eq=False)
class _State:
    """A guess: which variables are free or at a bound, which rows bind; and a point to start."""

    where: Index  # per variable: 0 free, -1 at lb, +1 at ub
    active: Index  # per row of G: bool
    x: Vector
    z: Vector
    y: Vector

    @classmethod
    def from_solution(cls, program: QuadraticProgram, solution: QPSolution) -> _State | None:
        x, z, y = solution.x, solution.z, solution.y
        lower, upper = solution.z_lower, solution.z_upper
        if x is None or z is None or y is None or lower is None or upper is None:
            return None
        where = np.zeros(program.n_variables, dtype=np.intp)
        # the multiplier exceeds the slack: the constraint binds
        where[lower > x - program.lb] = -1
        where[upper > program.ub - x] = 1
        where[program.lb == program.ub] = -1
        active = z > program.h - program.G @ x
        return cls(where, active, x, z, y)

    def key(self) -> bytes:
        return self.where.astype(np.int8).tobytes() + self.active.tobytes()


@dataclass(frozen=True, eq=False)
class _Iterate:
    """A solution of the linear equations on one guess."""

    state: _State
    x: Vector
    z: Vector
    y: Vector
    gradient: Vector  # Px + q + G'z + A'y
    program: QuadraticProgram

    def to_solution(self, origin: QPSolution) -> QPSolution:
        at_lower, at_upper = self.state.where == -1, self.state.where == 1
        fixed = self.program.lb == self.program.ub
        z_lower = np.where(at_lower, np.maximum(self.gradient, 0.0), 0.0)
        z_upper = np.where(at_upper | fixed, np.maximum(-self.gradient, 0.0), 0.0)
        return origin.replace(
            x=np.clip(self.x, self.program.lb, self.program.ub),
            z=np.maximum(self.z, 0.0),
            y=self.y,
            z_lower=z_lower,
            z_upper=z_upper,
        )

    def next_state(self, program: QuadraticProgram) -> _State:
        where = np.zeros_like(self.state.where)
        old, g = self.state.where, self.gradient
        free = old == 0
        rounding = 1e-13 * np.maximum(1.0, np.abs(self.x))
        where[free & (self.x < program.lb - rounding)] = -1
        where[free & (self.x > program.ub + rounding)] = 1
        # a bound that pulls instead of pushing lets go; a tiny pull is rounding
        pull = 1e-13 * np.maximum(1.0, np.abs(program.q))
        where[(old == -1) & (g > -pull)] = -1
        where[(old == 1) & (g < pull)] = 1
        where[program.lb == program.ub] = -1
        slack = program.h - program.G @ self.x
        h_scale = np.maximum(1.0, np.where(np.isfinite(program.h), np.abs(program.h), 1.0))
        active = np.where(self.state.active, self.z > -1e-13, slack < -1e-13 * h_scale)
        return _State(where, active, np.clip(self.x, program.lb, program.ub), self.z, self.y)


def _solve_on(program: QuadraticProgram, state: _State) -> _Iterate | None:
    P, q = program.P, program.q
    free = np.flatnonzero(state.where == 0)
    rows = np.flatnonzero(state.active)
    fixed_x = np.where(state.where == -1, program.lb, np.where(state.where == 1, program.ub, 0.0))
    if not np.isfinite(fixed_x).all():
        return None
    size = free.size + rows.size + program.n_equalities
    sparse = P.prefers_sparse
    if size > (MAX_SPARSE_SYSTEM if sparse else MAX_DENSE_SYSTEM):
        return None
    G_J, A = take_rows(program.G, rows), program.A
    rhs = np.concatenate(
        [
            -(q + P.matvec(fixed_x))[free],
            program.h[rows] - G_J @ fixed_x,
            program.b - A @ fixed_x,
        ]
    )
    start = np.concatenate([state.x[free], state.z[rows], state.y])
    constraints = sp.vstack([sp.csr_array(G_J), sp.csr_array(A)], format="csc")[:, free]
    if sparse:
        system = _sparse_system(P.to_sparse()[free][:, free], constraints)
    else:
        system = _dense_system(P.block(free, free), constraints.toarray())
    unknowns = _refined(system, rhs, start)
    if unknowns is None:
        return None
    x = fixed_x
    x[free] = unknowns[: free.size]
    z = np.zeros(program.n_inequalities)
    z[rows] = unknowns[free.size : free.size + rows.size]
    y = unknowns[free.size + rows.size :]
    gradient = P.matvec(x) + q + program.G.T @ z + A.T @ y
    return _Iterate(state, x, z, y, gradient, program)


@dataclass(frozen=True, eq=False)
class _System:
    """A symmetric matrix M, and a way to factor M plus the proximal term for a given d."""

    multiply: Callable[[Vector], Vector]
    factor: Callable[[float], Callable[[Vector], Vector]]


def _dense_system(hessian: Any, constraints: Any) -> _System:
    from scipy.linalg import lu_factor, lu_solve

    n, m = hessian.shape[0], constraints.shape[0]
    M = np.zeros((n + m, n + m))
    M[:n, :n], M[n:, :n], M[:n, n:] = hessian, constraints, constraints.T
    scale = _scale(np.diagonal(hessian))

    def factor(d: float) -> Callable[[Vector], Vector]:
        shifted = M.copy()
        shifted[np.diag_indices(n + m)] += _proximal(n, m, d * scale)
        lu = lu_factor(shifted, overwrite_a=True, check_finite=False)
        return lambda r: np.asarray(lu_solve(lu, r, check_finite=False))

    return _System(lambda v: M @ v, factor)


def _sparse_system(hessian: Any, constraints: Any) -> _System:
    from scipy.sparse.linalg import splu

    n, m = hessian.shape[0], constraints.shape[0]
    M = sp.block_array([[hessian, constraints.T], [constraints, None]], format="csc")
    scale = _scale(hessian.diagonal())

    def factor(d: float) -> Callable[[Vector], Vector]:
        shift = sp.dia_array((_proximal(n, m, d * scale)[None], [0]), shape=M.shape)
        solve: Callable[[Vector], Vector] = splu(sp.csc_array(M + shift)).solve
        return solve

    return _System(lambda v: np.asarray(M @ v), factor)


def _scale(diagonal: Vector) -> float:
    largest = float(np.max(np.abs(diagonal), initial=0.0))
    return largest if largest > 0.0 else 1.0


def _proximal(n: int, m: int, d: float) -> Vector:
    """The diagonal ``(+d, ..., +d, -d, ..., -d)``."""
    return np.concatenate([np.full(n, d), np.full(m, -d)])


def _refined(system: _System, rhs: Vector, start: Vector) -> Vector | None:
    """Proximal-point iterations ``u += (M + D)^-1 (rhs - M u)``, with smaller and smaller D."""
    goal = REFINED * max(float(np.max(np.abs(rhs), initial=0.0)), np.finfo(float).tiny)
    best, best_norm = start, np.inf
    for d in REGULARISATIONS:
        solve = system.factor(d)
        u = best
        for _ in range(MAX_REFINEMENTS):
            residual = rhs - system.multiply(u)
            norm = float(np.max(np.abs(residual), initial=0.0))
            stalled = not norm < 0.5 * best_norm
            if norm < best_norm:
                best, best_norm = u, norm
            if best_norm <= goal:
                return best
            if stalled and u is not best:
                break
            step = solve(residual)
            if not np.isfinite(step).all():
                break
            u = u + step
    return best if np.isfinite(best_norm) else None
