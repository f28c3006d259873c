"""``qpsvm.solve``: any problem, any backend, by the steps of ``policy``; the choice of a device."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, Generic, NoReturn

from qpsvm.backends.base import Backend, Callback, Settings
from qpsvm.backends.own_solvers import ActiveSetBackend
from qpsvm.backends.registry import require_name
from qpsvm.certificates import certify_infeasible
from qpsvm.chunked import ChunkedKernelProblem, ChunkedProblem, ChunkedSolution
from qpsvm.chunked.solving import solve_chunked
from qpsvm.device import Device, device_named
from qpsvm.direct.joint import solved_jointly
from qpsvm.direct.machine import solved_directly
from qpsvm.direct.together import solved_together
from qpsvm.exceptions import (
    InvalidParameterError,
    QPSVMError,
    ToleranceNotReachedError,
    ToleranceNotReachedWarning,
)
from qpsvm.formulations.crammer_singer import JointProblem
from qpsvm.machines import SVMProblem, SVMSolution
from qpsvm.machines.arguments import remedy_for, warm_start_for
from qpsvm.machines.device_products import DeviceProducts
from qpsvm.machines.problem import Program, TrainingProblem
from qpsvm.machines.reduced import ReducedProblem, ReducedSolution
from qpsvm.machines.warm_start import NothingKnownError
from qpsvm.numerics.arguments import explains_calls, require_choice, require_flag
from qpsvm.numerics.interrupts import attach_solution, drop_best, map_best
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.sample_gram import products_by, products_elsewhere
from qpsvm.qp.solution import QPSolution, Status
from qpsvm.solving.attempts import NO_OPTIMUM, Solution, Solvable
from qpsvm.solving.messages import (
    interrupted,
    no_machine,
    no_optimum,
    not_trained_in_chunks,
    shortfall,
    shortfall_of_passes,
)
from qpsvm.solving.policy import solve_by_policy
from qpsvm.verification import verify_evaluated

ON_INTERRUPT = ("raise", "return")
"""What Ctrl-C can do to ``solve``."""


@explains_calls
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
    on_interrupt: str = "raise",
    options: Mapping[str, object] | None = None,
    device: str | Device = "auto",
) -> Solution:
    """Solve a program or an SVM problem, and verify the answer.

    A small machine in the dual form takes a short way with ``"auto"``: it is solved on its whole
    kernel matrix, or on its weights where features are few, and certified from its arrays; what is
    certified passes ``qpsvm.verify``.
    Otherwise, and with a callback, a limit, a warm start, options or ``verbose``, these are the
    steps in order; the first answer that passes ends it, and each step is left out where it is of
    no use:

    1. *backend*: the backend solves, with all of its tolerances derived from ``eps``.
    2. *verification*: the verifier measures the answer on the problem as it was given.
    3. *first search for evidence*: where the answer is far from optimal, for a proof that there is
       no optimum, by two linear programs of a second at most.
    4. *repair*: the answer is moved onto rows and bounds that it misses by little.
    5. *polish*: the active set that the answer suggests is solved for.
    6. *second attempt*: steps 1, 2, 4 and 5 with a hundredth of ``eps`` and without a warm start.
    7. *second backend*: for ``"auto"``, steps 1 to 6 with the primal program of a linear machine
       in the dual form, then with another backend.
    8. *search for evidence*: as step 3, for ten seconds each.
    9. *verdict*: the status, with the figures that were reached.

    Parameters
    ----------
    problem : SVMProblem, JointProblem, ReducedProblem or QuadraticProgram
        The parts of a ReducedProblem are solved together where all take the short way, else one
        after the other.
    backend : str or Backend
        ``"auto"``, or a name from ``qpsvm.backends.available()``.
    eps : float
        Relative accuracy to be certified: duality gap and scaled KKT residuals.
    time_limit : float, optional
        Seconds of wall clock for the whole call; of a ReducedProblem, for all of its parts. Every
        step looks at the same deadline, begins nothing after it and leaves what is under way, with
        two exceptions, so that no answer is returned unverified. The verification is never left
        out: its time is estimated, and up to half of the limit is set aside for it. Nor is the
        first gradient of a kernel machine ended. Both evaluate the kernel between all samples and
        the support vectors; a call whose limit is shorter than that takes as long as they do. With
        ``"auto"`` the first backend may take two thirds of the limit. ``statistics.seconds`` has
        the seconds of each step.
    max_iterations : int, optional
        In the backend's own counting.
    verbose : bool
        Print progress: the solver's own lines (for solvers without any, a line per
        iteration), and one for each further step of the contract.
    warm_start : solution of such a problem, or QPSolution, optional
        Used by the backends that can (``capabilities.warm_start``); ``statistics.note`` says where
        it was not. An interior-point method cannot: it begins far from all bounds. Where a warm
        start leads nowhere, the second attempt goes without. An SVMSolution may be of other
        samples, in any order, or of another C: samples that it knows keep their share of the
        box, new ones begin with zero (``qpsvm.machines.warm_start``).
    callback : callable, optional
        Receives ``qpsvm.backends.Progress`` events; returning False asks to stop. What it raises
        comes out as it is.
    strict : bool
        Raise instead of warning when the result is not a verified optimum.
    on_interrupt : {"raise", "return"}
        What Ctrl-C does: ``"raise"`` leaves the call at once with a KeyboardInterrupt, whose
        attribute ``solution`` is the best point so far (evaluated when it is first used; None
        where there is none yet, and for a ReducedProblem, some of whose machines have not been
        trained). ``"return"`` evaluates that point, returns it with status INTERRUPTED and a
        ToleranceNotReachedWarning, and raises where there is none.
    options : mapping, optional
        Settings of the solver under its own names; they win over those derived from ``eps``.
    device : {"auto", "cpu", "cuda"}
        ``"cuda"`` solves and verifies a kernel machine on an NVIDIA GPU (``docs/gpu.md``), with
        the options of ``qpsvm.solvers.device.settings.DeviceSettings``. ``"auto"`` is the
        processor.

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
    DeviceError
        There is no GPU that can be used, or its results are refused.
    KeyboardInterrupt
        Ctrl-C, with the attribute ``solution``: see ``on_interrupt``.

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
    require_problem(problem)
    require_flag(strict, "strict")
    require_flag(verbose, "verbose")
    require_choice(on_interrupt, ON_INTERRUPT, "on_interrupt")
    settings = Settings(
        eps=eps,
        time_limit=time_limit,
        max_iterations=max_iterations,
        verbose=verbose,
        callback=callback,
        options={} if options is None else options,
    ).started()
    try:
        with solving_on(device, backend) as chosen:
            answer = solve_with(problem, chosen, settings, warm_start, strict=strict)
    except KeyboardInterrupt as error:
        best: Any = vars(error)["solution"]
        if best is None or on_interrupt == "raise":
            raise
        answer = Answer(best, (interrupted(best),))
    for message in answer.shortfalls:
        warnings.warn(message, ToleranceNotReachedWarning, stacklevel=2)
    return answer.solution


