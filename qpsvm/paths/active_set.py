"""One linear piece of a path: the solution of an active set, and the interval it is optimal on.

With the free variables F, the others B at bounds that are affine in s, and the active rows A::

    [P_FF  A_F'] [a_F]   [p_F - P_FB a_B]
    [A_F    0  ] [ y ] = [r - A_B a_B   ]

Both sides are affine in s, hence a_F and y are. The piece ends where a free variable meets a bound,
a multiplier ``g = P a - p + A'y`` of a bound becomes zero, or the width's row changes.

Source: Hastie, Rosset, Tibshirani and Zhu, *JMLR* 5 (2004), section 3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dgecon, dgetrf, dgetrs

from qpsvm.display import short_repr
from qpsvm.numerics.arrays import Dense, Index, Vector
from qpsvm.paths.program import ParametricProgram
from qpsvm.paths.settings import PathSettings

AT_LOWER, FREE, AT_UPPER = -1, 0, 1
"""States of a variable."""

Rates = Dense
"""Columns: the value at the anchor of a piece, and its derivative; shape (n, 2)."""


@short_repr
@dataclass(frozen=True, eq=False)
class ActiveSet:
    """The state of every variable, and whether the width's row holds with equality.

    Attributes
    ----------
    states : int8 array of shape (N,)
        ``AT_LOWER``, ``FREE`` or ``AT_UPPER``.
    is_tight : bool
        Whether the width's row is among the equations; False without such a row.
    """

    states: np.ndarray[tuple[int], np.dtype[np.int8]]
    is_tight: bool

    def free(self) -> Index:
        """Indices of the free variables."""
        return np.flatnonzero(self.states == FREE)

    def with_state(self, variable: int, state: int) -> ActiveSet:
        """The active set with one variable in another state."""
        states = self.states.copy()
        states[variable] = state
        return ActiveSet(states, self.is_tight)

    def rows(self, program: ParametricProgram) -> Dense:
        """The rows that are equations, shape (m, N)."""
        leave_out = program.has_width and not self.is_tight
        return program.rows[: program.n_rows - leave_out]


class Dependent(Exception):  # noqa: N818 - a signal, not an error for callers
    """Raised when the equations of an active set are linearly dependent."""


@short_repr
@dataclass(frozen=True, eq=False)
class Equations:
    """The factored equations of an active set, scaled to a unit diagonal.

    Attributes
    ----------
    free : array of shape (f,)
    matrix : array of shape (f + m, f + m)
        Scaled.
    scale : array of shape (f + m,)
    factors : tuple
        As LAPACK's dgetrf returns them.
    rcond : float
        Reciprocal condition number of the scaled matrix.
    """

    free: Index
    matrix: Dense
    scale: Vector
    factors: tuple[Dense, Vector]
    rcond: float

    @classmethod
    def of(cls, program: ParametricProgram, active: ActiveSet) -> Equations:
        """Build and factor the equations of an active set."""
        free, rows = active.free(), active.rows(program)
        f, m = len(free), len(rows)
        matrix = np.zeros((f + m, f + m))
        matrix[:f, :f] = program.P.block(free, free)
        matrix[f:, :f] = rows[:, free]
        matrix[:f, f:] = matrix[f:, :f].T
        scale, diagonal = np.ones(f + m), np.diagonal(matrix)[:f]
        is_sample = diagonal > np.finfo(float).eps * np.max(diagonal, initial=0.0)
        scale[:f][is_sample] = 1.0 / np.sqrt(diagonal[is_sample])
        lengths = np.linalg.norm(matrix[f:, :f] * scale[:f], axis=1)
        scale[f:] = 1.0 / np.where(lengths > 0.0, lengths, 1.0)
        matrix *= np.outer(scale, scale)
        if f + m == 0:
            return cls(free, matrix, scale, (matrix, scale), 1.0)
        lu, pivots, info = dgetrf(matrix)
        norm = float(np.max(np.sum(np.abs(matrix), axis=0)))
        rcond = 0.0 if info else float(dgecon(lu, norm)[0])
        return cls(free, matrix, scale, (lu, pivots), rcond)

    def solve(self, right: Dense) -> Dense:
        """Solve for right sides of shape (f + m, k), with one step of refinement."""
        if len(self.scale) == 0:
            return right
        scaled = self.scale[:, None] * right
        found = dgetrs(*self.factors, scaled)[0]
        found += dgetrs(*self.factors, scaled - self.matrix @ found)[0]
        return np.asarray(self.scale[:, None] * found)

    def null_direction(self) -> Vector:
        """A direction of the free variables that the equations do not determine, shape (f,)."""
        values, vectors = eigh(self.matrix)
        worst = int(np.argmin(np.abs(values)))
        return np.asarray((self.scale * vectors[:, worst])[: len(self.free)])


@short_repr
@dataclass(frozen=True, eq=False)
class Piece:
    """The solution of an active set around an anchor, affine in s.

    Attributes
    ----------
    active : ActiveSet
    anchor : float
        The s of the first column of the rates.
    alpha : array of shape (N, 2)
    multipliers : array of shape (m, 2)
        b, then t, of the equations.
    gradient : array of shape (N, 2)
    room : array of shape (2,)
        What is left of the width's row, or t where it is tight; infinite without one.
    """

    active: ActiveSet
    anchor: float
    alpha: Rates
    multipliers: Rates
    gradient: Rates
    room: Rates

    @classmethod
    def of(
        cls,
        program: ParametricProgram,
        active: ActiveSet,
        anchor: float,
        settings: PathSettings,
    ) -> Piece:
        """Solve the equations of an active set.

        Raises
        ------
        Dependent
            The equations do not determine the free variables or the multipliers.
        """
        equations = Equations.of(program, active)
        if not equations.rcond > settings.smallest_rcond:
            raise Dependent
        free, rows = equations.free, active.rows(program)
        alpha = np.where(
            (active.states == AT_UPPER)[:, None],
            program.upper.pair(anchor),
            program.lower.pair(anchor),
        )
        alpha[free] = 0.0
        required = program.required.pair(anchor)
        right = program.right.pair(anchor)
        products = program.products(alpha)
        sides = [(required - products)[free], right[: len(rows)] - rows @ alpha]
        found = equations.solve(np.concatenate(sides))
        alpha[free], multipliers = found[: len(free)], found[len(free) :]
        moving = np.zeros(alpha.shape)
        moving[free] = alpha[free]
        gradient = products + program.products(moving) - required + rows.T @ multipliers
        room = np.array([math.inf, 0.0])
        if program.has_width:
            left = right[-1] - program.rows[-1] @ alpha
            room = multipliers[-1] if active.is_tight else left
        return cls(active, anchor, alpha, multipliers, gradient, room)

    def alpha_at(self, s: float) -> Vector:
        """The dual variables at s, shape (N,)."""
        return np.asarray(self.alpha[:, 0] + (s - self.anchor) * self.alpha[:, 1])

    def conditions(self, program: ParametricProgram) -> tuple[Rates, Vector]:
        """Quantities that must be non-negative while the piece is optimal, with their sizes.

        Rows 0 to N - 1: the distance of every free variable from its lower bound, or the multiplier
        of its bound; N to 2N - 1: the distance from the upper bound; 2N: the width's row.

        Returns
        -------
        array of shape (2 N + 1, 2)
        array of shape (2 N + 1,)
        """
        states, n = self.active.states, len(self.active.states)
        free = states == FREE
        lower, upper = program.lower.pair(self.anchor), program.upper.pair(self.anchor)
        values = np.zeros((2 * n + 1, 2))
        values[:n] = np.where(free[:, None], self.alpha - lower, -states[:, None] * self.gradient)
        values[n : 2 * n] = np.where(free[:, None], upper - self.alpha, np.array([math.inf, 0.0]))
        values[2 * n] = self.room
        tiny = np.finfo(float).tiny
        alpha, box = np.abs(self.alpha[:, 0]), np.maximum(np.abs(lower), np.abs(upper))[:, 0]
        terms = self.gradient[:, 0] + program.required.at(self.anchor)
        of_gradient = max(program.unit, float(np.max(np.abs(terms))), tiny)
        of_alpha = np.minimum(box, max(float(np.max(alpha)), tiny))
        sizes = np.where(free, of_alpha, of_gradient)
        of_room = of_gradient if self.active.is_tight else max(float(np.sum(alpha)), tiny)
        return values, np.concatenate([sizes, sizes, [of_room]])
