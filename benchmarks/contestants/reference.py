"""The reference: the best lower bounds that qpsvm can find. It is never ranked.

A start from a solver that suits the size, then ``qpsvm.polish``:

* linear kernels, more samples than features: an interior-point method on the sparse primal;
* other programs too large for a dense dual: oneDAL, LIBSVM or LIBLINEAR at default tolerances;
* everything else: ``qpsvm.solve``.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

import qpsvm
from benchmarks.contestants.backends import SHORTEST, build
from benchmarks.contestants.base import Answer, Contestant, Problem, Task
from benchmarks.contestants.estimators import ESTIMATORS
from benchmarks.sets import Vector
from qpsvm import polish, solve, verify
from qpsvm.backends import Settings
from qpsvm.exceptions import NoOptimumError, QPSVMError, ToleranceNotReachedWarning
from qpsvm.machines import SVMProblem
from qpsvm.qp import QPSolution, Status

DENSE_PROGRAM_SIZE = 2000
"""Largest dual program, in variables, that is solved as a dense one within seconds."""

START_TOLERANCE = 1e-3
"""Tolerance of peers that give a starting point; the polish adds digits faster than they do."""

INTERIOR_POINT = ("qpsolvers:piqp", "cvxpy:CLARABEL")
"""Names of the backends that solve a sparse primal program for the reference, fastest first."""


Left: TypeAlias = Callable[[], float]
"""The seconds that are left."""

Start: TypeAlias = tuple[Problem, Any]
"""A problem and a solution of it, or a QPSolution with evidence that there is none."""


class Reference(Contestant):
    """Polish one starting point after another until a solution is within eps; keep the best.

    A start without a finite point, or that takes more memory than there is, is left out.
    """

    name = "reference"
    distribution = "qpsvm"

    def version(self) -> str:
        return qpsvm.__version__

    def fit(self, task: Task) -> Start:
        ends = time.perf_counter() + task.time_limit

        def left() -> float:
            return max(ends - time.perf_counter(), SHORTEST)

        best: tuple[float, Problem, object] | None = None
        for problem, start in _starts(task, left):
            if isinstance(start, QPSolution):  # evidence that there is no optimum
                return problem, start
            try:
                found = polish(problem, start, eps=task.eps, time_limit=left())
            except MemoryError:  # too many free variables for this start, not for the next
                continue
            report = verify(problem, found, eps=task.eps)
            # a start that is not improved comes back with its solver's claim
            status = Status.OPTIMAL if report.passed else Status.INACCURATE
            found = found.replace(qp=found.qp.replace(status=status))
            if best is None or report.relative_gap < best[0]:
                best = report.relative_gap, problem, found
            if report.passed or left() <= SHORTEST:
                break
        if best is None:
            raise QPSVMError("None of the reference's starts gave a solution.")
        return best[1:]

    def answer(self, task: Task, fitted: Start) -> Answer:
        del task
        problem, found = fitted
        qp = found if isinstance(found, QPSolution) else found.qp
        return Answer(
            claimed=qp.status,
            solution=found,
            problem=problem,
            settings={"start": qp.statistics.backend, "form": problem.form},
        )


def _starts(task: Task, left: Left) -> Iterator[Start]:
    problem = build(task, "dual")
    if isinstance(problem, SVMProblem) and problem.qp.n_variables > DENSE_PROGRAM_SIZE:
        if problem.model.is_linear and problem.data.n_samples > problem.data.n_features:
            yield from _interior_point(task, left)
        else:
            yield from _peers(task, problem, left)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ToleranceNotReachedWarning)  # the polish goes on
        try:
            start: object = solve(problem, eps=task.eps, time_limit=left())
        except NoOptimumError as error:
            if error.certificate is None:
                raise
            start = error.certificate.evidence
    yield problem, start


def _interior_point(task: Task, left: Left) -> Iterator[Start]:
    problem = build(task, "primal")
    for name in INTERIOR_POINT:
        backend = qpsvm.backends.get(name)
        if backend.missing_modules() or left() <= SHORTEST:
            continue
        qp = backend.solve(problem.qp, Settings(eps=task.eps, time_limit=left()))
        solution = problem.recover(qp)
        if np.isfinite(solution.alpha).all():  # stopped solvers have no point
            yield problem, solution


def _peers(task: Task, problem: SVMProblem, left: Left) -> Iterator[Start]:
    rough = replace(task, eps=START_TOLERANCE)
    for make in ESTIMATORS.values():
        peer = make()
        if peer.refusal(rough) or not peer.is_installed or left() <= SHORTEST:
            continue
        answer = peer.answer(rough, peer.fit(rough))
        given = _implied(problem, answer) if answer.alpha is None else answer.alpha
        alpha = np.asarray(given, dtype=np.float64)
        if not np.isfinite(alpha).all():  # oneDAL, of a large C
            continue
        beta = problem.model.expansion(alpha)
        start = QPSolution(Status.UNKNOWN).with_statistics(backend=peer.name)
        coef = problem.model.coef(beta)
        yield (
            problem,
            problem.model.recovered(
                start, alpha, expansion=beta, coef=coef, b=answer.intercept
            ).solution,
        )


def _implied(problem: SVMProblem, answer: Answer) -> Vector:
    """Multipliers that follow from weights: the slope ``v / d`` of the loss, clipped to the box."""
    c = problem.model.conditions
    v = problem.model.violations(
        problem.data.X @ np.asarray(answer.coef, dtype=np.float64), answer.intercept, 0.0
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.where(c.curvature > 0.0, v / c.curvature, np.where(v > 0.0, c.upper, c.lower))
    return np.clip(slope, c.lower, c.upper)