@dataclass(frozen=True)
class Answer(Generic[Solution]):
    """The solution with its warnings: a sentence for every program that misses ``eps``.

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
    KeyboardInterrupt
        With the attribute ``solution``.
    """
    require_problem(problem)
    if not isinstance(backend, Backend):
        require_name(backend)
    try:
        answer: Answer[Solution] = answered(problem, Solving(backend, settings, strict), start)
    except KeyboardInterrupt as error:
        attach_solution(error, problem.solution_type)
        raise
    return answer


@dataclass(frozen=True)
class Solving:
    """Settings of a call for problems of any kind.

    Attributes
    ----------
    backend : str or Backend
    settings : Settings
    strict : bool
        Raise an error where there is no verified optimum.
    """

    backend: str | Backend
    settings: Settings
    strict: bool

    def short(self, solution: Solution, message: str) -> Answer[Solution]:
        """Return a solution that misses ``eps`` with the reason; raise an error if ``strict``."""
        if self.strict:
            raise ToleranceNotReachedError(message)
        return Answer(solution, (message,))


@singledispatch
def answered(problem: Any, solving: Solving, start: Any) -> Answer[Any]:
    """Solve a problem of any kind: a generic function, with one implementation for each type."""
    raise NotImplementedError(type(problem), solving, start)


def require_problem(problem: object) -> None:
    """Raise InvalidParameterError, with the way to a problem, for what ``solve`` cannot take."""
    if answered.dispatch(type(problem)) is not answered.dispatch(object):
        return
    taken = "an SVMProblem or a QuadraticProgram"
    got = f"the class {problem.__name__}" if isinstance(problem, type) else type(problem).__name__
    raise InvalidParameterError(f"solve takes {taken}, got {got}; {remedy_for(problem)}.")


@answered.register
def _program(problem: QuadraticProgram, solving: Solving, start: object) -> Answer[QPSolution]:
    """Solve a bare quadratic program, which must be convex."""
    if not problem.is_convex:
        problem.P.require_positive_semidefinite()
    return _machine(problem, solving, start)


@answered.register(TrainingProblem)
def _machine(problem: Program, solving: Solving, start: object) -> Answer[Any]:
    """Solve one problem in memory; its answer is verified, and repaired where it fails."""
    settings = solving.settings
    if start is not None:
        settings = settings.replace(warm_start=warm_start_for(problem, start))
    if solving.backend == "auto":
        directly = _directly(problem, solving, settings)
        if directly is not None:
            return directly
    try:
        outcome = solve_by_policy(problem, solving.backend, settings)
    except KeyboardInterrupt as error:
        map_best(error, lambda outcome: outcome.machine)
        raise
    solution = outcome.solution
    if solution.status in NO_OPTIMUM:
        if isinstance(problem, SVMProblem):
            raise no_machine(problem, solution, settings)
        if solving.strict:
            raise no_optimum(solution).with_certificate(certify_infeasible(problem, solution))
    elif solution.status is not Status.OPTIMAL:
        message = shortfall(problem, solution, outcome.report, settings.eps)
        return solving.short(outcome.machine, message)
    return Answer(outcome.machine)


