"""ReHLine (Dai and Qiu, NeurIPS 2023): coordinate descent for piecewise linear-quadratic losses.

It minimises ``sum_i C ReLU(u_i x_i'w + v_i) + 1/2 |w|^2`` (ReHU for squared losses), with the
intercept as the weight of a constant feature of 1, which is penalised. Its multipliers are shares::

    hinge            u = -y, v = 1                     alpha = C Lambda
    squared hinge    ReHU(-sqrt(2 C) y f + sqrt(2 C))  alpha = sqrt(2 C) Gamma
    tube             u = 1 above and -1 below it       alpha* = C Lambda_0, alpha = C Lambda_1
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from benchmarks.arrays import Vector
from benchmarks.contestants.base import Answer, Fitted, Formulation, Task
from benchmarks.contestants.estimators import (
    Estimator,
    EstimatorContestant,
    Parameters,
    require,
    require_linear,
)
from qpsvm.formulations import EpsilonRegression, SoftMargin

LOSSES = {"hinge": "svm", "squared_hinge": "squared svm"}


class ReHLine(EstimatorContestant):
    """``plq_Ridge_Classifier`` and ``plq_Ridge_Regressor``."""

    name = "rehline"
    distribution = "rehline"
    required_modules = ("rehline",)
    determined: ClassVar[tuple[str, ...]] = (
        *("loss", "C", "fit_intercept", "intercept_scaling", "tol", "coordinate_seed"),
        *("class_weight", "constraint", "A", "b"),
    )

    def parameters(self, task: Task) -> Parameters:
        formulation = task.formulation
        intercept = ("penalized", "none")
        if isinstance(formulation, EpsilonRegression):
            plain: Any = {"loss": "epsilon_insensitive", "average_loss": False}
            require(formulation, EpsilonRegression, intercept=intercept, **plain)
            loss = {"name": "SVR", "epsilon": formulation.epsilon}
        else:
            plain = {"class_weight": None, "average_loss": False}
            require(formulation, SoftMargin, intercept=intercept, **plain)
            loss = {"name": LOSSES[formulation.loss]}
        require_linear(task.kernel)
        return {
            "loss": loss,
            "C": formulation.C,
            "fit_intercept": formulation.intercept == "penalized",
            "tol": task.eps,
            "coordinate_seed": task.seed,
        }

    def estimator(self) -> Estimator:
        import rehline

        return _by_loss(rehline.plq_Ridge_Classifier, rehline.plq_Ridge_Regressor)

    def answer(self, task: Task, fitted: Fitted) -> Answer:
        return self.answered(
            fitted,
            converged=bool(fitted.converged_),
            alpha=_alpha(task.formulation, fitted),
            coef=np.ravel(fitted.coef_),
            intercept=float(np.ravel(fitted.intercept_)[0]),
        )


def _by_loss(classifier: Estimator, regressor: Estimator) -> Estimator:
    """Return a function that makes the estimator for the loss in its parameters."""

    def make(**parameters: Any) -> Fitted:
        is_regression = parameters["loss"]["name"] == "SVR"
        return (regressor if is_regression else classifier)(**parameters)

    return make


def _alpha(formulation: Formulation, model: Fitted) -> Vector:
    C = float(formulation.C)
    if isinstance(formulation, EpsilonRegression):
        above, below = model._Lambda
        return C * np.concatenate([below, above])
    if formulation.loss == "squared_hinge":
        return math.sqrt(2.0 * C) * np.ravel(model._Gamma)
    return C * np.ravel(model._Lambda)


CONTESTANTS = (ReHLine,)
