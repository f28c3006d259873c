"""Run a textbook method on a dual program, with a certified gap at every checkpoint."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from qpsvm.classical.machines import recovered
from qpsvm.classical.recording import Recorder
from qpsvm.classical.result import ClassicalResult
from qpsvm.classical.settings import Limits, TraceSettings
from qpsvm.exceptions import InvalidParameterError
from qpsvm.machines.problem import SVMProblem
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arrays import Vector
from qpsvm.solvers.classical.methods import run
from qpsvm.solvers.classical.program import DualProgram
from qpsvm.solvers.classical.settings import ClassicalSettings


def traced(
    problem: SVMProblem,
    name: str,
    own: ClassicalSettings,
    limits: Limits,
    verbose: bool,
    settings: TraceSettings,
    machine: Callable[[Vector], SVMSolution] | None = None,
) -> ClassicalResult:
    """Run a textbook method on a dual program and record the certified gap as it goes."""
    require_dual(problem, name.replace("-", "_"))

    def best_intercept(x: Vector) -> SVMSolution:
        return recovered(problem, x)

    label = f"classical:{name}"
    recorder = Recorder(problem, label, machine or best_intercept, limits, settings, verbose)
    dual = DualProgram.of(problem.qp, label)
    recorder.begin(dual.start())
    with np.errstate(all="ignore"):  # what diverges is noticed at the next checkpoint
        run(name, problem.qp, dual, dual.start(), own, recorder.visit)
    return recorder.result()


def require_dual(problem: object, method: str) -> None:
    """Raise InvalidParameterError unless the problem is the dual of a training problem."""
    if not isinstance(problem, SVMProblem) or problem.form != "dual":
        what = type(problem).__name__
        if isinstance(problem, SVMProblem):
            what = f"{problem.family} in its primal form"
        raise InvalidParameterError(
            f"{method} takes the dual of a training problem, got {what}; build one with "
            "qpsvm.SoftMargin(C=1.0).dual(X, y)."
        )
