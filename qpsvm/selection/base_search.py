"""Base class of searches: every candidate on every fold, by scikit-learn's conventions.

Folds and candidates share kernel matrices. Fitted one by one are machines with kernels that are not
positive semidefinite by their type (matrices and functions of the caller's, the sigmoid), with more
samples than ``SearchSettings.largest_matrix`` allows, and for scorers that need a fitted estimator.
Every machine has its own certificate.
"""

from __future__ import annotations

import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring
from sklearn.model_selection import ParameterGrid, check_cv
from sklearn.utils import indexable
from sklearn.utils.metaestimators import _safe_split, available_if
from sklearn.utils.validation import check_is_fitted

from qpsvm.data.targets import as_targets, exact_labels
from qpsvm.estimators import inputs
from qpsvm.estimators.base import QPEstimator
from qpsvm.estimators.inputs import (
    DEFAULT_EPS,
    ExplainsParameters,
    accuracy,
    parameters,
    require_workers,
)
from qpsvm.estimators.kernel_estimator import WITH_GAMMA, kernel_of
from qpsvm.estimators.persistent import replaced, unfitted
from qpsvm.exceptions import InvalidDataError, InvalidParameterError
from qpsvm.kernels import Kernel, KernelArgument
from qpsvm.numerics.arguments import Samples, Targets, Weights, is_real_number, require_flag
from qpsvm.numerics.arrays import Vector, all_finite
from qpsvm.numerics.interrupts import without_solution
from qpsvm.numerics.threads import in_parallel
from qpsvm.selection import scores
from qpsvm.selection.choice import Candidate, Choice, FoldScore, as_values, cv_results
from qpsvm.selection.folds import Fold, FoldOutcome, Task, rows_of_mask, run_fold
from qpsvm.selection.kernel_matrix import KernelBlock, shared_kernels
from qpsvm.selection.settings import SEARCH

SharedKernels: TypeAlias = Callable[[Any], KernelBlock]
"""``gamma -> KernelBlock`` of all samples."""

C_VALUES = tuple(10.0**k for k in range(-2, 5))
"""C of a search that is given none."""

GAMMA_FACTORS = tuple(4.0**k for k in range(-2, 3))
"""Gamma of a search that is given none, as multiples of ``gamma="scale"``."""

LEARNED = (
    "_codes",
    "_numbers",
    "best_estimator_",
    "best_index_",
    "best_params_",
    "best_score_",
    "choice_",
    "classes_",
    "cv_results_",
    "feature_names_in_",
    "n_features_in_",
    "n_splits_",
    "refit_time_",
)
"""All attributes that ``fit`` sets."""


def is_refitted(search: Any) -> bool:
    """Return whether the search has, or will have, a best estimator."""
    return bool(search.refit)


@parameters
class BaseSearch(ExplainsParameters, ABC):
    """Base class of searches: candidates, folds, results and the refit.

    In front of scikit-learn's own base classes: ``score`` is by ``scoring``.
    """

    C: object = C_VALUES
    kernel: KernelArgument = "rbf"
    degree: int = 3
    gamma: object = None
    coef0: float = 0.0
    eps: float = DEFAULT_EPS
    scoring: scores.Scoring = None
    n_jobs: int | None = None
    refit: bool = True
    cv: object = None
    tol: float | None = None

    _machine: ClassVar[type[QPEstimator]]
    _common: ClassVar[tuple[str, ...]]  # parameters that all candidates share

    # --- for subclasses ---------------------------------------------------------------------------
    @abstractmethod
    def _targets(self, y: object, weights: Vector | None) -> Vector:
        """Check the targets y, and store the classes of samples with weight where there are any."""

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
        fresh = unfitted(self, LEARNED)
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
        weights = None if sample_weight is None else inputs.weights(sample_weight, samples)
        targets = self._targets(targets, weights)
        candidates = list(ParameterGrid(self._values() | self._gammas(samples, weights)))
        folds = self._folds(samples, targets, weights)
        given = indexable(samples if inputs.is_precomputed(self) else X, y)
        run = _Run(self, samples, targets, given, weights, candidates, folds)
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

    def _folds(self, X: Samples, y: Targets, weights: Vector | None) -> list[Fold]:
        cv = check_cv(self.cv, y, classifier=is_classifier(self))
        folds = [Fold(rows_of_mask(train), rows_of_mask(test)) for train, test in cv.split(X, y)]
        if not folds or not all(len(fold.train) and len(fold.test) for fold in folds):
            raise InvalidParameterError(
                f"cv is {self.cv!r}, which gives no fold, or one without samples; pass the number "
                "of folds or another splitter."
            )
        if weights is not None and scores.takes_weights(self.scoring):
            for k, fold in enumerate(folds):
                if not weights[fold.test].any():
                    raise InvalidDataError(
                        f"All held-out samples of fold {k} have weight 0, and scores count samples "
                        "by their weights; use fewer folds, or leave samples of weight 0 out."
                    )
        self.n_splits_ = len(folds)
        return folds

    def _store(self, candidates: list[Candidate], outcomes: list[list[FoldScore]]) -> None:
        """Set the attributes that describe the search."""
        self.cv_results_ = results = cv_results(candidates, outcomes)
        self.choice_ = choice = Choice.of(candidates, results)
        self.best_index_ = choice.best
        self.best_score_ = results["mean_test_score"][choice.best]
        self.best_params_ = candidates[choice.best]
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
    def predict_certified(self, X: Samples, *, squares: ArrayLike | None = None) -> Any:
        """Predict with the best estimator, with what is proven; see ``SVC`` and ``SVR``."""
        check_is_fitted(self)
        return self.best_estimator_.predict_certified(X, squares=squares)

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


