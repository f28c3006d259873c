"""The formulations a user names: ``HardMargin`` and ``SoftMargin``."""

from __future__ import annotations

import math
import sys
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from qpsvm.exceptions import InvalidParameterError
from qpsvm.formulations.data import binary_training_set
from qpsvm.formulations.hinge import HingeModel
from qpsvm.formulations.hinge_programs import (
    DualRecovery,
    PrimalRecovery,
    dual_program,
    primal_program,
)
from qpsvm.formulations.intercept import InterceptKind, require_intercept_kind
from qpsvm.formulations.problem import SVMProblem
from qpsvm.kernels import as_kernel
from qpsvm.qp._arrays import Vector


@dataclass(frozen=True)
class _Margin:
    @abstractmethod
    def box(self, n_samples: int) -> Vector:
        """C_i for every sample, shape (n,)."""

    @abstractmethod
    def _intercept(self) -> InterceptKind: ...

    def primal(self, X: Any, y: Any, *, kernel: Any = "linear") -> SVMProblem:
        """The primal program: variables (w, b, xi), or (beta, b, xi) for a nonlinear kernel.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n, d)
            The (n, n) kernel matrix with ``kernel="precomputed"``.
        y : array of shape (n,)
            Two different labels of any kind; the larger one is the positive class.
        kernel : Kernel, str or callable
            See ``qpsvm.kernels``.

        Returns
        -------
        SVMProblem

        Raises
        ------
        InvalidDataError
            Samples or labels an SVM cannot be built from.
        InvalidParameterError
            An unknown kernel.
        KernelError, IndefiniteKernelError
            A kernel matrix that is not symmetric, or not positive semidefinite.
        MemoryLimitError
            A kernel matrix larger than a quarter of the machine's memory.
        """
        model = self._model(X, y, kernel)
        return SVMProblem(primal_program(model), self, "primal", model, PrimalRecovery(model))

    def dual(self, X: Any, y: Any, *, kernel: Any = "linear") -> SVMProblem:
        """The dual program: one variable alpha per sample.

        Parameters, result and errors are those of ``primal``; the Hessian is structured, so
        nothing of size n x n is computed before a solver asks for it.
        """
        model = self._model(X, y, kernel)
        return SVMProblem(dual_program(model), self, "dual", model, DualRecovery(model))

    def _model(self, X: Any, y: Any, kernel: Any) -> HingeModel:
        function = as_kernel(kernel)
        data = binary_training_set(X, y, function)
        return HingeModel.build(data, function, self.box(data.n_samples), self._intercept())


@dataclass(frozen=True)
class HardMargin(_Margin):
    """The largest margin that separates the classes without error.

    ``minimize 1/2 w'w subject to s_i (w'x_i + b) >= 1``

    Parameters
    ----------
    intercept : {"free", "penalized", "none"}
        Whether b is left out of the objective, enters it as ``1/2 b^2``, or is zero.

    Raises
    ------
    InvalidParameterError
        Another intercept.

    Notes
    -----
    Solving it on data that cannot be separated raises ``NotSeparableError`` with weights that
    prove it. Source: Boser, Guyon and Vapnik, COLT 1992, section 2.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.HardMargin().dual([[0.0], [2.0]], [-1, 1])
    >>> problem
    SVMProblem(HardMargin(intercept='free'), dual, linear kernel, 2 samples x 1 features (dense), 2 variables)
    >>> solution = qpsvm.solve(problem)
    >>> round(float(solution.coef[0]), 6), round(solution.intercept, 6)
    (1.0, -1.0)
    """  # noqa: E501 - a doctest's output cannot be broken

    intercept: InterceptKind = "free"

    def __post_init__(self) -> None:
        require_intercept_kind(self.intercept)

    def box(self, n_samples: int) -> Vector:
        """No upper bound."""
        return np.full(n_samples, np.inf)

    def _intercept(self) -> InterceptKind:
        return self.intercept


@dataclass(frozen=True)
class SoftMargin(_Margin):
    """The C-support vector classifier with hinge loss.

    ``minimize 1/2 w'w + C sum_i max(0, 1 - s_i (w'x_i + b))``

    Parameters
    ----------
    C : float
        Price of a margin violation, above 0 and finite. (For an infinite price use HardMargin.)
    intercept : {"free", "penalized", "none"}
        Whether b is left out of the objective, enters it as ``1/2 b^2`` (what LIBLINEAR solves),
        or is zero.

    Raises
    ------
    InvalidParameterError
        C not a finite number above 0, or another intercept.

    Notes
    -----
    Source: Cortes and Vapnik, *Machine Learning* 20 (1995), section 3.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.SoftMargin(C=10.0).dual([[0.0], [1.0], [2.0]], ["a", "b", "b"])
    >>> P, q, G, h, A, b = problem.canonical("dense")
    >>> h
    array([ 0.,  0.,  0., 10., 10., 10.])
    """

    C: float = 1.0
    intercept: InterceptKind = "free"

    def __post_init__(self) -> None:
        C = self.C
        is_number = isinstance(C, (int, float, np.integer, np.floating)) and not isinstance(C, bool)
        if not is_number or not 0 < C <= sys.float_info.max:
            hint = "; for C = infinity use HardMargin" if is_number and math.inf == C else ""
            raise InvalidParameterError(f"C is {C!r}; it must be a finite number above 0{hint}.")
        require_intercept_kind(self.intercept)

    def box(self, n_samples: int) -> Vector:
        """C for every sample."""
        return np.full(n_samples, float(self.C))

    def _intercept(self) -> InterceptKind:
        return self.intercept
