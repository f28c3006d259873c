"""``qpsvm.polish``: improve an approximate solution to the optimum, and never worsen it.

Where a problem has a dual program over a box, that is what is polished, whichever form the problem
has: its variables are the alphas, and the weights follow. Every other problem is polished as it is.
The verifier measures every candidate, as after a solve; the certified gap decides at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np

from qpsvm.backends.settings import Callback, Progress
from qpsvm.certificates.certifying import certificate_of
from qpsvm.contract import Solvable
from qpsvm.exceptions import (
    InvalidDataError,
    InvalidParameterError,
    InvalidProgramError,
)
from qpsvm.kkt_report import KKTReport
from qpsvm.machines.arguments import require_pair
from qpsvm.machines.dual_program import DualRecovery
from qpsvm.machines.primal_program import PrimalRecovery
from qpsvm.machines.problem import SVMProblem, TrainingProblem
from qpsvm.machines.reduced import ReducedProblem, ReducedSolution
from qpsvm.numerics.deadline import Deadline
from qpsvm.polish_routes import AsItIs, ByAlpha, finite_or_zero, require_finite_vector
from qpsvm.qp.kkt_residuals import Tolerances
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution, Status
from qpsvm.solvers.polish.dispatch import polish as polish_program
from qpsvm.solvers.work_budget import WorkBudget
from qpsvm.verification import verify, verify_evaluated

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


def _polished(problem: Any, solution: Any, request: _Request) -> Any:
    """The polished solution of any kind of problem."""
    if isinstance(problem, QuadraticProgram) and isinstance(solution, QPSolution):
        return _polish_program(problem, solution, request)
    if isinstance(problem, ReducedProblem) and isinstance(solution, ReducedSolution):
        found = tuple(_polish_machine(*part, request) for part in problem.parts(solution))
        if all(new is old for new, old in zip(found, solution.solutions, strict=True)):
            return solution
        return ReducedSolution(found, solution.data, solution.reduction)
    if isinstance(problem, TrainingProblem) and isinstance(solution, problem.solution_type):
        return _polish_machine(problem, solution, request)
    raise InvalidParameterError(
        "polish takes (SVMProblem, SVMSolution) or (QuadraticProgram, QPSolution), got "
        f"({type(problem).__name__}, {type(solution).__name__})."
    )


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
        """Tell the callback how far the polish is; return False when it asks to stop."""
        seconds = self.deadline.clock() - self.began
        event = Progress("polish", label, budget.factorisations, seconds, residual=budget.residual)
        return self.callback is None or self.callback(event) is not False

    def score(self, report: KKTReport) -> float:
        """``1 + gap`` while the gap is too large, then the worst check (at most 1)."""
        gap = report.relative_gap
        return min(report.worst, 1.0) if gap <= self.eps else 1.0 + gap

    def polish(
        self,
        program: QuadraticProgram,
        start: QPSolution,
        report: Callable[[QPSolution], KKTReport],
    ) -> QPSolution:
        """Polish a program's solution; its status is the verifier's verdict."""
        found = polish_program(
            program,
            start,
            goal=self.eps,
            measure=lambda candidate: self.score(report(candidate)),
            budget=self.budget(start.statistics.backend),
            memory_limit=self.memory_limit,
        )
        passed = report(found).passed
        return found.replace(status=Status.OPTIMAL if passed else Status.INACCURATE)


# --- bare programs --------------------------------------------------------------------------------


def _polish_program(
    program: QuadraticProgram, solution: QPSolution, request: _Request
) -> QPSolution:
    require_finite_vector(solution.x, "x", InvalidProgramError)
    if not program.is_convex:
        program.P.require_positive_semidefinite()
    start = solution.replace(
        z=finite_or_zero(solution.z, program.n_inequalities),
        y=finite_or_zero(solution.y, program.n_equalities),
        z_lower=finite_or_zero(solution.z_lower, program.n_variables),
        z_upper=finite_or_zero(solution.z_upper, program.n_variables),
    )
    before = verify(program, solution, eps=request.eps)
    if before.passed:
        return solution
    found = request.polish(program, start, lambda qp: verify(program, qp, eps=request.eps))
    after = verify(program, found, eps=request.eps)
    return found if after.worst < before.worst else solution


# --- machines -------------------------------------------------------------------------------------


def _polish_machine(problem: TrainingProblem[Any, Any], solution: Any, request: _Request) -> Any:
    problem.model.require_own(solution)
    for name in ("alpha", "constraint_multipliers"):
        require_finite_vector(getattr(solution, name), name, InvalidDataError)
    route: ByAlpha | AsItIs = AsItIs(problem)
    if isinstance(problem, SVMProblem) and isinstance(
        problem.recovery, DualRecovery | PrimalRecovery
    ):
        route = ByAlpha(problem)
    with np.errstate(all="ignore"):  # what overflows is measured, and not accepted
        return _polish_along(route, problem, solution, request)


def _polish_along(
    route: ByAlpha | AsItIs,
    problem: TrainingProblem[Any, Any],
    solution: Any,
    request: _Request,
) -> Any:
    start = route.start(solution)
    given = problem.evaluate(solution)
    if verify_evaluated(problem, given, eps=request.eps).passed:
        return solution
    found = request.polish(
        route.program,
        start,
        lambda qp: verify_evaluated(problem, route.recover(qp), eps=request.eps),
    )
    polished = route.recover(found)
    before, after = (certificate_of(problem.model, one) for one in (given, polished))
    is_better = after.relative_gap < before.relative_gap
    missed = max(before.infeasibility, request.eps)
    return polished.solution if is_better and after.infeasibility <= missed else solution


# --- small pieces ---------------------------------------------------------------------------------
