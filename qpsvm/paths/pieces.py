"""Linear pieces of a path: the solution of an active set, and how the next one follows.

With the free variables F, the others B at bounds that are affine in s, and the active rows A::

    [P_FF  A_F'] [a_F]   [p_F - P_FB a_B]
    [A_F    0  ] [ y ] = [r - A_B a_B   ]

Both sides are affine in s, hence a_F and y are. The piece ends where a free variable meets a bound,
a multiplier ``g = P a - p + A'y`` of a bound becomes zero, or the width's row changes.

A variable that becomes free can make the equations dependent (equal samples, more free variables
than features): then alpha moves along the direction that they leave open, which changes no
multiplier, until another variable is at a bound. A variable that leaves can take away what fixes
the intercept: then the intercept moves until another variable's multiplier is zero. Neither changes
the objective.

Sources: Hastie, Rosset, Tibshirani and Zhu, *JMLR* 5 (2004), section 3; Ong, Shao and Yang, "An
improved algorithm for the solution of the regularization path of support vector machine", *IEEE
TNN* 21 (2010); Best, "An algorithm for the solution of the parametric quadratic programming
problem" (1996).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dsysvx

from qpsvm.display import short_repr
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arrays import Dense, Index, Vector
from qpsvm.numerics.precision import EPS, TINY
from qpsvm.paths.program import ParametricProgram

AT_LOWER, FREE, AT_UPPER = -1, 0, 1
"""States of a variable."""

SMALLEST_RCOND = 1e-13
"""Reciprocal condition number below which an active set is dependent."""

NEGLIGIBLE = 1e-8
"""Share of the largest entry of a direction of dependent samples below which it is rounding."""

Rates: TypeAlias = Dense
"""Columns: the value at the anchor of a piece, and its derivative; shape (n, 2)."""

States: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int8]]


class Dependent(Exception):  # noqa: N818 - a signal, not an error for callers
    """Raised when the equations of an active set are linearly dependent."""


@short_repr
@dataclass(frozen=True, eq=False)
class PathActiveSet:
    """The state of every variable, and whether the width's row holds with equality.

    Attributes
    ----------
    states : int8 array of shape (N,)
        ``AT_LOWER``, ``FREE`` or ``AT_UPPER``.
    is_tight : bool
        Whether the width's row is among the equations; False without such a row.
    """

    states: States
    is_tight: bool

    @property
    def free(self) -> Index:
        """Indices of the free variables."""
        return np.flatnonzero(self.states == FREE)

    def with_state(self, variable: int, state: int) -> PathActiveSet:
        """The active set with one variable in another state."""
        states = self.states.copy()
        states[variable] = state
        return PathActiveSet(states, self.is_tight)

    def rows(self, program: ParametricProgram) -> Dense:
        """The rows that are equations, shape (m, N)."""
        return program.rows[: len(program.rows) - (program.has_width and not self.is_tight)]

    def equations(self, program: ParametricProgram) -> tuple[Dense, Vector]:
        """The equations of the free variables and multipliers, scaled to a unit diagonal.

        Returns
        -------
        matrix : array of shape (f + m, f + m)
        scale : array of shape (f + m,)
            The factors of the rows, and of the columns.
        """
        free, A = self.free, self.rows(program)[:, self.free]
        f, m = len(free), len(A)
        matrix, scale = np.zeros((f + m, f + m)), np.ones(f + m)
        matrix[:f, :f], matrix[f:, :f], matrix[:f, f:] = program.P.block(free, free), A, A.T
        diagonal = np.diagonal(matrix)[:f]
        is_sample = diagonal > EPS * np.max(diagonal, initial=0.0)
        scale[:f][is_sample] = 1.0 / np.sqrt(diagonal[is_sample])
        lengths = np.linalg.norm(A * scale[:f], axis=1)
        scale[f:] = 1.0 / np.where(lengths > 0.0, lengths, 1.0)
        return matrix * np.outer(scale, scale), scale

    def open_direction(self, program: ParametricProgram) -> Vector:
        """A direction of the free variables that the equations do not determine, shape (f,).

        Raises
        ------
        Dependent
            There is none.
        """
        matrix, scale = self.equations(program)
        values, vectors = eigh(matrix)
        worst = int(np.argmin(np.abs(values)))
        direction = (scale * vectors[:, worst])[: len(self.free)]
        largest = float(np.max(np.abs(direction), initial=0.0))
        if not largest > 0.0:
            raise Dependent
        return np.where(np.abs(direction) > NEGLIGIBLE * largest, direction, 0.0)


def _solved(matrix: Dense, scale: Vector, right: Dense) -> Dense:
    """Solve scaled equations for right sides of shape (f + m, k), with refinement.

    Raises
    ------
    Dependent
    """
    if not len(scale):
        return right
    *_, found, rcond, _, _, failed = dsysvx(matrix, scale[:, None] * right)
    if failed or not rcond > SMALLEST_RCOND:
        raise Dependent
    return np.asarray(scale[:, None] * found)


@short_repr
@dataclass(frozen=True, eq=False)
class Piece:
    """The solution of an active set around an anchor, affine in s.

    Attributes
    ----------
    active : PathActiveSet
    anchor : float
        The s of the first column of the rates.
    alpha, gradient : arrays of shape (N, 2)
    room : array of shape (2,)
        What is left of the width's row, or t where it is tight; infinite without one.
    """

    active: PathActiveSet
    anchor: float
    alpha: Rates
    gradient: Rates
    room: Rates

    @classmethod
    def of(cls, program: ParametricProgram, active: PathActiveSet, anchor: float) -> Piece:
        """Solve the equations of an active set.

        Raises
        ------
        Dependent
            The equations do not determine the free variables or the multipliers.
        """
        free, rows = active.free, active.rows(program)
        at_upper = (active.states == AT_UPPER)[:, None]
        alpha = np.where(at_upper, program.upper.pair(anchor), program.lower.pair(anchor))
        alpha[free] = 0.0
        required, right = program.required.pair(anchor), program.right.pair(anchor)
        products = program.products(alpha)
        sides = [(required - products)[free], right[: len(rows)] - rows @ alpha]
        found = _solved(*active.equations(program), np.concatenate(sides))
        moving, multipliers = np.zeros(alpha.shape), found[len(free) :]
        moving[free] = alpha[free] = found[: len(free)]
        gradient = products + program.products(moving) - required + rows.T @ multipliers
        room = np.array([math.inf, 0.0])
        if program.has_width:
            left = right[-1] - program.rows[-1] @ alpha
            room = multipliers[-1] if active.is_tight else left
        return cls(active, anchor, alpha, gradient, room)

    def alpha_at(self, s: float) -> Vector:
        """The dual variables at s, shape (N,)."""
        return np.asarray(self.alpha @ [1.0, s - self.anchor])

    def conditions(self, program: ParametricProgram) -> tuple[Rates, Vector]:
        """Quantities that must be non-negative while the piece is optimal, with their sizes.

        Rows 0 to N - 1: the distance of every free variable from its lower bound, or the multiplier
        of its bound; N to 2N - 1: the distance from the upper bound; 2N: the width's row.

        Returns
        -------
        array of shape (2 N + 1, 2)
        array of shape (2 N + 1,)
        """
        states = self.active.states[:, None]
        lower, upper = program.lower.pair(self.anchor), program.upper.pair(self.anchor)
        from_lower = np.where(states == FREE, self.alpha - lower, -states * self.gradient)
        from_upper = np.where(states == FREE, upper - self.alpha, np.array([math.inf, 0.0]))
        values = np.vstack([from_lower, from_upper, self.room])
        alpha, box = np.abs(self.alpha[:, 0]), np.maximum(np.abs(lower), np.abs(upper))[:, 0]
        terms = self.gradient[:, 0] + program.required.at(self.anchor)
        of_gradient = max(program.unit, float(np.max(np.abs(terms))), TINY)
        of_alpha = np.minimum(box, max(float(np.max(alpha)), TINY))
        sizes = np.where(states[:, 0] == FREE, of_alpha, of_gradient)
        of_room = of_gradient if self.active.is_tight else max(float(np.sum(alpha)), TINY)
        return values, np.concatenate([sizes, sizes, [of_room]])


def active_set_of(program: ParametricProgram, solution: SVMSolution, share: float) -> PathActiveSet:
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
    return _with_fixed_multipliers(program, PathActiveSet(states, is_tight), gradient)


def exchanged(program: ParametricProgram, piece: Piece, s: float, condition: int) -> Piece:
    """Piece that follows when a condition of a piece, a row of ``conditions``, becomes zero at s.

    Raises
    ------
    Dependent
        No exchange makes the equations independent.
    """
    n, active = len(program), piece.active
    if condition == 2 * n:
        after = PathActiveSet(active.states, not active.is_tight)
        return independent_piece(program, after, piece.alpha_at(s), s)
    variable = condition % n
    if active.states[variable] != FREE:
        after = active.with_state(variable, FREE)
        return independent_piece(program, after, piece.alpha_at(s), s, variable)
    after = active.with_state(variable, AT_LOWER if condition < n else AT_UPPER)
    try:
        return Piece.of(program, after, s)
    except Dependent:
        gradient = piece.gradient @ [1.0, s - piece.anchor]
        return Piece.of(program, _with_fixed_multipliers(program, after, gradient, variable), s)


def independent_piece(
    program: ParametricProgram,
    active: PathActiveSet,
    alpha: Vector,
    s: float,
    entering: int | None = None,
) -> Piece:
    """The piece of an active set, or of one with the same multipliers and fewer free variables.

    Parameters
    ----------
    program : ParametricProgram
    active : PathActiveSet
    alpha : array of shape (N,)
        The dual variables at s.
    s : float
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
            return Piece.of(program, active, s)
        except Dependent:
            free, direction = active.free, active.open_direction(program)
            above, below = upper - alpha, alpha - lower
            if entering is not None:
                own = float(direction[free == entering][0])
                inward = 1.0 if below[entering] <= above[entering] else -1.0
                direction = direction * (inward * np.sign(own) or 1.0)
            room = np.where(direction > 0.0, above[free], below[free])
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


