"""The most accurate there is, for the best lower bounds; never ranked.

A start from a solver that suits the size, then ``qpsvm.polish``:

* linear kernels, more samples than features: an interior-point method on the sparse primal;
* other programs too large for a dense dual: LIBSVM at its default tolerance;
* everything else: ``qpsvm.solve``.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

import qpsvm
from qpsvm.backends import Settings
from qpsvm.benchmark.contestants import scikit_learn
from qpsvm.benchmark.contestants.backends import SHORTEST, build
from qpsvm.benchmark.contestants.base import Answer, Contestant, Task
from qpsvm.certificates import certify
from qpsvm.exceptions import NoOptimumError, QPSVMError, ToleranceNotReachedWarning
from qpsvm.machines.problem import SVMProblem
from qpsvm.polishing import polish
from qpsvm.qp.solution import QPSolution, Status
from qpsvm.solving import solve

SMALL = 2000
"""Variables of a dual program that is solved as a dense one in seconds."""

START_TOLERANCE = 1e-3
"""Of LIBSVM: the polish is faster than its last digits."""

INTERIOR_POINT = ("qpsolvers:piqp", "cvxpy:CLARABEL")
"""On the sparse primal, the fastest first; the second comes with qpsvm's own dependencies."""


class Reference(Contestant):
    """Starts in turn, each polished, until one is within eps; the one with the smallest gap."""

    name = "reference"
    distribution = "qpsvm"

    def version(self) -> str:
        return qpsvm.__version__

    def fit(self, task: Task) -> tuple[Any, Any]:
        clock = _Clock(task.time_limit)
        best: tuple[float, Any, Any] | None = None
        for problem, start in _starts(task, clock):
            if isinstance(start, QPSolution):  # evidence that there is no optimum
                return problem, start
            found = polish(problem, start, eps=task.eps, time_limit=clock.left)
            gap = certify(problem, found).relative_gap
            if best is None or gap < best[0]:
                best = gap, problem, found
            if found.qp.status is Status.OPTIMAL or clock.left <= SHORTEST:
                break
        if best is None:
            raise QPSVMError("None of the reference's starts gave a solution.")
        return best[1:]

    def answer(self, task: Task, fitted: tuple[Any, Any]) -> Answer:
        del task
        problem, found = fitted
        qp = found if isinstance(found, QPSolution) else found.qp
        return Answer(
            claimed=qp.status,
            solution=found,
            problem=problem,
            settings={"start": qp.statistics.backend, "form": problem.form},
        )


class _Clock:
    def __init__(self, limit: float) -> None:
        self.ends = time.perf_counter() + limit

    @property
    def left(self) -> float:
        return max(self.ends - time.perf_counter(), SHORTEST)


def _starts(task: Task, clock: _Clock) -> Iterator[tuple[Any, Any]]:
    problem = build(task, "dual")
    if isinstance(problem, SVMProblem) and problem.qp.n_variables > SMALL:
        if problem.model.is_linear and problem.data.n_samples > problem.data.n_features:
            yield from _interior_point(task, clock)
        yield from _libsvm(task, problem)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ToleranceNotReachedWarning)  # the polish goes on
        try:
            start: Any = solve(problem, eps=task.eps, time_limit=clock.left)
        except NoOptimumError as error:
            if error.certificate is None:
                raise
            start = error.certificate.evidence
    yield problem, start


def _interior_point(task: Task, clock: _Clock) -> Iterator[tuple[Any, Any]]:
    problem = build(task, "primal")
    for name in INTERIOR_POINT:
        backend = qpsvm.backends.get(name)
        if backend.missing_modules():
            continue
        qp = backend.solve(problem.qp, Settings(eps=task.eps, time_limit=clock.left))
        solution = problem.recover(qp)
        if np.isfinite(solution.alpha).all():
            yield problem, solution


def _libsvm(task: Task, problem: SVMProblem) -> Iterator[tuple[Any, Any]]:
    rough = Task(task.formulation, task.X, task.y, task.kernel, eps=START_TOLERANCE)
    for kind in scikit_learn.LIBSVM:
        peer = kind()
        if peer.refusal(rough):
            continue
        answer = peer.answer(rough, peer.fit(rough))
        model, alpha = problem.model, answer.alpha
        beta = model.expansion(alpha)
        start = QPSolution(Status.UNKNOWN).with_statistics(backend=peer.name)
        yield (
            problem,
            model.solution(start, alpha, expansion=beta, coef=model.coef(beta), b=answer.intercept),
        )


CONTESTANTS = (Reference,)
