"""Estimators of other packages as contestants: scikit-learn's, and Intel's extension of these.

LIBSVM leaves the intercept free, LIBLINEAR penalises it (or has none). nu-SVR's C is the price of
one sample and ``NuRegression``'s that of the average. ``qpsvm.audit`` has the way back.
"""

from __future__ import annotations

import importlib
import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any, ClassVar, TypeAlias

import numpy as np
import scipy.sparse as sp

from benchmarks.contestants.base import Answer, Contestant, Fitted, Formulation, Task
from benchmarks.sets import Matrix
from qpsvm.audits import Claim, read_claims
from qpsvm.exceptions import QPSVMError, SuiteError, UnsupportedProgramError
from qpsvm.formulations import (
    EpsilonRegression,
    NuClassification,
    NuRegression,
    OneClass,
    SoftMargin,
)
from qpsvm.kernels import RBF, Kernel, Linear, Polynomial, Sigmoid
from qpsvm.qp import Status

Parameters: TypeAlias = Mapping[str, Any]
"""Parameters of an estimator, or fields of a formulation, by their names."""

DETERMINED = {
    *("C", "nu", "epsilon", "loss", "penalty", "regularizer", "class_weight", "normalize"),
    *("kernel", "gamma", "degree", "coef0", "fit_intercept", "intercept_scaling", "multi_class"),
    *("tol", "random_state", "coordinate_seed", "n_jobs", "constraint", "A", "b"),
}
"""Parameters that follow from the program, the accuracy, the seed and the threads."""


class EstimatorContestant(Contestant):
    """An estimator of another package, fitted on its own terms; ``eps`` is its tolerance.

    Parameters
    ----------
    **options
        Parameters of the estimator under its own names, other than those the task determines.

    Attributes
    ----------
    module, estimator : str
        Where the class of the estimator is, and its name there.
    programs : mapping of formulation to mapping
        Formulations that it solves exactly; with a value or a tuple of values for each field that
        is restricted.
    linear : bool
        Whether it has the linear kernel only.
    """

    module: str
    estimator: str
    programs: Mapping[type[Formulation], Parameters]
    linear: bool = True

    def __init__(self, **options: object) -> None:
        self.options = options
        self.required_modules = (self.module.partition(".")[0],)
        if taken := sorted(DETERMINED.intersection(options)):
            raise SuiteError(f"{self.name}: {taken[0]} is what the suite's program and eps say.")

    @abstractmethod
    def determined(self, task: Task) -> Parameters:
        """Return the parameters that the task determines, under the estimator's names."""

    def require(self, task: Task) -> None:
        """Raise UnsupportedProgramError unless the estimator solves the task's program exactly."""
        kind = type(task.formulation)
        if kind not in self.programs:
            known = " or ".join(family.__name__ for family in self.programs)
            raise UnsupportedProgramError(f"it solves {known}, not {kind.__name__}")
        for name, allowed in self.programs[kind].items():
            values = allowed if isinstance(allowed, tuple) else (allowed,)
            found = getattr(task.formulation, name)
            if not any(found is value or found == value for value in values):
                words = " or ".join(map(repr, values))
                raise UnsupportedProgramError(f"it solves {name}={words}, not {found!r}")
        if self.linear and not isinstance(task.kernel, Linear):
            raise UnsupportedProgramError(f"it has the linear kernel only, not {task.kernel}")

    def refusal(self, task: Task) -> str:
        try:
            self.require(task)
            self.determined(task)
        except UnsupportedProgramError as error:
            return str(error)
        return ""

    def fit(self, task: Task) -> Fitted:
        self.require(task)
        parameters = {**self.determined(task), "tol": task.eps, **self.options}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what did not converge is measured
            try:
                model = getattr(importlib.import_module(self.module), self.estimator)(**parameters)
            except TypeError as error:
                raise SuiteError(f"{self.name} has no such option: {error}") from error
            X = narrow(task.X)
            return model.fit(X) if task.y is None else model.fit(X, task.y)

    def answered(self, model: Fitted, converged: bool, **numbers: Any) -> Answer:
        """Return an answer that claims the estimator's own stopping rule."""
        return Answer(
            claimed=Status.OPTIMAL if converged else Status.ITERATION_LIMIT,
            own_rule=True,
            iterations=int(np.sum(model.n_iter_)),
            settings=dict(model.get_params()),
            **numbers,
        )


def narrow(X: Matrix) -> Matrix:
    """Give sparse samples 32-bit indices; LIBSVM and LIBLINEAR refuse wider ones.

    Files in svmlight's format are read with indices of 64 bits, and who fits these estimators has
    to convert them.
    """
    if not sp.issparse(X) or X.indices.dtype == X.indptr.dtype == np.int32:
        return X
    parts = X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return type(X)(parts, shape=X.shape)


# --- scikit-learn ---------------------------------------------------------------------------------

LIBLINEAR: Parameters = {"intercept": ("penalized", "none"), "average_loss": False}
"""Fields of the programs that LIBLINEAR solves."""


