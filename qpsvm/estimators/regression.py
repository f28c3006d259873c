"""Regressors with kernels: ``SVR``, ``NuSVR`` and ``QuantileSVR``."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted

from qpsvm.constraints import Constraints
from qpsvm.estimators.base import Formulation
from qpsvm.estimators.kernel_estimator import KernelEstimator
from qpsvm.estimators.regressor import QPRegressor
from qpsvm.formulations import EpsilonRegression, NuRegression, QuantileRegression
from qpsvm.formulations.prices import require_share
from qpsvm.kernels import KernelArgument
from qpsvm.kernels.functions import Gamma
from qpsvm.kernels.kernel_repair import Indefinite
from qpsvm.numerics.arguments import is_finite_number
from qpsvm.numerics.arrays import Vector


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
        Price of a deviation beyond the tube, above 0 and finite.
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

    def __init__(
        self,
        *,
        kernel: KernelArgument = "rbf",
        degree: int = 3,
        gamma: Gamma = "scale",
        coef0: float = 0.0,
        C: float = 1.0,
        epsilon: float = 0.1,
        eps: float = 1e-8,
        backend: str = "auto",
        constraints: Constraints | None = None,
        indefinite: Indefinite = "error",
        memory_limit: int | None = None,
        device: str = "auto",
        warm_start: bool = False,
        max_iter: int = -1,
        verbose: bool = False,
        tol: float | None = None,
        cache_size: object = None,
        shrinking: object = None,
        random_state: object = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.C = C
        self.epsilon = epsilon
        self.eps = eps
        self.backend = backend
        self.constraints = constraints
        self.indefinite = indefinite
        self.memory_limit = memory_limit
        self.device = device
        self.warm_start = warm_start
        self.max_iter = max_iter
        self.verbose = verbose
        self.tol = tol
        self.cache_size = cache_size
        self.shrinking = shrinking
        self.random_state = random_state

    def _formulation(self, weights: Vector) -> Formulation:
        del weights
        return EpsilonRegression(C=self.C, epsilon=self.epsilon)


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
        Price of a deviation, above 0 and finite.
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

    def __init__(
        self,
        *,
        nu: float = 0.5,
        C: float = 1.0,
        kernel: KernelArgument = "rbf",
        degree: int = 3,
        gamma: Gamma = "scale",
        coef0: float = 0.0,
        eps: float = 1e-8,
        backend: str = "auto",
        constraints: Constraints | None = None,
        indefinite: Indefinite = "error",
        memory_limit: int | None = None,
        device: str = "auto",
        warm_start: bool = False,
        max_iter: int = -1,
        verbose: bool = False,
        tol: float | None = None,
        cache_size: object = None,
        shrinking: object = None,
        random_state: object = None,
    ) -> None:
        self.nu = nu
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.eps = eps
        self.backend = backend
        self.constraints = constraints
        self.indefinite = indefinite
        self.memory_limit = memory_limit
        self.device = device
        self.warm_start = warm_start
        self.max_iter = max_iter
        self.verbose = verbose
        self.tol = tol
        self.cache_size = cache_size
        self.shrinking = shrinking
        self.random_state = random_state

    def _formulation(self, weights: Vector) -> Formulation:
        C = self.C * float(np.sum(weights)) if is_finite_number(self.C) else self.C
        return NuRegression(nu=self.nu, C=C)  # which refuses what is no number

    @property
    def epsilon_(self) -> float:
        """Half-width of the tube."""
        check_is_fitted(self)
        return float(self._predictor.width)


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
        Price of a deviation, above 0 and finite.
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

    def __init__(
        self,
        *,
        quantile: float = 0.5,
        C: float = 1.0,
        kernel: KernelArgument = "rbf",
        degree: int = 3,
        gamma: Gamma = "scale",
        coef0: float = 0.0,
        eps: float = 1e-8,
        backend: str = "auto",
        constraints: Constraints | None = None,
        indefinite: Indefinite = "error",
        memory_limit: int | None = None,
        device: str = "auto",
        warm_start: bool = False,
        max_iter: int = -1,
        verbose: bool = False,
        tol: float | None = None,
        cache_size: object = None,
        shrinking: object = None,
        random_state: object = None,
    ) -> None:
        self.quantile = quantile
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.eps = eps
        self.backend = backend
        self.constraints = constraints
        self.indefinite = indefinite
        self.memory_limit = memory_limit
        self.device = device
        self.warm_start = warm_start
        self.max_iter = max_iter
        self.verbose = verbose
        self.tol = tol
        self.cache_size = cache_size
        self.shrinking = shrinking
        self.random_state = random_state

    def _formulation(self, weights: Vector) -> Formulation:
        del weights
        require_share(self.quantile, "quantile", closed=False)
        return QuantileRegression(tau=self.quantile, C=self.C)
