"""Polish of general programs by a proximal primal-dual active-set method.

An approximate solution says which constraints are active: those whose multiplier exceeds their
slack. On that guess optimality is a linear system (``active_set_equations.py``). Solve it, move
whatever got the wrong sign, repeat: from a good answer this arrives in a few rounds.

From a rough answer, or where the matrix is singular, the plain iteration overshoots and cycles.
Then every round is damped by a proximal term around the last centre c::

    minimise  1/2 x'Px + q'x + d/2 |x - c_x|^2   with multipliers   z = max(0, c_z + (Gx - h) / e)

which is a well-conditioned problem of the same kind. When its active set settles, its solution is
the next centre, and d and e shrink; when it does not settle, they grow. After each such step the
undamped equations are tried again on its active set.

Sources: for the semismooth Newton view of the inner iteration Hintermueller, Ito and Kunisch,
*SIAM J. Optim.* 13 (2002), section 2; for the outer one Rockafellar (see ``active_set``).

Every candidate is measured, and the best is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from qpsvm.numerics.arrays import Vector
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution
from qpsvm.solvers.polish.active_set_equations import (
    ActiveSetGuess,
    Equations,
    Point,
    typical_curvature,
)
from qpsvm.solvers.polish.settings import DEFAULTS, PolishSettings
from qpsvm.solvers.work_budget import WorkBudget

Measure: TypeAlias = Callable[[QPSolution], float]
"""How far a solution is from optimal; infinite where that cannot be said."""


@dataclass(eq=False)
class Candidates:
    """Measured candidate solutions, of which the best is kept.

    Attributes
    ----------
    measure : callable
    goal : float
        Measure that is good enough.
    best : QPSolution
    score : float
        Its measure.
    """

    measure: Measure
    goal: float
    best: QPSolution
    score: float

    @property
    def is_done(self) -> bool:
        """Return whether the goal is reached."""
        return self.score <= self.goal

    def offer(self, candidate: QPSolution) -> bool:
        """Keep the candidate if it is the best so far; return whether it was."""
        score = self.measure(candidate)
        if not score < self.score:
            return False
        self.best, self.score = candidate, score
        return True


@np.errstate(all="ignore")  # what overflows is not accepted
def polish_any(
    program: QuadraticProgram,
    found: Candidates,
    budget: WorkBudget,
    settings: PolishSettings = DEFAULTS,
) -> None:
    """Search for better points until the goal is reached or the work budget is spent."""
    guess = ActiveSetGuess.from_solution(program, found.best)
    if guess is None:
        return
    search = _GeneralPolish(
        program, found, budget, budget.work + settings.general_work_limit, settings
    )
    try:
        search.plain_rounds(guess)
        if not found.is_done:
            search.proximal_rounds()
    except (np.linalg.LinAlgError, RuntimeError, ValueError, _OutOfWork):
        pass  # a matrix that cannot be factored: what was found so far stands


class _OutOfWork(Exception):  # noqa: N818 - a signal, not an error
    pass


@dataclass(frozen=True, eq=False)
class _GeneralPolish:
    """One polish of a general program: its start, budget and candidates."""

    program: QuadraticProgram
    found: Candidates
    budget: WorkBudget
    limit: float
    settings: PolishSettings

    def plain_rounds(self, guess: ActiveSetGuess) -> None:
        """Solve on a guess and correct the guess, until it repeats."""
        seen: set[bytes] = set()
        point = _start(self.found.best)
        for _ in range(self.settings.max_active_sets):
            if guess.key() in seen:
                return
            seen.add(guess.key())
            equations = self.equations(guess)
            solved = None if equations is None else equations.solve(point)
            if solved is None or self.keep(solved, guess):
                return
            guess = _corrected(self.program, guess, solved)
            point = Point(np.clip(solved.x, self.program.lb, self.program.ub), solved.z, solved.y)

    def proximal_rounds(self) -> None:
        """Proximal rounds around moving centres, each followed by the plain equations."""
        own = self.settings
        centre, sigma, smallest = _start(self.found.best), own.first_sigma, own.smallest_sigma
        tried = dict[bytes, int]()
        for _ in range(own.max_centres):
            settled, guess, rounds = self.settle(centre, sigma)
            if settled is None:
                smallest, sigma = 2.0 * sigma, 8.0 * sigma
                if sigma > own.largest_sigma:
                    return
                continue
            x = np.clip(settled.x, self.program.lb, self.program.ub)
            centre = Point(x, np.maximum(settled.z, 0.0), settled.y)
            key = guess.key()
            tried[key] = tried.get(key, 0) + 1
            equations = self.equations(guess) if tried[key] <= own.tries_per_set else None
            solved = None if equations is None else equations.solve(centre)
            if solved is not None and self.keep(solved, guess):
                return
            if rounds <= 4:  # the nearer the optimum, the less damping is needed
                smallest /= 1.5
                sigma = min(sigma, max(sigma / 5.0, smallest))

    def settle(self, centre: Point, sigma: float) -> tuple[Point | None, ActiveSetGuess, int]:
        """Find the active set of the proximal problem; None for the point if it cycles."""
        program, point = self.program, centre
        guess, seen = _damped_guess(program, point, centre, sigma), set[bytes]()
        for rounds in range(self.settings.max_active_sets):
            seen.add(guess.key())
            equations = self.equations(guess)
            if equations is None:
                return None, guess, rounds
            point = equations.proximal_step(centre, sigma)
            following = _damped_guess(program, point, centre, sigma)
            if following.key() == guess.key():
                return point, guess, rounds + 1
            if following.key() in seen:
                return None, guess, rounds
            guess = following
        return None, guess, self.settings.max_active_sets

    def equations(self, guess: ActiveSetGuess) -> Equations | None:
        """Set up the equations; leave the search when they would cost too much."""
        n_free = int(np.count_nonzero(guess.where == 0))
        size = n_free + int(np.count_nonzero(guess.active)) + self.program.n_equalities
        if self.program.P.prefers_sparse:
            affordable = size <= self.settings.largest_sparse
        else:
            self.budget.add_factorisation(size, float(size) ** 3)
            affordable = size <= self.settings.largest_dense and self.budget.work <= self.limit
        if not affordable or not self.budget.may_go_on(self.found.score):
            raise _OutOfWork
        return Equations.of(self.program, guess, self.settings)

    def keep(self, point: Point, guess: ActiveSetGuess) -> bool:
        """Keep the point if it is the best so far; True when the goal is reached."""
        self.found.offer(_with_bound_multipliers(self.program, self.found.best, point, guess))
        return self.found.is_done


def _start(solution: QPSolution) -> Point:
    x, z, y = (np.asarray(v, dtype=np.float64) for v in (solution.x, solution.z, solution.y))
    return Point(x, np.maximum(z, 0.0), y)


def _with_bound_multipliers(
    program: QuadraticProgram, origin: QPSolution, point: Point, guess: ActiveSetGuess
) -> QPSolution:
    """A full solution, with the multipliers of bounds from stationarity."""
    gradient = point.gradient(program)
    at_lower, at_upper = guess.where == -1, guess.where == 1
    is_fixed = program.lb == program.ub
    return origin.replace(
        x=np.clip(point.x, program.lb, program.ub),
        z=np.maximum(point.z, 0.0),
        y=point.y,
        z_lower=np.where(at_lower, np.maximum(gradient, 0.0), 0.0),
        z_upper=np.where(at_upper | is_fixed, np.maximum(-gradient, 0.0), 0.0),
    )


def _corrected(program: QuadraticProgram, guess: ActiveSetGuess, point: Point) -> ActiveSetGuess:
    """Correct a guess: release constraints of the wrong sign, add violated ones."""
    where, gradient = guess.where, point.gradient(program)
    excess = program.G @ point.x - program.h
    # rounding, in the unit of each quantity
    tiny_x, tiny_z = _rounding(point.x), _rounding(point.z)
    tiny_gradient, tiny_row = _rounding(program.q), _rounding(program.G @ point.x)
    new = np.zeros_like(where)
    new[(where == 0) & (point.x < program.lb - tiny_x)] = -1
    new[(where == 0) & (point.x > program.ub + tiny_x)] = 1
    new[(where == -1) & (gradient > -tiny_gradient)] = -1
    new[(where == 1) & (gradient < tiny_gradient)] = 1
    new[program.lb == program.ub] = -1
    return ActiveSetGuess(new, np.where(guess.active, point.z > -tiny_z, excess > tiny_row))


def _rounding(values: Vector) -> float:
    return 1e-13 * float(np.max(np.abs(values), initial=0.0))


def _damped_guess(
    program: QuadraticProgram, point: Point, centre: Point, sigma: float
) -> ActiveSetGuess:
    """Guess the active constraints of the proximal problem by a projected gradient step."""
    curvature = typical_curvature(program)
    d, e = sigma * curvature, sigma / curvature
    gradient = point.gradient(program) + d * (point.x - centre.x)
    target = point.x - gradient / (curvature + d)
    where = np.where(target <= program.lb, -1, np.where(target >= program.ub, 1, 0))
    where[program.lb == program.ub] = -1
    excess = program.G @ point.x - program.h
    return ActiveSetGuess(where, centre.z + excess / e > 0.0)
