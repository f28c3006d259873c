"""scikit-learn's machines: LIBSVM and LIBLINEAR inside.

LIBSVM leaves the intercept free, LIBLINEAR penalises it (or has none). nu-SVR's C is the price of
one sample and ``NuRegression``'s that of the average. ``audit.readers`` has the way back.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from benchmarks.contestants.base import Answer, Fitted, Formulation, Task
from benchmarks.contestants.estimators import (
    Estimator,
    EstimatorContestant,
    Parameters,
    claim_of,
    libsvm_kernel,
    require,
    require_linear,
)
from qpsvm.formulations import (
    EpsilonRegression,
    NuClassification,
    NuRegression,
    OneClass,
    SoftMargin,
)


class LibsvmMachine(EstimatorContestant):
    """Base class of LIBSVM's machines, in any package."""

    distribution = "scikit-learn"
    required_modules = ("sklearn",)
    determined: ClassVar[tuple[str, ...]] = (
        *("C", "nu", "epsilon", "kernel", "gamma", "degree", "coef0", "tol", "class_weight"),
    )

    @abstractmethod
    def own(self, formulation: Formulation, n: int) -> Parameters:
        """Return the parameters other than kernel and tolerance.

        Raises
        ------
        UnsupportedProgramError
            It solves another program.
        """

    def parameters(self, task: Task) -> Parameters:
        own = self.own(task.formulation, task.X.shape[0])
        return {**own, **libsvm_kernel(task.kernel), "tol": task.eps}

    def estimator(self) -> Estimator:
        import sklearn.svm

        return getattr(sklearn.svm, self.name.partition(":")[2])

    def answer(self, task: Task, fitted: Fitted) -> Answer:
        claim = claim_of(fitted, task)
        return self.answered(
            fitted,
            converged=fitted.fit_status_ == 0,
            alpha=claim.alpha,
            intercept=claim.intercept,
            width=claim.width,
        )


class SVC(LibsvmMachine):
    """C-SVC of LIBSVM."""

    name = "sklearn:SVC"

    def own(self, formulation: Formulation, n: int) -> Parameters:
        del n
        plain = {"loss": "hinge", "class_weight": None, "average_loss": False}
        require(formulation, SoftMargin, intercept="free", **plain)
        return {"C": formulation.C}


class NuSVC(LibsvmMachine):
    """nu-SVC of LIBSVM."""

    name = "sklearn:NuSVC"

    def own(self, formulation: Formulation, n: int) -> Parameters:
        del n
        require(formulation, NuClassification, intercept="free", class_weight=None)
        return {"nu": formulation.nu}


class SVR(LibsvmMachine):
    """epsilon-SVR of LIBSVM."""

    name = "sklearn:SVR"

    def own(self, formulation: Formulation, n: int) -> Parameters:
        del n
        plain = {"loss": "epsilon_insensitive", "average_loss": False}
        require(formulation, EpsilonRegression, intercept="free", **plain)
        return {"C": formulation.C, "epsilon": formulation.epsilon}


class NuSVR(LibsvmMachine):
    """nu-SVR of LIBSVM."""

    name = "sklearn:NuSVR"

    def own(self, formulation: Formulation, n: int) -> Parameters:
        require(formulation, NuRegression, intercept="free")
        return {"C": formulation.C / n, "nu": formulation.nu}


class OneClassSVM(LibsvmMachine):
    """one-class SVM of LIBSVM."""

    name = "sklearn:OneClassSVM"

    def own(self, formulation: Formulation, n: int) -> Parameters:
        del n
        require(formulation, OneClass)
        return {"nu": formulation.nu}


class LiblinearMachine(EstimatorContestant):
    """Base class of LIBLINEAR's machines."""

    distribution = "scikit-learn"
    required_modules = ("sklearn",)
    determined: ClassVar[tuple[str, ...]] = (
        *("C", "epsilon", "loss", "penalty", "fit_intercept", "intercept_scaling", "tol"),
        *("random_state", "class_weight", "multi_class"),
    )
    family: ClassVar[type[Formulation]]
    plain: ClassVar[Parameters]

    def parameters(self, task: Task) -> Parameters:
        formulation = task.formulation
        require(formulation, self.family, intercept=("penalized", "none"), **self.plain)
        require_linear(task.kernel)
        return {
            "C": formulation.C,
            "loss": formulation.loss,
            "fit_intercept": formulation.intercept == "penalized",
            "dual": "auto",
            "tol": task.eps,
            "random_state": task.seed,
        }

    def answer(self, task: Task, fitted: Fitted) -> Answer:
        claim = claim_of(fitted, task)
        return self.answered(
            fitted,
            converged=fitted.n_iter_ < fitted.max_iter,
            coef=claim.coef,
            intercept=claim.intercept,
        )


class LinearSVC(LiblinearMachine):
    """L2-regularised hinge or squared hinge of LIBLINEAR."""

    name = "sklearn:LinearSVC"
    family = SoftMargin
    plain: ClassVar[Parameters] = {"class_weight": None, "average_loss": False}

    def estimator(self) -> Estimator:
        from sklearn.svm import LinearSVC as Estimator

        return Estimator


class LinearSVR(LiblinearMachine):
    """L2-regularised tube, plain or squared, of LIBLINEAR."""

    name = "sklearn:LinearSVR"
    family = EpsilonRegression
    plain: ClassVar[Parameters] = {"average_loss": False}

    def parameters(self, task: Task) -> Parameters:
        return {**super().parameters(task), "epsilon": task.formulation.epsilon}

    def estimator(self) -> Estimator:
        from sklearn.svm import LinearSVR as Estimator

        return Estimator


LIBSVM = (SVC, NuSVC, SVR, NuSVR, OneClassSVM)

CONTESTANTS = (*LIBSVM, LinearSVC, LinearSVR)
