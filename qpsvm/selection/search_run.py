"""One search: every candidate on every fold, on shared kernel matrices or by separate fits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.display import short_repr
from qpsvm.estimators import inputs
from qpsvm.estimators.base import QPEstimator
from qpsvm.exceptions import InvalidDataError
from qpsvm.kernels import Kernel
from qpsvm.numerics.arrays import Vector, all_finite
from qpsvm.numerics.parallel import in_parallel
from qpsvm.selection.choice import Choice
from qpsvm.selection.cv_results import FoldScore, cv_results
from qpsvm.selection.fold_machines import FoldResult, refine_fold, run_fold
from qpsvm.selection.grid import Candidate
from qpsvm.selection.scores import Predictions, ScoreInterval
from qpsvm.selection.separate_fits import run_separately
from qpsvm.selection.settings import SEARCH
from qpsvm.selection.shared_kernels import KernelMatrix, SharedKernels
from qpsvm.selection.tasks import Fold, Task


@short_repr
@dataclass(frozen=True, eq=False)
class Learner:
    """Functions that build and score the machines of a search.

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
    """

    estimator: Callable[[Candidate], QPEstimator]
    kernel: Callable[[Candidate, object, Vector | None], Kernel]
    task: Callable[[Candidate, Vector], Task]
    score: Callable[[Any, Predictions, Vector | None], ScoreInterval]
    scorer: Callable[..., float] | None


@short_repr
@dataclass(frozen=True, eq=False)
class SearchRun:
    """The data of one search.

    Attributes
    ----------
    learner : Learner
    X, y : checked samples and targets
    given : (X, y)
        In the containers of the caller, of which rows can be taken.
    weights : array of shape (n,) or None
    candidates : list of dict
    folds : list of Fold
    eps : float
    n_jobs : int or None
    """

    learner: Learner
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

    # --- machines that share kernel matrices ------------------------------------------------------
    def _shared(self) -> SharedKernels | None:
        """Evaluate shared kernel matrices; None where machines are fitted one by one."""
        first = self.learner.estimator(self.candidates[0])
        if inputs.takes_objects(first, self.X) or inputs.is_precomputed(first):
            return None
        if self.learner.scorer is not None:
            return None
        if 8 * self.X.shape[0] ** 2 > SEARCH.largest_matrix:
            return None
        X = sp.csr_array(self.X) if sp.issparse(self.X) else np.asarray(self.X)
        firsts = [self.candidates[rows[0]] for rows in self._groups()]
        kernels = [self._kernel(candidate) for candidate in firsts]
        largest = max(getattr(kernel, "gamma", 0.0) for kernel in kernels)
        return SharedKernels.of(kernels[0], X.astype(np.float64), largest)

    def _kernel(self, candidate: Candidate) -> Kernel:
        return self.learner.kernel(candidate, self.X, self.weights).resolve(self.X)

    def _matrix(self, shared: SharedKernels, candidate: Candidate) -> KernelMatrix:
        K = shared.matrix(getattr(self._kernel(candidate), "gamma", None))
        if not all_finite(K.values):
            raise InvalidDataError(
                f"The kernel matrix for {candidate!r} has NaN or infinite entries: the features "
                "are too large for this kernel in double precision; scale them, for instance with "
                "StandardScaler."
            )
        return K

    def _on_shared(self, shared: SharedKernels) -> list[list[FoldScore]]:
        groups = self._groups()
        C = np.sort(np.unique([each["C"] for each in self.candidates]).astype(np.float64))
        calls = (
            partial(run_fold, K, task, fold, C, self.eps)
            for K, task in self._tasks(shared, groups)
            for fold in self.folds
        )
        results = in_parallel(calls, self.n_jobs, pre_dispatch="n_jobs")
        found: list[list[FoldScore]] = [[] for _ in self.candidates]
        places = iter(results)
        for rows in groups:
            by_fold = [next(places) for _ in self.folds]
            for row in rows:
                k = int(np.searchsorted(C, self.candidates[row]["C"]))
                found[row] = [
                    self._outcome(fold, result, k)
                    for fold, result in zip(self.folds, by_fold, strict=True)
                ]
        return found

    def _groups(self) -> list[list[int]]:
        """Rows of candidates that differ in C only; those of one gamma after each other."""
        groups: dict[tuple[str, ...], list[int]] = {}
        for row, candidate in enumerate(self.candidates):
            others = {name: value for name, value in candidate.items() if name != "C"}
            key = (repr(others.pop("gamma", None)), repr(others))
            groups.setdefault(key, []).append(row)
        order = sorted(range(len(groups)), key=lambda k: [*groups][k][0])
        return [[*groups.values()][k] for k in order]

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
        return self.learner.task(candidate, weights)

    def _outcome(self, fold: Fold, result: FoldResult, k: int) -> FoldScore:
        return self._scored(
            fold, result.predictions[k], result.fit_seconds[k], result.score_seconds[k]
        )

    def _scored(
        self,
        fold: Fold,
        found: Predictions,
        fit_seconds: float,
        score_seconds: float,
        score: ScoreInterval | None = None,
    ) -> FoldScore:
        if score is None:
            weights = None if self.weights is None else self.weights[fold.test]
            score = self.learner.score(self.y[fold.test], found, weights)
        proven = float(np.mean(found.decided))
        return FoldScore(score, proven, found.gap, float(fit_seconds), float(score_seconds))

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
                C, eps = float(candidate["C"]), SEARCH.tightest
                better = refine_fold(K, self._task(candidate), fold, C, eps)
                new = self._scored(fold, better, old.fit_seconds, old.score_seconds)
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
        scorer = self.learner.scorer
        calls = (
            partial(
                run_separately,
                self._estimator(candidate),
                *self.given,
                self.weights,
                fold,
                scorer,
            )
            for candidate in self.candidates
            for fold in self.folds
        )
        results = in_parallel(calls, self.n_jobs)
        places, found = iter(results), list[list[FoldScore]]()
        for _ in self.candidates:
            found.append([])
            for fold in self.folds:
                predictions, score, fit_seconds, seconds = next(places)
                found[-1].append(self._scored(fold, predictions, fit_seconds, seconds, score))
        return found

    def _estimator(self, candidate: Candidate) -> QPEstimator:
        """Build the estimator of a candidate; ``gamma="scale"`` is that of all samples."""
        if isinstance(candidate.get("gamma"), str):
            kernel: Any = self._kernel(candidate)
            candidate = candidate | {"gamma": kernel.gamma}
        return self.learner.estimator(candidate)
