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
from qpsvm.paths.active_set import AT_UPPER, FREE, Dependent, Piece
from qpsvm.paths.exchanging import active_set_of, exchanged, independent_piece
from qpsvm.paths.program import ParametricProgram
from qpsvm.paths.settings import PathSettings

MachineSolver = Callable[[float], SVMSolution]
"""The machine at one s, by a solver."""


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
    states: np.ndarray[tuple[int], np.dtype[np.int8]]
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
class Trace:
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
        """The dual variables at s, shape (N,); None in a gap and beyond the end."""
        place = bisect_right(self.stretches, s, key=lambda stretch: stretch.begin) - 1
        if place < 0 or s > self.stretches[place].end:
            return None
        return self.stretches[place].alpha_at(self.program, s)


def follow(
    program: ParametricProgram,
    begin: float,
    end: float,
    solver: MachineSolver,
    settings: PathSettings,
) -> Trace:
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
    Trace
        ``reached`` is below ``end`` where a limit of the settings ended it.
    """
    trace = Trace(program, reached=begin)
    piece = found_piece(program, begin, solver, settings)
    exchanges = 0
    while trace.reached < end and len(trace.stretches) < settings.max_events:
        s = trace.reached
        if piece is None or exchanges > settings.max_exchanges:
            piece, exchanges = _found_again(trace, end, solver, settings), 0
            if piece is None:
                break
            continue
        reach, condition = reach_of(program, piece, s, end, settings)
        if reach < s:  # not optimal here
            piece = None
            continue
        if not is_same(reach, s, settings):
            trace.stretches.append(Stretch.of(piece, s, reach))
            trace.reached, exchanges = reach, 0
        elif reach == end:
            trace.reached = end
        if reach < end:
            exchanges += 1
            try:
                piece = exchanged(program, piece, trace.reached, condition, settings)
            except Dependent:
                piece = None
    return trace


def reach_of(
    program: ParametricProgram, piece: Piece, s: float, end: float, settings: PathSettings
) -> tuple[float, int]:
    """Last value at which a piece is optimal, and the condition that ends it.

    Parameters
    ----------
    program : ParametricProgram
    piece : Piece
    s : float
        Where the piece is to be optimal; conditions count from here.
    end : float
        Above s, or below it.
    settings : PathSettings

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
    if not (values >= -settings.feasibility * sizes).all():
        return -side * math.inf, -1
    span = max(abs(s), abs(end))
    falls = side * rates[:, 1] * span < -settings.flatness * sizes
    steps = np.full(len(values), math.inf)
    steps[falls] = np.maximum(values[falls], 0.0) / -(side * rates[falls, 1])
    first = int(np.argmin(steps))
    reach = s + side * float(steps[first])
    if side * (reach - end) >= 0.0 or is_same(reach, end, settings):
        return end, -1
    return reach, first


def is_same(s: float, other: float, settings: PathSettings) -> bool:
    """Return whether two values differ by rounding only."""
    return abs(s - other) <= settings.same_value * max(abs(s), abs(other))


def found_piece(
    program: ParametricProgram, s: float, solver: MachineSolver, settings: PathSettings
) -> Piece | None:
    """The piece at s by a solver: the active set of its solution, if that is optimal at s."""
    solution = solver(s)
    for share in settings.classification:
        try:
            active = active_set_of(program, solution, share)
            piece = independent_piece(program, active, solution.alpha, s, settings)
        except Dependent:
            continue
        if reach_of(program, piece, s, s, settings)[0] == s:
            return piece
    return None


def _found_again(
    trace: Trace, end: float, solver: MachineSolver, settings: PathSettings
) -> Piece | None:
    """Find a later piece of the path with a solver, to continue the trace there."""
    step = settings.restart_step * max(abs(trace.reached), np.finfo(float).tiny)
    ahead = trace.reached
    while trace.n_restarts < settings.max_restarts and ahead < end:
        trace.n_restarts += 1
        ahead = min(trace.reached + step, end)
        step *= settings.restart_growth
        piece = found_piece(trace.program, ahead, solver, settings)
        if piece is not None:
            back = reach_of(trace.program, piece, ahead, trace.reached, settings)[0]
            if back > trace.reached and not is_same(back, trace.reached, settings):
                trace.reached = min(back, ahead)
            return piece
    return None
