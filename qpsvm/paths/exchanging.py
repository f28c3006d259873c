"""Changes of the active set between two pieces of a path.

A variable that becomes free can make the equations dependent (equal samples, more free variables
than features): then alpha moves along the direction that they leave open, which changes no
multiplier, until another variable is at a bound. A variable that leaves can take away what fixes
the intercept: then the intercept moves until another variable's multiplier is zero. Neither changes
the objective.

Sources: Ong, Shao and Yang, "An improved algorithm for the solution of the regularization path of
support vector machine", *IEEE TNN* 21 (2010); Best, "An algorithm for the solution of the
parametric quadratic programming problem" (1996).
"""

from __future__ import annotations

import math

import numpy as np

from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arrays import Dense, Vector
from qpsvm.paths.active_set import AT_LOWER, AT_UPPER, FREE, ActiveSet, Dependent, Equations, Piece
from qpsvm.paths.program import ParametricProgram
from qpsvm.paths.settings import DEFAULTS, PathSettings


def active_set_of(program: ParametricProgram, solution: SVMSolution, share: float) -> ActiveSet:
    """The active set of a machine, with enough free variables to fix its multipliers.

    Parameters
    ----------
    program : ParametricProgram
    solution : SVMSolution
        Optimal at one value of the parameter.
    share : float
        A variable counts as at a bound when it is nearer to it than this share of the box.

    Raises
    ------
    Dependent
        No further variable would fix the multipliers.
    """
    c, alpha = solution.conditions, solution.alpha
    unit = np.minimum(c.upper - c.lower, float(np.max(np.abs(alpha), initial=0.0)))
    states = np.full(len(alpha), FREE, dtype=np.int8)
    states[alpha - c.lower <= share * unit] = AT_LOWER
    states[c.upper - alpha <= share * unit] = AT_UPPER
    of_rows = [solution.intercept] * (c.intercept == "free") + [solution.width] * program.has_width
    multipliers = np.array(of_rows, dtype=np.float64)
    gradient = program.P.matvec(alpha) - c.required + program.rows.T @ multipliers
    is_tight = program.has_width and solution.width > 0.0
    return with_fixed_multipliers(program, ActiveSet(states, is_tight), gradient)


def exchanged(
    program: ParametricProgram, piece: Piece, s: float, condition: int, settings: PathSettings
) -> Piece:
    """Piece that follows when a condition of a piece becomes zero at s.

    Parameters
    ----------
    program : ParametricProgram
    piece : Piece
    s : float
    condition : int
        A row of ``Piece.conditions``.
    settings : PathSettings

    Raises
    ------
    Dependent
        No exchange makes the equations independent.
    """
    n, active = len(program), piece.active
    if condition == 2 * n:
        after = ActiveSet(active.states, not active.is_tight)
        return independent_piece(program, after, piece.alpha_at(s), s, settings)
    variable = condition % n
    if active.states[variable] != FREE:
        after = active.with_state(variable, FREE)
        return independent_piece(program, after, piece.alpha_at(s), s, settings, variable)
    after = active.with_state(variable, AT_LOWER if condition < n else AT_UPPER)
    try:
        return Piece.of(program, after, s, settings)
    except Dependent:
        move = s - piece.anchor
        gradient = piece.gradient[:, 0] + move * piece.gradient[:, 1]
        after = with_fixed_multipliers(program, after, gradient, variable)
        return Piece.of(program, after, s, settings)


def independent_piece(
    program: ParametricProgram,
    active: ActiveSet,
    alpha: Vector,
    s: float,
    settings: PathSettings,
    entering: int | None = None,
) -> Piece:
    """The piece of an active set, or of one with the same multipliers and fewer free variables.

    Parameters
    ----------
    program : ParametricProgram
    active : ActiveSet
    alpha : array of shape (N,)
        The dual variables at s.
    s : float
    settings : PathSettings
    entering : int, optional
        A variable that has just become free: it moves away from its bound.

    Raises
    ------
    Dependent
        The rows of A are dependent, or the direction left open reaches no bound.
    """
    lower, upper, alpha = program.lower.at(s), program.upper.at(s), alpha.copy()
    for _ in range(len(alpha) + 1):
        try:
            return Piece.of(program, active, s, settings)
        except Dependent:
            equations = Equations.of(program, active)
            free, direction = equations.free, equations.null_direction()
            largest = float(np.max(np.abs(direction), initial=0.0))
            if not largest > 0.0:
                raise
            direction = np.where(np.abs(direction) > DEFAULTS.negligible * largest, direction, 0.0)
            if entering is not None:
                own = float(direction[free == entering][0])
                inward = (
                    1.0
                    if alpha[entering] - lower[entering] <= upper[entering] - alpha[entering]
                    else -1.0
                )
                direction = direction * (inward * np.sign(own)) if own else direction
            room = np.where(direction > 0.0, upper[free] - alpha[free], alpha[free] - lower[free])
            steps = np.full(len(free), math.inf)
            moves = direction != 0.0
            steps[moves] = np.maximum(room[moves], 0.0) / np.abs(direction[moves])
            first = int(np.argmin(steps))
            if not math.isfinite(steps[first]):
                raise
            alpha[free] += steps[first] * direction
            end = AT_UPPER if direction[first] > 0.0 else AT_LOWER
            active, entering = active.with_state(int(free[first]), end), None
    raise Dependent


def with_fixed_multipliers(
    program: ParametricProgram, active: ActiveSet, gradient: Vector, left: int | None = None
) -> ActiveSet:
    """Free further variables until the rows of the free variables fix their multipliers.

    Parameters
    ----------
    program : ParametricProgram
    active : ActiveSet
    gradient : array of shape (N,)
        ``P a - p + A'y``.
    left : int, optional
        A variable that has just left to a bound: its multiplier must become positive.

    Raises
    ------
    Dependent
        No further variable would fix them.
    """
    gradient = gradient.copy()
    for _ in range(program.n_rows):
        direction = _open_direction(active.rows(program), active)
        if direction is None:
            return active
        if left is not None:
            sign = -active.states[left] * direction[left]
            if not abs(sign) > DEFAULTS.negligible:
                raise Dependent
            options = [direction * np.sign(sign)]
        else:
            options = [direction, -direction]
        active, gradient = _nearest(active, gradient, options)
        left = None
    return active


def _open_direction(rows: Dense, active: ActiveSet) -> Vector | None:
    """``A'd`` for a d with ``A_F'd = 0``, of length 1; None if there is none."""
    if len(rows) == 0:
        return None
    free = active.free()
    left, sizes, _ = np.linalg.svd(rows[:, free], full_matrices=True)
    smallest = float(sizes[-1]) if len(sizes) == len(rows) else 0.0
    if smallest > DEFAULTS.negligible:
        return None
    return np.asarray(rows.T @ left[:, -1])


def _nearest(
    active: ActiveSet, gradient: Vector, options: list[Vector]
) -> tuple[ActiveSet, Vector]:
    """Move multipliers along one of several directions to the nearest zero of a gradient."""
    states = active.states
    best, variable, chosen = math.inf, -1, options[0]
    for direction in options:
        rate = -states * direction
        falls = rate < -DEFAULTS.negligible
        steps = np.full(len(states), math.inf)
        steps[falls] = np.maximum(-states[falls] * gradient[falls], 0.0) / -rate[falls]
        first = int(np.argmin(steps))
        if steps[first] < best:
            best, variable, chosen = float(steps[first]), first, direction
    if variable < 0:
        raise Dependent
    return active.with_state(variable, FREE), gradient + best * chosen
