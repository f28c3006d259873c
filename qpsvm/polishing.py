"""``qpsvm.polish``: improve an approximate solution to the optimum, and never worsen it.

Where a problem has a dual program over a box, that is what is polished, whichever form the problem
has: its variables are the alphas, and the weights follow. Every other problem is polished as it is.
The verifier measures every candidate, as after a solve; the certified gap decides at the end.
"""

from __future__ import annotations

import math
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
    QPSVMError,
)
from qpsvm.kkt_report import KKTReport
from qpsvm.machines.arguments import require_pair
from qpsvm.machines.dual_program import DualRecovery, dual_program
from qpsvm.machines.evaluation import Evaluation
from qpsvm.machines.primal_program import PrimalRecovery
from qpsvm.machines.problem import SVMProblem, TrainingProblem
from qpsvm.machines.reduced import ReducedProblem, ReducedSolution
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.deadline import Deadline
from qpsvm.qp.kkt import Tolerances
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution, SolveStatistics, Status
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
    _require_finite(solution.x, "x", InvalidProgramError)
    if not program.is_convex:
        program.P.require_positive_semidefinite()
    start = solution.replace(
        z=_finite_or_zero(solution.z, program.n_inequalities),
        y=_finite_or_zero(solution.y, program.n_equalities),
        z_lower=_finite_or_zero(solution.z_lower, program.n_variables),
        z_upper=_finite_or_zero(solution.z_upper, program.n_variables),
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
        _require_finite(getattr(solution, name), name, InvalidDataError)
    route: _ByAlpha | _AsItIs = _AsItIs(problem)
    if isinstance(problem, SVMProblem) and isinstance(
        problem.recovery, DualRecovery | PrimalRecovery
    ):
        route = _ByAlpha(problem)
    with np.errstate(all="ignore"):  # what overflows is measured, and not accepted
        return _polish_along(route, problem, solution, request)


def _polish_along(
    route: _ByAlpha | _AsItIs,
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


@dataclass(frozen=True, eq=False)
class _AsItIs:
    """Polish through the problem's own program."""

    problem: TrainingProblem[Any, Any]

    @property
    def program(self) -> QuadraticProgram:
        return self.problem.qp

    def start(self, solution: Any) -> QPSolution:
        qp = self.problem.to_qp(solution)
        for name in ("x", "z", "y", "z_lower", "z_upper"):
            _require_finite(getattr(qp, name), name, InvalidDataError)
        return qp.replace(statistics=_statistics(solution))

    def recover(self, qp: QPSolution) -> Any:
        return self.problem.evaluate(qp)


class _ByAlpha:
    """Polish through the dual program; weights, intercept and slack follow from alpha."""

    def __init__(self, problem: SVMProblem) -> None:
        self.problem = problem
        is_dual = isinstance(problem.recovery, DualRecovery)
        self.program = problem.qp if is_dual else dual_program(problem.model)
        self.recovery = DualRecovery(problem.model)

    def start(self, solution: SVMSolution) -> QPSolution:
        """A feasible point near the solution, with its multipliers."""
        model = self.problem.model
        point = model.feasible_dual(solution.alpha, solution.constraint_multipliers)
        b, t = (v if math.isfinite(v) else 0.0 for v in (solution.intercept, solution.width))
        x = np.concatenate([point.alpha, point.constraint_multipliers])
        qp = QPSolution(Status.UNKNOWN, x=x, z=[t], y=[b])  # type: ignore[arg-type]
        full = self.recovery.to_qp(self.recovery.recover(qp))
        return full.replace(statistics=_statistics(solution))

    def recover(self, qp: QPSolution) -> Evaluation:
        """The machine of exactly feasible alphas, in the form of the problem, evaluated."""
        model, blocks = self.problem.model, self.recovery.blocks
        x = np.asarray(qp.x)
        n = blocks["alpha"].stop
        point = model.feasible_dual(x[:n], x[n:])
        exact = qp.replace(x=np.concatenate([point.alpha, point.constraint_multipliers]))
        if isinstance(self.problem.recovery, DualRecovery):
            return self.recovery.recover(exact)
        own = self.problem.recovery.to_qp(self.recovery.recover(exact))
        evaluation: Evaluation = self.problem.evaluate(
            own.replace(status=qp.status, statistics=qp.statistics, native_status=qp.native_status)
        )
        return evaluation


# --- small pieces ---------------------------------------------------------------------------------


def _statistics(solution: Any) -> SolveStatistics:
    """The statistics of a solver's solution; empty ones for solutions from elsewhere."""
    return solution.qp.statistics if isinstance(solution.qp, QPSolution) else SolveStatistics()


def _finite_or_zero(vector: Vector | None, size: int) -> Vector:
    if vector is None or vector.shape != (size,):
        return np.zeros(size)
    return np.where(np.isfinite(vector), vector, 0.0)


def _require_finite(vector: Any, name: str, error: type[QPSVMError]) -> None:
    if vector is None:
        raise error(f"The solution has no {name}; polish needs a point to begin with.")
    bad = np.argwhere(~np.isfinite(vector))
    if len(bad):
        where = ", ".join(map(str, bad[0]))
        raise error(
            f"{name}[{where}] of the solution is {vector[tuple(bad[0])]} ({len(bad)} such "
            "entries); polish needs finite numbers to begin with."
        )
