"""``qpsvm.solve``: any problem, any backend, by the steps of ``policy.py``."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar, cast

import numpy as np

from qpsvm.backends.base import Backend, Callback, Progress, Settings
from qpsvm.backends.registry import choose, get, require_name
from qpsvm.certificates import (
    certify_infeasible,
    conflict,
    not_separable,
    without_constraints,
)
from qpsvm.chunked import ChunkedKernelProblem, ChunkedProblem, ChunkedSolution
from qpsvm.contract import NO_OPTIMUM, Solvable
from qpsvm.exceptions import (
    InfeasibleProgramError,
    InvalidDataError,
    InvalidParameterError,
    NoOptimumError,
    QPSVMError,
    ToleranceNotReachedError,
    ToleranceNotReachedWarning,
    UnboundedProgramError,
)
from qpsvm.kkt_report import KKTReport
from qpsvm.machines import SVMProblem, SVMSolution
from qpsvm.machines.exact_types import require_stored
from qpsvm.machines.problem import Program, TrainingProblem
from qpsvm.machines.reduced import ReducedProblem, ReducedSolution
from qpsvm.machines.warm_start import NothingKnownError
from qpsvm.numerics.choices import require_flag
from qpsvm.numerics.deadline import NEVER
from qpsvm.passes import PassSettings, solve_in_passes
from qpsvm.policy import solve_by_policy
from qpsvm.qp.evidence_search import find_infeasibility
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.reductions import Reduced
from qpsvm.qp.solution import QPSolution, Status
from qpsvm.solve_state import POLICY

Solution = TypeVar("Solution")


def solve(
    problem: Solvable[Solution],
    backend: str | Backend = "auto",
    *,
    eps: float = 1e-8,
    time_limit: float | None = None,
    max_iterations: int | None = None,
    verbose: bool = False,
    warm_start: Solution | QPSolution | None = None,
    callback: Callback | None = None,
    strict: bool = False,
    options: Mapping[str, object] | None = None,
) -> Solution:
    """Solve a program or an SVM problem, and verify the answer.

    The steps of every solve, in order; the first answer that passes ends it, and each step is left
    out where it is of no use:

    1. *backend*: the backend solves, with all of its tolerances derived from ``eps``.
    2. *verification*: the verifier measures the answer on the problem as it was given.
    3. *first search for evidence*: where the answer is far from optimal, for a proof that there is
       no optimum, by two linear programs of a second at most.
    4. *repair*: the answer is moved onto rows and bounds that it misses by little.
    5. *polish*: the active set that the answer suggests is solved for.
    6. *second attempt*: steps 1, 2, 4 and 5 with a hundredth of ``eps`` and without a warm start.
    7. *second backend*: for ``"auto"``, steps 1 to 6 with another backend. A first one whose
       progress is too slow gives way at once, and goes on to its end where the other fails.
    8. *search for evidence*: as step 3, for ten seconds each.
    9. *verdict*: the status, with the figures that were reached.

    Parameters
    ----------
    problem : SVMProblem, JointProblem, ReducedProblem or QuadraticProgram
        The parts of a ReducedProblem are solved one after the other.
    backend : str or Backend
        ``"auto"``, or a name from ``qpsvm.backends.available()``.
    eps : float
        Relative accuracy to be certified: duality gap and scaled KKT residuals.
    time_limit : float, optional
        Seconds of wall clock for the whole call; of a ReducedProblem, for all of its parts. Every
        step looks at the same deadline and begins nothing after it. What is under way then ends
        first: an iteration or a factorisation, and the verification of the answer, which is never
        left out. With ``"auto"`` the first backend may take two thirds of it.
        ``statistics.seconds`` has the seconds of each step.
    max_iterations : int, optional
        In the backend's own counting.
    verbose : bool
        Print how far the solve is: the solver's own lines (for solvers without any, a line per
        iteration), and one for each further step of the contract.
    warm_start : solution of such a problem, or QPSolution, optional
        Used by the backends that can (``capabilities.warm_start``); ``statistics.note`` says where
        it was not. An interior-point method cannot: it begins far from all bounds. Where a warm
        start leads nowhere, the second attempt goes without. An SVMSolution may be of other
        samples, in any order, or of other prices: samples that it knows keep their share of the
        box, new ones begin with zero (``qpsvm.machines.warm_start``).
    callback : callable, optional
        Receives ``qpsvm.backends.Progress`` events; returning False asks to stop. What it raises
        comes out as it is.
    strict : bool
        Raise instead of warning when the result is not a verified optimum.
    options : mapping, optional
        Settings of the solver under its own names; they win over those derived from ``eps``.

    Returns
    -------
    SVMSolution, JointSolution, ReducedSolution or QPSolution
        ``status`` is OPTIMAL exactly when ``qpsvm.verify`` passes at ``eps``.

    Raises
    ------
    NotSeparableError
        A hard margin on classes that cannot be separated, with the proof.
    ConflictingConstraintsError
        Constraints on (w, b) that contradict each other, with the names of the rows.
    InfeasibleProgramError, UnboundedProgramError, ToleranceNotReachedError
        With ``strict=True`` only.
    UnknownBackendError, BackendNotInstalledError, UnsupportedProgramError, SolverFailedError
        The backend cannot be used; the message says what to do.
    InvalidParameterError
        A setting outside its domain; a warm start of another kind of problem, or one that knows
        none of the samples.
    NotPositiveSemidefiniteError
        A program that is not convex; the message has the smallest eigenvalue of P.

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
    require_flag(strict, "strict")
    require_flag(verbose, "verbose")
    if not isinstance(backend, Backend):
        require_name(backend)
    settings = Settings(
        eps=eps,
        time_limit=time_limit,
        max_iterations=max_iterations,
        verbose=verbose,
        callback=callback,
        options={} if options is None else options,
    ).started()
    answer = solve_with(problem, backend, settings, warm_start, strict=strict)
    for message in answer.shortfalls:
        warnings.warn(message, ToleranceNotReachedWarning, stacklevel=2)
    return answer.solution


