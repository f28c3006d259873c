"""Base class of searches over parameters: scikit-learn's conventions around ``SearchRun``."""

from __future__ import annotations

import time
import warnings
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from qpsvm.data.targets import as_targets, exact_labels
from qpsvm.estimators import inputs
from qpsvm.estimators.base import QPEstimator
from qpsvm.estimators.inputs import ExplainsParameters, accuracy, require_workers
from qpsvm.estimators.kernel_estimator import kernel_of
from qpsvm.estimators.persistent import replaced, unfitted
from qpsvm.exceptions import InvalidParameterError
from qpsvm.kernels import Kernel, KernelArgument
from qpsvm.numerics.arguments import Samples, Targets, Weights, is_real_number, require_flag
from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.interrupts import without_solution
from qpsvm.selection import scores
from qpsvm.selection.choice import Candidate, Choice, FoldScore, as_values, combinations, cv_results
from qpsvm.selection.folds import Fold, Task
from qpsvm.selection.search_run import SearchRun

C_VALUES = tuple(10.0**k for k in range(-2, 5))
"""C of a search that is given none."""

GAMMA_FACTORS = tuple(4.0**k for k in range(-2, 3))
"""Gamma of a search that is given none, as multiples of ``gamma="scale"``."""

WITH_GAMMA = ("rbf", "poly", "polynomial", "sigmoid")
"""Names of kernels that have a gamma."""


def is_refitted(search: Any) -> bool:
    """Return whether the search has, or will have, a best estimator."""
    return bool(search.refit)