def _directly(problem: Program, solving: Solving, settings: Settings) -> Answer[Any] | None:
    """Solve a small problem the short way; None where the general one is needed."""
    if isinstance(problem, SVMProblem):
        machine = solved_directly(problem, settings)
        return None if machine is None else Answer(machine)
    if not isinstance(problem, JointProblem):
        return None
    joint = solved_jointly(problem, settings)
    if joint is None or joint.status is Status.OPTIMAL:
        return None if joint is None else Answer(joint)
    report = verify_evaluated(problem, problem.evaluate(joint), eps=settings.eps)
    return solving.short(joint, shortfall(problem, joint.qp, report, settings.eps))


@answered.register
def _reduced(problem: ReducedProblem, solving: Solving, start: Any) -> Answer[ReducedSolution]:
    """Solve every part of a reduction before one deadline; errors name the part."""
    if start is None and solving.backend == "auto":
        whole = solved_together(problem, solving.settings)
        if whole is not None:
            return Answer(whole)
    n_parts = len(problem.names)
    starts = start.solutions if isinstance(start, ReducedSolution) else (None,) * n_parts
    if len(starts) != n_parts or not isinstance(start, ReducedSolution | None):
        raise InvalidParameterError(
            f"warm_start must be a ReducedSolution of {n_parts} machines, or None."
        )
    answers = list[Answer[SVMSolution]]()
    for part, name, own in zip(problem.problems, problem.names, starts, strict=True):
        try:
            try:
                answers.append(_machine(part, solving, own))
            except NothingKnownError:  # others may
                answers.append(_machine(part, solving, None))
        except QPSVMError as error:
            error.add_note(f"This was in {name!r}.")
            raise
        except KeyboardInterrupt as error:  # a solution needs the machines of all parts
            drop_best(error)
            raise
    return put_together(problem, answers)


@answered.register
def _chunked(problem: ChunkedProblem, solving: Solving, start: object) -> Answer[ChunkedSolution]:
    """Solve a linear problem on samples in chunks, in passes over them."""
    if start is not None:
        raise InvalidParameterError(
            "warm_start is not used for samples in chunks; options={'resume': path} continues "
            "from a checkpoint."
        )
    solution = solve_chunked(problem, solving.backend, solving.settings)
    if solution.status is Status.OPTIMAL:
        return Answer(solution)
    return solving.short(solution, shortfall_of_passes(solution, solving.settings.eps))


@answered.register
def _chunked_kernel(problem: ChunkedKernelProblem, solving: Solving, start: object) -> NoReturn:
    """Refuse a kernel problem on samples in chunks."""
    del solving, start
    raise not_trained_in_chunks(problem)


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


# --- devices -------------------------------------------------------------------------------------

ON_DEVICES = ("auto", "active-set")
"""Backends that a device can take the place of."""


@explains_calls
@contextmanager
def on_device(device: str | Device) -> Iterator[None]:
    """Let certificates, verdicts and predictions of kernel machines use a device.

    Its sums are tested before anything uses them (``docs/gpu.md``).

    Parameters
    ----------
    device : {"auto", "cpu", "cuda"}
        As for ``solve``; ``"auto"`` changes nothing.

    Yields
    ------
    None

    Raises
    ------
    DeviceError
        There is no GPU that can be used; inside the context also where its results are refused.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.SoftMargin(C=10.0).dual([[0.0], [1.0], [3.0]], [0, 0, 1], kernel="rbf")
    >>> solution = qpsvm.solve(problem)
    >>> with qpsvm.on_device("cpu"):  # "cuda"
    ...     solution.predict([[2.8]])
    array([1])
    """
    chosen = device_named(device)
    products = None if chosen is None else DeviceProducts(chosen)
    with products_by(products_elsewhere() if device == "auto" else products):
        yield


@contextmanager
def solving_on(device: str | Device, backend: str | Backend) -> Iterator[str | Backend]:
    """Provide the backend for a device; the verifier multiplies on it as well, with its tests.

    Parameters
    ----------
    device : {"auto", "cpu", "cuda"} or Device
    backend : str or Backend

    Raises
    ------
    DeviceError
        There is no GPU that can be used.
    InvalidParameterError
        A backend that solves on the processor alone.
    """
    chosen = device_named(device)
    if chosen is None:
        yield backend
        return
    if not isinstance(backend, ActiveSetBackend) or backend.device is None:
        if backend not in ON_DEVICES:
            raise InvalidParameterError(
                f"backend {backend!r} solves on the processor; with device='cuda' pass "
                "backend='auto', or device='cpu'."
            )
        backend = ActiveSetBackend(chosen)
    with on_device(chosen):
        yield backend
