"""``qpsvm.solve``: any problem, any backend, one tolerance contract.

The contract, in order. Whoever gets a status OPTIMAL from here gets it from the verifier:

1. the backend solves with all of its tolerances derived from ``eps``;
2. the verifier measures; within ``eps``: OPTIMAL;
3. otherwise polish (``qpsvm.qp.polish``), and measure again;
4. otherwise ask the backend once more with a hundredth of ``eps``, polish, and measure;
5. otherwise look for evidence that there is no optimum, and verify that;
6. otherwise INACCURATE (or the limit that was hit) with the figures reached, and a warning - an
   exception with ``strict=True``.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from qpsvm.backends import registry
from qpsvm.backends.base import Backend, Callback, Progress, Settings
from qpsvm.exceptions import (
    InfeasibleProgramError,
    InvalidParameterError,
    NotSeparableError,
    ToleranceNotReachedError,
    ToleranceNotReachedWarning,
    UnboundedProgramError,
)
from qpsvm.formulations import SVMProblem, SVMSolution
from qpsvm.qp.infeasibility import (
    find_infeasibility,
    find_unboundedness,
    has_proof_of_infeasibility,
    has_proof_of_unboundedness,
)
from qpsvm.qp.polish import polish
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution, Status
from qpsvm.verification import KKTReport, verify

_STOPPED = (Status.ITERATION_LIMIT, Status.TIME_LIMIT, Status.INTERRUPTED)
_NO_OPTIMUM = (Status.PRIMAL_INFEASIBLE, Status.DUAL_INFEASIBLE)


@overload
def solve(
    problem: SVMProblem,
    backend: str | Backend = ...,
    *,
    eps: float = ...,
    time_limit: float | None = ...,
    max_iterations: int | None = ...,
    verbose: bool = ...,
    warm_start: SVMSolution | QPSolution | None = ...,
    callback: Callback | None = ...,
    strict: bool = ...,
    options: Mapping[str, Any] | None = ...,
) -> SVMSolution: ...
@overload
def solve(
    problem: QuadraticProgram,
    backend: str | Backend = ...,
    *,
    eps: float = ...,
    time_limit: float | None = ...,
    max_iterations: int | None = ...,
    verbose: bool = ...,
    warm_start: SVMSolution | QPSolution | None = ...,
    callback: Callback | None = ...,
    strict: bool = ...,
    options: Mapping[str, Any] | None = ...,
) -> QPSolution: ...
def solve(
    problem: Any,
    backend: str | Backend = "auto",
    *,
    eps: float = 1e-8,
    time_limit: float | None = None,
    max_iterations: int | None = None,
    verbose: bool = False,
    warm_start: SVMSolution | QPSolution | None = None,
    callback: Callback | None = None,
    strict: bool = False,
    options: Mapping[str, Any] | None = None,
) -> Any:
    """Solve a program or an SVM problem, and verify the answer.

    Parameters
    ----------
    problem : SVMProblem or QuadraticProgram
    backend : str or Backend
        ``"auto"``, or a name from ``qpsvm.backends.available()``.
    eps : float
        Relative accuracy to be certified: duality gap and scaled KKT residuals.
    time_limit : float, optional
        Seconds of wall clock for the backend, where it has such a limit.
    max_iterations : int, optional
        In the backend's own counting.
    verbose : bool
        Let the solver print.
    warm_start : SVMSolution or QPSolution, optional
        Used by the backends that can.
    callback : callable, optional
        Receives ``qpsvm.backends.Progress`` events; returning False asks to stop.
    strict : bool
        Raise instead of warning when the result is not a verified optimum.
    options : mapping, optional
        Settings of the solver under its own names; they win over those derived from ``eps``.

    Returns
    -------
    SVMSolution or QPSolution
        ``status`` is OPTIMAL exactly when ``qpsvm.verify`` passes at ``eps``.

    Raises
    ------
    NotSeparableError
        A hard margin on classes that cannot be separated, with the proof.
    InfeasibleProgramError, UnboundedProgramError, ToleranceNotReachedError
        With ``strict=True`` only.
    UnknownBackendError, BackendNotInstalledError, UnsupportedProgramError, SolverFailedError
        The backend cannot be used; the message says what to do.
    InvalidParameterError
        A setting outside its domain.

    Warns
    -----
    ToleranceNotReachedWarning
        The verifier measured more than ``eps``.

    Examples
    --------
    >>> import qpsvm
    >>> program = qpsvm.qp.QuadraticProgram([[1.0, 0.0], [0.0, 0.0]], [3.0, 4.0],
    ...     G=[[-1.0, -3.0], [2.0, 5.0], [3.0, 4.0]], h=[-15.0, 100.0, 80.0], lb=0.0)
    >>> solution = qpsvm.solve(program, "cvxopt")
    >>> solution.status.value, round(program.objective(solution.x), 6)
    ('optimal', 20.0)
    """
    if not isinstance(problem, SVMProblem | QuadraticProgram):
        raise InvalidParameterError(
            f"solve takes an SVMProblem or a QuadraticProgram, got {type(problem).__name__}; "
            "formulations build one: qpsvm.SoftMargin(C=1.0).dual(X, y)."
        )
    svm = problem if isinstance(problem, SVMProblem) else None
    program = problem.qp if isinstance(problem, SVMProblem) else problem
    solver, reason = _resolve(backend, program)
    settings = Settings(
        eps=eps,
        time_limit=time_limit,
        max_iterations=max_iterations,
        verbose=verbose,
        warm_start=_warm_start(svm, warm_start),
        callback=callback,
        options=dict(options or {}),
    )
    outcome = _fulfil(_Contract(problem, program, solver, settings))
    solution = outcome.solution
    if reason:
        solution = solution.with_statistics(note=reason)
    if solution.status in _NO_OPTIMUM:
        if svm is not None and svm.model.is_hard:
            raise _not_separable(svm, solution)
        if strict:
            raise _no_optimum(solution)
    elif solution.status is not Status.OPTIMAL:
        message = _shortfall(solution, outcome.report, eps)
        if strict:
            raise ToleranceNotReachedError(message)
        warnings.warn(message, ToleranceNotReachedWarning, stacklevel=2)
    return solution if svm is None else svm.recover(solution)


# --- the contract ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Contract:
    """One solve: what to solve, with what, and how its answers are measured."""

    problem: SVMProblem | QuadraticProgram
    program: QuadraticProgram
    backend: Backend
    settings: Settings

    def measure(self, solution: QPSolution) -> KKTReport:
        eps = self.settings.eps
        if isinstance(self.problem, SVMProblem):
            return verify(self.problem, self.problem.recover(solution), eps=eps)
        return verify(self.problem, solution, eps=eps)

    @property
    def always_has_an_optimum(self) -> bool:
        """A soft margin is feasible and bounded whatever the data."""
        return isinstance(self.problem, SVMProblem) and not self.problem.model.is_hard


@dataclass(frozen=True, eq=False)
class _Outcome:
    solution: QPSolution
    report: KKTReport


def _fulfil(contract: _Contract) -> _Outcome:
    settings, began = contract.settings, time.perf_counter()
    best: _Outcome | None = None
    spent = 0.0
    for attempt in (0, 1):
        seconds = time.perf_counter() - began
        if attempt:
            if not _may_escalate(best, settings, seconds):
                break
            _report(contract, "escalate", seconds, best)
            settings = contract.settings.replace(
                eps=max(contract.settings.eps / 100, 1e-15), attempt=1,
                time_limit=_remaining(contract.settings.time_limit, seconds),
            )  # fmt: skip
        raw = contract.backend.solve(contract.program, settings)
        spent += raw.statistics.solve_seconds
        raw = raw.with_statistics(solve_seconds=spent, escalated=bool(attempt))
        proven = _proven_no_optimum(contract, raw)
        if proven is not None:
            return proven
        candidate = _Outcome(raw, contract.measure(raw))
        if not candidate.report.passed:
            _report(contract, "polish", time.perf_counter() - began, candidate)
            candidate = _better(candidate, _polished(contract, raw))
        best = candidate if best is None else _better(best, candidate)
        if best.report.passed:
            break
    assert best is not None  # the loop ran once
    if not best.report.passed:
        evidence = _find_evidence(contract, best)
        if evidence is not None:
            return evidence
    final = _Outcome(best.solution.replace(status=_verdict(best)), best.report)
    _report(contract, "done", time.perf_counter() - began, final)
    return final


def _polished(contract: _Contract, raw: QPSolution) -> _Outcome:
    polished = polish(contract.program, raw)
    return _Outcome(polished, contract.measure(polished))


def _better(a: _Outcome, b: _Outcome) -> _Outcome:
    return b if b.report.worst < a.report.worst else a


def _may_escalate(best: _Outcome | None, settings: Settings, seconds: float) -> bool:
    if best is None or best.solution.status in _STOPPED[1:]:
        return False
    if best.solution.status is Status.ITERATION_LIMIT and settings.max_iterations is not None:
        return False  # the caller wanted it so
    return settings.time_limit is None or seconds < settings.time_limit


def _remaining(time_limit: float | None, seconds: float) -> float | None:
    return None if time_limit is None else max(time_limit - seconds, 1e-3)


def _verdict(outcome: _Outcome) -> Status:
    if outcome.report.passed:
        return Status.OPTIMAL
    claimed = outcome.solution.status
    if claimed in _STOPPED:
        return claimed
    return Status.FAILED if outcome.solution.x is None else Status.INACCURATE


def _report(contract: _Contract, stage: str, seconds: float, outcome: _Outcome | None) -> None:
    if contract.settings.callback is None:
        return
    report = None if outcome is None else outcome.report
    contract.settings.callback(
        Progress(
            stage,
            contract.backend.label,
            seconds=seconds,
            objective=None if report is None else report.objective,
            residual=None if report is None else report.worst,
        )
    )


# --- no optimum ------------------------------------------------------------------------------


def _proven_no_optimum(contract: _Contract, raw: QPSolution) -> _Outcome | None:
    """The solver says there is no optimum, and what it returned proves it."""
    program = contract.program
    proven = (
        raw.status is Status.PRIMAL_INFEASIBLE and has_proof_of_infeasibility(program, raw)
    ) or (raw.status is Status.DUAL_INFEASIBLE and has_proof_of_unboundedness(program, raw))
    return _Outcome(raw, contract.measure(raw)) if proven else None


def _find_evidence(contract: _Contract, best: _Outcome) -> _Outcome | None:
    """Evidence of our own, where the solver gave none. Small residuals mean there is none."""
    if contract.always_has_an_optimum or best.report.worst < 1e-4:
        return None
    if best.solution.status is Status.INTERRUPTED:
        return None
    limit = contract.settings.time_limit
    seconds = 10.0 if limit is None else min(10.0, limit)
    for search in (find_infeasibility, find_unboundedness):
        evidence = search(contract.program, seconds)
        if evidence is not None:
            statistics = best.solution.statistics
            return _Outcome(evidence.replace(statistics=statistics), best.report)
    return None


def _no_optimum(solution: QPSolution) -> Exception:
    if solution.status is Status.PRIMAL_INFEASIBLE:
        return InfeasibleProgramError(
            "The constraints contradict each other: the multipliers z, y, z_lower, z_upper of the "
            "solution returned without strict=True are a verified Farkas certificate. Relax the "
            "rows with a positive multiplier."
        )
    return UnboundedProgramError(
        "The objective falls without end along the verified direction in x of the solution "
        "returned without strict=True; add bounds, or check the sign of q."
    )


def _not_separable(problem: SVMProblem, evidence: QPSolution) -> NotSeparableError:
    """Farkas multipliers of the margin rows, or a ray of the dual: weights on the samples.

    Both satisfy ``sum_i s_i l_i x_i = 0`` and ``sum_i s_i l_i = 0`` with ``l >= 0``; scaled so
    that each class sums to one they produce a point of both convex hulls.
    """
    model = problem.model
    s = model.data.signs
    raw = evidence.z if problem.form == "primal" else evidence.x
    weights = np.maximum(np.zeros(len(s)) if raw is None else raw[: len(s)], 0.0)
    where = "the convex hulls of the two classes share a point"
    if model.intercept == "free":
        for sign in (-1.0, 1.0):
            weights[s == sign] /= max(float(np.sum(weights[s == sign])), np.finfo(float).tiny)
    else:
        weights /= max(float(np.sum(weights)), np.finfo(float).tiny)
        where = "the origin is a convex combination of the samples times their signs"
    signed = s * weights
    # |sum_i s_i l_i phi(x_i)| = distance between the two weighted means, in feature space
    distance = math.sqrt(max(float(signed @ model.kernel_product(signed)), 0.0))
    point = None
    if model.is_linear and model.intercept == "free":
        point = np.asarray(model.data.X.T @ np.where(s > 0, weights, 0.0))
    involved = int(np.count_nonzero(weights > 1e-12))
    return NotSeparableError(
        f"The classes cannot be separated with a margin: {where} (weights on {involved} samples "
        f"produce it from either side, {distance:.2g} apart; see .weights and .common_point). Use "
        "SoftMargin(C=...), or a kernel with more features.",
        weights,
        point,
        distance,
    )


# --- small pieces ----------------------------------------------------------------------------


def _resolve(backend: str | Backend, program: QuadraticProgram) -> tuple[Backend, str]:
    if isinstance(backend, Backend):
        return backend, ""
    if backend == "auto":
        name, reason = registry.choose(program)
        return registry.get(name), reason
    return registry.get(backend), ""


def _warm_start(svm: SVMProblem | None, start: SVMSolution | QPSolution | None) -> Any:
    if isinstance(start, SVMSolution):
        if svm is None or start.data.n_samples != svm.data.n_samples:
            raise InvalidParameterError(
                "warm_start is an SVMSolution with another number of samples than the problem; "
                "pass one with as many samples, or none."
            )
        return svm.to_qp(start)
    if start is not None and not isinstance(start, QPSolution):
        raise InvalidParameterError(
            f"warm_start is a {type(start).__name__}; pass an SVMSolution or a QPSolution."
        )
    return start


def _shortfall(solution: QPSolution, report: KKTReport, eps: float) -> str:
    failed = [check for check in report.checks if not check.passed]
    figures = ", ".join(f"{c.name} {c.scaled:.2e} (allowed {c.tolerance:.0e})" for c in failed)
    backend = solution.statistics.backend
    return (
        f"Backend {backend!r} did not reach eps={eps:g}: {figures or 'no figures'}. Status "
        f"{solution.status.value!r}, solver's own: {solution.native_status!r}. Try another "
        "backend, a larger eps, or scale the features."
    )
