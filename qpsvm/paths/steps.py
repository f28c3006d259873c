"""Machines for successive parameter values: from an exact path, by a jump, or by a solver.

A jump goes from the active set at one value to that at another. Each step solves the equations of
the active set at the new value and then moves every variable that the solution contradicts: free
ones beyond a bound to that bound, bound ones whose multiplier is negative to the free ones. If
nothing is contradicted, the solution is optimal. There is no proof that the steps end; a limit
does, and what was found is then a warm start for a solver.

Source: Hintermueller, Ito and Kunisch, "The primal-dual active set strategy as a semismooth Newton
method", *SIAM Journal on Optimization* 13 (2002).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from qpsvm.display import short_repr
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arrays import Vector
from qpsvm.paths.active_set import AT_LOWER, AT_UPPER, FREE, ActiveSet, Dependent, Piece
from qpsvm.paths.exchanging import active_set_of
from qpsvm.paths.following import Trace
from qpsvm.paths.program import ParametricProgram
from qpsvm.paths.settings import DEFAULTS, PathSettings
from qpsvm.paths.training import Training
from qpsvm.qp.solution import QPSolution, Status


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


@short_repr
@dataclass(frozen=True, eq=False)
class Steps:
    """Data and settings for finding the machines of a path.

    Attributes
    ----------
    training : Training
    eps : float
    trace : Trace or None
        The exact path.
    program : ParametricProgram or None
        For jumps, where the kernel matrix is kept.
    settings : PathSettings
    """

    training: Training
    eps: float
    trace: Trace | None = None
    program: ParametricProgram | None = None
    settings: PathSettings = DEFAULTS

    def machines(self, values: Vector) -> Iterator[SVMSolution]:
        """Yield the verified machine of every value, each from the one before."""
        last: SVMSolution | None = None
        for value in values.tolist():
            last = self.machine(value, last)
            yield last

    def machine(self, value: float, start: SVMSolution | None) -> SVMSolution:
        """The verified machine at a value.

        Parameters
        ----------
        value : float
        start : SVMSolution or None
            The machine at another value.
        """
        alpha = self._on_the_path(value)
        if alpha is not None:
            return self.training.accepted(value, _point(alpha), eps=self.eps)
        if start is not None and self.program is not None:
            s = self.program.from_parameter(value)
            alpha, is_optimal = jumped(self.program, start, s, self.settings)
            if alpha is not None and is_optimal:
                return self.training.accepted(value, _point(alpha), eps=self.eps)
            if alpha is not None:
                return self.training.solved(value, eps=self.eps, start=_point(alpha))
        return self.training.solved(value, eps=self.eps, start=start)

    def _on_the_path(self, value: float) -> Vector | None:
        """Alpha of the exact path; None where it is not known."""
        if self.trace is None or not self.trace.stretches:
            return None
        s, stretches = self.trace.program.from_parameter(value), self.trace.stretches
        inside = min(max(s, stretches[0].begin), stretches[-1].end)
        # the ends of the range, after rounding there and back
        return self.trace.alpha_at(inside) if math.isclose(s, inside, rel_tol=1e-12) else None


def _point(alpha: Vector) -> QPSolution:
    return QPSolution(Status.UNKNOWN, x=alpha, native_status="from a path")
