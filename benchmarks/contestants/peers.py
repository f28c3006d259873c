"""Linear machines of other packages as contestants: ReHLine and Snap ML.

ReHLine (Dai and Qiu, NeurIPS 2023): coordinate descent for piecewise linear-quadratic losses. It
minimises ``sum_i C ReLU(u_i x_i'w + v_i) + 1/2 |w|^2`` (ReHU for squared losses). Its multipliers
are shares::

    hinge            u = -y, v = 1                     alpha = C Lambda
    squared hinge    ReHU(-sqrt(2 C) y f + sqrt(2 C))  alpha = sqrt(2 C) Gamma
    tube             u = 1 above and -1 below it       alpha* = C Lambda_0, alpha = C Lambda_1

Snap ML (IBM): dual coordinate descent, with the samples in single precision. It minimises
``regularizer / 2 |w|^2 + sum_i loss_i``, that is ``C = 1 / regularizer``, and keeps no multipliers.
Its library was compiled with ``-ffast-math``: loading it makes subnormal numbers zero for everyone
in the process. That is undone before anything is judged.

In both, the intercept is the weight of a constant feature of 1, which is penalised.
"""

from __future__ import annotations

import ctypes
import math
import sys
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from benchmarks.contestants.base import Answer, Fitted, Formulation, Task
from benchmarks.contestants.estimators import EstimatorContestant, Parameters
from benchmarks.sets import Vector
from qpsvm.formulations import EpsilonRegression, SoftMargin

INTERCEPTS = ("penalized", "none")
HINGES: Parameters = {"intercept": INTERCEPTS, "class_weight": None, "average_loss": False}
TUBE: Parameters = {
    "intercept": INTERCEPTS,
    "loss": "epsilon_insensitive",
    "average_loss": False,
}


class ReHLine(EstimatorContestant):
    """``plq_Ridge_Classifier`` and ``plq_Ridge_Regressor``."""

    name = "rehline"
    distribution = "rehline"
    module = "rehline"
    programs = {SoftMargin: HINGES, EpsilonRegression: TUBE}  # noqa: RUF012

    def determined(self, task: Task) -> Parameters:
        formulation = task.formulation
        if isinstance(formulation, EpsilonRegression):
            loss = {"name": "SVR", "epsilon": formulation.epsilon}
        else:
            names = {"hinge": "svm", "squared_hinge": "squared svm"}
            loss = {"name": names[formulation.loss]}
        return {
            "loss": loss,
            "C": formulation.C,
            "fit_intercept": formulation.intercept == "penalized",
            "coordinate_seed": task.seed,
        }

    def fit(self, task: Task) -> Fitted:
        is_regression = isinstance(task.formulation, EpsilonRegression)
        self.estimator = "plq_Ridge_Regressor" if is_regression else "plq_Ridge_Classifier"
        return super().fit(task)

    def answer(self, task: Task, fitted: Fitted) -> Answer:
        return self.answered(
            fitted,
            converged=bool(fitted.converged_),
            alpha=_alpha(task.formulation, fitted),
            coef=np.ravel(fitted.coef_),
            intercept=float(np.ravel(fitted.intercept_)[0]),
        )


def _alpha(formulation: Formulation, model: Fitted) -> Vector:
    C = float(formulation.C)
    if isinstance(formulation, EpsilonRegression):
        above, below = model._Lambda
        return C * np.concatenate([below, above])
    if formulation.loss == "squared_hinge":
        return math.sqrt(2.0 * C) * np.ravel(model._Gamma)
    return C * np.ravel(model._Lambda)


class SnapML(EstimatorContestant):
    """``SupportVectorMachine``."""

    name = "snapml:SVM"
    distribution = "snapml"
    module = "snapml"
    estimator = "SupportVectorMachine"
    programs = {SoftMargin: HINGES}  # noqa: RUF012

    def determined(self, task: Task) -> Parameters:
        formulation = task.formulation
        return {
            "loss": formulation.loss,
            "regularizer": 1.0 / formulation.C,
            "fit_intercept": formulation.intercept == "penalized",
            "random_state": task.seed,
            "n_jobs": task.threads,
        }

    def fit(self, task: Task) -> Fitted:
        # it refuses csr_array; no numbers are copied
        X = sp.csr_matrix(task.X) if sp.issparse(task.X) else task.X
        return super().fit(replace(task, X=X))

    def answer(self, task: Task, fitted: Fitted) -> Answer:
        restore_arithmetic()
        intercept = fitted.intercept_ if task.formulation.intercept == "penalized" else 0.0
        return self.answered(
            fitted,
            converged=fitted.n_iter_ < fitted.max_iter,
            coef=np.ravel(fitted.coef_),
            intercept=float(np.ravel(intercept)[0]),
        )


def restore_arithmetic() -> None:
    """Restore the C library's default floating-point environment in this thread."""
    if sys.platform == "linux":
        ctypes.CDLL(None).fesetenv(ctypes.c_void_p(-1))  # FE_DFL_ENV