@dataclass(frozen=True, eq=False)
class _Run:
    """One search, on checked samples.

    Attributes
    ----------
    search : BaseSearch
    X, y : checked samples and targets
    given : (X, y)
        In the containers of the caller, of which rows can be taken.
    weights : array of shape (n,) or None
    candidates : list of dict
    folds : list of Fold
    """

    search: BaseSearch
    X: Any
    y: Any
    given: tuple[Any, Any]
    weights: Vector | None
    candidates: list[Candidate]
    folds: list[Fold]

    @property
    def _scorer(self) -> Any:
        """A function of (estimator, X, y) that scores in place of the search, or None."""
        scoring = self.search.scoring
        return scoring if scores.needs_estimator(scoring) else None

    def outcomes(self) -> list[list[FoldScore]]:
        """Score every candidate on every fold."""
        shared = self._shared()
        return self._separate() if shared is None else self._on_shared(shared)

    def _scored(self, fold: Fold, outcome: FoldOutcome) -> FoldScore:
        found, fit_seconds, score_seconds, score = outcome
        if score is None:
            weights = None if self.weights is None else self.weights[fold.test]
            score = self.search._score_of(self.y[fold.test], found, weights)
        proven = float(np.mean(found.decided))
        return FoldScore(score, proven, found.gap, fit_seconds, score_seconds)

    # --- machines that share kernel matrices ------------------------------------------------------
    def _shared(self) -> SharedKernels | None:
        """Evaluate shared kernel matrices; None where machines are fitted one by one."""
        first = self.search._estimator(self.candidates[0])
        if inputs.takes_objects(first, self.X) or inputs.is_precomputed(first):
            return None
        if self._scorer is not None or 8 * self.X.shape[0] ** 2 > SEARCH.largest_matrix:
            return None
        X = sp.csr_array(self.X) if sp.issparse(self.X) else np.asarray(self.X)
        kernels = [self._kernel(self.candidates[rows[0]]) for rows in self._groups()]
        largest = max(getattr(kernel, "gamma", 0.0) for kernel in kernels)
        return shared_kernels(kernels[0], X.astype(np.float64), largest)

    def _kernel(self, candidate: Candidate) -> Kernel:
        return self.search._kernel_of(candidate, self.X, self.weights).resolve(self.X)

    def _matrix(self, shared: SharedKernels, candidate: Candidate) -> KernelBlock:
        K = shared(getattr(self._kernel(candidate), "gamma", None))
        if not all_finite(K.values):
            raise InvalidDataError(
                f"The kernel matrix for {candidate!r} has NaN or infinite entries: the features "
                "are too large for this kernel in double precision; scale them, for instance with "
                "StandardScaler."
            )
        return K

    def _on_shared(self, shared: SharedKernels) -> list[list[FoldScore]]:
        C = np.unique([each["C"] for each in self.candidates]).astype(np.float64)
        groups = self._groups()
        calls = (
            partial(run_fold, K, self._task(first), fold, C, accuracy(self.search))
            for first in (self.candidates[rows[0]] for rows in groups)
            for K in [self._matrix(shared, first)]  # one matrix at a time
            for fold in self.folds
        )
        results = iter(in_parallel(calls, self.search.n_jobs, pre_dispatch="n_jobs"))
        found: list[list[FoldScore]] = [[] for _ in self.candidates]
        for rows in groups:
            for fold in self.folds:
                outcomes = next(results)
                for row in rows:
                    k = int(np.searchsorted(C, self.candidates[row]["C"]))
                    found[row].append(self._scored(fold, outcomes[k]))
        return found

    def _groups(self) -> list[list[int]]:
        """Rows of candidates that differ in C only."""
        groups: dict[tuple[object, ...], list[int]] = {}
        for row, candidate in enumerate(self.candidates):
            others = tuple(value for name, value in candidate.items() if name != "C")
            groups.setdefault(others, []).append(row)
        return list(groups.values())

    def _task(self, candidate: Candidate) -> Task:
        weights = np.ones(self.X.shape[0]) if self.weights is None else self.weights
        return self.search._task(candidate, weights)

    # --- one estimator for each candidate and fold ------------------------------------------------
    def _separate(self) -> list[list[FoldScore]]:
        calls = (
            partial(run_separately, estimator, *self.given, self.weights, fold, self._scorer)
            for estimator in map(self._estimator, self.candidates)
            for fold in self.folds
        )
        with warnings.catch_warnings():  # in this thread: workers' own would not be undone
            warnings.simplefilter("ignore", ConvergenceWarning)  # the gap is in the results
            outcomes = iter(in_parallel(calls, self.search.n_jobs))
        return [
            [self._scored(each, next(outcomes)) for each in self.folds] for _ in self.candidates
        ]

    def _estimator(self, candidate: Candidate) -> QPEstimator:
        """Build the estimator of a candidate; ``gamma="scale"`` is that of all samples."""
        if isinstance(candidate.get("gamma"), str):
            kernel: Any = self._kernel(candidate)
            candidate = candidate | {"gamma": kernel.gamma}
        machine = self.search._estimator(candidate)
        if isinstance(getattr(self.search.kernel, "gamma", None), str):
            machine.set_params(kernel=self._kernel(candidate))
        return machine


