"""Candidate solutions, each measured; the best is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from qpsvm.qp.solution import QPSolution

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
