"""Polish any program: working sets for box programs, active-set equations for others.

Two methods, chosen by the structure of the program: ``box.working_sets`` for variables with bounds
and few rows (the duals of support vector machines, however large), and for any other a proximal
primal-dual active-set method. Every candidate is measured, and the best one is returned: the result
is never worse than what was handed in.

An approximate solution says which constraints are active: those whose multiplier exceeds their
slack. On that guess optimality is a linear system: with F the free variables, B those at a bound,
and J the active rows of G::

    [ P_FF  G_JF'  A_F' ] [ x_F ]   [ -q_F - P_FB x_B ]
    [ G_JF              ] [ z_J ] = [  h_J - G_JB x_B ]        M u = r
    [ A_F               ] [ y   ]   [  b   - A_B  x_B ]

From a good answer its solution is the optimum.

M is singular whenever samples repeat or more constraints are active than there are unknowns. It is
therefore never factored itself but with a proximal term, ``M + D`` with ``D = diag(+d, -e, -e)``:
one step ``u = c + (M + D)^-1 (r - M c)`` is a step of the proximal method of multipliers from the
centre c, and repeating it with the centre moved along solves ``M u = r`` (among many solutions it
finds the one next to where it started).

From a rough answer the guess is wrong, and to correct it again and again overshoots and cycles. So
it is corrected within a problem that is damped by a proximal term around the last centre c::

    minimise  1/2 x'Px + q'x + d/2 |x - c_x|^2   with multipliers   z = max(0, c_z + (Gx - h) / e)

which is a well-conditioned problem of the same kind. When its active set no longer changes, its
solution is the next centre, and d and e shrink; when it does not converge, they grow. After each
such step the undamped equations are tried again on its active set.

Sources: Hintermueller, Ito and Kunisch, *SIAM J. Optim.* 13 (2002), section 2 (the semismooth
Newton view of the rounds); Rockafellar, *Mathematics of Operations Research* 1 (1976), section 4
(the proximal method of multipliers).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from qpsvm.numerics.arrays import Index, Mask, Vector, default_memory_limit
from qpsvm.numerics.interrupts import interruptible
from qpsvm.numerics.rows import take_rows
from qpsvm.numerics.threads import one_blas_thread
from qpsvm.qp.kkt import checked_vectors, residuals
from qpsvm.qp.program import QuadraticProgram, row_gradient
from qpsvm.qp.solution import QPSolution
from qpsvm.solvers.box.program import Boxed
from qpsvm.solvers.box.settings import BOX
from qpsvm.solvers.box.working_sets import polish_box
from qpsvm.solvers.budget import WorkBudget

WORK_LIMIT = 1e12
"""Work of a polish, as ``WorkBudget`` counts it: some ten seconds."""

GENERAL_WORK_LIMIT = 3e11
"""The same of the general method: programs on which it does not converge in that time did not
converge later either."""

MAX_SETS = 20
"""Active sets that are tried around one centre."""

Measure: TypeAlias = Callable[[QPSolution], float]
"""How far a solution is from optimal; infinite where that cannot be said."""


@one_blas_thread()
def polish(
    program: QuadraticProgram,
    solution: QPSolution,
    *,
    goal: float = 1e-10,
    measure: Measure | None = None,
    budget: WorkBudget | None = None,
    memory_limit: int | None = None,
) -> QPSolution:
    """Improve a solution; return the best point found, or ``solution`` itself.

    Parameters
    ----------
    program : QuadraticProgram
    solution : QPSolution
        Approximate x and multipliers. Missing or non-finite ones are returned unchanged.
    goal : float
        Measure (relative) at which to stop; the last step usually lands at 1e-14.
    measure : callable, optional
        How far a candidate is from optimal; the worst scaled KKT residual by default.
    budget : WorkBudget, optional
        What it may cost; some ten seconds by default.
    memory_limit : int, optional
        Bytes for the matrices of a program over a box (default: a quarter of the machine's memory).

    Returns
    -------
    QPSolution
        Its measure is at most that of ``solution``.
    """
    if checked_vectors(program, solution)[0] is None:
        return solution
    measured = measure or (lambda candidate: residuals(program, candidate).worst)
    budget = budget or WorkBudget(limit=WORK_LIMIT)
    found = Candidates(measured, goal, budget, solution, measured(solution))
    memory = default_memory_limit() if memory_limit is None else memory_limit
    is_box = Boxed.suits(program)
    if is_box:
        _polish_box(program, found, solution, memory)
    if not found.is_done and (not is_box or program.n_variables <= BOX.small):
        if is_box:  # of many solutions, one with small entries: they round less
            zero = solution.replace(x=np.zeros(program.n_variables))
            _polish_box(program, found, zero, memory)
        if not found.is_done:
            _polish_any(program, found)
    best = found.best
    return best if best is solution else best.with_statistics(polished=True)


@dataclass(eq=False)
class Candidates:
    """Measured candidate solutions, of which the best is kept.

    Attributes
    ----------
    measure : callable
    goal : float
        Measure that is good enough.
    budget : WorkBudget
    best : QPSolution
    score : float
        Its measure.
    """

    measure: Measure
    goal: float
    budget: WorkBudget
    best: QPSolution
    score: float

    @property
    def is_done(self) -> bool:
        """Return whether the goal is reached, or the search was ended."""
        return self.score <= self.goal or self.budget.is_over

    def offer(self, candidate: QPSolution) -> bool:
        """Keep the candidate if it is the best so far; return whether it was."""
        score = self.measure(candidate)
        if not score < self.score:
            return False
        self.best, self.score = candidate, score
        return True


def _polish_box(
    program: QuadraticProgram, found: Candidates, start: QPSolution, memory_limit: int
) -> None:
    """Polish by working sets, again with a gradient from scratch: corrections add up rounding."""
    for _ in range(3):
        try:
            with np.errstate(all="ignore"):  # what overflows is not accepted
                budget = found.budget
                start = polish_box(program, start, memory_limit=memory_limit, budget=budget)
        except np.linalg.LinAlgError:  # of NaN
            return
        if not found.offer(start) or found.is_done:
            return


# --- programs of any kind -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PrimalDual:
    """A point x and the multipliers of equality and inequality rows, during polishing."""

    x: Vector
    z: Vector
    y: Vector

    def gradient(self, program: QuadraticProgram) -> Vector:
        """``Px + q + G'z + A'y``, which the multipliers of the bounds balance."""
        from_rows = row_gradient(program, self.z, self.y)
        return np.asarray(program.P.matvec(self.x) + program.q + from_rows)


@dataclass(frozen=True, eq=False)
class ActiveSet:
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

    def key(self) -> bytes:
        """Bytes that are equal for equal guesses."""
        return bytes(self.where.astype(np.int8).tobytes() + self.active.tobytes())


@np.errstate(all="ignore")  # what overflows is not accepted
def _polish_any(program: QuadraticProgram, found: Candidates) -> None:
    """Search for better points until the goal is reached or the work budget is spent."""
    best = found.best
    # those of the best candidate are all there, as those of the first were
    vectors = best.x, best.z, best.z_lower, best.z_upper
    x, z, z_lower, z_upper = (np.asarray(vector, dtype=np.float64) for vector in vectors)
    # a slack times the curvature has the unit of a multiplier; 1 for a linear program
    curvature = float(np.max(np.abs(program.P.diagonal()), initial=0.0)) or 1.0
    where = np.where(z_lower > curvature * (x - program.lb), -1, 0)
    where[z_upper > curvature * (program.ub - x)] = 1
    where[program.lb == program.ub] = -1
    search = _GeneralPolish(program, found, found.budget.work + GENERAL_WORK_LIMIT, curvature)
    try:
        search.solved(ActiveSet(where, z > curvature * (program.h - program.G @ x)), search.start())
        if not found.is_done:
            search.proximal_rounds()
    except (np.linalg.LinAlgError, RuntimeError, ValueError, _OutOfWork):
        pass  # a matrix that cannot be factored: what was found so far stands


class _OutOfWork(Exception):  # noqa: N818 - a signal, not an error
    pass


@dataclass(frozen=True, eq=False)
class _GeneralPolish:
    """One polish of a general program: its candidates, limit of work, and typical curvature."""

    program: QuadraticProgram
    found: Candidates
    limit: float
    curvature: float

    def proximal_rounds(self) -> None:
        """Proximal rounds around moving centres, each followed by the plain equations.

        Weights are relative to the curvature. On one active set the equations are solved up to 12
        times: where they have many solutions, the next one may be better (with 6 of them a
        Crammer-Singer machine with C = 1e-11 is missed).
        """
        centre, sigma, smallest = self.start(), 1e-3, 1e-9
        tried = dict[bytes, int]()
        for _ in range(60):
            point, guess, rounds = self.proximal_active_set(centre, sigma)
            if point is None:
                smallest, sigma = 2.0 * sigma, 8.0 * sigma
                if sigma > 1.0:
                    return
                continue
            x = np.clip(point.x, self.program.lb, self.program.ub)
            centre = PrimalDual(x, np.maximum(point.z, 0.0), point.y)
            key = guess.key()
            tried[key] = tried.get(key, 0) + 1
            if tried[key] <= 12:
                self.solved(guess, centre)
                if self.found.is_done:
                    return
            if rounds <= 4:  # the nearer the optimum, the less damping is needed
                smallest /= 1.5
                sigma = min(sigma, max(sigma / 5.0, smallest))

    def proximal_active_set(
        self, centre: PrimalDual, sigma: float
    ) -> tuple[PrimalDual | None, ActiveSet, int]:
        """Find the active set of the proximal problem; None for the point if it cycles."""
        point, seen = centre, set[bytes]()
        guess = self.damped(point, centre, sigma)
        for rounds in range(MAX_SETS):
            seen.add(guess.key())
            equations = self.equations(guess)
            if equations is None:
                return None, guess, rounds
            point = equations.proximal_step(centre, sigma)
            following = self.damped(point, centre, sigma)
            if following.key() == guess.key():
                return point, guess, rounds + 1
            if following.key() in seen:
                return None, guess, rounds
            guess = following
        return None, guess, MAX_SETS

    def start(self) -> PrimalDual:
        """The best point so far."""
        best = self.found.best
        x, z, y = (np.asarray(v, dtype=np.float64) for v in (best.x, best.z, best.y))
        return PrimalDual(x, np.maximum(z, 0.0), y)

    def solved(self, guess: ActiveSet, start: PrimalDual) -> None:
        """Solve the plain equations on a guess, and offer the point as a candidate."""
        equations = self.equations(guess)
        point = None if equations is None else equations.solve(start)
        if point is None:
            return
        program, gradient = self.program, point.gradient(self.program)
        is_fixed = program.lb == program.ub
        candidate = self.found.best.replace(
            x=np.clip(point.x, program.lb, program.ub),
            z=np.maximum(point.z, 0.0),
            y=point.y,
            z_lower=np.where(guess.where == -1, np.maximum(gradient, 0.0), 0.0),
            z_upper=np.where((guess.where == 1) | is_fixed, np.maximum(-gradient, 0.0), 0.0),
        )
        self.found.offer(candidate)

    def equations(self, guess: ActiveSet) -> KKTEquations | None:
        """Set up the equations; leave the search when they would cost too much.

        None if a variable would be at an infinite bound.
        """
        program, budget = self.program, self.found.budget
        n_free = int(np.count_nonzero(guess.where == 0))
        size = n_free + int(np.count_nonzero(guess.active)) + program.n_equalities
        if not program.P.prefers_sparse:
            budget.add_factorisation(float(size) ** 3)
        largest = 200_000 if program.P.prefers_sparse else 4000  # for which there is memory
        is_affordable = size <= largest and budget.work <= self.limit
        if not is_affordable or not budget.may_go_on(self.found.score):
            raise _OutOfWork
        return KKTEquations.of(program, guess, self.curvature)

    def damped(self, point: PrimalDual, centre: PrimalDual, sigma: float) -> ActiveSet:
        """Guess the active constraints of the proximal problem by a projected gradient step."""
        program, d, e = self.program, sigma * self.curvature, sigma / self.curvature
        gradient = point.gradient(program) + d * (point.x - centre.x)
        target = point.x - gradient / (self.curvature + d)
        where = np.where(target <= program.lb, -1, np.where(target >= program.ub, 1, 0))
        where[program.lb == program.ub] = -1
        return ActiveSet(where, centre.z + (program.G @ point.x - program.h) / e > 0.0)


@dataclass(frozen=True, eq=False)
class KKTEquations:
    """The linear system ``M u = r`` of optimality on one guess of the active set.

    Attributes
    ----------
    free, rows : arrays of int
        F and J.
    fixed : array of shape (n,)
        The values of the other variables, 0 for free ones.
    M : array or sparse matrix
    rhs : array
        r.
    n_inequalities : int
        Number of rows of G.
    curvature : float
        What proximal terms are relative to.
    """

    free: Index
    rows: Index
    fixed: Vector
    M: Any
    rhs: Vector
    n_inequalities: int
    curvature: float

    @classmethod
    def of(
        cls, program: QuadraticProgram, guess: ActiveSet, curvature: float
    ) -> KKTEquations | None:
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
        M: Any
        if P.prefers_sparse:
            M = sp.block_array([[P.to_sparse()[free][:, free], C.T], [C, None]], format="csc")
        else:
            n, M = len(free), np.zeros((len(rhs), len(rhs)))
            M[:n, :n], M[n:, :n] = P.block(free, free), C.toarray()
            M[:n, n:] = M[n:, :n].T
        return cls(free, rows, fixed, M, rhs, program.n_inequalities, curvature)

    def proximal_step(self, centre: PrimalDual, sigma: float) -> PrimalDual:
        """One step from the centre with the relative proximal term ``sigma``."""
        u = self._unknowns(centre)
        return self._point(u + self._factored(sigma)(self.rhs - self.M @ u))

    def solve(self, start: PrimalDual) -> PrimalDual | None:
        """Solve ``M u = r`` to rounding, by proximal steps with decreasing weights.

        The first is large enough to factor a singular matrix; along directions with less curvature
        it converges slowly, and a smaller one follows.
        """
        goal = 1e-14 * (float(np.max(np.abs(self.rhs), initial=0.0)) or 1.0)
        best, best_norm = self._unknowns(start), np.inf
        for sigma in (1e-7, 1e-10, 1e-13):
            step_from = self._factored(sigma)
            u = best
            for _ in range(40):
                residual = self.rhs - self.M @ u
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
        """Factor ``M + D`` with a relative proximal term."""
        from scipy.linalg.lapack import dgetrf, dgetrs

        n, size = len(self.free), len(self.rhs)
        D = np.full(size, -sigma / self.curvature)
        D[:n] = sigma * self.curvature
        if sp.issparse(self.M):
            from scipy.sparse.linalg import splu

            # not in another thread: SuperLU frees memory only in the thread that it comes from
            solve: Callable[[Vector], Vector] = splu(sp.csc_array(self.M + sp.diags_array(D))).solve
            return solve
        if size == 0:
            return lambda r: r
        shifted = self.M.copy()
        shifted[np.diag_indices(size)] += D
        lu, pivots, info = interruptible(partial(dgetrf, shifted, overwrite_a=True))
        if info != 0:
            raise np.linalg.LinAlgError("singular even with the proximal term")
        return lambda r: np.asarray(dgetrs(lu, pivots, r)[0])

    def _unknowns(self, point: PrimalDual) -> Vector:
        return np.concatenate([point.x[self.free], point.z[self.rows], point.y])

    def _point(self, u: Vector) -> PrimalDual:
        n_free, n_rows = len(self.free), len(self.rows)
        x, z = self.fixed.copy(), np.zeros(self.n_inequalities)
        x[self.free] = u[:n_free]
        z[self.rows] = u[n_free : n_free + n_rows]
        return PrimalDual(x, z, u[n_free + n_rows :])