class BaseSearch(ExplainsParameters, ABC):
    """Base class of searches: candidates, folds, results and the refit.

    In front of scikit-learn's own base classes: ``score`` is by ``scoring``.
    """

    kernel: KernelArgument
    C: object
    gamma: object
    eps: float
    tol: float | None
    cv: object
    scoring: scores.Scoring
    n_jobs: int | None
    refit: bool

    _machine: ClassVar[type[QPEstimator]]
    _common: ClassVar[tuple[str, ...]]  # parameters that all candidates share

    # --- for subclasses ---------------------------------------------------------------------------
    @abstractmethod
    def _targets(self, y: object) -> Vector:
        """Check the targets y, and store the classes where there are any."""

    @abstractmethod
    def _task(self, candidate: Candidate, weights: Vector) -> Task:
        """Build the task of a candidate on a shared kernel matrix; every C has the same."""

    @abstractmethod
    def _score_of(
        self, y: Targets, found: scores.Predictions, weights: Vector | None
    ) -> scores.ScoreInterval:
        """The score of predictions for held-out samples."""

    def _values(self) -> dict[str, list[object]]:
        """Values of the searched parameters beside gamma."""
        return {"C": as_values(self.C, "C")}

    # --- fitting ----------------------------------------------------------------------------------
    def fit(self, X: Samples, y: Targets, sample_weight: Weights | None = None) -> Self:
        """Search: train every candidate on every fold, choose, prove, and refit.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n, d)
            The kernel matrix (n, n) with ``kernel="precomputed"``.
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
            Factors of C, and weights of the scores, as in ``GridSearchCV``; with a warning where
            ``scoring`` does not take weights.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the data or parameters are invalid, or a fold lacks one of the classes.

        Warns
        -----
        ConvergenceWarning
            A machine is not certified to ``eps``.
        """
        fresh = unfitted(self)
        with without_solution():
            fresh._search(X, y, sample_weight)
        return replaced(self, fresh)

    def _search(self, X: Samples, y: Targets, sample_weight: Weights | None) -> None:
        self._check_parameters()
        if sample_weight is not None and not scores.takes_weights(self.scoring):
            warnings.warn(
                f"scoring is {self.scoring!r}, which takes no sample weights: the machines are "
                "weighted and the scores are not; pass a scorer with a sample_weight argument.",
                stacklevel=3,
            )
        samples, targets = inputs.training_data(self, X, y)
        targets = self._targets(targets)
        weights = None if sample_weight is None else inputs.weights(sample_weight, samples)
        candidates = combinations(self._values() | self._gammas(samples, weights))
        folds = self._folds(samples, targets)
        scorer: Any = self.scoring if scores.needs_estimator(self.scoring) else None
        run = SearchRun(
            estimator=self._estimator,
            kernel=self._kernel_of,
            task=self._task,
            score=self._score_of,
            scorer=scorer,
            X=samples,
            y=targets,
            given=indexable(samples if inputs.is_precomputed(self) else X, y),
            weights=weights,
            candidates=candidates,
            folds=folds,
            eps=accuracy(self),
            n_jobs=self.n_jobs,
        )
        self._store(candidates, run.outcomes())
        if self.refit:
            began = time.perf_counter()
            self.best_estimator_ = self._estimator(self.best_params_).fit(X, y, sample_weight)
            self.refit_time_ = time.perf_counter() - began

    def _check_parameters(self) -> None:
        require_flag(self.refit, "refit")
        require_workers(self.n_jobs)
        eps = accuracy(self)
        if not (is_real_number(eps) and 0.0 < eps < 1.0):
            raise InvalidParameterError(f"eps is {eps!r}; it must be between 0 and 1.")
        scores.require_scoring(self.scoring, is_classifier=is_classifier(self))

    def _gammas(self, X: Samples, weights: Vector | None) -> dict[str, list[object]]:
        """The values of gamma, where the kernel has one."""
        if not isinstance(self.kernel, str) or self.kernel not in WITH_GAMMA:
            return {}
        if self.gamma is not None:
            return {"gamma": as_values(self.gamma, "gamma", words=("scale", "auto"))}
        scale: Any = self._kernel_of({"gamma": "scale"}, X, weights).resolve(X)
        return {"gamma": [factor * float(scale.gamma) for factor in GAMMA_FACTORS]}

    def _folds(self, X: Samples, y: Targets) -> list[Fold]:
        cv = check_cv(self.cv, y, classifier=is_classifier(self))
        folds = [Fold(np.asarray(train), np.asarray(test)) for train, test in cv.split(X, y)]
        if not folds or not all(len(fold.train) and len(fold.test) for fold in folds):
            raise InvalidParameterError(
                f"cv is {self.cv!r}, which gives no fold, or one without samples; pass the number "
                "of folds or another splitter."
            )
        self.n_splits_ = len(folds)
        return folds

    def _store(self, candidates: list[Candidate], outcomes: list[list[FoldScore]]) -> None:
        """Set the attributes that describe the search."""
        self.cv_results_ = results = cv_results(candidates, outcomes)
        self.best_index_ = int(results["rank_test_score"].argmin())
        self.best_score_ = results["mean_test_score"][self.best_index_]
        self.best_params_ = candidates[self.best_index_]
        score, low, high = (results[f"mean_test_score{e}"] for e in ("", "_lower", "_upper"))
        self.choice_ = Choice(tuple(candidates), score, low, high, self.best_index_)
        gaps, eps = results["max_relative_gap"], accuracy(self)
        missed = int(np.count_nonzero(~(gaps <= eps)))
        if missed:
            warnings.warn(
                f"{missed} of {len(gaps)} candidates have a machine that is not certified to "
                f"eps={eps:g}, the worst to {np.max(gaps):.1e}; "
                "cv_results_['max_relative_gap'] has all. Try a larger eps, or scale the features.",
                ConvergenceWarning,
                stacklevel=4,
            )

    # --- the machines of candidates ---------------------------------------------------------------
    def _estimator(self, candidate: Candidate) -> QPEstimator:
        """Build the estimator of a candidate."""
        common = {name: getattr(self, name) for name in self._common}
        return self._machine(tol=accuracy(self), **common, **candidate)

    def _kernel_of(self, candidate: Candidate, X: Samples, weights: Vector | None) -> Kernel:
        """The kernel of a candidate; ``gamma="scale"`` is that of all samples X."""
        return kernel_of(self._estimator(candidate), X, weights)

    # --- the best estimator -----------------------------------------------------------------------
    @available_if(is_refitted)  # type: ignore[untyped-decorator]
    def predict(self, X: Samples) -> Any:
        """Predict with the best estimator, shape (m,)."""
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    @available_if(is_refitted)  # type: ignore[untyped-decorator]
    def predict_certified(self, X: Samples) -> Any:
        """Predict with the best estimator, with what is proven; see ``SVC`` and ``SVR``."""
        check_is_fitted(self)
        return self.best_estimator_.predict_certified(X)

    @available_if(is_refitted)  # type: ignore[untyped-decorator]
    def score(self, X: Samples, y: Targets, sample_weight: Weights | None = None) -> float:
        """The score of the best estimator by ``scoring``, weighted by ``sample_weight``."""
        check_is_fitted(self)
        scorer = check_scoring(self.best_estimator_, self.scoring)
        targets = exact_labels(y, "y") if is_classifier(self) else as_targets(y)
        weighted = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(scorer(self.best_estimator_, X, targets, **weighted))

    def __sklearn_tags__(self) -> Any:
        tags: Any = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = inputs.is_precomputed(self)
        tags.target_tags.required = True
        return tags

    _fewest_samples: ClassVar[int] = 1