def _with_fixed_multipliers(
    program: ParametricProgram, active: PathActiveSet, gradient: Vector, left: int | None = None
) -> PathActiveSet:
    """Free further variables until the rows of the free variables fix their multipliers.

    Parameters
    ----------
    program : ParametricProgram
    active : PathActiveSet
    gradient : array of shape (N,)
        ``P a - p + A'y``.
    left : int, optional
        A variable that has just left to a bound: its multiplier must become positive.

    Raises
    ------
    Dependent
        No further variable would fix them.
    """
    for _ in program.rows:
        rows = active.rows(program)
        vectors, sizes, _ = np.linalg.svd(rows[:, active.free], full_matrices=True)
        if len(sizes) == len(rows) and np.min(sizes, initial=math.inf) > NEGLIGIBLE:
            return active
        direction, states = rows.T @ vectors[:, -1], active.states  # A'd with A_F'd = 0
        options = [direction, -direction]
        if left is not None:
            sign = -states[left] * direction[left]
            if not abs(sign) > NEGLIGIBLE:
                raise Dependent
            options, left = [direction * np.sign(sign)], None
        best, variable, chosen = math.inf, -1, direction
        for option in options:  # to the nearest zero of a multiplier
            rate = -states * option
            falls = rate < -NEGLIGIBLE
            steps = np.full(len(states), math.inf)
            steps[falls] = np.maximum(-states[falls] * gradient[falls], 0.0) / -rate[falls]
            first = int(np.argmin(steps))
            if steps[first] < best:
                best, variable, chosen = float(steps[first]), first, option
        if variable < 0:
            raise Dependent
        active, gradient = active.with_state(variable, FREE), gradient + best * chosen
    return active