@dataclass(frozen=True)
class Answer(Generic[Solution]):
    """A solution, and a sentence for every program whose solution misses ``eps``.

    Attributes
    ----------
    solution : SVMSolution, JointSolution, ReducedSolution or QPSolution
    shortfalls : tuple of str
    """

    solution: Solution
    shortfalls: tuple[str, ...] = ()


def solve_with(
    problem: Solvable[Solution],
    backend: str | Backend,
    settings: Settings,
    start: object = None,
    *,
    strict: bool = False,
) -> Answer[Solution]:
    """Solve a problem of any kind, or every part of a reduction, without a warning.

    Parameters
    ----------
    problem, backend, strict
        As for ``solve``.
    settings : Settings
    start : solution or None
        The warm start.

    Returns
    -------
    Answer

    Raises
    ------
    QPSVMError
        As ``solve``.
    """
    return cast(Answer[Solution], _solve(problem, backend, settings, start, strict=strict))


def _solve(
    problem: object, backend: str | Backend, settings: Settings, start: object, *, strict: bool
) -> Answer[Any]:
    if isinstance(problem, ReducedProblem):
        return _solve_parts(problem, backend, settings, start, strict=strict)
    if isinstance(problem, ChunkedProblem):
        return _solve_chunked(problem, backend, settings, start, strict=strict)
    if isinstance(problem, ChunkedKernelProblem):
        raise InvalidParameterError(
            f"A machine with the {problem.kernel} kernel cannot be trained on samples in chunks, "
            "because training evaluates pairs of samples; verify and certify judge one that was "
            "trained elsewhere. Train on arrays that fit into memory, or a linear machine on "
            "transformed features, for instance of sklearn.kernel_approximation.Nystroem."
        )
    if not isinstance(problem, TrainingProblem | QuadraticProgram):
        raise InvalidParameterError(
            f"solve takes an SVMProblem or a QuadraticProgram, got {type(problem).__name__}; "
            "formulations build one: qpsvm.SoftMargin(C=1.0).dual(X, y)."
        )
    if isinstance(problem, QuadraticProgram) and not problem.is_convex:
        problem.P.require_positive_semidefinite()
    settings = settings.replace(warm_start=_warm_start(problem, start))
    outcome = solve_by_policy(problem, backend, settings)
    solution = outcome.solution
    if solution.status in NO_OPTIMUM:
        if isinstance(problem, SVMProblem):
            raise _no_machine(problem, solution, settings)
        if strict:
            raise _no_optimum(solution).with_certificate(certify_infeasible(problem, solution))
    elif solution.status is not Status.OPTIMAL:
        message = _shortfall(solution, outcome.report, settings.eps)
        if strict:
            raise ToleranceNotReachedError(message)
        return Answer(outcome.machine, (message,))
    return Answer(outcome.machine)


def _solve_chunked(
    problem: ChunkedProblem, backend: str | Backend, settings: Settings, start: Any, *, strict: bool
) -> Answer[ChunkedSolution]:
    """Solve on samples in chunks; programs over open samples go to the backend."""
    if start is not None:
        raise InvalidParameterError(
            "warm_start is not used for samples in chunks; options={'resume': path} continues from "
            "a checkpoint."
        )
    own = PassSettings.of(settings.options)
    if settings.max_iterations is not None:
        own = replace(own, max_passes=min(own.max_passes, settings.max_iterations))
    assert settings.deadline is not None

    def solve_program(program: QuadraticProgram, eps: float) -> QPSolution:
        # no verdict on it is needed: the pass that follows bounds the whole problem
        reduced = Reduced.of(program)
        name = choose(reduced.program)[0] if backend == "auto" else backend
        solver = get(name) if isinstance(name, str) else name
        inner = Settings(eps=min(eps, own.loosest_eps), deadline=settings.deadline)
        return reduced.inverse(solver.solve(reduced.program, inner))

    def stop(kind: str, number: int, gap: float) -> bool:
        if settings.callback is None:
            return False
        event = Progress("solve", f"passes: {kind}", iteration=number, gap=gap)
        return settings.callback(event) is False

    solution = solve_in_passes(
        problem,
        settings.eps,
        own,
        solve_program,
        deadline=settings.deadline,
        verbose=settings.verbose,
        stop=stop,
    )
    if solution.status is Status.OPTIMAL:
        return Answer(solution)
    message = (
        f"{solution.statistics.passes} passes did not reach eps={settings.eps:g}: the certified "
        f"gap is {solution.certificate.relative_gap_upper:.2e} (status "
        f"{solution.status.value!r}). Allow more passes (max_iterations) or memory "
        "(options={'memory_limit': bytes}), or take a larger eps."
    )
    if strict:
        raise ToleranceNotReachedError(message)
    return Answer(solution, (message,))


