"""The primal-dual interior-point method, with Mehrotra's predictor and corrector.

The central path of ``min 1/2 |w|^2 + 1/2 x'diag(d)x + q'x`` over ``w = F'x + offset``, ``A x = b``,
``lower <= x <= upper`` consists of the points, one for each mu > 0, with

    F w + q + A'y + d x = z - v,   A x = b,   s z = t v = mu,   s = x - lower,   t = upper - x

where s, t, z, v > 0. Newton's method follows the path to mu = 0, the optimum. No iterate needs to
satisfy the equations, so that any point inside the box is a start.

Source: Mehrotra, "On the implementation of a primal-dual interior point method", *SIAM J. Optim.*
2 (1992); Nocedal and Wright, *Numerical Optimization* (2006), section 16.6; the division into
variables, residuals and linear system is that of Gertz and Wright, "Object-oriented software for
quadratic programming", *ACM Trans. Math. Softw.* 29 (2003).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.interrupts import keep_best
from qpsvm.qp.solution import Status
from qpsvm.solvers.interior_point.accuracy import Accuracy
from qpsvm.solvers.interior_point.linear_system import Regularization, affine_step
from qpsvm.solvers.interior_point.predictor_corrector import (
    centering,
    combined_direction,
    step_along,
)
from qpsvm.solvers.interior_point.program import FactorProgram
from qpsvm.solvers.interior_point.settings import InteriorPointSettings
from qpsvm.solvers.interior_point.termination import BestPoint, StoppingRule, Termination
from qpsvm.solvers.interior_point.variables import Residuals, Variables, starting_point
from qpsvm.solvers.interior_point.workspace import Workspace

Report = Callable[[int, Accuracy], Status | None]
"""Told the number of iterations and the accuracy of the iterate; a status ends the search."""


@dataclass(frozen=True, eq=False)
class SearchResult:
    """Result of a search: its best point, status and reason.

    Attributes
    ----------
    x, y, w : arrays of shape (n,), (p,) and (r,)
    gap : float
        ``Accuracy.worst`` of that point.
    status : Status
    reason : str
        Why it stopped.
    iterations : int
    """

    x: Vector
    y: Vector
    w: Vector
    gap: float
    status: Status
    reason: str
    iterations: int


def interior_point(
    program: FactorProgram,
    eps: float,
    limit: int,
    report: Report,
    settings: InteriorPointSettings,
    start: Variables | None = None,
) -> SearchResult:
    """Run the interior-point method until the relative gap is within eps or stops falling.

    It begins at a point inside the box, by default the one of ``starting_point``.
    """
    rule, iteration = StoppingRule(eps, limit, settings), 0
    gaps: list[float] = []
    variables = starting_point(program) if start is None else start
    work = Workspace.of(program, settings)
    residuals = Residuals.of(program, variables)
    regularization = Regularization.initial(work)
    best = BestPoint(program, variables, residuals)
    try:
        while True:
            accuracy = Accuracy.of(work, variables, residuals)
            best = best.or_better(accuracy, variables, residuals, iteration)
            gaps = [*gaps, min([*gaps[-1:], accuracy.gap])]
            end = rule.check(iteration, accuracy, best, gaps)
            end = end or Termination.by_caller(report(iteration, accuracy))
            if end:
                break
            try:
                system, affine, regularization = affine_step(
                    work, variables, residuals, regularization
                )
                mu = work.mean_complementarity(variables)
                target = centering(system, affine, mu) * mu
                combined = combined_direction(system, affine, target)
            except np.linalg.LinAlgError as error:
                end = Termination(Status.INACCURATE, str(error))
                break
            variables = step_along(system, combined)
            residuals = Residuals.of(program, variables)
            iteration += 1
    except KeyboardInterrupt as error:
        end = Termination(Status.INTERRUPTED, "interrupted")
        keep_best(error, lambda: _result(best, end, iteration))
        raise
    return _result(best, end, iteration)


def _result(best: BestPoint, end: Termination, iteration: int) -> SearchResult:
    y, w = best.variables.y, best.variables.w
    return SearchResult(best.solution(), y, w, best.gap, end.status, end.reason, iteration)
