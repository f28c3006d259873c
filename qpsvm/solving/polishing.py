"""``qpsvm.polish``: improve an approximate solution to the optimum, and never worsen it.

Where a problem has a dual program over a box, that is what is polished, whichever form the problem
has: its variables are the alphas, and the weights follow. Every other problem is polished as it is.
The verifier measures every candidate, as after a solve; the certified gap decides at the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np

from qpsvm.backends.settings import Callback, Progress, Settings
from qpsvm.exceptions import (
    InvalidDataError,
    InvalidParameterError,
    InvalidProgramError,
    QPSVMError,
)
from qpsvm.machines.arguments import require_pair, takes_pair
from qpsvm.machines.dual_program import DualRecovery, dual_program
from qpsvm.machines.evaluation import Evaluation
from qpsvm.machines.primal_program import PrimalRecovery
from qpsvm.machines.problem import MachineProblem, Program, SVMProblem, TrainingProblem
from qpsvm.machines.reduced import ReducedProblem, ReducedSolution
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arguments import explains_calls, is_false
from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.interrupts import Deadline, without_solution
from qpsvm.qp.bounds import repaired
from qpsvm.qp.kkt import residuals
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution, SolveStatistics, Status
from qpsvm.solvers.budget import WorkBudget
from qpsvm.solvers.polish import polish as polish_program
from qpsvm.solving.attempts import (
    Attempt,
    Solution,
    Solvable,
    breaks_a_constraint,
    distance,
    is_blocked,
)
from qpsvm.verification import KKTReport, verify_evaluated

# --- what a polish within a solve reduces --------------------------------------------------------

OF_ROWS = ("inequality", "equality", "lower_bound", "upper_bound")
"""Names of the residuals of rows and bounds."""

OF_FEASIBILITY = frozenset({*OF_ROWS, "feasibility", "natural", "certified_gap"})
"""Names of the checks that a point passes once it is moved onto the rows and bounds it misses."""

NEARER = 0.5
"""Share of what an earlier point missed the rows by, at which another search for a point that
satisfies them is worth its time."""


def polish_distance(start: Attempt) -> Callable[[QPSolution], float]:
    """Distance of a polish's candidates from optimality: the worst check, which polish reduces.

    A candidate that misses rows or bounds counts as the nearest point that satisfies them. Without
    this, a polish would go on because of a row all of whose terms are rounding.

    Parameters
    ----------
    start : Attempt
        The answer that the polish begins with.
    """
    run, least_missed = start.run, math.inf

    def distance_of(candidate: QPSolution) -> float:
        nonlocal least_missed
        missed = 0.0
        if not run.is_always_feasible:  # a search for a feasible point pays near one only
            if isinstance(run.problem, QuadraticProgram):
                measured = residuals(run.problem, run.route.own(candidate))
            else:
                measured = residuals(run.program, candidate)
            within = run.eps
            names = {r.name for r in measured if r.name != "natural" and not r.scaled <= within}
            if not names <= OF_FEASIBILITY:
                return measured.worst
            missed = max(r.scaled for r in measured if r.name in OF_ROWS)
            if missed > NEARER * least_missed:  # no nearer to the rows than what was blocked
                return 1.0 + measured.worst
        is_start = candidate is start.solution
        report = start.report if is_start else run.attempt(candidate).report
        failed = {check.name for check in report.checks if not check.passed}
        if is_blocked(report) or breaks_a_constraint(report):
            least_missed = min(least_missed, missed)
            return distance(report)
        if run.is_always_feasible or not failed or not failed <= OF_FEASIBILITY:
            return report.worst
        moved = next(repaired(run.program, candidate), candidate)
        return min(report.worst, run.attempt(moved).report.worst)

    return distance_of


# --- programs through which a machine is polished, with the maps of solutions back --------------


@dataclass(frozen=True, eq=False)
class OfProgram:
    """Polish route of a QuadraticProgram: the program itself."""

    program: QuadraticProgram

    def start(self, solution: QPSolution) -> QPSolution:
        """The solution, with zeros for multipliers that are missing or not finite."""
        require_finite_vector(solution.x, "x", InvalidProgramError)
        if not self.program.is_convex:
            self.program.P.require_positive_semidefinite()
        return solution.replace(
            z=finite_or_zero(solution.z, self.program.n_inequalities),
            y=finite_or_zero(solution.y, self.program.n_equalities),
            z_lower=finite_or_zero(solution.z_lower, self.program.n_variables),
            z_upper=finite_or_zero(solution.z_upper, self.program.n_variables),
        )

    def evaluate(self, qp: QPSolution) -> QPSolution:
        """Return the solution unchanged: a program needs no map."""
        return qp


@dataclass(frozen=True, eq=False)
class OfProblem:
    """Polish route of a training problem through its own quadratic program."""

    problem: MachineProblem

    @property
    def program(self) -> QuadraticProgram:
        return self.problem.qp

    def start(self, solution: object) -> QPSolution:
        """Build the solution of the program from the machine."""
        qp = self.problem.to_qp(solution)
        for name in ("x", "z", "y", "z_lower", "z_upper"):
            require_finite_vector(getattr(qp, name), name, InvalidDataError)
        return qp.replace(statistics=statistics_of(solution))

    def evaluate(self, qp: QPSolution) -> Any:
        """Recover and evaluate the machine of a program's solution."""
        return self.problem.evaluate(qp)


