"""Classifiers: labels, class weights, votes, and the kernel machines ``SVC`` and ``NuSVC``."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from qpsvm.certificates import Certificate
from qpsvm.certificates.predictions import CertifiedPredictions, DecisionBounds, certified
from qpsvm.certificates.reduced import ReducedCertificate
from qpsvm.chunked.solution import block_by_block
from qpsvm.data.targets import (
    CheckedLabels,
    as_classes,
    exact_labels,
    one_per_row,
    require_comparable,
    require_one_kind,
    same_labels,
)
from qpsvm.estimators import inputs
from qpsvm.estimators.base import QPEstimator
from qpsvm.estimators.inputs import INSTEAD, parameters
from qpsvm.estimators.kernel_estimator import KernelEstimator
from qpsvm.exceptions import InvalidParameterError, NuReducedWarning
from qpsvm.formulations import CrammerSinger, NuClassification, OneVsOne, OneVsRest, SoftMargin
from qpsvm.formulations.family import Classifier, Formulation
from qpsvm.formulations.nu import ROUNDED_SHARES
from qpsvm.formulations.parameters import ClassWeight, as_class_weight, factors_by_label
from qpsvm.numerics.arguments import Samples, Targets, Weights, require_choice, require_flag
from qpsvm.numerics.arrays import Array, Vector
from qpsvm.solving.calls import on_device

if TYPE_CHECKING:
    from sklearn.calibration import CalibratedClassifierCV


def _no_probabilities(name: str) -> property:
    """A method that classifiers lack, for those who ask for it."""

    def missing(self: object) -> NoReturn:
        raise AttributeError(
            f"{type(self).__name__} has no {name}, because decision values are no probabilities. "
            f"{INSTEAD['probability']}"
        )

    text = "Not available, see ``calibrated``: decision values are no probabilities."
    return property(missing, doc=text)


@parameters
class QPClassifier(ClassifierMixin, QPEstimator):
    """Base class of classification estimators: labels, class weights, probabilities.

    Attributes
    ----------
    classes_ : array of shape (k,)
        The labels, sorted; a class whose samples all have weight zero is none of them.
    class_weight_ : array of shape (k,)
        Factor of C of every class.
    """

    class_weight: ClassWeight = None
    n_jobs: int | None = None

    def _targets(self, y: Any, weights: Vector) -> CheckedLabels:
        labels: Array = exact_labels(y, "y")
        of_any_size = labels.dtype == object and all(isinstance(v, int) for v in labels.tolist())
        if not of_any_size:  # scikit-learn knows no integers beyond 64 bits
            if labels.dtype == object:
                require_one_kind(labels.ravel().tolist())
            if not (labels.ndim == 1 and labels.dtype.kind in "biuU"):  # these always pass
                check_classification_targets(labels)
        self._codes, self.classes_ = as_classes(labels, weights)
        return CheckedLabels(self._codes, self.classes_)

    def _class_factors(self, weights: Vector) -> ClassWeight:
        """Return the class weights for the formulation, and store the factor of every label.

        "balanced" is relative to all classes, also where a machine is fitted to two of them: it is
        numbers then. Of two classes it stays a word, whose numbers change with the samples, such as
        when one is left out.
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
        if given is None or (given == "balanced" and len(labels) == 2):
            return given
        return dict(zip(labels, factors.tolist(), strict=True))

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
        labels = one_per_row(y, predicted)
        require_comparable(labels, self.classes_)
        right = same_labels(predicted, labels)
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

    predict_proba = _no_probabilities("predict_proba")
    predict_log_proba = _no_probabilities("predict_log_proba")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        return tags


@parameters
class KernelClassifier(QPClassifier, KernelEstimator):
    """Base class of kernel classifiers, one against one by default."""

    decision_function_shape: Literal["ovr", "ovo"] = "ovr"
    break_ties: bool = False
    multi_class: str = "ovo"
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

    def _formulation(self, weights: Vector) -> Formulation[Any]:
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

    def _of_many_classes(self, weights: Vector) -> Formulation[Any]:
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

    def predict_certified(
        self, X: Samples, *, squares: ArrayLike | None = None
    ) -> CertifiedPredictions:
        check_is_fitted(self)
        proof, samples = self.certificate_, inputs.samples(self, X)
        if not isinstance(proof, ReducedCertificate):
            return super().predict_certified(X, squares=squares)
        with on_device(self._device):
            bounds = [self._certified_bounds(p, samples, squares) for p in proof.certificates]
        return certified(self.solution_, proof.combined(bounds), self.predict(X))

    def _certified_bounds(
        self, proof: Certificate, X: Samples, squares: ArrayLike | None
    ) -> DecisionBounds:
        """Bound the optimum's decision values, in the units in which this estimator predicts."""
        return proof.decision_bounds(X, squares=squares)

    @property
    def n_support_(self) -> Array:
        """Number of support vectors of each class, shape (k,)."""
        codes = self._codes[self.support_]
        return np.bincount(codes, minlength=len(self.classes_)).astype(np.int32)


