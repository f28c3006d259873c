"""Table of a search: the columns of ``GridSearchCV`` and the proven figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata

from qpsvm.numerics.arrays import Array, Dense, Vector
from qpsvm.selection.grid import Candidate
from qpsvm.selection.scores import ScoreInterval


@dataclass(frozen=True)
class FoldScore:
    """Score and certified figures of one candidate on one fold.

    Attributes
    ----------
    score : ScoreInterval
    proven : float
        Share of the held-out labels that are proven.
    gap : float
        The largest certified relative gap of its machines.
    fit_seconds, score_seconds : float
    """

    score: ScoreInterval
    proven: float
    gap: float
    fit_seconds: float
    score_seconds: float


def cv_results(
    candidates: Sequence[Candidate], outcomes: Sequence[Sequence[FoldScore]]
) -> dict[str, Any]:
    """Build ``cv_results_``.

    Parameters
    ----------
    candidates : list of m dicts
    outcomes : m lists of one FoldScore per fold
    """
    results: dict[str, object] = {}
    for name in ("fit", "score"):
        times = _array(outcomes, lambda each, name=name: getattr(each, f"{name}_seconds"))
        results[f"mean_{name}_time"] = np.mean(times, axis=1)
        results[f"std_{name}_time"] = np.std(times, axis=1)
    for name in candidates[0]:
        results[f"param_{name}"] = _masked([each[name] for each in candidates])
    results["params"] = list(candidates)
    scores = _array(outcomes, lambda each: each.score.score)
    for k, column in enumerate(scores.T):
        results[f"split{k}_test_score"] = column.copy()
    mean = np.average(scores, axis=1)
    results["mean_test_score"] = mean
    results["std_test_score"] = np.sqrt(np.average((scores - mean[:, None]) ** 2, axis=1))
    results["rank_test_score"] = _ranks(mean)
    for end in ("lower", "upper"):
        ends = _array(outcomes, lambda each, end=end: getattr(each.score, end))
        results[f"mean_test_score_{end}"] = np.average(ends, axis=1)
    results["mean_proven"] = np.mean(_array(outcomes, lambda each: each.proven), axis=1)
    results["max_relative_gap"] = np.max(_array(outcomes, lambda each: each.gap), axis=1)
    return results


def _array(outcomes: Sequence[Sequence[FoldScore]], value: Any) -> Dense:
    return np.array([[value(each) for each in folds] for folds in outcomes], dtype=np.float64)


def _masked(values: list[object]) -> Array:
    """A masked array as ``GridSearchCV`` has: of numbers where all are, else of objects."""
    are_numbers = all(isinstance(value, int | float) for value in values)
    return np.ma.MaskedArray(
        np.array(values, dtype=np.float64 if are_numbers else object),
        mask=np.zeros(len(values), dtype=bool),
    )


def _ranks(scores: Vector) -> Any:
    """Ranks from 1 on, the highest score first; scores that are no numbers are last."""
    if np.isnan(scores).all():
        return np.ones(len(scores), dtype=np.int32)
    known = np.where(np.isnan(scores), np.nanmin(scores) - 1.0, scores)
    return rankdata(-known, method="min").astype(np.int32)
