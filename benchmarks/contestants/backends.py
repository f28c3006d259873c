"""Backends of qpsvm as contestants, without polish and without the tolerance contract."""

from __future__ import annotations

import time
import warnings

from benchmarks.contestants.base import NO_OPTIMUM, Answer, Contestant, Problem, Task
from qpsvm import backends
from qpsvm.backends import Backend, Settings
from qpsvm.exceptions import QPSVMError, SuiteError, UnsupportedProgramError
from qpsvm.machines import Form
from qpsvm.qp import QPSolution

FORMS: tuple[Form, ...] = ("primal", "dual")


COUNTED = ("osqp", "qpsolvers:scs", "qpsolvers:daqp")
"""Backends that stop at an iteration limit long before any time limit."""

UNTIL_THE_CLOCK = 10_000_000
"""Iteration limit of the backends in ``COUNTED``; the suites give peers as many."""


class BackendContestant(Contestant):
    """``backend.solve`` on the primal or dual program, and the machine recovered from its answer.

    Parameters
    ----------
    backend : Backend
    form : "dual" or "primal"
    **options
        Settings of the solver under its own names.
    """

    def __init__(self, backend: Backend, form: Form = "dual", **options: object) -> None:
        self.backend = backend
        self.form = require_form(form)
        self.options = options
        self.distribution = backend.distribution
        self.required_modules = backend.required_modules

    def version(self) -> str:
        return self.backend.version()

    def fit(self, task: Task) -> tuple[Problem, QPSolution, float, object]:
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

    def answer(self, task: Task, fitted: tuple[Problem, QPSolution, float, object]) -> Answer:
        del task
        problem, solution, build_seconds, found = fitted
        return answer_of(problem, solution, build_seconds, found)


SHORTEST = 1e-3
"""Least time limit of a solver, seconds, when building the program used up the time."""


def require_form(form: str) -> Form:
    """Return ``form``, or raise SuiteError unless it is "primal" or "dual"."""
    if form not in FORMS:
        raise SuiteError(f"form is {form!r}; it is 'primal' or 'dual'.")
    found: Form = form
    return found


def build(task: Task, form: Form) -> Problem:
    """Build the program from the samples anew, because building it is part of the time."""
    if not hasattr(task.formulation, form):
        raise UnsupportedProgramError(f"{task.formulation!r} has no {form} form; ask for another.")
    make = getattr(task.formulation, form)
    problem: Problem = make(task.X, task.y, kernel=task.kernel)
    return problem


def machine_of(problem: Problem, qp: QPSolution) -> object:
    """Recover weights and intercept, as peers do; None if the answer has no usable point."""
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
    solution: object = None,
) -> Answer:
    """Return the answer of a QPSolution; ``solution`` is the machine, if recovered already."""
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
    """Names of all backends, installed or not."""
    return tuple(info.name for info in backends.available())
