"""A solution made of stated numbers: dual variables, weights and an intercept."""

from __future__ import annotations

import numpy as np

from qpsvm.machines.intercept import Interval
from qpsvm.machines.setup import NO_MULTIPLIERS, TrainingSetup
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arrays import Vector
from qpsvm.qp.solution import QPSolution, Status


def stated_solution(
    model: TrainingSetup,
    alpha: Vector,
    intercept: float,
    *,
    coef: Vector | None = None,
    expansion: Vector | None = None,
    multipliers: Vector = NO_MULTIPLIERS,
    width: float = 0.0,
    qp: QPSolution | None = None,
) -> SVMSolution:
    """Build a solution from stated numbers; the slack is zero, to be computed later.

    Parameters
    ----------
    model : TrainingSetup
    alpha : array of shape (N,)
    intercept : float
    coef : array of shape (d,), optional
    expansion : array of shape (n,), optional
    multipliers : array of shape (m,)
        Of the constraints on (w, b).
    width : float
    qp : QPSolution, optional
        The program's own solution; one of status UNKNOWN by default.
    """
    return SVMSolution(
        alpha=alpha,
        expansion=expansion,
        coef=coef,
        intercept=intercept,
        intercept_interval=Interval(intercept, intercept),
        width=width,
        slack=np.zeros(len(model.conditions)),
        constraint_multipliers=multipliers,
        conditions=model.conditions,
        kernel=model.kernel,
        data=model.data,
        qp=QPSolution(Status.UNKNOWN) if qp is None else qp,
        repair=model.repair,
    )
