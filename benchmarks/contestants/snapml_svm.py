"""Snap ML (IBM): dual coordinate descent, with the samples in single precision.

It minimises ``regularizer / 2 |w|^2 + sum_i loss_i``, that is ``C = 1 / regularizer``, with the
intercept as the weight of a constant feature of 1, which is penalised. It keeps no multipliers.

Its library was compiled with ``-ffast-math``: loading it makes subnormal numbers zero for everyone
in the process. That is undone before anything is judged.
"""

from __future__ import annotations

import ctypes
import sys
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from benchmarks.contestants.base import Answer, Fitted, Task
from benchmarks.contestants.estimators import (
    Estimator,
    EstimatorContestant,
    Parameters,
    require,
    require_linear,
)
from qpsvm.formulations import SoftMargin


class SnapML(EstimatorContestant):
    """``SupportVectorMachine``."""

    name = "snapml:SVM"
    distribution = "snapml"
    required_modules = ("snapml",)
    determined: ClassVar[tuple[str, ...]] = (
        *("loss", "regularizer", "fit_intercept", "intercept_scaling", "tol", "random_state"),
        *("n_jobs", "class_weight", "kernel", "normalize"),
    )

    def parameters(self, task: Task) -> Parameters:
        formulation = task.formulation
        plain: Any = {"class_weight": None, "average_loss": False}
        require(formulation, SoftMargin, intercept=("penalized", "none"), **plain)
        require_linear(task.kernel)
        return {
            "loss": formulation.loss,
            "regularizer": 1.0 / formulation.C,
            "fit_intercept": formulation.intercept == "penalized",
            "tol": task.eps,
            "random_state": task.seed,
            "n_jobs": task.threads,
        }

    def estimator(self) -> Estimator:
        from snapml import SupportVectorMachine

        return SupportVectorMachine

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


CONTESTANTS = (SnapML,)
