"""Base class of ``LinearSVC`` and ``LinearSVR``, which have one weight for each feature."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from qpsvm.chunked import ChunkedProblem, is_chunked
from qpsvm.estimators.base import QPEstimator
from qpsvm.exceptions import InvalidParameterError
from qpsvm.kernels import Kernel, Linear
from qpsvm.machines.conditions import InterceptKind
from qpsvm.machines.reduced import ReducedSolution
from qpsvm.numerics.arguments import Samples, Weights, is_real_number, require_flag
from qpsvm.numerics.arrays import Array, Vector


class LinearEstimator(QPEstimator):
    """Base class of estimators with one weight per feature and no kernel.

    Attributes
    ----------
    coef_ : array of shape (d,), (1, d) or (k, d)
        Weights of the features.
    intercept_ : array of shape (1,) or (k,)
    """

    fit_intercept: bool
    intercept_scaling: float

    def _kernel(self, X: Samples, weights: Vector | None) -> Kernel:
        del X, weights
        return Linear()

    def _intercept(self) -> InterceptKind:
        """Return "free", "penalized" or "none", by ``fit_intercept`` and ``intercept_scaling``."""
        require_flag(self.fit_intercept, "fit_intercept")
        if not self.fit_intercept:
            return "none"
        scaling = self.intercept_scaling
        if not (is_real_number(scaling) and scaling in (1.0, math.inf)):
            raise InvalidParameterError(
                f"intercept_scaling is {self.intercept_scaling!r}; pass 1.0 (the intercept enters "
                "the objective as 1/2 b^2) or numpy.inf (it does not). For another value append a "
                "column of that value to X, with fit_intercept=False."
            )
        return "penalized" if self.intercept_scaling == 1.0 else "free"

    def _learn(
        self, X: Any, y: Any, sample_weight: Weights | None, start: object, **data: Any
    ) -> None:
        """Fit to samples in memory, or to samples in chunks in a few passes over them."""
        if not is_chunked(X):
            super()._learn(X, y, sample_weight, start, **data)
            return
        given = (getattr(self, "constraints", None), *data.values())
        if self._backend(None)[1] or any(value is not None for value in given):
            raise InvalidParameterError(
                "constraints are not supported for samples in chunks; leave them out."
            )
        problem = self._of_chunks().dual(X, y, sample_weight=sample_weight)
        self.n_features_in_ = problem.totals.n_features
        if problem.samples.feature_names is not None:
            self.feature_names_in_ = np.array(problem.samples.feature_names, dtype=object)
        self._seen(problem)
        self._solve(problem, start)

    @abstractmethod
    def _of_chunks(self) -> Any:
        """Build the formulation from the parameters, for samples that are read in chunks."""

    def _seen(self, problem: ChunkedProblem) -> None:
        """Set ``classes_`` and the like from the first pass over samples in chunks."""

    def _machines(self) -> tuple[Any, ...]:
        check_is_fitted(self)
        solution = self._predictor
        return solution.solutions if isinstance(solution, ReducedSolution) else (solution,)

    @property
    def coef_(self) -> Array:
        """Weights of the features, shape (1, d), or (k, d) for k > 2 classes."""
        return np.vstack([np.atleast_2d(machine.coef) for machine in self._machines()])

    @property
    def intercept_(self) -> Array:
        """Intercepts, shape (1,), or (k,) for k > 2 classes."""
        return np.concatenate([np.atleast_1d(machine.intercept) for machine in self._machines()])