@parameters
class SVC(KernelClassifier):
    r"""C-support vector classification, solved to a certified gap.

    .. math::

        \min \; \tfrac{1}{2} w^\top w + \sum_i C_i \max(0, 1 - s_i (w^\top \phi(x_i) + b))

    Parameters
    ----------
    C : float
        Penalty on a margin violation, above 0 and finite.
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"}, Kernel or callable
        A name, an object of ``qpsvm.kernels``, or a function ``(X, Z) -> kernel values``.
    degree : int
        Degree of the polynomial kernel; ignored otherwise.
    gamma : {"scale", "auto"} or float
        Coefficient of the RBF, polynomial and sigmoid kernels; ignored otherwise. "scale" is
        ``1 / (d var X)``, in which samples count by their weights; "auto" is ``1 / d``.
    coef0 : float
        Constant term of the polynomial and sigmoid kernels; ignored otherwise.
    class_weight : dict, "balanced" or None
        Factors of C by label, each a label in y; "balanced" makes the sums of C_i of all classes
        equal.
    decision_function_shape : {"ovr", "ovo"}
        With three or more classes, whether ``decision_function`` has a column per class or per
        pair of classes.
    break_ties : bool
        Whether decision values decide between classes with equally many votes (``"ovr"`` only).
    multi_class : {"ovo", "ovr", "crammer_singer"}
        With three or more classes: a machine per pair of them, one per class, or one program for
        all.
    eps : float
        Relative duality gap and scaled residuals to be certified.
    backend : str
        As for ``qpsvm.solve``.
    constraints : LinearConstraints, builder, or list of them, optional
        Linear constraints on (w, b), for the linear kernel; see ``qpsvm.constraints``.
    indefinite : {"error", "clip", "flip", "shift"}
        What to do with a kernel matrix that has negative eigenvalues.
    memory_limit : int, optional
        Bytes available for kernel values; by default a quarter of the machine's memory.
    device : {"auto", "cpu", "cuda"}
        ``"cuda"`` solves and verifies on an NVIDIA GPU, whose memory ``memory_limit`` then limits.
    warm_start : bool
        Whether ``fit`` starts from the solution of the previous ``fit``.
    n_jobs : int, optional
        Number of machines solved in parallel with more than two classes; as in joblib.
    max_iter : int
        Largest number of iterations of the backend; -1 for its own limit.
    verbose : bool
        Print progress.
    tol : float, optional
        Another name of ``eps``, the one of scikit-learn; pass one of the two.
    cache_size, shrinking, random_state : ignored
        Accepted, and without effect: scikit-learn's class has them. ``memory_limit`` limits the
        memory for kernel values, the solver decides when to shrink, and nothing is random.

    Raises
    ------
    UnknownParameterError
        If a parameter does not exist; the message names its replacement.

    See Also
    --------
    qpsvm.SoftMargin : The formulation, for those who want to see the program.
    LinearSVC : For linear machines as LIBLINEAR defines them.

    Notes
    -----
    Minimises the same objective as ``sklearn.svm.SVC``.
    Source: Cortes and Vapnik, *Machine Learning* 20 (1995),
    section 3; one against one: Knerr, Personnaz and Dreyfus (1990).

    Examples
    --------
    >>> from qpsvm.estimators import SVC
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> machine = SVC(C=10.0).fit(X, y)
    >>> round(machine.score(X, y), 2)
    0.99
    >>> machine.certificate_.relative_gap <= 1e-8
    True
    >>> machine.predict_certified(X).fraction_decided
    1.0
    """

    _ways_to_several = (*KernelClassifier._ways_to_several, "crammer_singer")

    C: float = 1.0
    multi_class: Literal["ovo", "ovr", "crammer_singer"] = "ovo"

    def _two_classes(self, weights: Vector) -> Classifier:
        return SoftMargin(C=self.C, class_weight=self._class_factors(weights))

    def _of_many_classes(self, weights: Vector) -> Formulation[Any]:
        if self.multi_class == "crammer_singer":
            return CrammerSinger(C=self.C, class_weight=self._class_factors(weights))
        return super()._of_many_classes(weights)


