"""Candidates of a search, their table of scores, and which differences between them are proven."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.stats import rankdata

from qpsvm.display import Column, ColumnTable
from qpsvm.exceptions import InvalidParameterError
from qpsvm.numerics.arguments import is_real_number
from qpsvm.numerics.arrays import Array, Dense, Vector
from qpsvm.selection.scores import ScoreInterval
from qpsvm.selection.settings import SEARCH

Candidate: TypeAlias = dict[str, Any]
"""Values of the searched parameters by name."""


def as_values(
    values: object, name: str, *, may_be_zero: bool = False, words: tuple[str, ...] = ()
) -> list[object]:
    """Check the values of one parameter; return a list of them.

    Parameters
    ----------
    values : a number, one of the words, or a sequence of such
    name : str
    may_be_zero : bool
        Numbers have to be positive otherwise.
    words : tuple of str

    Raises
    ------
    InvalidParameterError
        No value, one that is no finite number of the right sign, or one that is there twice.
    """
    own = [values] if isinstance(values, str) or is_real_number(values) else values
    if not isinstance(own, Iterable) or isinstance(own, Mapping):
        raise InvalidParameterError(f"{name} is {values!r}; pass a sequence of numbers.")
    found = [value.item() if isinstance(value, np.generic) else value for value in own]
    if not found:
        raise InvalidParameterError(f"{name} is empty; pass at least one value.")
    for value in found:
        if isinstance(value, str) and value in words:
            continue
        ok = is_real_number(value) and np.isfinite(value) and value >= 0.0
        if not ok or (value == 0.0 and not may_be_zero):
            what = "not negative" if may_be_zero else "above 0"
            also = f", or {' or '.join(map(repr, words))}" if words else ""
            raise InvalidParameterError(
                f"{name} has the value {value!r}; every value must be a finite number {what}{also}."
            )
    if len(set(found)) < len(found):
        raise InvalidParameterError(f"{name} has a value twice: {found!r}; pass each once.")
    return found


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
    """Build the table of a search's scores, ``cv_results_``, as scikit-learn has it.

    Parameters
    ----------
    candidates : list of m dicts
    outcomes : m lists of one FoldScore per fold
    """

    def table(name: str) -> Dense:
        value = attrgetter(name)
        return np.array([[value(each) for each in folds] for folds in outcomes], dtype=np.float64)

    results = dict[str, Any]()
    for name in ("fit", "score"):
        times = table(f"{name}_seconds")
        results[f"mean_{name}_time"] = np.mean(times, axis=1)
        results[f"std_{name}_time"] = np.std(times, axis=1)
    for name in candidates[0]:
        results[f"param_{name}"] = _masked([each[name] for each in candidates])
    results["params"] = list(candidates)
    scores = table("score.score")
    results |= {f"split{k}_test_score": column.copy() for k, column in enumerate(scores.T)}
    mean = np.average(scores, axis=1)
    results["mean_test_score"] = mean
    results["std_test_score"] = np.sqrt(np.average((scores - mean[:, None]) ** 2, axis=1))
    results["rank_test_score"] = _ranks(mean)
    for end in ("lower", "upper"):
        results[f"mean_test_score_{end}"] = np.average(table(f"score.{end}"), axis=1)
    results["mean_proven"] = np.mean(table("proven"), axis=1)
    results["max_relative_gap"] = np.max(table("gap"), axis=1)
    return results


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


Verdict: TypeAlias = Literal["proven", "equal", "undecided"]


@dataclass(frozen=True, eq=False, repr=False)
class Choice(ColumnTable):
    """Comparison of every candidate of a search with the best.

    The exact machines of a candidate have a mean validation score within ``[lower, upper]``. The
    difference of two candidates is *proven* if their intervals do not overlap; they are *equal* if
    both intervals are the same point; otherwise it is *undecided*: it may be an artefact of
    tolerances, or the exact machines have no unique intercept.

    Attributes
    ----------
    candidates : tuple of dict
    score, lower, upper : arrays of shape (m,)
        Mean validation score, and the interval of the exact machines'.
    best : int
    """

    candidates: tuple[Candidate, ...]
    score: Vector
    lower: Vector
    upper: Vector
    best: int

    @classmethod
    def of(cls, candidates: Sequence[Candidate], results: Mapping[str, Any]) -> Choice:
        """Compare the candidates of a table of scores, from ``cv_results``."""
        score, low, high = (results[f"mean_test_score{end}"] for end in ("", "_lower", "_upper"))
        best = int(results["rank_test_score"].argmin())
        return cls(tuple(candidates), score, low, high, best)

    def between(self, first: int | Candidate, second: int | Candidate) -> Verdict:
        """Return whether the difference of two candidates is proven.

        Parameters
        ----------
        first, second : int or dict
            Rows, or the parameters themselves.

        Returns
        -------
        {"proven", "equal", "undecided"}

        Raises
        ------
        InvalidParameterError
            A candidate that there is not.
        """
        i, j = self._row(first), self._row(second)
        rounding = SEARCH.same_score * (1.0 + abs(self.score[i]))
        if self.lower[i] > self.upper[j] + rounding or self.lower[j] > self.upper[i] + rounding:
            return "proven"
        ends = [self.lower[i], self.upper[i], self.lower[j], self.upper[j]]
        is_one_point = np.isfinite(ends).all() and max(ends) - min(ends) <= rounding
        return "equal" if is_one_point else "undecided"

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Return, for every candidate, whether its difference to the best is proven."""
        return tuple(self.between(k, self.best) for k in range(len(self.candidates)))

    @property
    def is_proven(self) -> bool:
        """Return whether no exact machine of another candidate has a better score than the best."""
        return "undecided" not in self.verdicts

    def columns(self) -> dict[str, Column]:
        """Parameters, score, its interval, and whether the difference to the best is proven."""
        parameters: dict[str, Column] = {
            name: [each[name] for each in self.candidates] for name in self.candidates[0]
        }
        return parameters | {
            "score": self.score,
            "lower": self.lower,
            "upper": self.upper,
            "against_best": list(self.verdicts),
        }

    def _row(self, candidate: int | Candidate) -> int:
        if isinstance(candidate, dict):
            if candidate in self.candidates:
                return self.candidates.index(candidate)
        elif 0 <= candidate < len(self.candidates):
            return int(candidate)
        raise InvalidParameterError(
            f"{candidate!r} is no candidate of this search; pass a row of 0 to "
            f"{len(self.candidates) - 1}, or one of .candidates."
        )
