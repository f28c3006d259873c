"""The exact path: linear pieces of the dual solution, followed from event to event.

Every piece is the solution of the linear equations of its active set, factored afresh, and it is
handed on only where its alphas are in their boxes and its multipliers have their signs. Where no
exchange leads on, a solver finds the path again a little further; what is between is a gap, in
which nothing is known.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from qpsvm.display import short_repr
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arrays import Dense, Vector
from qpsvm.paths.pieces import (
    AT_UPPER,
    FREE,
    Dependent,
    Piece,
    States,
    active_set_of,
    exchanged,
    independent_piece,
)
from qpsvm.paths.program import ROUNDING, ParametricProgram
from qpsvm.paths.training import PathSettings

MachineSolver = Callable[[float], SVMSolution]
"""The machine at one s, by a solver."""

FEASIBILITY = 1e-9
"""How far an alpha may be outside its box and a multiplier below zero, relative to the largest of
their kind, for an active set to count as optimal; an alpha of a solver that is as near to a bound
counts as at the bound."""

FLATNESS = 1e-11
"""A rate of change below this, relative in the same way, is rounding and no event."""

RESTART_STEP, RESTART_GROWTH = 1e-7, 10.0
"""A solver finds the path again so far ahead, relative to the parameter; each further attempt at
one place goes so many times as far."""


@short_repr
@dataclass(frozen=True, eq=False)
class Stretch:
    """One piece of the path, between two events.

    Attributes
    ----------
    begin, end, anchor : float
    states : int8 array of shape (N,)
    free_alpha : array of shape (f, 2)
        Value at the anchor, and derivative.
    """

    begin: float
    end: float
    anchor: float
    states: States
    free_alpha: Dense

    @classmethod
    def of(cls, piece: Piece, begin: float, end: float) -> Stretch:
        """The part of a piece between two events."""
        states = piece.active.states
        return cls(begin, end, piece.anchor, states, piece.alpha[states == FREE])

    def alpha_at(self, program: ParametricProgram, s: float) -> Vector:
        """The dual variables at s, shape (N,)."""
        alpha = np.where(self.states == AT_UPPER, program.upper.at(s), program.lower.at(s))
        alpha[self.states == FREE] = (
            self.free_alpha[:, 0] + (s - self.anchor) * self.free_alpha[:, 1]
        )
        return np.asarray(np.clip(alpha, program.lower.at(s), program.upper.at(s)))


@dataclass(eq=False)
class PathTrace:
    """Pieces of an exact path in ascending order of s, and the gaps between them.

    Attributes
    ----------
    program : ParametricProgram
    stretches : list of Stretch
    reached : float
        Up to here the path was followed.
    n_restarts : int
        Number of times that a solver was asked.
    """

    program: ParametricProgram
    stretches: list[Stretch] = field(default_factory=list)
    reached: float = -math.inf
    n_restarts: int = 0

    def alpha_at(self, s: float) -> Vector | None:
        """The dual variables at s, shape (N,); None in a gap and beyond the ends."""
        if not self.stretches:
            return None
        inside = min(max(s, self.stretches[0].begin), self.stretches[-1].end)
        place = bisect_right(self.stretches, inside, key=lambda stretch: stretch.begin) - 1
        # the ends of the range, after rounding there and back
        if not is_same(s, inside) or inside > self.stretches[place].end:
            return None
        return self.stretches[place].alpha_at(self.program, inside)

    def at_parameter(self, value: float) -> Vector | None:
        """The same at a value of the parameter."""
        return self.alpha_at(self.program.change(value))


def follow(
    program: ParametricProgram,
    begin: float,
    end: float,
    solver: MachineSolver,
    settings: PathSettings,
) -> PathTrace:
    """Follow the path of a parametric program from ``begin`` to ``end``.

    Parameters
    ----------
    program : ParametricProgram
    begin, end : float
        ``begin < end``, values of s.
    solver : callable
        Finds the machine at one s: for the first piece, and where the path is lost.
    settings : PathSettings

    Returns
    -------
    PathTrace
        ``reached`` is below ``end`` where a limit of the settings ended it.
    """
    trace = PathTrace(program, reached=begin)
    piece = found_piece(program, begin, solver)
    exchanges = 0
    while trace.reached < end and len(trace.stretches) < settings.max_events:
        s = trace.reached
        if piece is None or exchanges > settings.max_exchanges:
            piece, exchanges = _found_again(trace, end, solver, settings), 0
            if piece is None:
                break
            continue
        stop, condition = piece_end(program, piece, s, end)
        if stop < s:  # not optimal here
            piece = None
            continue
        if not is_same(stop, s):
            trace.stretches.append(Stretch.of(piece, s, stop))
            trace.reached, exchanges = stop, 0
        elif stop == end:
            trace.reached = end
        if stop < end:
            exchanges += 1
            try:
                piece = exchanged(program, piece, trace.reached, condition)
            except Dependent:
                piece = None
    return trace


def piece_end(program: ParametricProgram, piece: Piece, s: float, end: float) -> tuple[float, int]:
    """Last value at which a piece is optimal, and the condition that ends it.

    Parameters
    ----------
    program : ParametricProgram
    piece : Piece
    s : float
        Where the piece is to be optimal; conditions count from here.
    end : float
        Above s, or below it.

    Returns
    -------
    float
        ``end`` where nothing ends it; NaN-free: minus infinity (plus, for an end below s) where it
        is not optimal at s.
    int
        A row of ``Piece.conditions``; -1 where nothing ends it.
    """
    side = 1.0 if end >= s else -1.0
    rates, sizes = piece.conditions(program)
    values = rates[:, 0] + (s - piece.anchor) * rates[:, 1]
    if not (values >= -FEASIBILITY * sizes).all():
        return -side * math.inf, -1
    span = max(abs(s), abs(end))
    falls = side * rates[:, 1] * span < -FLATNESS * sizes
    steps = np.full(len(values), math.inf)
    steps[falls] = np.maximum(values[falls], 0.0) / -(side * rates[falls, 1])
    first = int(np.argmin(steps))
    stop = s + side * float(steps[first])
    if side * (stop - end) >= 0.0 or is_same(stop, end):
        return end, -1
    return stop, first


def is_same(s: float, other: float) -> bool:
    """Return whether two values differ by rounding only."""
    return abs(s - other) <= ROUNDING * max(abs(s), abs(other))


def found_piece(program: ParametricProgram, s: float, solver: MachineSolver) -> Piece | None:
    """The piece at s by a solver: the active set of its solution, if that is optimal at s."""
    solution = solver(s)
    try:
        active = active_set_of(program, solution, FEASIBILITY)
        piece = independent_piece(program, active, solution.alpha, s)
    except Dependent:
        return None
    return piece if piece_end(program, piece, s, s)[0] == s else None


def _found_again(
    trace: PathTrace, end: float, solver: MachineSolver, settings: PathSettings
) -> Piece | None:
    """Find a later piece of the path with a solver, to continue the trace there."""
    step = RESTART_STEP * max(abs(trace.reached), np.finfo(float).tiny)
    ahead = trace.reached
    while trace.n_restarts < settings.max_restarts and ahead < end:
        trace.n_restarts += 1
        ahead = min(trace.reached + step, end)
        step *= RESTART_GROWTH
        piece = found_piece(trace.program, ahead, solver)
        if piece is not None:
            back = piece_end(trace.program, piece, ahead, trace.reached)[0]
            if back > trace.reached and not is_same(back, trace.reached):
                trace.reached = min(back, ahead)
            return piece
    return None
