"""Verify, repair and compare the answers that solvers give to one program.

Solver, polish and search work on a reduced program (``qpsvm.qp.reductions``): large offsets taken
out, rows and variables of very different sizes scaled; of a badly scaled dual problem the primal
program (``qpsvm.machines.routes``). Its solutions are mapped back before they are measured: the
verifier only sees the problem as it was given.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np

from qpsvm.backends.base import Backend, Settings
from qpsvm.backends.own_solvers import BY_ROUNDING
from qpsvm.certificates import certify_infeasible
from qpsvm.machines.problem import Program, SVMProblem, TrainingProblem
from qpsvm.machines.routes import Route
from qpsvm.machines.weight_correction import corrected
from qpsvm.numerics.interrupts import Deadline
from qpsvm.numerics.precision import EPS
from qpsvm.qp.bounds import repaired
from qpsvm.qp.certificate_search import find_farkas_certificate, find_feasible_point, find_ray
from qpsvm.qp.kkt import checked_vectors
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution, Status
from qpsvm.verification import KKTReport, verify, verify_evaluated

NO_OPTIMUM = (Status.PRIMAL_INFEASIBLE, Status.DUAL_INFEASIBLE)


Solution = TypeVar("Solution")
Solution_co = TypeVar("Solution_co", covariant=True)


class Solvable(Protocol[Solution_co]):
    """Protocol of problems for ``solve`` and ``polish``: the type of their solutions."""

    @property
    def solution_type(self) -> type[Solution_co]: ...


class Outcome(Enum):
    """The state of an answer, from which the policy follows (``qpsvm.solving.policy.STEPS``)."""

    SETTLED = "it is verified, or the absence of an optimum is proven"
    LATE = "the time is over"
    INTERRUPTED = "Ctrl-C or the callback stopped the backend"
    CONTRADICTED = "all residuals are small, and yet no point near it satisfies the rows"
    ROUNDED = "rounding errors that all answers share keep it from passing"
    UNPOLISHED = "rounding errors alone keep it from passing, and no polish changes these"
    ROUGH = "rounding errors alone keep it from passing; polishing may find better digits"
    AT_LIMIT = "the backend made as many iterations as the caller allows"
    OUT_OF_TIME = "the backend ended itself for the time"
    OPEN = "another point may pass"


@dataclass(frozen=True)
class PolicySettings:
    """Numbers of the solve policy.

    Attributes
    ----------
    first_share : float
        Share of the time limit for the first backend of ``"auto"`` and its polish; what it leaves
        is for a second one. The package's own solvers, which end where their progress does, may
        take all of it where no interior-point method is affordable beside them.
    timed_entries : int
        Kernel values that are evaluated to estimate what the last verification takes: some ten
        milliseconds.
    support_share : float
        Share of the samples that are taken for support vectors in this estimate.
    largest_reserve : float
        Share of the time limit that is set aside for the verification, at most.
    further_eps_share : float
        ``eps`` of the second attempt and of a polish, as a share of the caller's.
    optimum_within : float
        An answer with residuals below this belongs to a program that has an optimum, of which no
        certificate is looked for.
    first_search_seconds : float
        Longest search for a certificate by each of two linear programs before the polish: a few
        hundred samples take milliseconds, and no program should wait for one as long as for a
        polish.
    search_seconds : float
        The same for the last search.
    gradient_rounding_limit : float
        Rounding of a program's gradient, in units of ``eps``, from which its residuals cannot pass
        whatever the point: no second backend is asked then.
    objective_rounding_limit : float
        Rounding error of the objectives, in units of ``eps``, from which no other answer can be
        expected to pass verification: that of other optima differs by some percent.
    weight_corrections : int
        Corrections of the weights of a linear machine beside its alpha, at most: each squares
        what the last one left, down to rounding.
    share_of_floor : float
        Excess of a bare program's gap over what rounding and hidden curvature contribute, as a
        share of that, up to which the answer is as good as any.
    """

    first_share: float = 2.0 / 3.0
    timed_entries: int = 1_000_000
    support_share: float = 0.5
    largest_reserve: float = 0.5
    further_eps_share: float = 1e-2
    optimum_within: float = 1e-4
    first_search_seconds: float = 1.0
    search_seconds: float = 10.0
    gradient_rounding_limit: float = 1e3
    objective_rounding_limit: float = 1.2
    weight_corrections: int = 3
    share_of_floor: float = 0.2


POLICY = PolicySettings()
"""Settings of the policy that every solve uses."""


@dataclass(frozen=True, eq=False)
class BackendRun:
    """One run of a backend: the program that it solves, and how its answers are measured.

    Attributes
    ----------
    problem : TrainingProblem or QuadraticProgram
    route : Route
        The program that is solved, and the way back to the problem.
    backend : Backend
    eps : float
        The accuracy that the caller asks for.
    settings : Settings
        Those that the backend is run with. Their deadline is that of this backend and its polish;
        at most the call's.
    reason : str
        Why this backend.
    step : str
        The step of the policy that this run is; empty for the first, which is several.
    """

    problem: Program
    route: Route
    backend: Backend
    eps: float
    settings: Settings
    reason: str = ""
    step: str = ""

    def with_settings(self, **changes: Any) -> BackendRun:
        """The same run with some of its settings changed."""
        return replace(self, settings=self.settings.replace(**changes))

    def second_attempt(self) -> BackendRun:
        """The second attempt: with a smaller ``eps`` and no warm start."""
        tighter = max(self.eps * POLICY.further_eps_share, EPS)
        again = self.with_settings(eps=tighter, attempt=1, warm_start=None)
        return replace(again, step=self.step or "second attempt")

    @property
    def program(self) -> QuadraticProgram:
        """The reduced program, which solver, polish and search for certificates work on."""
        return self.route.reduced.program

    def attempt(self, solution: QPSolution) -> Attempt:
        """Map a solution of the reduced program back, and verify it."""
        own, eps = self.route.evaluate(solution), self.eps
        report = verify_evaluated(self.problem, own, eps=eps)
        table = report.samples
        missed = () if report.passed else [c.name for c in report.checks if not c.passed]
        if table is not None and missed == ["slack"]:
            # recovered from values without the digits that the verifier has
            own = own.of(own.solution.replace(slack=table.slack))
            report = verify_evaluated(self.problem, own, eps=eps)
        return Attempt(solution, report, self, own)

    def is_proof(self, certificate: QPSolution) -> bool:
        """Return whether the vectors prove that there is no optimum.

        Along a ray the objective falls without end if there is a point to start from: with rows
        that contradict each other, by however little, a program is not unbounded.
        """
        if not self.can_lack_an_optimum:
            return False
        proof = certify_infeasible(self.problem, self.route.own(certificate))
        if proof.kind != "descent" or not isinstance(self.problem, QuadraticProgram):
            return proof.passed
        seconds = min(POLICY.search_seconds, self.settings.deadline.remaining())
        return proof.passed and find_feasible_point(self.problem, seconds) is not None

    @property
    def can_lack_an_optimum(self) -> bool:
        """Return whether the problem may be infeasible or unbounded.

        False when a transformed program is solved: its Farkas certificate does not apply to the
        original one.
        """
        return self.route.is_own and not self.is_always_feasible

    @property
    def is_always_feasible(self) -> bool:
        """Return whether all weights are feasible: no hard margin, no constraint on (w, b).

        The certificate of such a problem finds feasible variables beside any answer.
        """
        problem = self.problem
        return isinstance(problem, TrainingProblem) and problem.model.always_has_an_optimum

    def may_lack_an_optimum(self, report: KKTReport) -> bool:
        """Return whether a certificate that there is no optimum is worth a search."""
        if not self.can_lack_an_optimum:
            return False
        bound = report.bound
        if bound is not None and math.isfinite(bound.relative_gap):
            return False  # the objective is bounded from below, and a feasible point is known
        return not report.worst < POLICY.optimum_within

    def find_certificate(self, at_most: float) -> QPSolution | None:
        """Search for a proof that there is no optimum, by two linear programs.

        Parameters
        ----------
        at_most : float
            Seconds for each of them; together no longer than the deadline allows.
        """
        deadline = self.settings.deadline
        for search in (find_farkas_certificate, find_ray):
            if deadline.has_passed():
                return None
            found = search(self.program, min(at_most, deadline.remaining()))
            if found is not None and self.is_proof(found):
                return found
        return None


@dataclass(frozen=True, eq=False)
class Attempt:
    """A solution of the program that is solved, and the verifier's report on it.

    Attributes
    ----------
    solution : QPSolution
    report : KKTReport
    run : BackendRun
        The program that the solution is of, and the way back.
    own : Evaluation or QPSolution
        The problem's own solution, evaluated; of a bare program the solution.
    """

    solution: QPSolution
    report: KKTReport
    run: BackendRun
    own: Any

    @property
    def is_settled(self) -> bool:
        """Return whether the answer is verified, or the absence of an optimum proven."""
        return self.report.passed or self.solution.status in NO_OPTIMUM

    def with_status(self, status: Status) -> Attempt:
        """The same answer with another status."""
        solution = self.solution
        return (
            self
            if solution.status is status
            else replace(self, solution=solution.replace(status=status))
        )

    def better_of(self, other: Attempt) -> Attempt:
        """Return whichever of two attempts the verifier measures to be closer to optimal."""
        return other if distance(other.report) < distance(self.report) else self

    def followed_by(self, second: Attempt) -> Attempt:
        """Return the better of two attempts, with the seconds of both added up."""
        spent = self.solution.statistics.solve_seconds + second.solution.statistics.solve_seconds
        found = second if second.is_settled else self.better_of(second)
        solution = found.solution.with_statistics(solve_seconds=spent, escalated=True)
        return replace(found, solution=solution)

    @cached_property
    def outcome(self) -> Outcome:
        """Outcome by the report alone, whatever ended the solver."""
        report, run = self.report, self.run
        if self.is_settled:
            return Outcome.SETTLED
        if is_blocked(report) and not _failed(report, "certified_gap"):
            return Outcome.CONTRADICTED  # which no other answer would change
        if self._is_as_accurate_as_rounding_allows():
            return Outcome.ROUNDED
        if not self._fails_by_rounding_alone():
            return Outcome.OPEN
        # polish finds digits that round better, unless the certificate itself says that rounding
        # exceeds eps, or the residuals are those of a program that is not the one polished
        rounding = 0.0 if report.certificate is None else report.certificate.rounding
        is_lost = rounding > run.eps or not run.route.is_own
        return Outcome.UNPOLISHED if is_lost else Outcome.ROUGH

    def _is_as_accurate_as_rounding_allows(self) -> bool:
        """Return whether only rounding errors that all answers share keep this one from passing.

        Of a bare program: rounding and hidden curvature exceed ``eps``, and all else is within
        ``eps`` or within them. Of a machine gap and residuals are within ``eps``. What samples at
        the kink of their loss add to the rounding is not counted as far as answers that are clear
        of it save it (``GapBound``). The rest hardly depends on the answer.

        Also where the search for a kernel machine ended because rounding undoes its steps: decision
        values of alphas that are rounded themselves have errors, which times C enter the objective.
        A gap within these is that of every answer in double precision, although more digits of the
        decision values show how large it is.
        """
        report, eps, problem = self.report, self.run.eps, self.run.problem
        bound, certificate = report.bound, report.certificate
        if bound is not None:
            others = (c for c in report.checks if c.name != "certified_gap")
            is_near = all(c.scaled <= max(c.tolerance, bound.floor) for c in others)
            beyond = bound.relative_gap - bound.floor
            is_floor = beyond <= max(eps, POLICY.share_of_floor * bound.floor)
            return is_near and is_floor and bound.floor > POLICY.objective_rounding_limit * eps
        if not isinstance(problem, SVMProblem) or certificate is None:
            return False
        if str(self.solution.native_status).startswith(BY_ROUNDING):
            rounding = problem.model.rounding(self.own, report.objective)
            if rounding > POLICY.objective_rounding_limit * eps and report.relative_gap <= rounding:
                return True
        if not (certificate.rounding > eps and report.relative_gap <= eps):
            return False
        if _failed(report, "certified_gap", "rounding"):
            return False
        kinks = problem.model.gap_bound(certificate.evaluation)
        of_kinks = 0.0 if kinks is None else kinks.avoidable / certificate.objective_scale
        return certificate.rounding - of_kinks > POLICY.objective_rounding_limit * eps

    def _fails_by_rounding_alone(self) -> bool:
        """Return whether the program that was solved is solved to ``eps``.

        And the machine's certified gap is within ``eps`` or within what rounding can add to it.
        What is left comes from evaluating the problem as it was given, where another point as good
        would miss as much.
        """
        run, report = self.run, self.report
        eps = run.eps
        rounding = 0.0 if report.certificate is None else report.certificate.rounding
        if not report.relative_gap <= max(eps, rounding):
            return False
        own = getattr(run.problem, "qp", run.problem)
        if run.program is own and rounding <= eps:
            return False  # the same residuals as the report's
        return verify(run.program, self.solution, eps=eps).passed

    def with_better_weights(self) -> Attempt:
        """Correct the weights of a linear machine beside its alpha while that helps."""
        run, problem, best = self.run, self.run.problem, self
        if not (isinstance(problem, SVMProblem) and problem.form == "dual"):
            return best
        for _ in range(POLICY.weight_corrections):
            if best.is_settled:
                break
            with np.errstate(all="ignore"):  # of a solver's nonsense
                own = corrected(problem.model, best.own)
            if own is None:
                break
            given: Any = {
                name: getattr(best.solution, name)
                for name in ("status", "native_status", "statistics")
            }
            qp = problem.recovery.to_qp(own).replace(**given)
            own = own.of(own.solution.replace(qp=qp))
            report = verify_evaluated(problem, own, eps=run.eps)
            start = run.route.start(qp).replace(**given)
            following = best.better_of(Attempt(start, report, run, own))
            if following is best:
                break
            best = following
        return best

    def repaired(self, deadline: Deadline) -> Attempt:
        """Find the nearest point that satisfies rows and bounds, with matching multipliers.

        A solver's answer satisfies both to its own tolerance, and a verdict asks for more. First
        the point and the multipliers of the machine that was recovered from the answer: a solver's
        own multipliers may be anything where they are not unique.
        """
        run, solution, problem = self.run, self.solution, self.run.problem
        best = self
        if is_blocked(self.report) or checked_vectors(run.program, solution)[0] is None:
            return best
        if isinstance(problem, SVMProblem):
            with np.errstate(all="ignore"):  # of a solver's nonsense
                own = run.route.start(problem.recovery.to_qp(self.own))
            candidate = solution.replace(
                x=own.x, z=own.z, y=own.y, z_lower=own.z_lower, z_upper=own.z_upper
            )
            best = best.better_of(run.attempt(candidate))
            best = best.with_better_weights()
        if run.is_always_feasible:
            return best
        candidates = repaired(run.program, best.solution)
        while not best.is_settled and not deadline.has_passed():
            moved = next(candidates, None)
            if moved is None:
                break
            following = run.attempt(moved)
            best = best.better_of(following)
            if is_blocked(following.report):  # the search has failed twice
                break
        return best


def distance(report: KKTReport) -> float:
    """Distance of an answer from passing: its worst check.

    Where there is no bound on the optimum, 1 more than the worst of the other checks: answers
    without one are compared as well.
    """
    if report.worst < math.inf:
        return report.worst
    others = [c.scaled / c.tolerance for c in report.checks if c.name != "certified_gap"]
    return 1.0 + report.eps * max(others, default=math.inf)


def is_blocked(report: KKTReport) -> bool:
    """Return whether no point near the answer satisfies the rows of a bare program."""
    return report.bound is not None and report.bound.upper == math.inf


def breaks_a_constraint(report: KKTReport) -> bool:
    """Return whether the answer misses a constraint and no weights near it satisfy them all."""
    feasible = None if report.certificate is None else report.certificate.feasible
    return feasible is not None and bool(feasible.blocked)


def _failed(report: KKTReport, *but: str) -> bool:
    """Return whether another check than these failed."""
    return any(not check.passed for check in report.checks if check.name not in but)


@dataclass(frozen=True, eq=False)
class Result:
    """Result of a solve: solution, machine and report.

    Attributes
    ----------
    solution : QPSolution
        Of the problem's own program, with its final status.
    machine : object
        The problem's solution: an SVMSolution, a JointSolution, or a bare program's QPSolution.
    report : KKTReport
        What the status rests on.
    """

    solution: QPSolution
    machine: Any
    report: KKTReport


def result_of(found: Attempt, *, reason: str = "", **figures: Any) -> Result:
    """Build the solution of the problem as given, with a note and other figures of the solve.

    The note begins with the reason for the backend: by default, that of the answer's run.
    """
    solution, statistics, own, run = found.solution, found.solution.statistics, found.own, found.run
    notes = filter(None, (reason or run.reason, statistics.note, run.route.reduced.note))
    is_bare = isinstance(own, QPSolution)
    qp = (own if is_bare else own.solution.qp).replace(
        status=solution.status,
        native_status=solution.native_status,
        statistics=replace(statistics, note="; ".join(notes), **figures),
    )
    return Result(qp, qp if is_bare else own.solution.replace(qp=qp), found.report)