@parameters
class NuSVC(KernelClassifier):
    r"""Nu-support vector classification, solved to a certified gap.

    .. math::

        \min \; \tfrac{1}{2} w^\top w - \nu \rho + \tfrac{1}{n} \sum_i \max(0, \rho - s_i (w^\top
        \phi(x_i) + b)), \quad \rho \ge 0

    Parameters
    ----------
    nu : float
        In (0, 1]: bounds the share of margin errors from above, that of support vectors from
        below. Feasible up to twice the smaller class's share of the weights (of every pair of
        classes); a larger one is reduced to that, with a warning.
    kernel, degree, gamma, coef0
        As for ``SVC``.
    class_weight : dict, "balanced" or None
        Factors of the sample weights by label, each a label in y.
    decision_function_shape, break_ties
        As for ``SVC``.
    multi_class : {"ovo", "ovr"}
        With three or more classes: a machine per pair of them, or one per class.
    eps, backend, constraints, indefinite, memory_limit, device
        As for ``SVC``.
    warm_start, n_jobs, max_iter, verbose
        As for ``SVC``.
    tol, cache_size, shrinking, random_state
        As for ``SVC``.

    Raises
    ------
    UnknownParameterError
        If a parameter does not exist; the message names its replacement.

    See Also
    --------
    qpsvm.NuClassification : The formulation.

    Notes
    -----
    Decision values are those of the machine with margin 1, ``f(x) / rho``, as scikit-learn has
    them. Source: Schoelkopf, Smola, Williamson and Bartlett, *Neural Computation* 12 (2000),
    section 4.

    Examples
    --------
    >>> from qpsvm.estimators import NuSVC
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> machine = NuSVC(nu=0.1).fit(X, y)
    >>> round(machine.score(X, y), 2), machine.certificate_.relative_gap <= 1e-8
    (0.99, True)
    """

    nu: float = 0.5
    multi_class: Literal["ovo", "ovr"] = "ovo"

    def _two_classes(self, weights: Vector) -> Classifier:
        formulation = NuClassification(nu=self.nu, class_weight=self._class_factors(weights))
        totals = np.bincount(self._codes, weights, minlength=len(self.classes_))
        if len(totals) < 2 or not totals.all():  # the formulation refuses a single class
            return formulation
        largest = _largest_nu(totals.astype(np.float64), self.class_weight_, self.multi_class)
        if self.nu <= largest * (1.0 + 0.5 * ROUNDED_SHARES):
            return formulation
        largest *= 1.0 - ROUNDED_SHARES  # which rounding does not make infeasible
        warnings.warn(
            f"nu is {self.nu!r}, and these classes allow at most {largest:.6g}, twice the smaller "
            "one's share of the weights; that is what was fitted.",
            NuReducedWarning,
            stacklevel=6,
        )
        return replace(formulation, nu=largest)

    def _scale(self, width: float, weights: Vector) -> float:
        del weights
        return 1.0 / width if width > 0.0 else 1.0

    def _certified_bounds(
        self, proof: Certificate, X: Samples, squares: ArrayLike | None
    ) -> DecisionBounds:
        bounds, optimum = super()._certified_bounds(proof, X, squares), proof.optimum
        assert optimum is not None  # every machine has one decision function
        return bounds.divided(proof.solution.width, optimum.width)

    def __sklearn_tags__(self) -> object:
        tags = super().__sklearn_tags__()
        # class weights bound the multipliers of each class, whose sums stay equal: they do not
        # move the boundary as far as scikit-learn's check of class weights asks
        tags.classifier_tags.poor_score = True
        return tags


def _largest_nu(totals: Vector, factors: Vector, multi_class: str) -> float:
    """The largest nu that is feasible for all machines of several classes.

    Parameters
    ----------
    totals, factors : arrays of shape (k,)
        The sum of the sample weights of every class, and what multiplies them.
    multi_class : {"ovo", "ovr"}
    """
    own = totals * factors
    if multi_class == "ovr" and len(own) > 2:  # the factors count as sample weights
        return 2.0 * float(min(np.min(own), np.sum(own) - np.max(own)) / np.sum(own))
    i, j = np.triu_indices(len(own), 1)
    return 2.0 * float(np.min(np.minimum(own[i], own[j]) / (totals[i] + totals[j])))
