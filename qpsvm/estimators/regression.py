"""Estimators that predict numbers, and the kernel machines ``SVR``, ``NuSVR``, ``QuantileSVR``."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from qpsvm.certificates.predictions import DecisionBounds
from qpsvm.chunked.solution import block_by_block
from qpsvm.data.targets import as_targets
from qpsvm.estimators import inputs
from qpsvm.estimators.base import QPEstimator
from qpsvm.estimators.inputs import parameters, warn_of_tube
from qpsvm.estimators.kernel_estimator import KernelEstimator
from qpsvm.formulations import EpsilonRegression, NuRegression, QuantileRegression
from qpsvm.formulations.family import Formulation
from qpsvm.formulations.parameters import require_share
from qpsvm.numerics.arguments import Samples, Targets, Weights, is_finite_number
from qpsvm.numerics.arrays import Vector


class NumberPredictor(QPEstimator):
    """Base class of estimators that predict numbers, with proven bounds on them."""

    def predict_certified(  # type: ignore[override]
        self, X: Samples, *, squares: ArrayLike | None = None
    ) -> DecisionBounds:
        """Predict numbers, with bounds on those of the exact optimum.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (m, d)
        squares : array of shape (m,), optional
            ``k(x, x)`` of every row, which a precomputed kernel matrix does not hold.

        Returns
        -------
        DecisionBounds
            ``values``, ``lower`` and ``upper``, shape (m,) each.

        Raises
        ------
        NotFittedError, ValueError
            Before ``fit``; other features than in ``fit``; a precomputed kernel without
            ``squares``.
        """
        check_is_fitted(self)
        samples = inputs.samples(self, X)
        bounds: DecisionBounds = self.certificate_.decision_bounds(samples, squares=squares)
        return bounds


class QPRegressor(RegressorMixin, NumberPredictor):
    """Base class of regressors."""

    def fit(
        self,
        X: Samples,
        y: Targets,
        sample_weight: Weights | None = None,
        *,
        sensitive: Targets | None = None,
    ) -> Self:
        """Fit the regression to samples and targets, to a certified relative gap of ``eps``.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n, d)
            The kernel matrix (n, n) with ``kernel="precomputed"``; for a kernel function of the
            caller's, samples of any kind.
        y : array of shape (n,)
            Targets.
        sample_weight : array of shape (n,), optional
            Factors of C. A weight of 2 is the same as a repeated row, 0 the same as a missing one.
        sensitive : array of shape (n,), optional
            Values for a ``fairness_band``, which cross-validation splits as it splits y.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the data or parameters are invalid.

        Warns
        -----
        ConvergenceWarning
            The solution is not certified to ``eps``.
        TubeWidthWarning
            ``eps`` is so large that ``epsilon``, the half-width of the tube, may be meant.
        """
        if hasattr(self, "epsilon"):
            warn_of_tube(self)
        return self._fit(X, y, sample_weight, sensitive)

    def score(self, X: Samples, y: Targets, sample_weight: Weights | None = None) -> float:
        """Coefficient of determination of the predictions, by the weights of the samples.

        Raises
        ------
        NotFittedError, ValueError
            Before ``fit``; other features than in ``fit``; targets that are no finite numbers.
        """
        targets = as_targets(y)
        weights = None if sample_weight is None else inputs.weights(sample_weight, targets)
        return float(super().score(X, targets, weights))

    @block_by_block
    def predict(self, X: Samples) -> Any:
        """Predict a number for every sample, shape (m,).

        Raises
        ------
        NotFittedError, ValueError
            Before ``fit``; other features than in ``fit``.
        """
        return self._values(X)


@parameters
class SVR(QPRegressor, KernelEstimator):
    r"""Epsilon-support vector regression, solved to a certified gap.

    .. math::

        \min \; \tfrac{1}{2} w^\top w + \sum_i C_i \max(0, \lvert t_i - w^\top \phi(x_i) - b \rvert
        - \epsilon)

    Parameters
    ----------
    kernel, degree, gamma, coef0
        As for ``SVC``.
    C : float
        Penalty on a deviation beyond the tube, above 0 and finite.
    epsilon : float
        Half-width of the tube, not negative.
    eps, backend, constraints, indefinite, memory_limit, device, warm_start, max_iter, verbose
        As for ``SVC``.
    tol, cache_size, shrinking, random_state
        As for ``SVC``.

    Raises
    ------
    UnknownParameterError
        If a parameter does not exist; the message names its replacement.

    See Also
    --------
    qpsvm.EpsilonRegression : The formulation.

    Notes
    -----
    Minimises the same objective as ``sklearn.svm.SVR``.
    Source: Smola and Schoelkopf, "A tutorial on support vector
    regression", *Statistics and Computing* 14 (2004), section 1.2.

    Examples
    --------
    >>> from qpsvm.estimators import SVR
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> machine = SVR(C=100.0).fit(X, y)
    >>> round(machine.score(X, y), 2), machine.certificate_.relative_gap <= 1e-8
    (0.67, True)
    """

    C: float = 1.0
    epsilon: float = 0.1

    def _formulation(self, weights: Vector) -> Formulation[Any]:
        del weights
        return EpsilonRegression(C=self.C, epsilon=self.epsilon)


@parameters
class NuSVR(QPRegressor, KernelEstimator):
    r"""Nu-support vector regression, which finds the width of the tube; solved to a certified gap.

    .. math::

        \min \; \tfrac{1}{2} w^\top w + C \sum_i (\nu \epsilon + \max(0, \lvert t_i - f(x_i) \rvert
        - \epsilon)), \quad \epsilon \ge 0

    Parameters
    ----------
    nu : float
        In (0, 1]: bounds the share of samples outside the tube from above, that of support vectors
        from below.
    C : float
        Penalty on a deviation, above 0 and finite.
    kernel, degree, gamma, coef0
        As for ``SVC``.
    eps, backend, constraints, indefinite, memory_limit, device, warm_start, max_iter, verbose
        As for ``SVC``.
    tol, cache_size, shrinking, random_state
        As for ``SVC``.

    Attributes
    ----------
    epsilon_ : float
        Half-width of the tube.

    Raises
    ------
    UnknownParameterError
        If a parameter does not exist; the message names its replacement.

    See Also
    --------
    qpsvm.NuRegression : The formulation, whose C is this one times the sum of the sample weights.

    Notes
    -----
    Minimises the same objective as ``sklearn.svm.NuSVR``.
    Source: Schoelkopf, Smola, Williamson and Bartlett,
    *Neural Computation* 12 (2000), section 2.

    Examples
    --------
    >>> from qpsvm.estimators import NuSVR
    >>> machine = NuSVR(kernel="linear", C=100.0).fit([[0.0], [1.0], [2.0]], [0.0, 2.0, 4.0])
    >>> machine.predict([[3.0]]).round(4)
    array([6.])
    """

    nu: float = 0.5
    C: float = 1.0

    def _formulation(self, weights: Vector) -> Formulation[Any]:
        C = self.C * float(np.sum(weights)) if is_finite_number(self.C) else self.C
        return NuRegression(nu=self.nu, C=C)  # which refuses what is no number

    @property
    def epsilon_(self) -> float:
        """Half-width of the tube."""
        check_is_fitted(self)
        return float(self._predictor.width)


@parameters
class QuantileSVR(QPRegressor, KernelEstimator):
    r"""Support vector regression of a quantile, solved to a certified gap.

    .. math::

        \min \; \tfrac{1}{2} w^\top w + \sum_i C_i \max(q r_i, (q - 1) r_i),
        \quad r_i = t_i - f(x_i)

    Parameters
    ----------
    quantile : float
        q, in (0, 1): the share of targets below the predictions.
    C : float
        Penalty on a deviation, above 0 and finite.
    kernel, degree, gamma, coef0
        As for ``SVC``.
    eps, backend, constraints, indefinite, memory_limit, device, warm_start, max_iter, verbose
        As for ``SVC``.
    tol, cache_size, shrinking, random_state
        As for ``SVC``.

    Raises
    ------
    UnknownParameterError
        If a parameter does not exist; the message names its replacement.

    See Also
    --------
    qpsvm.QuantileRegression : The formulation, where q is called tau.
    sklearn.linear_model.QuantileRegressor : Linear, with the sum of ``|w_j|`` as penalty.

    Notes
    -----
    Source: Takeuchi, Le, Sears and Smola, "Nonparametric quantile estimation", *JMLR* 7 (2006),
    section 3.

    Examples
    --------
    >>> from qpsvm.estimators import QuantileSVR
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> machine = QuantileSVR(quantile=0.9, C=100.0).fit(X, y)
    >>> round(float((y < machine.predict(X)).mean()), 1)
    0.9
    """

    quantile: float = 0.5
    C: float = 1.0

    def _formulation(self, weights: Vector) -> Formulation[Any]:
        del weights
        require_share(self.quantile, "quantile", closed=False)
        return QuantileRegression(tau=self.quantile, C=self.C)
