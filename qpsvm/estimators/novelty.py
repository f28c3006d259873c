"""Novelty detectors: ``OneClassSVM`` and ``SVDD``."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from qpsvm.chunked.solution import block_by_block
from qpsvm.estimators import inputs
from qpsvm.estimators.inputs import parameters
from qpsvm.estimators.kernel_estimator import KernelEstimator
from qpsvm.formulations import DataDescription, OneClass
from qpsvm.formulations.family import Formulation
from qpsvm.formulations.parameters import require_share
from qpsvm.numerics.arguments import Samples, Targets, Weights
from qpsvm.numerics.arrays import Vector
from qpsvm.solving.calls import on_device


@parameters
class NoveltyDetector(OutlierMixin, KernelEstimator):
    """Base class of novelty detectors.

    Attributes
    ----------
    offset_ : float
        ``decision_function(X) = score_samples(X) - offset_``.
    """

    _is_supervised = False
    nu: float = 0.5

    def fit(
        self,
        X: Samples,
        y: Targets | None = None,
        sample_weight: Weights | None = None,
        *,
        sensitive: Targets | None = None,
    ) -> Self:
        """Fit the region that contains most samples, to a certified relative gap of ``eps``.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n, d)
            The kernel matrix (n, n) with ``kernel="precomputed"``; for a kernel function of the
            caller's, samples of any kind.
        y : ignored
        sample_weight : array of shape (n,), optional
            A weight of 2 is the same as a repeated row, 0 the same as a missing one.
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
        """
        del y
        return self._fit(X, None, sample_weight, sensitive)

    @block_by_block
    def decision_function(self, X: Samples) -> Any:
        """Decision values, shape (m,): negative for novelties, zero on the boundary.

        Values up to 1e-8 of the offset are returned as zero.

        Raises
        ------
        NotFittedError, ValueError
            Before ``fit``; other features than in ``fit``.
        """
        check_is_fitted(self)
        with on_device(self._device):
            values = self._predictor.decision_function(inputs.samples(self, X))
        is_zero = np.abs(values) <= self._predictor.zero_below
        return np.where(is_zero, 0.0, self._scales[0] * values)

    @block_by_block
    def score_samples(self, X: Samples) -> Any:
        """Decision values without the offset, shape (m,).

        Raises
        ------
        NotFittedError, ValueError
            Before ``fit``; other features than in ``fit``.
        """
        return self.decision_function(X) + self.offset_

    @block_by_block
    def predict(self, X: Samples) -> Any:
        """Predict +1 for samples like those of ``fit`` and -1 for novelties, shape (m,).

        Raises
        ------
        NotFittedError, ValueError
            Before ``fit``; other features than in ``fit``.
        """
        check_is_fitted(self)
        with on_device(self._device):
            return self._predictor.predict(inputs.samples(self, X))

    @property
    def offset_(self) -> float:
        """Offset of the decision function, ``score_samples(X) - offset_``."""
        return -float(self.intercept_[0])


@parameters
class OneClassSVM(NoveltyDetector):
    r"""The hyperplane between most samples and the origin, solved to a certified gap.

    .. math::

        \min \; \tfrac{1}{2} w^\top w - \rho + \frac{1}{\nu n} \sum_i \max(0, \rho - w^\top
        \phi(x_i))

    Parameters
    ----------
    kernel, degree, gamma, coef0
        As for ``SVC``.
    nu : float
        In (0, 1]: bounds the share of samples outside from above, that of support vectors from
        below.
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
    qpsvm.OneClass : The formulation.

    Notes
    -----
    Coefficients and decision values are ``nu n`` times those of the formulation, as in LIBSVM and
    ``sklearn.svm.OneClassSVM``. Source: Schoelkopf, Platt, Shawe-Taylor, Smola and Williamson,
    *Neural Computation* 13 (2001), section 3.

    Examples
    --------
    >>> from qpsvm.estimators import OneClassSVM
    >>> machine = OneClassSVM(gamma=0.5, nu=0.5).fit([[0.0], [0.44], [0.45], [0.46], [1.0]])
    >>> machine.predict([[0.0], [0.45], [2.0]])
    array([-1,  1, -1])
    """

    def _formulation(self, weights: Vector) -> Formulation[Any]:
        del weights
        return OneClass(nu=self.nu)

    def _scale(self, width: float, weights: Vector) -> float:
        del width
        return self.nu * float(np.sum(weights))


@parameters
class SVDD(NoveltyDetector):
    r"""The smallest ball around most samples, solved to a certified gap.

    .. math::

        \min \; R^2 + \frac{1}{\nu n} \sum_i \max(0, \lVert \phi(x_i) - c \rVert^2 - R^2)

    Parameters
    ----------
    kernel, degree, gamma, coef0
        As for ``SVC``.
    nu : float
        In (0, 1]: bounds the share of samples outside from above, that of support vectors from
        below.
    eps, backend, constraints, indefinite, memory_limit, device, warm_start, max_iter, verbose
        As for ``SVC``.
    tol, cache_size, shrinking, random_state
        As for ``SVC``.

    Attributes
    ----------
    radius_ : float
        R, in the feature space of the kernel.

    Raises
    ------
    UnknownParameterError
        If a parameter does not exist; the message names its replacement.

    See Also
    --------
    qpsvm.DataDescription : The formulation, whose C is ``1 / (nu n)``.
    OneClassSVM : Gives the same novelties where ``k(x, x)`` is constant, as for "rbf".

    Notes
    -----
    The decision function is ``R^2 - |phi(x) - c|^2``. Source: Tax and Duin, "Support vector data
    description", *Machine Learning* 54 (2004), section 2.

    Examples
    --------
    >>> from qpsvm.estimators import SVDD
    >>> machine = SVDD(kernel="linear", nu=0.1).fit([[0.0], [1.0], [4.0]])
    >>> round(machine.radius_, 4), machine.predict([[2.0], [5.0]])
    (2.0, array([ 1, -1]))
    """

    def _formulation(self, weights: Vector) -> Formulation[Any]:
        require_share(self.nu)
        return DataDescription(C=1.0 / (self.nu * float(np.sum(weights))))

    def _fitted(self, weights: Vector) -> None:
        super()._fitted(weights)
        # a given kernel matrix does not have k(x, x) of new samples: it has no decision values
        known = not inputs.is_precomputed(self)
        self._radius = DataDescription.radius(self._predictor) if known else None

    @property
    def offset_(self) -> float:
        """Offset ``-R^2`` of the scores ``-|phi(x) - c|^2``."""
        return -(self.radius_**2)

    @property
    def radius_(self) -> float:
        """Radius of the ball."""
        check_is_fitted(self)
        return DataDescription.radius(self.solution_) if self._radius is None else self._radius
