"""Base classes of estimators that predict numbers, with proven bounds on the predictions."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from qpsvm.certificates.predictions import DecisionBounds
from qpsvm.chunked.solution import block_by_block
from qpsvm.data.targets import as_targets
from qpsvm.estimators import inputs
from qpsvm.estimators.base import QPEstimator
from qpsvm.estimators.parameters import warn_of_tube
from qpsvm.numerics.arguments import Samples, Targets, Weights


class NumberPredictor(QPEstimator):
    """Base class of estimators that predict numbers, with proven bounds on them."""

    def predict_certified(self, X: Samples) -> DecisionBounds:  # type: ignore[override]
        """Predict numbers, with bounds on those of the exact optimum.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (m, d)

        Returns
        -------
        DecisionBounds
            ``values``, ``lower`` and ``upper``, shape (m,) each.

        Raises
        ------
        NotFittedError, ValueError
            Before ``fit``; other features than in ``fit``.
        """
        check_is_fitted(self)
        bounds: DecisionBounds = self.certificate_.decision_bounds(inputs.samples(self, X))
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
