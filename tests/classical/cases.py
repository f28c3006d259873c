"""Real data and their optima for the classical methods."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.preprocessing import scale

import qpsvm
from tests.tolerances import TIGHT

IRIS = datasets.load_iris(return_X_y=True)
VERSICOLOR = scale(IRIS[0][50:, 2:]), IRIS[1][50:]  # the pair that cannot be separated
SETOSA = scale(IRIS[0][:100, :2]), IRIS[1][:100]
CANCER = datasets.load_breast_cancer(return_X_y=True)
CANCER = scale(CANCER[0][:80]), CANCER[1][:80]

DATA = {"iris": VERSICOLOR, "cancer": CANCER}


@cache
def problem(
    data: str = "iris",
    *,
    form: str = "dual",
    intercept: Any = "free",
    loss: Any = "hinge",
    C: float = 1.0,
    kernel: str = "linear",
    average_loss: bool = False,
) -> Any:
    family = qpsvm.SoftMargin(C=C, intercept=intercept, loss=loss, average_loss=average_loss)
    return getattr(family, form)(*DATA[data], kernel=kernel)


@cache
def optimum(given: Any) -> float:
    """The optimal cost of a problem, by the package's own solvers."""
    solution = qpsvm.solve(given, eps=TIGHT)
    return float(qpsvm.certify(given, solution).primal_objective)


def assert_bounds(given: Any, result: Any) -> None:
    """Every row of a trace encloses the optimum, and the last one has the smallest step."""
    best, trace = optimum(given), result.trace
    slack = 1e-9 * max(1.0, abs(best))
    assert (trace.cost >= best - slack).all()
    assert (trace.dual <= best + slack).all()
    assert (trace.gap >= 0.0).all()
    assert (trace.cost - trace.dual >= -slack).all()
    assert trace.step[0] == 0
    assert (np.diff(trace.step) > 0).all()
    assert (np.diff(trace.seconds) >= 0.0).all()
