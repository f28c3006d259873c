"""The tolerance contract: solve, verify, polish, escalate, look for evidence of no optimum.

In order:

1. the backend solves with all of its tolerances derived from ``eps``;
2. the verifier measures; within ``eps``: OPTIMAL;
3. otherwise, for an SVM that need not have a solution and an answer far from one: look for
   evidence that there is none, for a second at most, and verify that;
4. otherwise move the answer onto rows and bounds that it misses by little, and measure again;
   then polish (``qpsvm.solvers.polish.dispatch``), and measure again;
5. otherwise ask the backend once more, with a hundredth of ``eps`` and without a warm start,
   polish, and measure;
6. otherwise look for evidence that there is no optimum, and verify that;
7. otherwise INACCURATE, or the limit that was hit, with the figures reached.

Solver, polish and search work on a reduced program (``qpsvm.qp.reductions``): large offsets taken
out, rows and variables of very different sizes scaled; of a badly scaled dual problem the primal
program (``qpsvm.machines.routes``). Its solutions are mapped back before they are measured: the
verifier only sees the problem as it was given.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from qpsvm.backends.base import Backend, Progress, Settings
from qpsvm.backends.printing import line_of
from qpsvm.certificates import certify_infeasible
from qpsvm.kkt_report import KKTReport
from qpsvm.machines.problem import SVMProblem, TrainingProblem
from qpsvm.machines.routes import Direct, Route
from qpsvm.qp.bounds import repaired
from qpsvm.qp.infeasibility import find_infeasibility, find_unboundedness
from qpsvm.qp.kkt import checked_vectors, residuals
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution, Status
from qpsvm.solvers.polish.dispatch import polish
from qpsvm.verification import verify

SMALL_RESIDUAL = 1e-4
"""A point this close to optimal belongs to a program that has an optimum."""

SEARCH_SECONDS = 10.0
"""Longest search for evidence by each of the two linear programs."""

FIRST_SEARCH_SECONDS = 1.0
"""The same for the search before the polish: a few hundred samples take milliseconds of it, and a
large program should not wait for evidence longer than for the polish."""

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
"""Checks that a point fails because it misses rows or bounds; moving it there mends them."""

NO_WARM_START = "the warm start was not used: this backend cannot begin at a given point"

_STOPPED = (Status.ITERATION_LIMIT, Status.TIME_LIMIT, Status.INTERRUPTED)
_NO_OPTIMUM = (Status.PRIMAL_INFEASIBLE, Status.DUAL_INFEASIBLE)


@dataclass(frozen=True, eq=False)
class Contract:
    """One solve: what to solve, with what, and how its answers are measured.

    Attributes
    ----------
    problem : TrainingProblem or QuadraticProgram
    route : Route
        The program that is solved, and the way back to the problem.
    backend : Backend
    settings : Settings
        Its warm start is a solution of the program as given.
    """

    problem: TrainingProblem[Any, Any] | QuadraticProgram
    route: Route
    backend: Backend
    settings: Settings

    @property
    def program(self) -> QuadraticProgram:
        """The reduced program, which solver, polish and search for evidence work on."""
        return self.route.reduced.program

    def measure(self, solution: QPSolution) -> KKTReport:
        """The verifier's report on a solution of the reduced program, mapped back."""
        return verify(self.problem, self.route.machine(solution), eps=self.settings.eps)

    def is_proof(self, evidence: QPSolution) -> bool:
        """Whether the vectors prove that there is no optimum."""
        if not self.can_lack_an_optimum:
            return False
        return certify_infeasible(self.problem, self.route.own(evidence)).passed

    @property
    def can_lack_an_optimum(self) -> bool:
        """False for an SVM without hard conditions and constraints: it is feasible and bounded.

        Also where another program than the problem's is solved: its evidence is none of the
        problem's program.
        """
        if not isinstance(self.route, Direct):
            return False
        problem = self.problem
        return not (isinstance(problem, TrainingProblem) and problem.model.always_has_an_optimum)

    def is_at_rounding(self, outcome: Attempt) -> bool:
        """Whether nothing but rounding keeps an answer from passing.

        The program that was solved is solved to ``eps``, and the machine's certified gap is within
        ``eps`` or within what rounding can add to it. What is left comes from evaluating the
        problem as it was given, where another point as good would miss as much.
        """
        report, eps = outcome.report, self.settings.eps
        rounding = 0.0 if report.certificate is None else report.certificate.rounding
        if report.passed or not report.relative_gap <= max(eps, rounding):
            return False
        if self.program is getattr(self.problem, "qp", self.problem) and rounding <= eps:
            return False  # the same residuals as the report's
        return verify(self.program, outcome.solution, eps=eps).passed


