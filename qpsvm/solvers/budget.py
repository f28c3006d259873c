"""Points of solvers for programs over a box, and budgets of their work, memory and time."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.interrupts import NEVER, Deadline


@dataclass(frozen=True, eq=False)
class Point:
    """Point of a quadratic program over a box: ``x``, ``P x`` and the multipliers of its rows.

    ``drift`` is what rounding may have added to an entry of ``P x`` since that was evaluated.
    """

    x: Vector
    Px: Vector
    y: Vector
    drift: float = 0.0


@dataclass(eq=False)
class WorkBudget:
    """Limits of work and memory, and the running count of work, which one search shares.

    Attributes
    ----------
    limit : float
        Of ``work``. By count and not by the clock: the same question gets the same answer.
    largest : int
        Unknowns of a dense matrix, at most: those for which there is memory. By default as many as
        a working set may have: one without some of the free variables is never the last.
    watch : callable or None
        Called with this object between steps; once it returns False, the search ends.
    deadline : Deadline
        When the time is over; the search ends at its next step.
    work : float
        The sum of (number of unknowns)^3 over all dense factorisations, and what takes as long.
    factorisations : int
    residual : float
        The last one known.
    gap : callable or None
        Computes the relative duality gap of the last point of the whole program, for who watches.
    is_over : bool
        Whether the search was ended.
    best : Point or None
        The last one of the working sets: what there is when the search is interrupted.
    """

    limit: float = math.inf
    largest: int = 9000
    watch: Callable[[WorkBudget], bool] | None = None
    deadline: Deadline = NEVER
    work: float = 0.0
    factorisations: int = 0
    residual: float = math.inf
    gap: Callable[[], float] | None = None
    is_over: bool = False
    best: Point | None = None

    def add_factorisation(self, work: float) -> None:
        """Add one matrix factorisation to the count of the work that is done."""
        self.factorisations += 1
        self.work += work

    def may_go_on(self, residual: float) -> bool:
        """Return whether a solver may go on: work and time are left, and no stop was requested."""
        self.residual = residual
        self.is_over = (
            self.is_over
            or self.work > self.limit
            or self.deadline.has_passed()
            or (self.watch is not None and self.watch(self) is False)
        )
        return not self.is_over
