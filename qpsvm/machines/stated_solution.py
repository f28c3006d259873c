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
) -> SVMSolution:
    """Build a solution from stated numbers; width and slack are zero, to be computed later.

    Parameters
    ----------
    model : TrainingSetup
    alpha : array of shape (N,)
    intercept : float
    coef : array of shape (d,), optional
    expansion : array of shape (n,), optional
    """
    return SVMSolution(
        alpha=alpha,
        expansion=expansion,
        coef=coef,
        intercept=intercept,
        intercept_interval=Interval(intercept, intercept),
        width=0.0,
        slack=np.zeros(len(model.conditions)),
        constraint_multipliers=NO_MULTIPLIERS,
        conditions=model.conditions,
        kernel=model.kernel,
        data=model.data,
        qp=QPSolution(Status.UNKNOWN),
        repair=model.repair,
    )
