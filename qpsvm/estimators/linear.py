"""Linear machines as LIBLINEAR defines them: ``LinearSVC`` and ``LinearSVR``."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import field
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from qpsvm.chunked import ChunkedProblem, is_chunked
from qpsvm.chunked.solution import block_by_block
from qpsvm.estimators.base import QPEstimator
from qpsvm.estimators.classification import QPClassifier
from qpsvm.estimators.inputs import parameters
from qpsvm.estimators.regression import QPRegressor
from qpsvm.exceptions import InvalidParameterError
from qpsvm.formulations import CrammerSinger, EpsilonRegression, L1Norm, OneVsRest, SoftMargin
from qpsvm.formulations.family import Classifier, Family, Formulation
from qpsvm.formulations.parameters import ClassWeight, as_class_weight
from qpsvm.kernels import Kernel, Linear
from qpsvm.machines.conditions import InterceptKind
from qpsvm.machines.reduced import ReducedSolution
from qpsvm.numerics.arguments import (
    Samples,
    Targets,
    Weights,
    is_real_number,
    require_choice,
    require_flag,
)
from qpsvm.numerics.arrays import Array, Vector


@parameters
class LinearEstimator(QPEstimator):
    """Base class of estimators with one weight per feature and no kernel.

    Attributes
    ----------
    coef_ : array of shape (d,), (1, d) or (k, d)
        Weights of the features.
    intercept_ : array of shape (1,) or (k,)
    """

    fit_intercept: bool = True
    intercept_scaling: float = 1.0
    dual: object = None

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


@parameters
class LinearSVC(QPClassifier, LinearEstimator):
    r"""Linear support vector classification, solved to a certified gap.

    .. math::

        \min \; \tfrac{1}{2} (w^\top w + b^2) + \sum_i C_i \max(0, 1 - s_i (w^\top x_i + b))^2

    Parameters
    ----------
    penalty : {"l2", "l1"}
        ``1/2 w'w``, or the sum of ``|w_j|``, which makes most weights zero; the intercept is
        penalised in the same way.
    loss : {"squared_hinge", "hinge"}
        Whether a margin violation v costs ``C v^2`` or ``C v``.
    C : float
        Penalty on a margin violation, above 0 and finite.
    multi_class : {"ovr", "crammer_singer"}
        With three or more classes: a machine per class, or one program for all (``loss`` and
        ``penalty`` are then not used, as in scikit-learn).
    fit_intercept : bool
        Whether there is an intercept.
    intercept_scaling : float
        1.0: the intercept enters the objective as ``1/2 b^2`` (``|b|`` with the 1-norm), as in
        LIBLINEAR. ``numpy.inf``: it does not, as in ``SVC``.
    class_weight : dict, "balanced" or None
        Factors of C by label, each a label in y; of a class against its rest only the class has
        one.
    eps, backend, constraints, warm_start, n_jobs, max_iter, verbose
        As for ``SVC``.
    tol, cache_size, shrinking, random_state
        As for ``SVC``.
    dual : ignored
        Accepted, and without effect: primal and dual have the same optimum.

    Raises
    ------
    UnknownParameterError
        If a parameter does not exist; the message names its replacement.

    See Also
    --------
    SVC : With ``kernel="linear"`` for hinge loss and free intercept, one against one.

    Notes
    -----
    Minimises the same objective as ``sklearn.svm.LinearSVC``.
    Source: Fan, Chang, Hsieh, Wang and Lin, "LIBLINEAR",
    *JMLR* 9 (2008), section 2 and appendix.

    Examples
    --------
    >>> from qpsvm.estimators import LinearSVC
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> machine = LinearSVC().fit(scale(X), y)
    >>> machine.coef_.shape, round(machine.score(scale(X), y), 2)
    ((1, 30), 0.99)
    """

    penalty: Literal["l1", "l2"] = field(default="l2", kw_only=False)
    loss: Literal["hinge", "squared_hinge"] = field(default="squared_hinge", kw_only=False)
    C: float = 1.0
    multi_class: Literal["ovr", "crammer_singer"] = "ovr"

    def fit(
        self,
        X: Samples,
        y: Targets,
        sample_weight: Weights | None = None,
        *,
        sensitive: Targets | None = None,
    ) -> Self:
        """Fit the machine; parameters, result, errors and warnings as for ``SVC.fit``."""
        return self._fit(X, y, sample_weight, sensitive)

    @block_by_block
    def decision_function(self, X: Samples) -> Any:
        """Decision values, shape (m,), or (m, k) for k > 2 classes.

        Raises
        ------
        NotFittedError, ValueError
            Before ``fit``; other features than in ``fit``.
        """
        return self._values(X)

    def _formulation(self, weights: Vector) -> Formulation[Any]:
        require_choice(self.multi_class, ("ovr", "crammer_singer"), "multi_class")
        if self.multi_class == "crammer_singer":
            kind = self._intercept()
            if kind == "free":
                raise InvalidParameterError(
                    "multi_class='crammer_singer' has no free intercepts; pass "
                    "intercept_scaling=1.0 or fit_intercept=False."
                )
            return CrammerSinger(
                C=self.C, intercept=kind, class_weight=self._class_factors(weights)
            )
        two = self._two_classes(self._class_factors(weights))
        return two if len(self.classes_) <= 2 else OneVsRest(two, weigh_rest=False)

    def _of_chunks(self) -> Family:
        if self.penalty != "l2":
            raise InvalidParameterError(
                f"penalty={self.penalty!r} needs all samples at once; pass arrays, or penalty='l2'."
            )
        return self._two_classes(as_class_weight(self.class_weight))

    def _seen(self, problem: ChunkedProblem) -> None:
        assert problem.totals.classes is not None
        self.classes_ = problem.totals.classes

    def _two_classes(self, class_weight: ClassWeight) -> Classifier:
        require_choice(self.penalty, ("l1", "l2"), "penalty")
        kind = self._intercept()
        norm = SoftMargin if self.penalty == "l2" else L1Norm
        return norm(C=self.C, intercept=kind, loss=self.loss, class_weight=class_weight)


@parameters
class LinearSVR(QPRegressor, LinearEstimator):
    r"""Linear support vector regression, solved to a certified gap.

    .. math::

        \min \; \tfrac{1}{2} (w^\top w + b^2) + \sum_i C_i \max(0, \lvert t_i - w^\top x_i - b
        \rvert - \epsilon)

    Parameters
    ----------
    epsilon : float
        Half-width of the tube, not negative.
    C : float
        Penalty on a deviation beyond the tube, above 0 and finite.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}
        Whether a deviation v beyond the tube costs ``C v`` or ``C v^2``.
    fit_intercept, intercept_scaling
        As for ``LinearSVC``.
    eps, backend, constraints, warm_start, max_iter, verbose
        As for ``SVC``.
    tol, cache_size, shrinking, random_state
        As for ``SVC``.
    dual : ignored
        Accepted, and without effect: primal and dual have the same optimum.

    Raises
    ------
    UnknownParameterError
        If a parameter does not exist; the message names its replacement.

    See Also
    --------
    SVR : With kernels, and a free intercept.

    Notes
    -----
    Minimises the same objective as ``sklearn.svm.LinearSVR``.
    Source: Ho and Lin, "Large-scale linear support vector
    regression", *JMLR* 13 (2012), section 2.

    Examples
    --------
    >>> from qpsvm.estimators import LinearSVR
    >>> machine = LinearSVR(C=100.0).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> machine.coef_.round(4), machine.intercept_.round(4)
    (array([2.]), array([1.]))
    """

    epsilon: float = 0.0
    C: float = 1.0
    loss: Literal["epsilon_insensitive", "squared_epsilon_insensitive"] = "epsilon_insensitive"

    @property
    def coef_(self) -> Any:
        """Weights of the features, shape (d,)."""
        return np.ravel(super().coef_)

    def _formulation(self, weights: Vector) -> Formulation[Any]:
        del weights
        return self._of_chunks()

    def _of_chunks(self) -> EpsilonRegression:
        return EpsilonRegression(
            C=self.C, epsilon=self.epsilon, intercept=self._intercept(), loss=self.loss
        )