def _solve_parts(
    problem: ReducedProblem, backend: str | Backend, settings: Settings, start: Any, *, strict: bool
) -> Answer[ReducedSolution]:
    """Solve every part of a reduction before one deadline; errors name the part."""
    n_parts = len(problem.problems)
    starts = start.solutions if isinstance(start, ReducedSolution) else (None,) * n_parts
    if len(starts) != n_parts or not isinstance(start, ReducedSolution | None):
        raise InvalidParameterError(
            f"warm_start must be a ReducedSolution of {n_parts} machines, or None."
        )
    answers = list[Answer[SVMSolution]]()
    for part, name, own in zip(problem.problems, problem.names, starts, strict=True):
        try:
            try:
                answers.append(_solve(part, backend, settings, own, strict=strict))
            except NothingKnownError:  # others may
                answers.append(_solve(part, backend, settings, None, strict=strict))
        except QPSVMError as error:
            error.add_note(f"This was in {name!r}.")
            raise
    return put_together(problem, answers)


def put_together(
    problem: ReducedProblem, answers: Sequence[Answer[SVMSolution]]
) -> Answer[ReducedSolution]:
    """Combine the answers to the parts of a reduction, in their order."""
    machines = tuple(answer.solution for answer in answers)
    parts = zip(problem.names, answers, strict=True)
    return Answer(
        ReducedSolution(machines, problem.data, problem.reduction),
        tuple(f"{name}: {message}" for name, own in parts for message in own.shortfalls),
    )


def _no_machine(problem: SVMProblem, solution: QPSolution, settings: Settings) -> NoOptimumError:
    """Build the error for a problem without optimum: inseparable classes or conflicts."""
    proof = certify_infeasible(problem, solution)
    deadline = settings.deadline or NEVER
    is_asked = problem.model.constraints is not None and problem.model.is_hard
    if is_asked and not deadline.has_passed():
        # rules that take part in a proof may still be innocent: the samples alone come first
        free = without_constraints(problem)
        seconds = min(POLICY.search_seconds, deadline.remaining())
        evidence = find_infeasibility(free.qp, seconds)
        alone = None if evidence is None else certify_infeasible(free, evidence)
        if alone is not None and alone.passed:
            problem, proof = free, alone
    if proof.hulls is not None:
        return not_separable(problem, proof.hulls).with_certificate(proof)
    error = conflict(problem, solution) or _no_optimum(solution)
    return error.with_certificate(proof)


def _no_optimum(solution: QPSolution) -> NoOptimumError:
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


def _warm_start(problem: Program, start: Any) -> Any:
    if isinstance(problem, TrainingProblem) and isinstance(start, problem.solution_type):
        try:
            require_stored(start, problem.solution_type)
            return problem.start_from(start)
        except InvalidParameterError:
            raise
        except InvalidDataError as error:
            raise InvalidParameterError(f"warm_start cannot be used: {error}") from error
        except (ValueError, IndexError, TypeError, AttributeError) as error:
            raise InvalidParameterError(
                "warm_start is a solution of another kind of problem (other features, conditions "
                f"or constraints: {error}); pass one of the same kind, or none."
            ) from error
    if start is not None and not isinstance(start, QPSolution):
        raise InvalidParameterError(
            f"warm_start is a {type(start).__name__}; pass a solution of such a problem or a "
            "QPSolution."
        )
    if start is not None and (start.x is None or not np.isfinite(start.x).all()):
        raise InvalidParameterError(
            "warm_start has no x, or NaN or infinite entries in it; pass a solution with a point."
        )
    return start


def _shortfall(solution: QPSolution, report: KKTReport, eps: float) -> str:
    failed = [check for check in report.checks if not check.passed]
    figures = ", ".join(f"{c.name} {c.scaled:.2e} (allowed {c.tolerance:.0e})" for c in failed)
    backend = solution.statistics.backend
    why = "".join(f"Note: {note}. " for note in report.notes)
    return (
        f"Backend {backend!r} did not reach eps={eps:g}: {figures or 'no figures'}. Status "
        f"{solution.status.value!r}, solver's own: {solution.native_status!r}. {why}Try another "
        "backend, a larger eps, or scale the features."
    )
