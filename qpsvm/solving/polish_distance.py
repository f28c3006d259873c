"""Distance from optimality that a polish reduces: the worst check of its candidates.

A candidate that misses rows or bounds counts as the nearest point that satisfies them. Without
this, a polish would go on because of a row all of whose terms are rounding.
"""

from __future__ import annotations

import math

from qpsvm.qp.bounds import repaired
from qpsvm.qp.kkt import residuals
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution
from qpsvm.solving.attempts import Attempt, breaks_a_constraint, distance, is_blocked

OF_FEASIBILITY = frozenset(
    {
        "inequality",
        "equality",
        "lower_bound",
        "upper_bound",
        "feasibility",
        "natural",
        "certified_gap",
    }
)
"""Names of the checks that a point passes once it is moved onto the rows and bounds it misses."""

OF_ROWS = ("inequality", "equality", "lower_bound", "upper_bound")
"""Names of the residuals of rows and bounds."""

NEARER = 0.5
"""Share of what an earlier point missed the rows by, at which another search for a point that
satisfies them is worth its time."""


class PolishDistance:
    """The distance of a polish's candidates from optimality, which the polish reduces.

    Parameters
    ----------
    start : Attempt
        What the polish begins with.
    """

    def __init__(self, start: Attempt) -> None:
        self._start, self._contract = start, start.contract
        self._missed = math.inf

    def __call__(self, candidate: QPSolution) -> float:
        contract, missed = self._contract, 0.0
        if not contract.is_always_feasible:  # a search for a feasible point pays near one only
            if isinstance(contract.problem, QuadraticProgram):
                measured = residuals(contract.problem, contract.route.own(candidate))
            else:
                measured = residuals(contract.program, candidate)
            eps = contract.settings.eps
            names = {r.name for r in measured if r.name != "natural" and not r.scaled <= eps}
            if not names <= OF_FEASIBILITY:
                return measured.worst
            missed = max(r.scaled for r in measured if r.name in OF_ROWS)
            if missed > NEARER * self._missed:  # no nearer to the rows than what was blocked
                return 1.0 + measured.worst
        is_start = candidate is self._start.solution
        report = self._start.report if is_start else contract.measure(candidate)
        failed = {check.name for check in report.checks if not check.passed}
        if is_blocked(report) or breaks_a_constraint(report):
            self._missed = min(self._missed, missed)
            return distance(report)
        if contract.is_always_feasible or not failed or not failed <= OF_FEASIBILITY:
            return report.worst
        moved = next(repaired(contract.program, candidate), candidate)
        return min(report.worst, contract.measure(moved).worst)
