"""Base classes of classifiers: labels, class weights, votes and decision functions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from qpsvm.certificates import Certificate
from qpsvm.certificates.predictions import CertifiedPredictions, DecisionBounds, certified
from qpsvm.certificates.reduced import ReducedCertificate
from qpsvm.chunked.solution import block_by_block
from qpsvm.data.targets import exact_labels, one_per_row, require_one_kind, same_labels
from qpsvm.estimators import inputs
from qpsvm.estimators.base import Formulation, QPEstimator
from qpsvm.estimators.kernel_estimator import KernelEstimator
from qpsvm.estimators.parameters import INSTEAD
from qpsvm.exceptions import InvalidParameterError
from qpsvm.formulations import (
    OneVsOne,
    OneVsRest,
)
from qpsvm.formulations.family import Classifier
from qpsvm.formulations.prices import ClassWeight, as_class_weight, factors_by_label
from qpsvm.numerics.arguments import Samples, Targets, Weights, require_choice, require_flag
from qpsvm.numerics.arrays import Array, Vector
from qpsvm.solving.calls import on_device

if TYPE_CHECKING:
    from sklearn.calibration import CalibratedClassifierCV


class QPClassifier(ClassifierMixin, QPEstimator):
    """Base class of classification estimators: labels, class weights, probabilities.

    Attributes
    ----------
    classes_ : array of shape (k,)
        The labels, sorted; a class whose samples all have weight zero is none of them.
    class_weight_ : array of shape (k,)
        Factor of C of every class.
    """

    class_weight: ClassWeight

    def _targets(self, y: Any, weights: Vector) -> Array:
        labels: Array = exact_labels(y, "y")
        of_any_size = labels.dtype == object and all(isinstance(v, int) for v in labels.tolist())
        if not of_any_size:  # scikit-learn knows no integers beyond 64 bits
            if labels.dtype == object:
                require_one_kind(labels.ravel().tolist())
            if not (labels.ndim == 1 and labels.dtype.kind in "biuU"):  # these always pass
                check_classification_targets(labels)
        self.classes_, self._codes = np.unique(labels, return_inverse=True)
        has_samples = np.bincount(self._codes, weights, minlength=len(self.classes_)) > 0.0
        if np.count_nonzero(has_samples) > 1:  # the formulation refuses a single class
            position = np.where(has_samples, np.cumsum(has_samples) - 1, 0)
            self.classes_, self._codes = self.classes_[has_samples], position[self._codes]
        return labels

    def _class_factors(self, weights: Vector) -> ClassWeight:
        """Compute the factor of C of every label, and store them in ``class_weight_``.

        "balanced" is relative to all classes, also where a machine is fitted to two of them.
        """
        given, labels = as_class_weight(self.class_weight), self.classes_.tolist()
        factors = np.ones(len(labels))
        if isinstance(given, Mapping):
            factors = factors_by_label(given, labels)
        elif given == "balanced":
            of_classes = np.bincount(self._codes, weights, minlength=len(labels))
            with np.errstate(divide="ignore"):  # the formulation refuses a single class
                factors = np.where(of_classes > 0.0, np.sum(weights) / of_classes, 1.0)
            factors /= len(labels)
        self.class_weight_ = factors
        return None if given is None else dict(zip(labels, factors.tolist(), strict=True))

    @block_by_block
    def predict(self, X: Samples) -> Any:
        """Predict a label for every sample.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (m, d)

        Returns
        -------
        array of shape (m,)

        Raises
        ------
        NotFittedError, ValueError
            Before ``fit``; other features than in ``fit``.
        """
        values = self._values(X)
        return self._predictor.predictions(values)

    def score(self, X: Samples, y: Targets, sample_weight: Weights | None = None) -> float:
        """Accuracy: the share of correctly classified samples, weighted by ``sample_weight``.

        Raises
        ------
        NotFittedError, ValueError
            Before ``fit``; other features than in ``fit``; another number of labels than samples.
        """
        predicted = np.asarray(self.predict(X))
        right = same_labels(predicted, one_per_row(y, predicted))
        weights = inputs.weights(sample_weight, predicted)
        return float(weights @ right / np.sum(weights))

    def calibrated(self, cv: object = None, method: str = "sigmoid") -> CalibratedClassifierCV:
        """The classifier with probabilities: ``CalibratedClassifierCV(self, ...)``.

        Parameters
        ----------
        cv : int, splitter or None
            How the samples for the calibration are set apart; see scikit-learn.
        method : {"sigmoid", "isotonic", "temperature"}
            Platt's sigmoid and its alternatives.

        Returns
        -------
        sklearn.calibration.CalibratedClassifierCV
            Not fitted yet; it has ``predict_proba`` once it is.

        Examples
        --------
        >>> from qpsvm.estimators import SVC
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> SVC(C=10.0).calibrated(cv=3).fit(X, y).predict_proba(X[:1]).shape
        (1, 3)
        """
        from sklearn.calibration import CalibratedClassifierCV

        return CalibratedClassifierCV(self, method=method, cv=cv)

    @property
    def predict_proba(self) -> NoReturn:
        """Not available, see ``calibrated``: decision values are no probabilities."""
        raise self._no_probabilities("predict_proba")

    @property
    def predict_log_proba(self) -> NoReturn:
        """Not available, see ``calibrated``: decision values are no probabilities."""
        raise self._no_probabilities("predict_log_proba")

    def _no_probabilities(self, name: str) -> AttributeError:
        return AttributeError(
            f"{type(self).__name__} has no {name}, because decision values are no probabilities. "
            f"{INSTEAD['probability']}"
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        return tags


class KernelClassifier(QPClassifier, KernelEstimator):
    """Base class of kernel classifiers, one against one by default."""

    decision_function_shape: Literal["ovr", "ovo"]
    break_ties: bool
    multi_class: str
    _ways_to_several: ClassVar[tuple[str, ...]] = ("ovo", "ovr")

    def fit(
        self,
        X: Samples,
        y: Targets,
        sample_weight: Weights | None = None,
        *,
        sensitive: Targets | None = None,
    ) -> Self:
        """Fit the classifier to samples and labels, to a certified relative gap of ``eps``.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n, d)
            The kernel matrix (n, n) with ``kernel="precomputed"``; for a kernel function of the
            caller's, samples of any kind.
        y : array of shape (n,)
            Two or more different labels.
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
        """
        return self._fit(X, y, sample_weight, sensitive)

    @abstractmethod
    def _two_classes(self, weights: Vector) -> Classifier:
        """Build the formulation of one two-class machine."""

    def _formulation(self, weights: Vector) -> Formulation:
        require_choice(self.multi_class, self._ways_to_several, "multi_class")
        require_choice(self.decision_function_shape, ("ovr", "ovo"), "decision_function_shape")
        require_flag(self.break_ties, "break_ties")
        if self.break_ties and self.decision_function_shape == "ovo":
            raise InvalidParameterError(
                "break_ties must be False when decision_function_shape is 'ovo'."
            )
        if len(self.classes_) <= 2 and self.multi_class != "crammer_singer":
            return self._two_classes(weights)
        return self._of_many_classes(weights)

    def _of_many_classes(self, weights: Vector) -> Formulation:
        formulation = self._two_classes(weights)
        if self.multi_class == "ovr":
            return OneVsRest(formulation)
        return OneVsOne(formulation, break_ties=bool(self.break_ties))

    @block_by_block
    def decision_function(self, X: Samples) -> Any:
        """Decision values of every sample.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (m, d)

        Returns
        -------
        array of shape (m,), (m, k) or (m, k (k - 1) / 2)
            Two classes: positive for the larger label. More: one value per class, or with
            ``decision_function_shape="ovo"`` one per pair i < j, positive for class i.

        Raises
        ------
        NotFittedError, ValueError
            Before ``fit``; other features than in ``fit``.
        """
        values = self._values(X)
        if not self._libsvm.is_one_vs_one:
            return values
        if self.decision_function_shape == "ovo":
            return -values
        return replace(self._predictor.reduction, break_ties=True).combine(
            values, len(self.classes_)
        )

    @block_by_block
    def predict(self, X: Samples) -> Any:
        values = self._values(X)
        if self._libsvm.is_one_vs_one:
            values = self._predictor.reduction.combine(values, len(self.classes_))
        return self._predictor.predictions(values)

    def predict_certified(self, X: Samples) -> CertifiedPredictions:
        check_is_fitted(self)
        proof, samples = self.certificate_, inputs.samples(self, X)
        if not isinstance(proof, ReducedCertificate):
            return super().predict_certified(X)
        with on_device(self._device):
            bounds = [self._certified_bounds(each, samples) for each in proof.certificates]
        return certified(self.solution_, proof.combined(bounds), self.predict(X))

    def _certified_bounds(self, proof: Certificate, X: Samples) -> DecisionBounds:
        """Bound the optimum's decision values, in the units in which this estimator predicts."""
        return proof.decision_bounds(X)

    @property
    def n_support_(self) -> Array:
        """Number of support vectors of each class, shape (k,)."""
        codes = self._codes[self.support_]
        return np.bincount(codes, minlength=len(self.classes_)).astype(np.int32)
