"""Measurement of any answer to a program, independent of the solver's own claims.

The arithmetic is that of ``qpsvm.audit``: numbers become a solution of the program that was asked
for (``qpsvm.audits.solution_of``), ``qpsvm.verify`` measures it, and ``qpsvm.certify_infeasible``
measures evidence that there is no optimum. Nothing an answer says about itself is believed; numbers
that are missing, not finite or of another shape make no optimum.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from benchmarks.contestants.base import NO_OPTIMUM, Answer, Problem, Task
from qpsvm import KKTReport, certify, certify_infeasible, solve, verify
from qpsvm.audits import solution_of
from qpsvm.certificates import require_ieee
from qpsvm.exceptions import InvalidDataError, QPSVMError
from qpsvm.machines import SVMSolution
from qpsvm.qp import QPSolution, Status

SMALLEST_SCALE = float(np.finfo(np.float64).tiny)
"""Least scale of a relative gap: the smallest normal number."""

SEARCH_SECONDS = 10.0
"""Time for the search for an optimum of a program that is said to have none, seconds."""

SOME_OPTIMUM = 1e-3
"""Relative gap, infeasibility and rounding that prove that there is an optimum."""


@dataclass(frozen=True)
class Judged:
    """The fields of a ``Row`` that depend on the answer alone.

    ``gap`` is that of the answer's own multipliers; ``verified`` is empty, ``primal`` and ``dual``
    NaN, where nothing can be said.
    """

    outcome: str
    claimed: str = ""
    verified: str = ""
    gap: float = math.inf
    primal: float = math.nan
    dual: float = math.nan
    size: float = math.nan
    residuals: Mapping[str, float] = field(default_factory=dict)
    message: str = ""


def judge(task: Task, answer: Answer) -> Judged:
    """Measure an answer.

    Parameters
    ----------
    task : Task
        The program that was asked for.
    answer : Answer

    Returns
    -------
    Judged

    Raises
    ------
    ArithmeticModeError
        The contestant left another arithmetic than IEEE 754 behind: nothing is judged with it.

    Examples
    --------
    >>> import numpy as np, qpsvm
    >>> from benchmarks.contestants.base import Answer, Task
    >>> from qpsvm.qp import Status
    >>> X, y = np.array([[0.0], [2.0]]), np.array([-1.0, 1.0])
    >>> task = Task(qpsvm.SoftMargin(C=1.0), X, y, qpsvm.kernels.Linear(), eps=1e-8)
    >>> half = np.array([0.5, 0.5])
    >>> judge(task, Answer(Status.OPTIMAL, alpha=half, intercept=-1.0)).outcome
    'optimal'
    >>> judge(task, Answer(Status.OPTIMAL, alpha=half, intercept=0.0)).outcome
    'false optimal'
    """
    require_ieee()
    problem: Problem = task.problem if answer.problem is None else answer.problem
    if not _is_asked_for(problem, task):
        why = f"the answer is to another program: {problem.family}, not {task.problem.family}"
        judged = Judged("error", message=why)
    elif answer.claimed in NO_OPTIMUM:
        judged = _without_optimum(problem, answer)
    else:
        judged = _with_optimum(problem, answer, task.eps)
    is_native = answer.claimed is Status.UNKNOWN and answer.native_status
    return replace(judged, claimed=answer.native_status if is_native else answer.claimed.value)


def _is_asked_for(problem: Problem, task: Task) -> bool:
    """Return whether two training problems are the same, be they in primal or dual form."""
    asked = task.problem
    return problem is asked or (
        problem.formulation == task.formulation
        and problem.kernel == asked.kernel
        and problem.data.equals(asked.data)
    )


# --- what the verifier says -----------------------------------------------------------------------


def _with_optimum(problem: Problem, answer: Answer, eps: float) -> Judged:
    try:
        with np.errstate(all="ignore"):  # overflow becomes inf or NaN, and fails closed
            if answer.solution is None and answer.alpha is None:
                return _weights_alone(problem, answer)
            report = verify(problem, _solution(problem, answer), eps=eps)
    except (QPSVMError, ValueError, TypeError, AttributeError, IndexError) as error:
        # not even measurable: whatever is wrong with it, it is not a solution
        outcome = _outcome(answer, passed=False)
        return Judged(outcome, verified="fail", message=f"{type(error).__name__}: {error}")
    return _measured(answer, report)


def _measured(answer: Answer, report: KKTReport) -> Judged:
    failed = [check for check in report.checks if not check.passed]
    outcome = _outcome(answer, passed=report.passed)
    by_rounding = {check.name for check in failed} == {"rounding", "certified_gap"}
    if outcome == "false optimal" and by_rounding and report.relative_gap <= report.eps:
        outcome = "undecided"  # everything else holds, as far as double precision can tell
    words = [f"{c.name} {c.scaled:.2e} (allowed {c.tolerance:.0e})" for c in failed]
    certificate = report.certificate
    primal = dual = size = math.nan
    if certificate is not None:
        primal, dual = certificate.primal_objective, certificate.dual_objective
        size = max(abs(primal), certificate.floor, SMALLEST_SCALE)
    return Judged(
        outcome,
        verified="pass" if report.passed else "fail",
        gap=report.relative_gap,
        primal=primal,
        dual=dual,
        size=size,
        residuals={check.name: check.scaled for check in report.checks},
        message="; ".join([*words, *report.notes]),
    )


def _outcome(answer: Answer, *, passed: bool) -> str:
    if answer.claimed is Status.TIME_LIMIT:
        return "time limit"
    if answer.claimed is not Status.OPTIMAL:
        return "unclaimed optimal" if passed else "inaccurate"
    if passed:
        return "optimal"
    return "above eps" if answer.own_rule else "false optimal"


# --- what an answer says, as a solution of the program --------------------------------------------


def _solution(problem: Problem, answer: Answer) -> object:
    if answer.solution is not None:
        solution = answer.solution
        return problem.recover(solution) if isinstance(solution, QPSolution) else solution
    return _of_numbers(problem, answer)


def _of_numbers(problem: Problem, answer: Answer) -> SVMSolution:
    if answer.alpha is None and answer.coef is None:
        raise InvalidDataError("The answer has neither a solution nor alphas nor weights.")
    return solution_of(
        problem,
        alpha=answer.alpha,
        coef=answer.coef,
        intercept=answer.intercept,
        width=answer.width,
    )


def _weights_alone(problem: Problem, answer: Answer) -> Judged:
    """Measure weights without multipliers: their objective bounds the optimum from above only.

    Not evaluated where (w, b) may be infeasible, as the optimum is above such an objective.
    """
    machine = _of_numbers(problem, answer)
    primal = problem.model.primal_objective(problem.model.decision_values(machine))
    if not math.isfinite(primal):
        raise InvalidDataError(f"The objective of these weights is {primal}.")
    outcome = "undecided" if answer.claimed is Status.OPTIMAL else _outcome(answer, passed=False)
    return Judged(
        outcome,
        primal=primal,
        size=max(abs(primal), problem.model.objective_floor, SMALLEST_SCALE),
        message="weights without multipliers: a bound from above only",
    )


# --- claims that there is no optimum --------------------------------------------------------------


def _without_optimum(problem: Problem, answer: Answer) -> Judged:
    evidence = answer.solution
    if problem.model.always_has_an_optimum:
        why = "every program of this family has an optimum"
        return Judged("false infeasible", verified="fail", message=why)
    if isinstance(evidence, QPSolution):
        try:
            with np.errstate(all="ignore"):
                proof = certify_infeasible(problem, evidence.replace(status=answer.claimed))
        except (QPSVMError, ValueError, TypeError, AttributeError, IndexError) as error:
            why = f"{type(error).__name__}: {error}"
        else:
            why = f"{proof.kind}: violation {proof.violation:.1e} (allowed {proof.tolerance:.0e})"
            residuals = {"evidence": proof.violation}
            if proof.passed:
                return Judged("infeasible", verified="pass", residuals=residuals, message=why)
    else:
        why = "no evidence"
    if _has_an_optimum(problem):
        return Judged("false infeasible", verified="fail", message=f"{why}; there is an optimum")
    return Judged("unproven infeasible", verified="fail", message=why)


def _has_an_optimum(problem: Problem) -> bool:
    """Return whether a solve shows that the problem has an optimum, so that denials are refuted."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the certificate says what was reached
            found = solve(problem, eps=SOME_OPTIMUM**2, time_limit=SEARCH_SECONDS)
        proof = certify(problem, found)
    except QPSVMError:
        return False
    return proof.passed(SOME_OPTIMUM)
