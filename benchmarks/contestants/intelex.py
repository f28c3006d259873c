"""Intel's extension of scikit-learn: the same estimators with oneDAL's solver inside."""

from __future__ import annotations

from typing import ClassVar

import scipy.sparse as sp

from benchmarks.contestants import scikit_learn
from benchmarks.contestants.base import Answer, Fitted, Task
from benchmarks.contestants.estimators import Estimator, Parameters
from qpsvm.exceptions import UnsupportedProgramError


class _OneDAL(scikit_learn.LibsvmMachine):
    distribution = "scikit-learn-intelex"
    required_modules = ("sklearnex",)
    determined: ClassVar[tuple[str, ...]] = (*scikit_learn.LibsvmMachine.determined, "n_jobs")

    def parameters(self, task: Task) -> Parameters:
        return {**super().parameters(task), "n_jobs": task.threads}

    def estimator(self) -> Estimator:
        import sklearnex.svm

        return getattr(sklearnex.svm, self.name.partition(":")[2])

    def fit(self, task: Task) -> Fitted:
        model = super().fit(task)
        if not hasattr(model, "_onedal_estimator"):
            raise UnsupportedProgramError("the extension handed this program on to scikit-learn")
        return model

    def answer(self, task: Task, fitted: Fitted) -> Answer:
        rows = fitted.support_vectors_
        if sp.issparse(rows):  # columns behind the last entry of all support vectors are lost
            rows.resize(rows.shape[0], task.X.shape[1])
        return super().answer(task, fitted)


class SVC(_OneDAL, scikit_learn.SVC):
    """C-SVC of oneDAL."""

    name = "intelex:SVC"


class SVR(_OneDAL, scikit_learn.SVR):
    """epsilon-SVR of oneDAL."""

    name = "intelex:SVR"


CONTESTANTS = (SVC, SVR)
