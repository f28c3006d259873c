"""Every backend of qpsvm as it is: the program in the form asked for, no polish, no contract."""

from __future__ import annotations

import time
import warnings
from typing import Any

from qpsvm import backends
from qpsvm.backends import Backend, Settings
from qpsvm.benchmark.contestants.base import NO_OPTIMUM, Answer, Contestant, Problem, Task
from qpsvm.exceptions import QPSVMError, SuiteError, UnsupportedProgramError
from qpsvm.machines import Form
from qpsvm.qp import QPSolution

FORMS: tuple[Form, ...] = ("primal", "dual")


COUNTED = ("osqp", "qpsolvers:scs", "qpsolvers:daqp")
"""Their iterations are many and cheap: a count ends them long before any clock."""

UNTIL_THE_CLOCK = 10_000_000
"""Iterations of these, as many as peers are given in the suites."""


class BackendContestant(Contestant):
    """``backend.solve`` on the primal or dual program, and the machine that its answer is.

    Parameters
    ----------
    backend : Backend
    form : "dual" or "primal"
    **options
        Settings of the solver under its own names.
    """

    def __init__(self, backend: Backend, form: Form = "dual", **options: Any) -> None:
        self.backend = backend
        self.form = require_form(form)
        self.options = options
        self.distribution = backend.distribution
        self.required_modules = backend.required_modules

    def version(self) -> str:
        return self.backend.version()

    def fit(self, task: Task) -> tuple[Problem, QPSolution, float, Any]:
        self.backend.load()  # in the first, small fit, which is not measured
        began = time.perf_counter()
        problem = build(task, self.form)
        build_seconds = time.perf_counter() - began
        settings = Settings(
            eps=task.eps,
            time_limit=max(task.time_limit - build_seconds, SHORTEST),
            max_iterations=UNTIL_THE_CLOCK if self.backend.label in COUNTED else None,
            options=self.options,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what they warn of, their status says
            solution = self.backend.solve(problem.qp, settings)
        return problem, solution, build_seconds, machine_of(problem, solution)

    def answer(self, task: Task, fitted: tuple[Problem, QPSolution, float, Any]) -> Answer:
        del task
        problem, solution, build_seconds, found = fitted
        return answer_of(problem, solution, build_seconds, found)


SHORTEST = 1e-3
"""Seconds left for the solver where the program alone took all there were."""


def require_form(form: Any) -> Form:
    """Raise SuiteError unless it is a form."""
    if form not in FORMS:
        raise SuiteError(f"form is {form!r}; it is 'primal' or 'dual'.")
    found: Form = form
    return found


def build(task: Task, form: Form) -> Problem:
    """The program from the samples, ``task.problem`` in another copy: building it is timed."""
    if not hasattr(task.formulation, form):
        raise UnsupportedProgramError(f"{task.formulation!r} has no {form} form; ask for another.")
    make = getattr(task.formulation, form)
    problem: Problem = make(task.X, task.y, kernel=task.kernel)
    return problem


def machine_of(problem: Problem, qp: QPSolution) -> Any:
    """Weights and the best intercept for them, which peers hand out too; None without any."""
    if qp.x is None or qp.status in NO_OPTIMUM:
        return None
    try:
        return problem.recover(qp)
    except (QPSVMError, ValueError):  # of a vector that is broken: the judge says what it is
        return None


def answer_of(
    problem: Problem,
    qp: QPSolution,
    build_seconds: float,
    solution: Any = None,
) -> Answer:
    """What a QPSolution claims; ``solution`` where it was recovered already."""
    statistics = qp.statistics
    return Answer(
        claimed=qp.status,
        solution=qp if solution is None else solution,
        problem=problem,
        native_status=qp.native_status,
        iterations=statistics.iterations,
        build_seconds=build_seconds,
        setup_seconds=statistics.setup_seconds,
        solve_seconds=statistics.solve_seconds,
        settings={"form": problem.form, **statistics.settings},
        message=statistics.note,
    )


def names() -> tuple[str, ...]:
    """Every backend, installed or not."""
    return tuple(info.name for info in backends.available())
