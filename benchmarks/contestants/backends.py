"""Backends of qpsvm as contestants: as they are, called by ``qpsvm.solve``, and the reference."""

from __future__ import annotations

import time
import warnings
from abc import abstractmethod
from contextlib import suppress
from functools import partial
from typing import Any, TypeAlias

import qpsvm
from benchmarks.contestants.base import NO_OPTIMUM, Answer, Contestant, Problem, Task
from qpsvm.backends import Backend, Settings
from qpsvm.exceptions import NoOptimumError, QPSVMError, SuiteError, UnsupportedProgramError
from qpsvm.machines import Form
from qpsvm.qp import QPSolution, Status

COUNTED = ("osqp", "qpsolvers:scs", "qpsolvers:daqp")
"""Backends that stop at an iteration limit long before any time limit."""

UNTIL_THE_CLOCK = 10_000_000
"""Iteration limit of the backends in ``COUNTED``; the suites give peers as many."""

SHORTEST = 1e-3
"""Least time limit of a solver, seconds, when building the program used up the time."""

Solved: TypeAlias = tuple[QPSolution, Any]
"""The solution of a program, and the machine that was recovered from it; None without one."""


class _ProgramContestant(Contestant):
    """Build a program in one form, solve it, recover the machine, as peers do.

    Parameters
    ----------
    form : "dual" or "primal"
    **options
        Settings of the solver under its own names.
    """

    def __init__(self, form: Form = "dual", **options: object) -> None:
        if form not in ("primal", "dual"):
            raise SuiteError(f"form is {form!r}; it is 'primal' or 'dual'.")
        self.form = form
        self.options = options

    @abstractmethod
    def solved(self, problem: Problem, eps: float, time_limit: float) -> Solved:
        """Solve the program and recover the machine."""

    def fit(self, task: Task) -> tuple[Problem, QPSolution, float, object]:
        began = time.perf_counter()
        problem = build(task, self.form)
        build_seconds = time.perf_counter() - began
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what they warn of, their status says
            left = max(task.time_limit - build_seconds, SHORTEST)
            qp, machine = self.solved(problem, task.eps, left)
        return problem, qp, build_seconds, machine

    def answer(self, task: Task, fitted: tuple[Problem, QPSolution, float, object]) -> Answer:
        del task
        problem, qp, build_seconds, machine = fitted
        statistics = qp.statistics
        return Answer(
            claimed=qp.status,
            solution=qp if machine is None else machine,
            problem=problem,
            native_status=qp.native_status,
            iterations=statistics.iterations,
            build_seconds=build_seconds,
            setup_seconds=statistics.setup_seconds,
            solve_seconds=statistics.solve_seconds,
            settings={"form": problem.form, **statistics.settings},
            message=statistics.note,
        )


def build(task: Task, form: Form) -> Problem:
    """Build the program from the samples anew, because building it is part of the time."""
    if not hasattr(task.formulation, form):
        raise UnsupportedProgramError(f"{task.formulation!r} has no {form} form; ask for another.")
    make = getattr(task.formulation, form)
    problem: Problem = make(task.X, task.y, kernel=task.kernel)
    return problem


class BackendContestant(_ProgramContestant):
    """``backend.solve`` without polish and without the tolerance contract.

    Parameters
    ----------
    backend : Backend
    form : "dual" or "primal"
    **options
        Settings of the solver under its own names.
    """

    def __init__(self, backend: Backend, form: Form = "dual", **options: object) -> None:
        super().__init__(form, **options)
        self.backend = backend
        self.distribution = backend.distribution
        self.required_modules = backend.required_modules

    def version(self) -> str:
        return self.backend.version()

    def fit(self, task: Task) -> tuple[Problem, QPSolution, float, object]:
        self.backend.load()  # in the first, small fit, which is not measured
        return super().fit(task)

    def solved(self, problem: Problem, eps: float, time_limit: float) -> Solved:
        most = UNTIL_THE_CLOCK if self.backend.label in COUNTED else None
        settings = Settings(
            eps=eps, time_limit=time_limit, max_iterations=most, options=self.options
        )
        qp = self.backend.solve(problem.qp, settings)
        if qp.x is None or qp.status in NO_OPTIMUM:
            return qp, None
        try:
            return qp, problem.recover(qp)
        except (QPSVMError, ValueError):  # of a vector that is broken: the judge says what it is
            return qp, None


class SolveContestant(_ProgramContestant):
    """``qpsvm.solve(problem, backend, eps=eps)``: verified, polished, asked a second time.

    Parameters
    ----------
    backend : str
    form : "dual" or "primal"
    **options
        Settings of the solver under its own names.
    """

    name = "qpsvm"
    distribution = "qpsvm"

    def __init__(self, backend: str = "auto", form: Form = "dual", **options: object) -> None:
        super().__init__(form, **options)
        self.backend = backend
        if backend != "auto":
            self.required_modules = qpsvm.backends.get(backend).required_modules

    def version(self) -> str:
        own = qpsvm.__version__
        if self.backend == "auto":
            return own
        return f"{own} ({self.backend} {qpsvm.backends.get(self.backend).version()})"

    def solved(self, problem: Problem, eps: float, time_limit: float) -> Solved:
        solve = partial(qpsvm.solve, eps=eps, time_limit=time_limit, options=self.options)
        try:
            found = solve(problem, self.backend)
        except NoOptimumError as error:
            if error.certificate is None:
                raise
            return error.certificate.evidence, None
        return found.qp, found


class Reference(SolveContestant):
    """The best lower bounds that qpsvm finds, by ``solve`` and then ``polish``; never ranked."""

    name = "reference"

    def __init__(self) -> None:
        super().__init__()

    def solved(self, problem: Problem, eps: float, time_limit: float) -> Solved:
        ends = time.perf_counter() + time_limit
        qp, found = super().solved(problem, eps, time_limit)
        if found is None:  # evidence that there is no optimum
            return qp, None
        with suppress(MemoryError):  # too many free variables: the solution as it is
            left = max(ends - time.perf_counter(), SHORTEST)
            found = qpsvm.polish(problem, found, eps=eps, time_limit=left)
        # a solution that is not improved comes back with its solver's claim
        passed = qpsvm.verify(problem, found, eps=eps).passed
        qp = found.qp.replace(status=Status.OPTIMAL if passed else Status.INACCURATE)
        return qp, found.replace(qp=qp)
