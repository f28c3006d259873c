"""Grid searches over C, gamma and epsilon with certified machines: ``SVCSearch``, ``SVRSearch``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from qpsvm.data.targets import as_classes, exact_labels
from qpsvm.estimators import SVC, SVR
from qpsvm.estimators.inputs import parameters, warn_of_tube
from qpsvm.exceptions import InvalidDataError
from qpsvm.formulations.parameters import ClassWeight, as_class_weight, factors_by_label
from qpsvm.numerics.arguments import Samples
from qpsvm.numerics.arrays import Vector
from qpsvm.selection import scores
from qpsvm.selection.base_search import BaseSearch, is_refitted
from qpsvm.selection.choice import Candidate, as_values
from qpsvm.selection.folds import Classes, Task, Tube


@parameters
class SVCSearch(BaseSearch, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Search for the C and gamma of ``SVC`` with the best cross-validation score.

    The candidates are those of ``GridSearchCV(SVC(), {"C": C, "gamma": gamma})``, and so are the
    results; in addition it is known which differences between scores are those of exact machines.

    Parameters
    ----------
    C : sequence of float, or float
        Values above 0.
    kernel, degree, coef0, class_weight, decision_function_shape, break_ties
        As for ``SVC``.
    gamma : sequence of float, "scale" or "auto", optional
        By default 1/16, 1/4, 1, 4 and 16 times "scale". "scale" is that of all samples, so that
        folds share their kernel values.
    eps : float
        Certified gap of every machine, relative to its objective; of the best estimator as for
        ``SVC``.
    scoring : str or callable, optional
        "accuracy" (the default) and "balanced_accuracy" have proven intervals. Of another name of
        scikit-learn's, or of a scorer from ``sklearn.metrics.make_scorer``, the score is proven
        where it asks for labels only and all are. Of a function ``(estimator, X, y) -> float``
        nothing is proven: it gets an estimator that is fitted to the fold, and the samples and
        labels as they were given.
    n_jobs : int, optional
        Folds that are trained at the same time, as threads; the results have the same bits.
    refit : bool
        Whether the best candidate is fitted to all samples.
    cv : int, splitter or iterable, optional
        As for ``GridSearchCV``: 5 stratified folds by default.
    tol : float, optional
        Another name of ``eps``, the one of scikit-learn; pass one of the two.

    Attributes
    ----------
    cv_results_ : dict of arrays
        Those of ``GridSearchCV``, and ``mean_test_score_lower`` and ``_upper`` (the exact machines'
        mean score is between them), ``mean_proven`` (share of held-out labels that are proven) and
        ``max_relative_gap``.
    choice_ : Choice
        Every candidate against the best, and ``choice_.between`` for any pair.
    best_params_, best_index_, best_score_, best_estimator_, refit_time_, n_splits_
        As of ``GridSearchCV``.
    classes_ : array of shape (k,)

    See Also
    --------
    leave_one_out : For one machine, without folds.

    Notes
    -----
    Kernels "rbf", "poly" and "linear" of so many samples that a matrix fits into
    ``SearchSettings.largest_matrix`` share it; all others are fitted one by one, in the time that
    this takes. The method is described in ``docs/model_selection.md``.

    Examples
    --------
    >>> from qpsvm.selection import SVCSearch
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> search = SVCSearch(C=[0.1, 1.0, 10.0], gamma=[0.1, 1.0]).fit(X, y)
    >>> search.best_params_, round(float(search.best_score_), 2)
    ({'C': 1.0, 'gamma': 0.1}, 0.98)
    >>> search.choice_.between({"C": 1.0, "gamma": 0.1}, {"C": 0.1, "gamma": 1.0})
    'proven'
    """

    _machine = SVC
    _common = (
        "kernel",
        "degree",
        "coef0",
        "class_weight",
        "decision_function_shape",
        "break_ties",
    )

    class_weight: ClassWeight = None
    decision_function_shape: Literal["ovr", "ovo"] = "ovr"
    break_ties: bool = False

    def _targets(self, y: Any, weights: Vector | None) -> Any:
        y = exact_labels(y, "y")
        if y.dtype == object and all(isinstance(label, int) for label in y.tolist()):
            if all(abs(label) < 2**63 for label in y.tolist()):
                return self._targets(y.astype(np.int64), weights)
            raise InvalidDataError(
                f"y has labels beyond 64 bits, such as {max(y, key=abs)}, which the scores of "
                "scikit-learn do not take; pass them as texts, or use SVC alone."
            )
        self._codes, self.classes_ = as_classes(y, weights)
        check_classification_targets(y)
        return y

    def _task(self, candidate: Candidate, weights: Vector) -> Task:
        del candidate
        given = as_class_weight(self.class_weight)
        if isinstance(given, Mapping):
            factors_by_label(given, self.classes_.tolist())  # refuses labels that do not exist
        shape = self.decision_function_shape
        return Classes(self._codes, self.classes_, weights, given, bool(self.break_ties), shape)

    def _score_of(
        self, y: Any, found: scores.Predictions, weights: Vector | None
    ) -> scores.ScoreInterval:
        return scores.of_classes(y, found, self.scoring, weights, self.classes_)

    @available_if(is_refitted)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Samples) -> Any:
        """Return the decision values of the best estimator for some samples; see ``SVC``."""
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        return tags


@parameters
class SVRSearch(BaseSearch, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Search for the C, epsilon and gamma of ``SVR`` with the best cross-validation score.

    Parameters
    ----------
    epsilon : sequence of float, or float
        Half-widths of the tube, not negative.
    C, gamma, kernel, degree, coef0, eps, tol, n_jobs, refit
        As for ``SVCSearch``.
    scoring : str or callable, optional
        "r2" (the default), "neg_mean_squared_error", "neg_root_mean_squared_error" and
        "neg_mean_absolute_error" have proven intervals; of others, as for ``SVCSearch``, nothing
        is proven.
    cv : int, splitter or iterable, optional
        5 folds by default.

    Attributes
    ----------
    cv_results_, choice_, best_params_, best_index_, best_score_, best_estimator_, n_splits_
        As of ``SVCSearch``; ``mean_proven`` is the share of predictions that are known to 1e-6 of
        the range of the targets.

    Examples
    --------
    >>> from qpsvm.selection import SVRSearch
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> search = SVRSearch(C=[10.0, 100.0], epsilon=[1.0, 20.0], gamma=[5.0]).fit(X[:100], y[:100])
    >>> search.best_params_
    {'C': 100.0, 'epsilon': 20.0, 'gamma': 5.0}
    """

    _machine = SVR
    _common = ("kernel", "degree", "coef0")

    epsilon: object = (0.1,)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        warn_of_tube(self)

    def _targets(self, y: object, weights: Vector | None) -> Vector:
        del weights
        self._numbers = np.asarray(y, dtype=np.float64)
        return self._numbers

    def _values(self) -> dict[str, list[object]]:
        return super()._values() | {"epsilon": as_values(self.epsilon, "epsilon", may_be_zero=True)}

    def _task(self, candidate: Candidate, weights: Vector) -> Task:
        return Tube(self._numbers, weights, float(candidate["epsilon"]))

    def _score_of(
        self, y: Any, found: scores.Predictions, weights: Vector | None
    ) -> scores.ScoreInterval:
        return scores.of_numbers(y, found, self.scoring, weights)