class ByAlpha:
    """Polish through the dual program; weights, intercept and slack follow from alpha."""

    def __init__(self, problem: SVMProblem) -> None:
        self.problem = problem
        is_dual = isinstance(problem.recovery, DualRecovery)
        self.program = problem.qp if is_dual else dual_program(problem.model)
        self.recovery = DualRecovery(problem.model)

    def start(self, solution: SVMSolution) -> QPSolution:
        """Find a feasible dual point near the solution, with its multipliers."""
        model = self.problem.model
        point = model.feasible_dual(solution.alpha, solution.constraint_multipliers)
        b, t = (v if math.isfinite(v) else 0.0 for v in (solution.intercept, solution.width))
        x = np.concatenate([point.alpha, point.constraint_multipliers])
        qp = QPSolution(Status.UNKNOWN, x=x, z=[t], y=[b])  # type: ignore[arg-type]
        full = self.recovery.to_qp(self.recovery.recover(qp))
        return full.replace(statistics=statistics_of(solution))

    def evaluate(self, qp: QPSolution) -> Evaluation:
        """Evaluate the machine of exactly feasible alphas, in the problem's form."""
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


def polish_route(problem: MachineProblem) -> OfProblem | ByAlpha:
    """Choose the dual program over a box, if the problem has one, else its own program."""
    if isinstance(problem, SVMProblem) and isinstance(
        problem.recovery, DualRecovery | PrimalRecovery
    ):
        return ByAlpha(problem)
    return OfProblem(problem)


def statistics_of(solution: Any) -> SolveStatistics:
    """The statistics of a solver's solution; empty ones for solutions from elsewhere."""
    return solution.qp.statistics if isinstance(solution.qp, QPSolution) else SolveStatistics()


def finite_or_zero(vector: Vector | None, size: int) -> Vector:
    """Replace a missing vector, or non-finite entries, by zeros."""
    if vector is None or vector.shape != (size,):
        return np.zeros(size)
    return np.where(np.isfinite(vector), vector, 0.0)


def require_finite_vector(vector: Vector | None, name: str, error: type[QPSVMError]) -> None:
    """Raise an error unless a vector is present and finite."""
    if vector is None:
        raise error(f"The solution has no {name}; polish needs a point to begin with.")
    bad = np.argwhere(~np.isfinite(vector))
    if len(bad):
        where = ", ".join(map(str, bad[0]))
        raise error(
            f"{name}[{where}] of the solution is {vector[tuple(bad[0])]} ({len(bad)} such "
            "entries); polish needs finite numbers to begin with."
        )


# --- the public function -------------------------------------------------------------------------


@takes_pair
@explains_calls
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
    with without_solution():
        better: Solution = polished(
            problem, Polishing(eps, deadline, callback, memory_limit), solution
        )
        return better


