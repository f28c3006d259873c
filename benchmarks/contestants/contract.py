"""``qpsvm.solve`` with its tolerance contract: verified, polished, asked a second time."""

from __future__ import annotations

import time
import warnings
from typing import Any

import qpsvm
from benchmarks.contestants.backends import SHORTEST, answer_of, build, require_form
from benchmarks.contestants.base import Answer, Contestant, Problem, Task
from qpsvm import solve
from qpsvm.exceptions import NoOptimumError, ToleranceNotReachedWarning
from qpsvm.machines import Form


class ContractContestant(Contestant):
    """``qpsvm.solve(problem, backend, eps=eps)``.

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
        self.backend = backend
        self.form = require_form(form)
        self.options = options
        if backend != "auto":
            self.required_modules = qpsvm.backends.get(backend).required_modules

    def version(self) -> str:
        own = qpsvm.__version__
        if self.backend == "auto":
            return own
        return f"{own} ({self.backend} {qpsvm.backends.get(self.backend).version()})"

    def fit(self, task: Task) -> tuple[Problem, object, float]:
        began = time.perf_counter()
        problem = build(task, self.form)
        build_seconds = time.perf_counter() - began
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ToleranceNotReachedWarning)  # the judge says it
            try:
                found: object = solve(
                    problem,
                    self.backend,
                    eps=task.eps,
                    time_limit=max(task.time_limit - build_seconds, SHORTEST),
                    options=self.options,
                )
            except NoOptimumError as error:
                if error.certificate is None:
                    raise
                found = error.certificate.evidence
        return problem, found, build_seconds

    def answer(self, task: Task, fitted: tuple[Problem, Any, float]) -> Answer:
        del task
        problem, found, build_seconds = fitted
        if isinstance(found, problem.solution_type):
            return answer_of(problem, found.qp, build_seconds, found)
        return answer_of(problem, found, build_seconds)