def run_separately(
    estimator: QPEstimator,
    X: Any,
    y: Any,
    weights: Vector | None,
    fold: Fold,
    scorer: Callable[..., float] | None,
) -> FoldOutcome:
    """Fit one estimator on a fold, and predict its held-out samples.

    Parameters
    ----------
    estimator : QPEstimator
    X, y
        Samples and targets in the containers of the caller, of which rows can be taken; the kernel
        matrix as an array.
    weights : array of shape (n,) or None
    fold : Fold
    scorer : callable or None
        A function of (estimator, X, y).

    Returns
    -------
    FoldOutcome
        With a score by the scorer, if there is one.
    """
    train, test = fold.train, fold.test
    machine, began = clone(estimator), time.perf_counter()
    samples, targets = _safe_split(machine, X, y, train)
    others, their_targets = _safe_split(machine, X, y, test, train)
    machine.fit(samples, targets, None if weights is None else weights[train])
    fitted = time.perf_counter()
    squares = X.diagonal()[test] if inputs.is_precomputed(estimator) else None
    found, score = _predictions(machine, inputs.samples(machine, others), squares), None
    if scorer is not None:
        own = None if weights is None else weights[test]
        score = scores.of_estimator(machine, others, their_targets, scorer, own)
    return FoldOutcome(found, fitted - began, time.perf_counter() - fitted, score)


def _predictions(machine: QPEstimator, X: Samples, squares: Vector | None) -> scores.Predictions:
    labels, proof = machine.predict(X), machine.certificate_
    decided = np.zeros(len(labels), dtype=bool)
    if is_classifier(machine):
        with suppress(InvalidParameterError):  # k(x, x) of a repaired kernel matrix is not known
            decided = proof.predict_certified(X, squares=squares).decided
        values = machine.decision_function(X)
        return scores.Predictions(labels, decided, values, labels, labels, proof.relative_gap)
    unknown = np.full(len(labels), np.inf)
    low, high = -unknown, unknown
    with suppress(InvalidParameterError):
        bounds = proof.decision_bounds(X, squares=squares)
        low, high = bounds.lower, bounds.upper
    return scores.Predictions(labels, decided, labels, low, high, proof.relative_gap)
