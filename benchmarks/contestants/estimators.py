"""Base class of contestants that fit an estimator of another package."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, TypeAlias

import numpy as np
import scipy.sparse as sp

from benchmarks.arrays import Matrix
from benchmarks.contestants.base import Answer, Contestant, Fitted, Formulation, Task
from qpsvm.audits import Claim, read_claims
from qpsvm.exceptions import QPSVMError, SuiteError, UnsupportedProgramError
from qpsvm.kernels import RBF, Kernel, Linear, Polynomial, Sigmoid
from qpsvm.qp import Status

Estimator: TypeAlias = Any
"""Class of another package, or a function that makes its estimators; few ship types."""

Parameters: TypeAlias = Mapping[str, object]
"""Parameters of an estimator under its own names."""


class EstimatorContestant(Contestant):
    """An estimator of another package, fitted on its own terms; ``eps`` is its tolerance.

    Parameters
    ----------
    **options
        Parameters of the estimator under its own names, other than those the task determines.
    """

    def __init__(self, **options: object) -> None:
        self.options = options
        if taken := sorted(set(options) & set(self.determined)):
            raise SuiteError(f"{self.name}: {taken[0]} is what the suite's program and eps say.")

    determined: ClassVar[tuple[str, ...]] = ()
    """Parameters that follow from the program, the accuracy, the seed and the threads."""

    @abstractmethod
    def parameters(self, task: Task) -> Parameters:
        """Return the parameters that the task determines, under the estimator's names.

        Raises
        ------
        UnsupportedProgramError
            It solves another program.
        """

    @abstractmethod
    def estimator(self) -> Estimator:
        """Return the class of the estimator."""

    def refusal(self, task: Task) -> str:
        try:
            self.parameters(task)
        except UnsupportedProgramError as error:
            return str(error)
        return ""

    def fit(self, task: Task) -> Fitted:
        parameters = {**self.parameters(task), **self.options}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what did not converge is measured
            try:
                model = self.estimator()(**parameters)
            except TypeError as error:
                raise SuiteError(f"{self.name} has no such option: {error}") from error
            X = narrow(task.X)
            return model.fit(X) if task.y is None else model.fit(X, task.y)

    def answered(self, model: Fitted, *, converged: bool, **numbers: Any) -> Answer:
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


def claim_of(model: Fitted, task: Task) -> Claim:
    """Read a fitted model as ``qpsvm.audit`` does, and require that it is of the task's program.

    Raises
    ------
    QPSVMError
        It is of another program.
    """
    (claim,) = read_claims(model, task.X, task.y)
    intercepts = task.problem.model.intercept, claim.problem.model.intercept
    if intercepts[0] != intercepts[1]:
        raise QPSVMError(f"The model's intercept is {intercepts[1]}, not {intercepts[0]}.")
    for name in ("lower", "upper", "required", "signs", "curvature"):
        asked, solved = (
            np.asarray(getattr(problem.model.conditions, name))
            for problem in (task.problem, claim.problem)
        )
        if asked.shape != solved.shape or not np.allclose(asked, solved, rtol=1e-12, atol=0.0):
            raise QPSVMError(f"The model solves another program: {name} differs.")
    return claim


def require(formulation: Formulation, family: type[Formulation], **choices: object) -> None:
    """Raise UnsupportedProgramError unless a formulation has this class and these fields.

    Parameters
    ----------
    **choices
        A value or a tuple of values for each field that is restricted.
    """
    if type(formulation) is not family:
        raise UnsupportedProgramError(
            f"it solves {family.__name__}, not {type(formulation).__name__}"
        )
    for name, allowed in choices.items():
        values = allowed if isinstance(allowed, tuple) else (allowed,)
        found = getattr(formulation, name)
        if not any(found is value or found == value for value in values):
            words = " or ".join(map(repr, values))
            raise UnsupportedProgramError(f"it solves {name}={words}, not {found!r}")


def require_linear(kernel: Kernel) -> None:
    """Raise UnsupportedProgramError unless the kernel is linear."""
    if not isinstance(kernel, Linear):
        raise UnsupportedProgramError(f"it has the linear kernel only, not {kernel}")


def libsvm_kernel(kernel: Kernel) -> dict[str, object]:
    """Return LIBSVM's parameters of a kernel."""
    if isinstance(kernel, Linear):
        return {"kernel": "linear"}
    if isinstance(kernel, RBF):
        return {"kernel": "rbf", "gamma": kernel.gamma}
    if isinstance(kernel, Polynomial):
        return {
            "kernel": "poly",
            "gamma": kernel.gamma,
            "degree": kernel.degree,
            "coef0": kernel.coef0,
        }
    if isinstance(kernel, Sigmoid):
        return {"kernel": "sigmoid", "gamma": kernel.gamma, "coef0": kernel.coef0}
    raise UnsupportedProgramError(f"it has no kernel {kernel}")