@dataclass(frozen=True, eq=False)
class Attempt:
    """A solution with its final status, and the report that status rests on.

    Attributes
    ----------
    solution : QPSolution
        While the contract is carried out: of the program that is solved.
    report : KKTReport
    machine : SVMSolution, JointSolution or QPSolution
        The problem's solution, once the contract is carried out.
    is_at_rounding : bool
        Whether nothing but rounding keeps the answer from passing, once it is carried out.
    """

    solution: QPSolution
    report: KKTReport
    machine: Any = None
    is_at_rounding: bool = False

    def better_of(self, other: Attempt) -> Attempt:
        """Return whichever of two attempts the verifier measures to be closer to optimal."""
        return other if other.report.worst < self.report.worst else self


def fulfil(contract: Contract) -> Attempt:
    """Carry the contract out, step by step; see the module's docstring."""
    settings, began = contract.settings, time.perf_counter()
    if settings.warm_start is not None:
        settings = settings.replace(warm_start=contract.route.start(settings.warm_start))
    outcome = _attempt(contract, settings)
    seconds = time.perf_counter() - began
    if _may_escalate(outcome, settings, seconds) and not contract.is_at_rounding(outcome):
        _announce(contract, "escalate", seconds, outcome)
        tighter = settings.replace(
            eps=max(settings.eps / 100, 1e-15),
            attempt=1,
            warm_start=None,
            time_limit=_remaining(settings.time_limit, seconds),
        )
        second = _attempt(contract, tighter)
        spent = outcome.solution.statistics.solve_seconds
        outcome = second if is_settled(second) else outcome.better_of(second)
        total = spent + second.solution.statistics.solve_seconds
        outcome = replace(
            outcome, solution=outcome.solution.with_statistics(solve_seconds=total, escalated=True)
        )
    if not is_settled(outcome):
        outcome = _evidence(contract, outcome, SEARCH_SECONDS) or outcome
    if outcome.solution.status not in _NO_OPTIMUM:
        outcome = replace(outcome, solution=outcome.solution.replace(status=_verdict(outcome)))
    _announce(contract, "done", time.perf_counter() - began, outcome)
    return _finished(contract, outcome)


def _finished(contract: Contract, outcome: Attempt) -> Attempt:
    """Add the problem's own solution; statistics say which program was solved."""
    solution = outcome.solution
    notes = filter(None, (solution.statistics.note, contract.route.reduced.note))
    solution = solution.with_statistics(note="; ".join(notes))
    machine = contract.route.machine(solution)
    own = machine if isinstance(machine, QPSolution) else machine.qp
    at_rounding = contract.is_at_rounding(outcome)
    return replace(outcome, solution=own, machine=machine, is_at_rounding=at_rounding)


def _attempt(contract: Contract, settings: Settings) -> Attempt:
    """One call of the backend, measured, and polished if that is not enough."""
    raw = contract.backend.solve(contract.program, settings)
    if contract.settings.warm_start is not None and not contract.backend.capabilities.warm_start:
        notes = filter(None, (raw.statistics.note, NO_WARM_START))
        raw = raw.with_statistics(note="; ".join(notes))
    if raw.status in _NO_OPTIMUM and not contract.is_proof(raw):
        raw = raw.replace(status=Status.UNKNOWN)
    try:
        outcome = Attempt(raw, contract.measure(raw))
    except KeyboardInterrupt:  # what was found is worth nothing unmeasured: that is the last step
        raw = raw.replace(status=Status.INTERRUPTED)
        outcome = Attempt(raw, contract.measure(raw))
    if not is_settled(outcome):
        outcome = _first_evidence(contract, settings, outcome) or _repaired(contract, outcome)
    may_polish = not is_settled(outcome) and raw.status is not Status.INTERRUPTED
    if may_polish and not (contract.is_at_rounding(outcome) and _is_hopeless(contract, outcome)):
        _announce(contract, "polish", raw.statistics.total_seconds, outcome)
        polished = polish(
            contract.program,
            outcome.solution,
            goal=contract.settings.eps / 100,
            measure=lambda candidate: _worst_on_rows(contract, candidate),
        )
        if polished is not outcome.solution:
            found = Attempt(polished, contract.measure(polished))
            if not is_settled(found):
                found = _repaired(contract, found)
            outcome = outcome.better_of(found)
    return outcome