class Polishing:
    """A request to polish: the accuracy, and what ends the search.

    Parameters
    ----------
    eps : float
    deadline : Deadline
    callback : callable or None
    memory_limit : int or None
    """

    def __init__(
        self, eps: float, deadline: Deadline, callback: Callback | None, memory_limit: int | None
    ) -> None:
        self.eps, self.deadline = eps, deadline
        self.callback, self.memory_limit = callback, memory_limit
        self.began = deadline.clock()

    def report_progress(self, budget: WorkBudget, label: str) -> bool:
        """Report progress to the callback; return False when it asks to stop."""
        seconds = self.deadline.clock() - self.began
        event = Progress("polish", label, budget.factorisations, seconds, residual=budget.residual)
        return self.callback is None or not is_false(self.callback(event))

    def improved(
        self, problem: Program, route: OfProgram | OfProblem | ByAlpha, given: Any
    ) -> tuple[Any, Status]:
        """Search for a better solution; return it, evaluated, or None, and the status to state."""
        start = route.start(given)
        evaluated = problem.evaluate(given) if isinstance(problem, TrainingProblem) else given
        before = verify_evaluated(problem, evaluated, eps=self.eps)
        if before.passed:
            return None, Status.OPTIMAL

        def measure(qp: QPSolution) -> float:
            report = verify_evaluated(problem, route.evaluate(qp), eps=self.eps)
            # ``1 + gap`` while the gap is too large, then the worst check
            gap = report.relative_gap
            return min(report.worst, 1.0) if gap <= self.eps else 1.0 + gap

        label, is_watched = start.statistics.backend, self.callback is not None
        watch = (lambda budget: self.report_progress(budget, label)) if is_watched else None
        found = polish_program(
            route.program,
            start,
            goal=self.eps,
            measure=measure,
            budget=WorkBudget(watch=watch, deadline=self.deadline),
            memory_limit=self.memory_limit,
        )
        better = route.evaluate(found)
        after = verify_evaluated(problem, better, eps=self.eps)
        if _is_better(after, before):
            return better, Status.OPTIMAL if after.passed else Status.INACCURATE
        # a solution that is returned as it is may state something about a larger eps
        is_stated = given.status is not Status.OPTIMAL
        return None, given.status if is_stated else Status.INACCURATE


@singledispatch
def polished(problem: Any, polishing: Polishing, solution: Any) -> Any:
    """Polish a solution of a problem in memory; return it if nothing is better."""
    raise NotImplementedError(type(problem), polishing, solution)


@polished.register
def _program(problem: QuadraticProgram, polishing: Polishing, solution: QPSolution) -> QPSolution:
    found, status = polishing.improved(problem, OfProgram(problem), solution)
    better: QPSolution = solution if found is None else found
    return better if better.status is status else better.replace(status=status)


@polished.register(TrainingProblem)
def _machine(problem: MachineProblem, polishing: Polishing, solution: Any) -> Any:
    problem.model.require_own(solution)
    for name in ("alpha", "constraint_multipliers"):
        require_finite_vector(getattr(solution, name), name, InvalidDataError)
    with np.errstate(all="ignore"):  # what overflows is measured, and not accepted
        found, status = polishing.improved(problem, polish_route(problem), solution)
    machine = solution if found is None else found.solution
    if machine.status is status:
        return machine
    return machine.replace(qp=machine.qp.replace(status=status))


@polished.register
def _reduced(
    problem: ReducedProblem, polishing: Polishing, solution: ReducedSolution
) -> ReducedSolution:
    found = tuple(_machine(own, polishing, machine) for own, machine in problem.parts(solution))
    if all(new is old for new, old in zip(found, solution.solutions, strict=True)):
        return solution
    return ReducedSolution(found, solution.data, solution.reduction)


def _is_better(after: KKTReport, before: KKTReport) -> bool:
    """Return whether the gap of a machine fell, at no more than ``eps`` of its constraints' cost.

    Of a bare program, return whether the worst check did.
    """
    if after.certificate is None or before.certificate is None:
        return after.worst < before.worst
    missed = max(before.certificate.infeasibility, before.eps)
    falls = after.certificate.relative_gap < before.certificate.relative_gap
    return falls and after.certificate.infeasibility <= missed
