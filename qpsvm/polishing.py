"""``qpsvm.polish``: improve an approximate solution to the optimum, and never worsen it.

Where a problem has a dual program over a box, that is what is polished, whichever form the problem
has: its variables are the alphas, and the weights follow. Every other problem is polished as it is.
The verifier measures every candidate, as after a solve; the certified gap decides at the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np

from qpsvm.backends.settings import Callback, Progress
from qpsvm.contract import Solvable
from qpsvm.exceptions import (
    InvalidDataError,
    InvalidParameterError,
)
from qpsvm.kkt_report import KKTReport
from qpsvm.machines.arguments import require_pair
from qpsvm.machines.problem import MachineProblem
from qpsvm.machines.reduced import ReducedProblem, ReducedSolution
from qpsvm.numerics.deadline import Deadline
from qpsvm.polish_routes import polish_route, require_finite_vector
from qpsvm.qp.kkt_residuals import Tolerances
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import Status
from qpsvm.solvers.polish.dispatch import polish as polish_program
from qpsvm.solvers.work_budget import WorkBudget
from qpsvm.verification import verify_evaluated

Solution = TypeVar("Solution")


def polish(
    problem: Solvable[Solution],
    solution: Solution,
    *,
    eps: float = 1e-10,
    time_limit: float | None = None,
    callback: Callback | None = None,
    memory_limit: int | None = None,
) -> Solution:
    r"""Improve any approximate solution, to the optimum if possible.

    A proximal primal-dual active-set method (``docs/polish.md``): the active set that the solution
    suggests turns the optimality conditions into linear equations ::

        (P_FF + s I) x_F + A_F' y = s c_F - q_F - P_FB x_B,     A x = b

    Parameters
    ----------
    problem : SVMProblem, JointProblem, ReducedProblem or QuadraticProgram
        The problem that the solution is one of.
    solution : SVMSolution, JointSolution, ReducedSolution or QPSolution
        From any source and of any quality; only its alphas (a program's x) have to be finite.
    eps : float
        Relative accuracy at which to stop: certified gap and scaled KKT residuals. The last step
        usually goes far below.
    time_limit : float, optional
        Seconds of wall clock, looked at between steps.
    callback : callable, optional
        Receives ``qpsvm.backends.Progress`` events with the number of factorisations so far and the
        residual; returning False ends the search with what was found.
    memory_limit : int, optional
        Bytes for matrices (default: a quarter of the machine's memory).

    Returns
    -------
    SVMSolution, JointSolution, ReducedSolution or QPSolution
        Of the type and form of ``solution``, with a smaller certified gap (of a QuadraticProgram:
        a smaller worst scaled KKT residual) and ``status`` OPTIMAL exactly when ``qpsvm.verify``
        passes at ``eps``; or ``solution`` itself, if it passes already or nothing better was found.

    Raises
    ------
    InvalidDataError
        The solution has NaN or infinite alphas, or belongs to another problem.
    InvalidProgramError
        The same for the x of a QPSolution.
    NotPositiveSemidefiniteError
        A program that is not convex.
    InvalidParameterError
        eps out of (0, 1), a time limit that is not above 0, or arguments of the wrong kind.

    Notes
    -----
    Of a kernel matrix only the columns of variables that change are evaluated, and no matrix of n x
    n numbers is ever formed.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.SoftMargin(C=1.0).dual([[0.0], [1.0], [3.0], [4.0]], [-1, -1, 1, 1])
    >>> rough = qpsvm.solve(problem, "osqp", eps=1e-2)
    >>> exact = qpsvm.polish(problem, rough)
    >>> qpsvm.certify(problem, exact).relative_gap < 1e-12
    True
    """
    Tolerances(eps)  # the rule for eps is there
    is_number = isinstance(time_limit, int | float | np.integer | np.floating)
    if time_limit is not None and not (is_number and time_limit > 0):
        raise InvalidParameterError(f"time_limit is {time_limit!r}; pass seconds above 0, or None.")
    if callback is not None and not callable(callback):
        raise InvalidParameterError(f"callback is {callback!r}; pass a function of one event.")
    if memory_limit is not None and not isinstance(memory_limit, int | np.integer):
        raise InvalidParameterError(f"memory_limit is {memory_limit!r}; pass bytes, or None.")
    require_pair("polish", problem, solution, programs=True)
    deadline = Deadline.after(time_limit)
    request = _Request(eps, deadline, callback, memory_limit, deadline.clock())
    return cast(Solution, _polished(problem, solution, request))


def _polished(problem: Any, solution: Any, request: _Request) -> object:
    """The polished solution of any kind of problem."""
    if isinstance(problem, QuadraticProgram):
        return request.polished(problem, solution)
    if isinstance(problem, ReducedProblem):
        found = tuple(_polish_machine(*part, request) for part in problem.parts(solution))
        if all(new is old for new, old in zip(found, solution.solutions, strict=True)):
            return solution
        return ReducedSolution(found, solution.data, solution.reduction)
    return _polish_machine(problem, solution, request)


@dataclass(frozen=True)
class _Request:
    """Accuracy, limits and callback of one call of ``polish``."""

    eps: float
    deadline: Deadline
    callback: Callback | None
    memory_limit: int | None
    began: float

    def budget(self, label: str) -> WorkBudget:
        """A work budget without a limit, which deadline and callback end."""
        watch = None if self.callback is None else lambda budget: self.goes_on(budget, label)
        return WorkBudget(watch=watch, deadline=self.deadline)

    def goes_on(self, budget: WorkBudget, label: str) -> bool:
        """Report progress to the callback; return False when it asks to stop."""
        seconds = self.deadline.clock() - self.began
        event = Progress("polish", label, budget.factorisations, seconds, residual=budget.residual)
        return self.callback is None or self.callback(event) is not False

    def score(self, report: KKTReport) -> float:
        """Distance from passing: ``1 + gap`` while the gap is too large, then the worst check."""
        gap = report.relative_gap
        return min(report.worst, 1.0) if gap <= self.eps else 1.0 + gap

    def report(self, problem: Any, evaluated: Any) -> KKTReport:
        """The verifier's report on an evaluated solution."""
        return verify_evaluated(problem, evaluated, eps=self.eps)

    def polished(self, problem: Any, solution: Any) -> object:
        """Polish a solution along the problem's route; return it or a better one."""
        route = polish_route(problem)
        start = route.start(solution)
        is_program = isinstance(problem, QuadraticProgram)
        before = self.report(problem, solution if is_program else problem.evaluate(solution))
        if before.passed:
            return solution
        found = polish_program(
            route.program,
            start,
            goal=self.eps,
            measure=lambda qp: self.score(self.report(problem, route.evaluate(qp))),
            budget=self.budget(start.statistics.backend),
            memory_limit=self.memory_limit,
        )
        evaluated = route.evaluate(found)
        after = self.report(problem, evaluated)
        if not _is_better(after, before):
            return solution
        status = Status.OPTIMAL if after.passed else Status.INACCURATE
        if is_program:
            return found.replace(status=status)
        machine = evaluated.solution
        return machine.replace(qp=machine.qp.replace(status=status))


def _polish_machine(problem: MachineProblem, solution: object, request: _Request) -> Any:
    problem.model.require_own(solution)
    for name in ("alpha", "constraint_multipliers"):
        require_finite_vector(getattr(solution, name), name, InvalidDataError)
    with np.errstate(all="ignore"):  # what overflows is measured, and not accepted
        return request.polished(problem, solution)


def _is_better(after: KKTReport, before: KKTReport) -> bool:
    """Return whether the gap of a machine fell, at no more than ``eps`` of its constraints' cost.

    Of a bare program, return whether the worst check did.
    """
    if after.certificate is None or before.certificate is None:
        return after.worst < before.worst
    missed = max(before.certificate.infeasibility, before.eps)
    falls = after.certificate.relative_gap < before.certificate.relative_gap
    return falls and after.certificate.infeasibility <= missed