def _price_and_seed(task: Task) -> Parameters:
    """LIBLINEAR's parameters."""
    formulation = task.formulation
    fitted_intercept = formulation.intercept == "penalized"
    common = {"C": formulation.C, "loss": formulation.loss, "fit_intercept": fitted_intercept}
    return {**common, "dual": "auto", "random_state": task.seed}


PROGRAMS: Mapping[str, tuple[type[Formulation], Parameters, Callable[[Task], Parameters]]] = {
    "SVC": (
        SoftMargin,
        {"intercept": "free", "loss": "hinge", "class_weight": None, "average_loss": False},
        lambda task: {"C": task.formulation.C},
    ),
    "NuSVC": (
        NuClassification,
        {"intercept": "free", "class_weight": None},
        lambda task: {"nu": task.formulation.nu},
    ),
    "SVR": (
        EpsilonRegression,
        {"intercept": "free", "loss": "epsilon_insensitive", "average_loss": False},
        lambda task: {"C": task.formulation.C, "epsilon": task.formulation.epsilon},
    ),
    "NuSVR": (
        NuRegression,
        {"intercept": "free"},
        lambda task: {"C": task.formulation.C / task.X.shape[0], "nu": task.formulation.nu},
    ),
    "OneClassSVM": (OneClass, {}, lambda task: {"nu": task.formulation.nu}),
    "LinearSVC": (SoftMargin, {**LIBLINEAR, "class_weight": None}, _price_and_seed),
    "LinearSVR": (
        EpsilonRegression,
        LIBLINEAR,
        lambda task: {**_price_and_seed(task), "epsilon": task.formulation.epsilon},
    ),
}
"""Estimators with their formulation, its restricted fields, and their own parameters of a task."""


class ScikitLearn(EstimatorContestant):
    """A machine of scikit-learn: LIBSVM, or LIBLINEAR where the name begins with Linear."""

    module = "sklearn.svm"
    package: ClassVar[str] = "sklearn"
    distribution = "scikit-learn"

    def __init__(self, estimator: str, /, **options: object) -> None:
        family, fields, self.own = PROGRAMS[estimator]
        self.programs = {family: fields}
        self.estimator, self.linear = estimator, estimator.startswith("Linear")
        self.name = f"{self.package}:{estimator}"
        super().__init__(**options)

    def determined(self, task: Task) -> Parameters:
        return {**self.own(task), **({} if self.linear else libsvm_kernel(task.kernel))}

    def answer(self, task: Task, fitted: Fitted) -> Answer:
        claim = claim_of(fitted, task)
        if self.linear:
            converged = fitted.n_iter_ < fitted.max_iter
            return self.answered(fitted, converged, coef=claim.coef, intercept=claim.intercept)
        numbers = {"alpha": claim.alpha, "intercept": claim.intercept, "width": claim.width}
        return self.answered(fitted, fitted.fit_status_ == 0, **numbers)


class OneDAL(ScikitLearn):
    """Intel's extension of scikit-learn: the same estimators with oneDAL's solver inside."""

    module = "sklearnex.svm"
    package = "intelex"
    distribution = "scikit-learn-intelex"

    def determined(self, task: Task) -> Parameters:
        return {**super().determined(task), "n_jobs": task.threads}

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


ESTIMATORS: Mapping[str, Callable[..., EstimatorContestant]] = {
    **{f"intelex:{name}": partial(OneDAL, name) for name in ("SVC", "SVR")},
    **{f"sklearn:{name}": partial(ScikitLearn, name) for name in PROGRAMS},
}
"""Contestants of this module by name."""


LIBSVM_KERNELS: Mapping[type[Kernel], str] = {
    Linear: "linear",
    RBF: "rbf",
    Polynomial: "poly",
    Sigmoid: "sigmoid",
}
"""Kernel classes by the names that LIBSVM gives them."""


def libsvm_kernel(kernel: Kernel) -> Parameters:
    """Return LIBSVM's parameters of a kernel."""
    if type(kernel) not in LIBSVM_KERNELS:
        raise UnsupportedProgramError(f"it has no kernel {kernel}")
    return {"kernel": LIBSVM_KERNELS[type(kernel)], **asdict(kernel)}


def claim_of(model: Fitted, task: Task) -> Claim:
    """Read a fitted model as ``qpsvm.audit`` does, and require that it is of the task's program.

    Raises
    ------
    QPSVMError
        It is of another program.
    """
    (claim,) = read_claims(model, task.X, task.y)
    asked, solved = task.problem.model, claim.problem.model
    if asked.intercept != solved.intercept:
        raise QPSVMError(f"The model's intercept is {solved.intercept}, not {asked.intercept}.")
    for name in ("lower", "upper", "required", "signs", "curvature"):
        a, b = (np.asarray(getattr(model.conditions, name)) for model in (asked, solved))
        if a.shape != b.shape or not np.allclose(a, b, rtol=1e-12, atol=0.0):
            raise QPSVMError(f"The model solves another program: {name} differs.")
    return claim
