"""Jumps along a parametric program: from the active set at one value to that at another.

Each step solves the equations of the active set at the new value and then moves every variable that
the solution contradicts: free ones beyond a bound to that bound, bound ones whose multiplier is
negative to the free ones. If nothing is contradicted, the solution is optimal. There is no proof
that the steps end; a limit does, and what was found is then a warm start for a solver.

Source: Hintermueller, Ito and Kunisch, "The primal-dual active set strategy as a semismooth Newton
method", *SIAM Journal on Optimization* 13 (2002).
"""

from __future__ import annotations

import numpy as np

from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arrays import Vector
from qpsvm.paths.active_set import AT_LOWER, AT_UPPER, FREE, ActiveSet, Dependent, Piece
from qpsvm.paths.exchanging import active_set_of
from qpsvm.paths.program import ParametricProgram
from qpsvm.paths.settings import PathSettings


def jumped(
    program: ParametricProgram, start: SVMSolution, s: float, settings: PathSettings
) -> tuple[Vector | None, bool]:
    """The dual variables at s, from the active set of a machine at another value.

    Parameters
    ----------
    program : ParametricProgram
    start : SVMSolution
        Optimal at a value nearby.
    s : float
    settings : PathSettings

    Returns
    -------
    array of shape (N,) or None
        Inside the box; None where the first equations are dependent.
    bool
        Whether no variable contradicts it.
    """
    n, alpha = len(program), None
    lower, upper = program.lower.at(s), program.upper.at(s)
    try:
        active = active_set_of(program, start, settings.classification[0])
    except Dependent:
        return None, False
    for _ in range(settings.jump_steps):
        try:
            piece = Piece.of(program, active, s, settings)
        except Dependent:
            return alpha, False
        rates, sizes = piece.conditions(program)
        is_wrong = rates[:, 0] < -settings.feasibility * sizes
        alpha = np.clip(piece.alpha[:, 0], lower, upper)
        if not is_wrong.any():
            return alpha, True
        states, was_free = active.states.copy(), active.states == FREE
        states[is_wrong[:n]] = np.where(was_free[is_wrong[:n]], AT_LOWER, FREE)
        states[is_wrong[n : 2 * n]] = AT_UPPER
        active = ActiveSet(states, active.is_tight != bool(is_wrong[2 * n]))
    return alpha, False
