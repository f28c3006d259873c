"""Linear machines as LIBLINEAR defines them: ``LinearSVC`` and ``LinearSVR``."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from qpsvm.chunked import ChunkedProblem
from qpsvm.chunked.solution import block_by_block
from qpsvm.constraints import Constraints
from qpsvm.estimators.base import Formulation
from qpsvm.estimators.classifier import QPClassifier
from qpsvm.estimators.linear_estimator import LinearEstimator
from qpsvm.estimators.regressor import QPRegressor
from qpsvm.exceptions import InvalidParameterError
from qpsvm.formulations import CrammerSinger, EpsilonRegression, L1Norm, OneVsRest, SoftMargin
from qpsvm.formulations.family import Classifier, Family
from qpsvm.formulations.prices import ClassWeight, as_class_weight
from qpsvm.numerics.arguments import Samples, Targets, Weights, require_choice
from qpsvm.numerics.arrays import Vector


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
        Price of a margin violation, above 0 and finite.
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

    def __init__(
        self,
        penalty: Literal["l1", "l2"] = "l2",
        loss: Literal["hinge", "squared_hinge"] = "squared_hinge",
        *,
        C: float = 1.0,
        multi_class: Literal["ovr", "crammer_singer"] = "ovr",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: ClassWeight = None,
        eps: float = 1e-8,
        backend: str = "auto",
        constraints: Constraints | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        max_iter: int = -1,
        verbose: bool = False,
        tol: float | None = None,
        cache_size: object = None,
        shrinking: object = None,
        random_state: object = None,
        dual: object = None,
    ) -> None:
        self.penalty = penalty
        self.loss = loss
        self.C = C
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.eps = eps
        self.backend = backend
        self.constraints = constraints
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.max_iter = max_iter
        self.verbose = verbose
        self.tol = tol
        self.cache_size = cache_size
        self.shrinking = shrinking
        self.random_state = random_state
        self.dual = dual

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

    def _formulation(self, weights: Vector) -> Formulation:
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
        Price of a deviation beyond the tube, above 0 and finite.
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

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        C: float = 1.0,
        loss: Literal["epsilon_insensitive", "squared_epsilon_insensitive"] = "epsilon_insensitive",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        eps: float = 1e-8,
        backend: str = "auto",
        constraints: Constraints | None = None,
        warm_start: bool = False,
        max_iter: int = -1,
        verbose: bool = False,
        tol: float | None = None,
        cache_size: object = None,
        shrinking: object = None,
        random_state: object = None,
        dual: object = None,
    ) -> None:
        self.epsilon = epsilon
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.eps = eps
        self.backend = backend
        self.constraints = constraints
        self.warm_start = warm_start
        self.max_iter = max_iter
        self.verbose = verbose
        self.tol = tol
        self.cache_size = cache_size
        self.shrinking = shrinking
        self.random_state = random_state
        self.dual = dual

    @property
    def coef_(self) -> Any:
        """Weights of the features, shape (d,)."""
        return np.ravel(super().coef_)

    def _formulation(self, weights: Vector) -> Formulation:
        del weights
        return self._of_chunks()

    def _of_chunks(self) -> EpsilonRegression:
        return EpsilonRegression(
            C=self.C, epsilon=self.epsilon, intercept=self._intercept(), loss=self.loss
        )
