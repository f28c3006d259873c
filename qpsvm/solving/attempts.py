"""Verify, repair and compare the answers that solvers give to one program.

Solver, polish and search work on a reduced program (``qpsvm.qp.reductions``): large offsets taken
out, rows and variables of very different sizes scaled; of a badly scaled dual problem the primal
program (``qpsvm.machines.routes``). Its solutions are mapped back before they are measured: the
verifier only sees the problem as it was given.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from qpsvm.backends.base import Backend, Settings
from qpsvm.backends.engines import BY_ROUNDING
from qpsvm.certificates import certify_infeasible
from qpsvm.machines.problem import Program, SVMProblem, TrainingProblem
from qpsvm.machines.routes import Direct, Route
from qpsvm.machines.weight_correction import corrected
from qpsvm.numerics.deadline import Deadline
from qpsvm.qp.bounds import repaired
from qpsvm.qp.evidence_search import find_infeasibility, find_unboundedness
from qpsvm.qp.kkt import checked_vectors
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution, Status
from qpsvm.solving.settings import POLICY
from qpsvm.verification import KKTReport, verify, verify_evaluated

NO_OPTIMUM = (Status.PRIMAL_INFEASIBLE, Status.DUAL_INFEASIBLE)


@dataclass(frozen=True, eq=False)
class Contract:
    """Program to be solved by one backend, with the measurement of its answers.

    Attributes
    ----------
    problem : TrainingProblem or QuadraticProgram
    route : Route
        The program that is solved, and the way back to the problem.
    backend : Backend
    settings : Settings
        The caller's; the warm start is a solution of the program as given.
    """

    problem: Program
    route: Route
    backend: Backend
    settings: Settings

    @property
    def program(self) -> QuadraticProgram:
        """The reduced program, which solver, polish and search for evidence work on."""
        return self.route.reduced.program

    def measure(self, solution: QPSolution) -> KKTReport:
        """Return the verifier's report on a solution of the reduced program, mapped back."""
        return self.attempt(solution).report

    def attempt(self, solution: QPSolution) -> Attempt:
        """Map a solution of the reduced program back, and verify it."""
        own, eps = self.route.evaluate(solution), self.settings.eps
        report = verify_evaluated(self.problem, own, eps=eps)
        table = report.samples
        missed = () if report.passed else [c.name for c in report.checks if not c.passed]
        if table is not None and missed == ["slack"]:
            # recovered from values without the digits that the verifier has
            own = own.of(own.solution.replace(slack=table.slack))
            report = verify_evaluated(self.problem, own, eps=eps)
        return Attempt(solution, report, self, own)

    def is_proof(self, evidence: QPSolution) -> bool:
        """Return whether the vectors prove that there is no optimum."""
        if not self.can_lack_an_optimum:
            return False
        return certify_infeasible(self.problem, self.route.own(evidence)).passed

    @property
    def can_lack_an_optimum(self) -> bool:
        """Return whether the problem may be infeasible or unbounded.

        Also where another program than the problem's is solved: its evidence is none of the
        problem's program.
        """
        return isinstance(self.route, Direct) and not self.is_always_feasible

    @property
    def is_always_feasible(self) -> bool:
        """Return whether all weights are feasible: no hard margin, no constraint on (w, b).

        The certificate of such a problem finds feasible variables beside any answer.
        """
        problem = self.problem
        return isinstance(problem, TrainingProblem) and problem.model.always_has_an_optimum

    def evidence(self, at_most: float, deadline: Deadline) -> QPSolution | None:
        """Search for a proof that there is no optimum, by two linear programs.

        Parameters
        ----------
        at_most : float
            Seconds for each of them.
        deadline : Deadline
        """
        for search in (find_infeasibility, find_unboundedness):
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
    contract : Contract
        The program that the solution is of, and the way back.
    own : Evaluation or QPSolution
        The problem's own solution, evaluated; of a bare program the solution.
    """

    solution: QPSolution
    report: KKTReport
    contract: Contract
    own: Any

    @property
    def is_settled(self) -> bool:
        """Return whether the answer is verified, or the absence of an optimum proven."""
        return self.report.passed or self.solution.status in NO_OPTIMUM

    def better_of(self, other: Attempt) -> Attempt:
        """Return whichever of two attempts the verifier measures to be closer to optimal."""
        return other if distance(other.report) < distance(self.report) else self

    @cached_property
    def is_as_accurate_as_rounding_allows(self) -> bool:
        """Return whether only rounding errors that all answers share keep this one from passing.

        Of a bare program: rounding and hidden curvature exceed ``eps``, and all else is within
        ``eps`` or within them. Of a machine gap and residuals are within ``eps``. What samples at
        the kink of their loss add to the rounding is not counted as far as answers that are clear
        of it save it (``GapBound``). The rest hardly depends on the answer.
        """
        report, eps, problem = self.report, self.contract.settings.eps, self.contract.problem
        certificate = report.certificate
        if report.bound is not None:
            floor = report.bound.floor
            others = (c for c in report.checks if c.name != "certified_gap")
            is_near = all(c.scaled <= max(c.tolerance, floor) for c in others)
            is_floor = report.bound.relative_gap - floor <= max(eps, POLICY.share_of_floor * floor)
            return is_near and is_floor and floor > POLICY.unavoidable * eps
        if not isinstance(problem, SVMProblem) or certificate is None:
            return False
        if self._search_ended_by_rounding:
            return True
        others = (c for c in report.checks if c.name not in ("certified_gap", "rounding"))
        if not (certificate.rounding > eps and report.relative_gap <= eps):
            return False
        if not all(check.passed for check in others):
            return False
        bound = problem.model.gap_bound(certificate.evaluation)
        of_kinks = 0.0 if bound is None else bound.avoidable / certificate.objective_scale
        return certificate.rounding - of_kinks > POLICY.unavoidable * eps

    @property
    def _search_ended_by_rounding(self) -> bool:
        """Return whether the search for a kernel machine ended where rounding undoes its steps.

        Decision values of alphas that are rounded themselves have errors, which times C enter the
        objective. A gap within these is that of every answer in double precision, although more
        digits of the decision values show how large it is.
        """
        problem, report = self.contract.problem, self.report
        is_said = str(self.solution.native_status).startswith(BY_ROUNDING)
        if not (is_said and isinstance(problem, SVMProblem)):
            return False
        rounding = problem.model.rounding(self.own, report.objective)
        exceeds = rounding > POLICY.unavoidable * self.contract.settings.eps
        return bool(exceeds and report.relative_gap <= rounding)

    @cached_property
    def is_at_rounding(self) -> bool:
        """Return whether the answer fails verification by rounding errors alone.

        The program that was solved is solved to ``eps``, and the machine's certified gap is within
        ``eps`` or within what rounding can add to it. What is left comes from evaluating the
        problem as it was given, where another point as good would miss as much.
        """
        if self.is_as_accurate_as_rounding_allows:
            return True
        contract, report = self.contract, self.report
        eps = contract.settings.eps
        rounding = 0.0 if report.certificate is None else report.certificate.rounding
        if report.passed or not report.relative_gap <= max(eps, rounding):
            return False
        own = getattr(contract.problem, "qp", contract.problem)
        if contract.program is own and rounding <= eps:
            return False  # the same residuals as the report's
        return verify(contract.program, self.solution, eps=eps).passed

    @property
    def is_contradicted(self) -> bool:
        """Return whether the constraints have no common solution although all residuals are small.

        All residuals are within ``eps``, and yet no point near satisfies the rows, which no other
        answer would change.
        """
        others = (check for check in self.report.checks if check.name != "certified_gap")
        return is_blocked(self.report) and all(check.passed for check in others)

    @property
    def is_hopeless(self) -> bool:
        """Return whether polish cannot make an answer pass that fails by rounding alone.

        It can find digits that round better, unless the certificate itself says that rounding
        exceeds ``eps``, or the residuals are those of a program that is not the one polished.
        """
        certificate, contract = self.report.certificate, self.contract
        exceeds = certificate is not None and certificate.rounding > contract.settings.eps
        exceeds = exceeds or self.is_as_accurate_as_rounding_allows
        return exceeds or not isinstance(contract.route, Direct)

    def with_better_weights(self) -> Attempt:
        """Correct the weights of a linear machine beside its alpha while that helps."""
        contract, problem, best = self.contract, self.contract.problem, self
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
            report = verify_evaluated(problem, own, eps=contract.settings.eps)
            start = contract.route.start(qp).replace(**given)
            following = best.better_of(Attempt(start, report, contract, own))
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
        contract, solution, problem = self.contract, self.solution, self.contract.problem
        best = self
        if checked_vectors(contract.program, solution)[0] is None:
            return best
        if isinstance(problem, SVMProblem):
            with np.errstate(all="ignore"):  # of a solver's nonsense
                own = contract.route.start(problem.recovery.to_qp(self.own))
            candidate = solution.replace(
                x=own.x, z=own.z, y=own.y, z_lower=own.z_lower, z_upper=own.z_upper
            )
            best = best.better_of(contract.attempt(candidate))
            best = best.with_better_weights()
        if contract.is_always_feasible:
            return best
        candidates = repaired(contract.program, best.solution)
        while not best.is_settled and not deadline.has_passed():
            moved = next(candidates, None)
            if moved is None:
                break
            following = contract.attempt(moved)
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
