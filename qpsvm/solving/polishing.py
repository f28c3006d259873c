"""``qpsvm.polish``: improve an approximate solution to the optimum, and never worsen it.

Where a problem has a dual program over a box, that is what is polished, whichever form the problem
has: its variables are the alphas, and the weights follow. Every other problem is polished as it is.
The verifier measures every candidate, as after a solve; the certified gap decides at the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, cast

import numpy as np

from qpsvm.backends.settings import Callback, Progress, Settings
from qpsvm.exceptions import InvalidDataError, InvalidParameterError
from qpsvm.machines.arguments import require_pair, takes_pair
from qpsvm.machines.problem import MachineProblem, Program
from qpsvm.machines.reduced import ReducedProblem, ReducedSolution
from qpsvm.numerics.calls import explains_calls
from qpsvm.numerics.deadline import Deadline
from qpsvm.numerics.interrupts import without_solution
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution, Status
from qpsvm.solvers.common import WorkBudget
from qpsvm.solvers.polish import polish as polish_program
from qpsvm.solving.polish_routes import OfProgram, Route, polish_route, require_finite_vector
from qpsvm.verification import KKTReport, verify_evaluated

AnySolution_contra = TypeVar("AnySolution_contra", contravariant=True)
AnySolution = TypeVar("AnySolution")


class Polishable(Protocol[AnySolution_contra]):
    """Protocol of problems for ``polish``: a problem in memory, and the type of its solution."""

    def accept(self, visitor: Polishing, solution: AnySolution_contra) -> object: ...


@takes_pair
@explains_calls
def polish(
    problem: Polishable[AnySolution],
    solution: AnySolution,
    *,
    eps: float = 1e-10,
    time_limit: float | None = None,
    callback: Callback | None = None,
    memory_limit: int | None = None,
) -> AnySolution:
    r"""Improve any approximate solution, to the optimum if possible.

    A proximal primal-dual active-set method (``docs/polish.md``): the active set that the solution
    suggests turns the optimality conditions into linear equations

    .. math::

        (P_{FF} + s I) x_F + A_F^\top y = s c_F - q_F - P_{FB} x_B, \quad A x = b

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
    Settings(eps=eps, time_limit=time_limit, callback=callback)  # the rules are there
    is_whole = isinstance(memory_limit, int | np.integer) and not isinstance(memory_limit, bool)
    if memory_limit is not None and not (is_whole and memory_limit >= 1):
        raise InvalidParameterError(
            f"memory_limit is {memory_limit!r}; pass a whole number of bytes above 0, or None."
        )
    require_pair("polish", problem, solution, programs=True)
    deadline = Deadline.after(time_limit)
    request = Polishing(eps, deadline, callback, memory_limit, deadline.clock())
    with without_solution():
        return cast(AnySolution, problem.accept(request, solution))


@dataclass(frozen=True)
class Polishing:
    """Polishing of approximate solutions, with a method for every kind of problem in memory.

    Attributes
    ----------
    eps : float
    deadline : Deadline
    callback : callable or None
    memory_limit : int or None
    began : float
        Reading of the deadline's clock.
    """

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

    def program(self, problem: QuadraticProgram, solution: QPSolution) -> QPSolution:
        """Polish a solution of a bare quadratic program; return it if nothing is better."""
        route = OfProgram(problem)
        found, status = self._improved(problem, route, route.start(solution), solution)
        if found is None:
            status = _status_of_unchanged(solution.status, status)
        better: QPSolution = solution if found is None else found
        return better if better.status is status else better.replace(status=status)

    def machine(self, problem: MachineProblem, solution: Any) -> Any:
        """Polish a trained machine; return it if nothing is better."""
        problem.model.require_own(solution)
        for name in ("alpha", "constraint_multipliers"):
            require_finite_vector(getattr(solution, name), name, InvalidDataError)
        with np.errstate(all="ignore"):  # what overflows is measured, and not accepted
            route = polish_route(problem)
            start = route.start(solution)
            found, status = self._improved(problem, route, start, problem.evaluate(solution))
        if found is None:
            status = _status_of_unchanged(solution.status, status)
        machine = solution if found is None else found.solution
        if machine.status is status:
            return machine
        return machine.replace(qp=machine.qp.replace(status=status))

    def reduced(self, problem: ReducedProblem, solution: ReducedSolution) -> ReducedSolution:
        """Polish every machine of a multiclass solution."""
        found = tuple(self.machine(*part) for part in problem.parts(solution))
        if all(new is old for new, old in zip(found, solution.solutions, strict=True)):
            return solution
        return ReducedSolution(found, solution.data, solution.reduction)

    def _improved(
        self, problem: Program, route: Route, start: QPSolution, evaluated: Any
    ) -> tuple[Any, Status]:
        """Search for a better solution; return it, evaluated, or None, and the status found."""
        before = verify_evaluated(problem, evaluated, eps=self.eps)
        if before.passed:
            return None, Status.OPTIMAL

        def measure(qp: QPSolution) -> float:
            report = verify_evaluated(problem, route.evaluate(qp), eps=self.eps)
            # ``1 + gap`` while the gap is too large, then the worst check
            gap = report.relative_gap
            return min(report.worst, 1.0) if gap <= self.eps else 1.0 + gap

        found = polish_program(
            route.program,
            start,
            goal=self.eps,
            measure=measure,
            budget=self.budget(start.statistics.backend),
            memory_limit=self.memory_limit,
        )
        better = route.evaluate(found)
        after = verify_evaluated(problem, better, eps=self.eps)
        if not _is_better(after, before):
            return None, Status.INACCURATE
        return better, Status.OPTIMAL if after.passed else Status.INACCURATE


def _status_of_unchanged(stated: Status, measured: Status) -> Status:
    """Status of a solution that is returned as it is: what it states may be about a larger eps."""
    is_certain = measured is Status.OPTIMAL or stated is Status.OPTIMAL
    return measured if is_certain else stated


def _is_better(after: KKTReport, before: KKTReport) -> bool:
    """Return whether the gap of a machine fell, at no more than ``eps`` of its constraints' cost.

    Of a bare program, return whether the worst check did.
    """
    if after.certificate is None or before.certificate is None:
        return after.worst < before.worst
    missed = max(before.certificate.infeasibility, before.eps)
    falls = after.certificate.relative_gap < before.certificate.relative_gap
    return falls and after.certificate.infeasibility <= missed
