"""One search: every candidate on every fold, on shared kernel matrices or by separate fits.

Fitted one by one are machines with kernels that are not positive semidefinite by their type
(matrices and functions of the caller's, the sigmoid), with more samples than
``SearchSettings.largest_matrix`` allows, and for scorers that need a fitted estimator. Every
machine has its own certificate.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import _safe_split

from qpsvm.display import short_repr
from qpsvm.estimators import inputs
from qpsvm.estimators.base import QPEstimator
from qpsvm.exceptions import InvalidDataError, InvalidParameterError
from qpsvm.kernels import Kernel
from qpsvm.numerics.arguments import Samples
from qpsvm.numerics.arrays import Vector, all_finite
from qpsvm.numerics.threads import in_parallel
from qpsvm.selection.choice import Candidate, Choice, FoldScore, cv_results
from qpsvm.selection.folds import Fold, Outcome, Task, run_fold
from qpsvm.selection.kernel_matrix import KernelMatrix, shared_kernels
from qpsvm.selection.scores import Predictions, ScoreInterval, of_estimator
from qpsvm.selection.settings import SEARCH

SharedKernels: TypeAlias = Callable[[Any], KernelMatrix]
"""``gamma -> KernelMatrix`` of all samples."""


@short_repr
@dataclass(frozen=True, eq=False)
class SearchRun:
    """The data of one search, and functions that build and score its machines.

    Attributes
    ----------
    estimator : callable
        ``candidate -> estimator``, not fitted.
    kernel : callable
        ``(candidate, X, weights) -> Kernel``.
    task : callable
        ``(candidate, weights) -> Task``, the same for every C.
    score : callable
        ``(y, Predictions, weights) -> ScoreInterval`` of held-out samples.
    scorer : callable or None
        A function of (estimator, X, y) that scores in its place.
    X, y : checked samples and targets
    given : (X, y)
        In the containers of the caller, of which rows can be taken.
    weights : array of shape (n,) or None
    candidates : list of dict
    folds : list of Fold
    eps : float
    n_jobs : int or None
    """

    estimator: Callable[[Candidate], QPEstimator]
    kernel: Callable[[Candidate, object, Vector | None], Kernel]
    task: Callable[[Candidate, Vector], Task]
    score: Callable[[Any, Predictions, Vector | None], ScoreInterval]
    scorer: Callable[..., float] | None
    X: Any
    y: Any
    given: tuple[Any, Any]
    weights: Vector | None
    candidates: list[Candidate]
    folds: list[Fold]
    eps: float
    n_jobs: int | None

    def outcomes(self) -> list[list[FoldScore]]:
        """Score every candidate on every fold; refine bounds while the choice is undecided."""
        shared = self._shared()
        if shared is None:
            return self._separate()
        found = self._on_shared(shared)
        for _ in range(SEARCH.refinements):
            if not self._refine(shared, found):
                break
        return found

    def _scored(self, fold: Fold, outcome: Outcome) -> FoldScore:
        found, fit_seconds, score_seconds, score = outcome
        if score is None:
            weights = None if self.weights is None else self.weights[fold.test]
            score = self.score(self.y[fold.test], found, weights)
        proven = float(np.mean(found.decided))
        return FoldScore(score, proven, found.gap, fit_seconds, score_seconds)

    # --- machines that share kernel matrices ------------------------------------------------------
    def _shared(self) -> SharedKernels | None:
        """Evaluate shared kernel matrices; None where machines are fitted one by one."""
        first = self.estimator(self.candidates[0])
        if inputs.takes_objects(first, self.X) or inputs.is_precomputed(first):
            return None
        if self.scorer is not None or 8 * self.X.shape[0] ** 2 > SEARCH.largest_matrix:
            return None
        X = sp.csr_array(self.X) if sp.issparse(self.X) else np.asarray(self.X)
        kernels = [self._kernel(self.candidates[rows[0]]) for rows in self._groups()]
        largest = max(getattr(kernel, "gamma", 0.0) for kernel in kernels)
        return shared_kernels(kernels[0], X.astype(np.float64), largest)

    def _kernel(self, candidate: Candidate) -> Kernel:
        return self.kernel(candidate, self.X, self.weights).resolve(self.X)

    def _matrix(self, shared: SharedKernels, candidate: Candidate) -> KernelMatrix:
        K = shared(getattr(self._kernel(candidate), "gamma", None))
        if not all_finite(K.values):
            raise InvalidDataError(
                f"The kernel matrix for {candidate!r} has NaN or infinite entries: the features "
                "are too large for this kernel in double precision; scale them, for instance with "
                "StandardScaler."
            )
        return K

    def _on_shared(self, shared: SharedKernels) -> list[list[FoldScore]]:
        groups = self._groups()
        C = np.unique([each["C"] for each in self.candidates]).astype(np.float64)
        calls = (
            partial(run_fold, K, task, fold, C, self.eps)
            for K, task in self._tasks(shared, groups)
            for fold in self.folds
        )
        results = iter(in_parallel(calls, self.n_jobs, pre_dispatch="n_jobs"))
        found: list[list[FoldScore]] = [[] for _ in self.candidates]
        for rows in groups:
            by_fold = list(islice(results, len(self.folds)))
            for row in rows:
                k = int(np.searchsorted(C, self.candidates[row]["C"]))
                pairs = zip(self.folds, by_fold, strict=True)
                found[row] = [self._scored(fold, outcomes[k]) for fold, outcomes in pairs]
        return found

    def _groups(self) -> list[list[int]]:
        """Rows of candidates that differ in C only; those of one gamma after each other."""
        groups: dict[tuple[str, ...], list[int]] = {}
        for row, candidate in enumerate(self.candidates):
            others = {name: value for name, value in candidate.items() if name != "C"}
            key = (repr(others.pop("gamma", None)), repr(others))
            groups.setdefault(key, []).append(row)
        return [rows for _, rows in sorted(groups.items(), key=lambda group: group[0][0])]

    def _tasks(
        self, shared: SharedKernels, groups: list[list[int]]
    ) -> Iterator[tuple[KernelMatrix, Task]]:
        """Yield the learning task of each group, with one kernel matrix at a time."""
        gamma, K = object(), None
        for rows in groups:
            candidate = self.candidates[rows[0]]
            if K is None or candidate.get("gamma") != gamma:
                gamma, K = candidate.get("gamma"), self._matrix(shared, candidate)
            yield K, self._task(candidate)

    def _task(self, candidate: Candidate) -> Task:
        weights = np.ones(self.X.shape[0]) if self.weights is None else self.weights
        return self.task(candidate, weights)

    def _refine(self, shared: SharedKernels, found: list[list[FoldScore]]) -> bool:
        """Solve machines more accurately that leave the best candidate undecided."""
        is_changed, left = False, SEARCH.most_refined
        for row in self._open_rows(found):
            K: KernelMatrix | None = None
            for k, fold in enumerate(self.folds):
                old = found[row][k]
                if old.score.is_known or left == 0:
                    continue
                candidate = self.candidates[row]
                K = self._matrix(shared, candidate) if K is None else K
                C = np.array([float(candidate["C"])])
                (better,) = run_fold(K, self._task(candidate), fold, C, SEARCH.tightest)
                outcome = Outcome(better.predictions, old.fit_seconds, old.score_seconds)
                new = self._scored(fold, outcome)
                left -= 1
                if new.gap < old.gap:
                    found[row][k], is_changed = new, True
        return is_changed

    def _open_rows(self, found: list[list[FoldScore]]) -> list[int]:
        """Candidates that may be better than the best; with the best, if its score is not known."""
        results = cv_results(self.candidates, found)
        score, low = results["mean_test_score"], results["mean_test_score_lower"]
        high, best = results["mean_test_score_upper"], int(results["rank_test_score"].argmin())
        choice = Choice(tuple(self.candidates), score, low, high, best)
        is_open = [
            row
            for row, verdict in enumerate(choice.verdicts)
            if verdict == "undecided" and score[row] != score[best] and np.isfinite(high[row])
        ]
        is_open.sort(key=lambda row: -high[row])
        return [best, *is_open] if is_open else []

    # --- one estimator for each candidate and fold ------------------------------------------------
    def _separate(self) -> list[list[FoldScore]]:
        calls = (
            partial(run_separately, estimator, *self.given, self.weights, fold, self.scorer)
            for estimator in map(self._estimator, self.candidates)
            for fold in self.folds
        )
        outcomes = iter(in_parallel(calls, self.n_jobs))
        return [
            [self._scored(fold, next(outcomes)) for fold in self.folds] for _ in self.candidates
        ]

    def _estimator(self, candidate: Candidate) -> QPEstimator:
        """Build the estimator of a candidate; ``gamma="scale"`` is that of all samples."""
        if isinstance(candidate.get("gamma"), str):
            kernel: Any = self._kernel(candidate)
            candidate = candidate | {"gamma": kernel.gamma}
        return self.estimator(candidate)


def run_separately(
    estimator: QPEstimator,
    X: Any,
    y: Any,
    weights: Vector | None,
    fold: Fold,
    scorer: Callable[..., float] | None,
) -> Outcome:
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
    Outcome
        With a score by the scorer, if there is one.
    """
    train, test = fold.train, fold.test
    machine, began = clone(estimator), time.perf_counter()
    samples, targets = _safe_split(machine, X, y, train)
    others, their_targets = _safe_split(machine, X, y, test, train)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the gap is in the results
        machine.fit(samples, targets, None if weights is None else weights[train])
    fitted = time.perf_counter()
    squares = np.diagonal(X)[test] if inputs.is_precomputed(estimator) else None
    found, score = _predictions(machine, inputs.samples(machine, others), squares), None
    if scorer is not None:
        own = None if weights is None else weights[test]
        score = of_estimator(machine, others, their_targets, scorer, own)
    return Outcome(found, fitted - began, time.perf_counter() - fitted, score)


def _predictions(machine: QPEstimator, X: Samples, squares: Vector | None) -> Predictions:
    labels, proof = machine.predict(X), machine.certificate_
    decided = np.zeros(len(labels), dtype=bool)
    if is_classifier(machine):
        with suppress(InvalidParameterError):  # k(x, x) of a repaired kernel matrix is not known
            decided = proof.predict_certified(X, squares=squares).decided
        values = machine.decision_function(X)
        return Predictions(labels, decided, values, labels, labels, proof.relative_gap)
    unknown = np.full(len(labels), np.inf)
    low, high = -unknown, unknown
    with suppress(InvalidParameterError):
        bounds = proof.decision_bounds(X, squares=squares)
        low, high = bounds.lower, bounds.upper
    return Predictions(labels, decided, labels, low, high, proof.relative_gap)