def _worst_on_rows(contract: Contract, candidate: QPSolution) -> float:
    """The worst residual of a candidate, or of the nearest point that satisfies the rows.

    Without the second a polish would go on because of a row all of whose terms are rounding.
    """
    if isinstance(contract.problem, QuadraticProgram):  # a bound is worth it near the optimum only
        measured = residuals(contract.problem, contract.route.own(candidate))
        eps = contract.settings.eps
        missed = {r.name for r in measured if r.name != "natural" and not r.scaled <= eps}
        if not missed <= OF_FEASIBILITY:
            return measured.worst
    report = contract.measure(candidate)
    failed = {check.name for check in report.checks if not check.passed}
    if not failed or not failed <= OF_FEASIBILITY:
        return report.worst
    moved = next(repaired(contract.program, candidate), candidate)
    return min(report.worst, contract.measure(moved).worst)


def _repaired(contract: Contract, outcome: Attempt) -> Attempt:
    """The nearest point that satisfies rows and bounds, with multipliers that go with it.

    A solver's answer satisfies both to its own tolerance, and a verdict asks for more.
    """
    solution, problem = outcome.solution, contract.problem
    if checked_vectors(contract.program, solution)[0] is None:
        return outcome
    if isinstance(problem, SVMProblem) and problem.model.n_constraints:
        with np.errstate(all="ignore"):  # of a solver's nonsense
            moved = contract.route.start(problem.to_qp(contract.route.machine(solution)))
        candidate = solution.replace(
            x=moved.x, z=moved.z, y=moved.y, z_lower=moved.z_lower, z_upper=moved.z_upper
        )
        outcome = outcome.better_of(Attempt(candidate, contract.measure(candidate)))
    for candidate in repaired(contract.program, outcome.solution):
        if is_settled(outcome):
            break
        outcome = outcome.better_of(Attempt(candidate, contract.measure(candidate)))
    return outcome


def _is_hopeless(contract: Contract, outcome: Attempt) -> bool:
    """Whether a polish of an answer that misses by rounding alone is no use.

    It can find digits that round better, unless the certificate itself says that rounding exceeds
    ``eps``, or the residuals are those of a program that is not the one polished.
    """
    certificate = outcome.report.certificate
    exceeds = certificate is not None and certificate.rounding > contract.settings.eps
    return exceeds or not isinstance(contract.route, Direct)


def is_settled(outcome: Attempt) -> bool:
    """Verified to be optimal, or proved to have no optimum."""
    return outcome.report.passed or outcome.solution.status in _NO_OPTIMUM


def _may_escalate(outcome: Attempt, settings: Settings, seconds: float) -> bool:
    if is_settled(outcome) or outcome.solution.status in (Status.TIME_LIMIT, Status.INTERRUPTED):
        return False
    if outcome.solution.status is Status.ITERATION_LIMIT and settings.max_iterations is not None:
        return False  # the caller wanted it so
    return settings.time_limit is None or seconds < settings.time_limit


def _remaining(time_limit: float | None, seconds: float) -> float | None:
    return None if time_limit is None else max(time_limit - seconds, 1e-3)


def _first_evidence(contract: Contract, settings: Settings, outcome: Attempt) -> Attempt | None:
    """Search for evidence before a polish and a second attempt, which are in vain without optimum.

    For hard margins that nothing separates, it takes a thousandth of their time.
    """
    if settings.attempt > 0 or not isinstance(contract.problem, TrainingProblem):
        return None
    return _evidence(contract, outcome, FIRST_SEARCH_SECONDS)


def _evidence(contract: Contract, outcome: Attempt, at_most: float) -> Attempt | None:
    """Search for evidence of no optimum where the solver gave none."""
    if not contract.can_lack_an_optimum or outcome.report.worst < SMALL_RESIDUAL:
        return None
    if outcome.solution.status is Status.INTERRUPTED:
        return None
    limit = contract.settings.time_limit
    seconds = at_most if limit is None else min(at_most, limit)
    for search in (find_infeasibility, find_unboundedness):
        evidence = search(contract.program, seconds)
        if evidence is not None and contract.is_proof(evidence):
            statistics = outcome.solution.statistics
            return replace(outcome, solution=evidence.replace(statistics=statistics))
    return None


def _verdict(outcome: Attempt) -> Status:
    if outcome.report.passed:
        return Status.OPTIMAL
    claimed = outcome.solution.status
    if claimed in _STOPPED:
        return claimed
    return Status.FAILED if outcome.solution.x is None else Status.INACCURATE


def _announce(contract: Contract, stage: str, seconds: float, outcome: Attempt) -> None:
    event = Progress(
        stage,
        contract.backend.label,
        seconds=seconds,
        objective=outcome.report.objective,
        residual=outcome.report.worst,
    )
    if contract.settings.verbose:
        print(line_of(event), flush=True)
    if contract.settings.callback is not None:
        contract.settings.callback(event)
