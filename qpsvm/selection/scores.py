"""Validation scores, and intervals that contain the scores of all exact machines.

A label that is proven is the exact machine's; any other may be right or wrong. A prediction of a
regression is known to an interval, and so is its error.

Scorers of scikit-learn (names, and what ``make_scorer`` returns) see predictions alone: where they
ask for labels, and all labels are proven, so is the score. Any other scorer is a function of a
fitted estimator and of the samples, of which nothing is proven.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from numbers import Number
from typing import Any, TypeAlias

import numpy as np
from sklearn import metrics
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import UndefinedMetricWarning

from qpsvm.data.targets import squared_spread
from qpsvm.display import short_repr
from qpsvm.exceptions import InvalidParameterError
from qpsvm.numerics.arguments import Labels, Samples
from qpsvm.numerics.arrays import Dense, Mask, Vector
from qpsvm.selection.settings import SEARCH

Scoring: TypeAlias = str | Callable[..., float] | None
"""The name of a score, or a scorer: a function of (estimator, X, y)."""

OF_SCIKIT_LEARN = type(metrics.get_scorer("accuracy"))
"""Class of scikit-learn's scorers, which use an estimator only through its predictions."""


@short_repr
@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions for the held-out samples of a fold, and what is proven about them.

    Attributes
    ----------
    labels : array of shape (m,)
        Labels, or numbers for a regression.
    decided : bool array of shape (m,)
        Classes: whether every exact optimum predicts the same label.
    decisions : array of shape (m,) or (m, k)
        Decision values.
    lower, upper : arrays of shape (m,)
        Regressions: bounds on the exact optimum's predictions.
    gap : float
        The largest certified relative gap of the machines.
    """

    labels: Labels
    decided: Mask
    decisions: Dense
    lower: Vector
    upper: Vector
    gap: float


@dataclass(frozen=True)
class ScoreInterval:
    """A score, and an interval that contains the scores of all exact machines."""

    score: float
    lower: float
    upper: float

    @property
    def is_known(self) -> bool:
        """Return whether all exact machines have this score."""
        return self.lower == self.upper


def of_classes(
    y: Labels,
    found: Predictions,
    scoring: Scoring,
    weights: Vector | None = None,
    classes: Labels | None = None,
) -> ScoreInterval:
    """The score of labels; see ``require_scoring`` for what scoring may be.

    ``classes`` are those of the estimator, by default those of y.
    """
    if scoring is not None and scoring not in CLASSIFICATION_SCORES:
        answers = _Classes(found, np.unique(y) if classes is None else classes)
        return _by_scorer(y, found, scoring, answers, weights)
    is_right = np.asarray(found.labels == y)
    own = np.ones(len(y)) if weights is None else weights
    groups = [np.ones(len(y), dtype=bool)]
    if scoring == "balanced_accuracy":  # a class without weight does not count
        groups = [y == label for label in np.unique(y[own > 0.0])]
    score, worst, best = (
        float(np.mean([np.average(side[group], weights=own[group]) for group in groups]))
        for side in (is_right, is_right & found.decided, is_right | ~found.decided)
    )
    return ScoreInterval(score, worst, best)


def of_numbers(
    y: Vector, found: Predictions, scoring: Scoring, weights: Vector | None = None
) -> ScoreInterval:
    """The score of predicted numbers; see ``require_scoring`` for what scoring may be."""
    name = "r2" if scoring is None else scoring
    if not isinstance(name, str) or name not in REGRESSION_SCORES:
        return _by_scorer(y, found, name, _Numbers(found), weights)
    stated = np.abs(found.labels - y)
    least = np.maximum(np.maximum(found.lower - y, y - found.upper), 0.0)
    most = np.maximum(np.abs(found.lower - y), np.abs(found.upper - y))
    own = np.ones(len(y)) if weights is None else weights
    score, worst, best = (REGRESSION_SCORES[name](y, each, own) for each in (stated, most, least))
    if math.isnan(worst + best):
        return ScoreInterval(score, -np.inf, np.inf)
    rounding = SEARCH.same_score * (1.0 + abs(score))
    return ScoreInterval(score, min(score, worst) - rounding, max(score, best) + rounding)


def require_scoring(scoring: Scoring, *, is_classifier: bool) -> None:
    """Raise unless scoring is None, the name of a score of scikit-learn, or a scorer.

    Raises
    ------
    InvalidParameterError
    """
    if scoring is None or callable(scoring):
        return
    known = tuple(CLASSIFICATION_SCORES if is_classifier else REGRESSION_SCORES)
    if not isinstance(scoring, str) or scoring not in (*known, *metrics.get_scorer_names()):
        raise InvalidParameterError(
            f"scoring is {scoring!r}; pass {', '.join(map(repr, known))}, for which there are "
            "proven intervals, another name from sklearn.metrics.get_scorer_names(), or a scorer, "
            "a function of (estimator, X, y)."
        )


def needs_estimator(scoring: Scoring) -> bool:
    """Return whether a scorer needs a fitted estimator and the samples, not predictions alone."""
    return callable(scoring) and type(scoring) is not OF_SCIKIT_LEARN


def of_estimator(
    estimator: object, X: object, y: object, scorer: Any, weights: Vector | None
) -> ScoreInterval:
    """Score a fitted estimator by a function of (estimator, X, y); nothing is proven about it.

    Raises
    ------
    InvalidParameterError
        The function does not return one number.
    """
    score = scorer(estimator, X, y, **_given(weights, scorer))
    if hasattr(score, "item") and np.size(score) == 1:
        score = score.item()
    if not isinstance(score, Number) or isinstance(score, complex):
        raise InvalidParameterError(
            f"scoring returned {score!r}; a scorer, a function of (estimator, X, y), must return "
            "one number."
        )
    return ScoreInterval(float(score), -np.inf, np.inf)  # type: ignore[arg-type]


def takes_weights(scoring: Scoring) -> bool:
    """Return whether scores can be weighted, as ``GridSearchCV`` decides it."""
    if scoring is None or scoring in (*CLASSIFICATION_SCORES, *REGRESSION_SCORES):
        return True
    scorer: Any = metrics.get_scorer(scoring) if isinstance(scoring, str) else scoring
    if type(scorer) is OF_SCIKIT_LEARN:
        return bool(scorer._accept_sample_weight())
    try:
        return "sample_weight" in signature(scorer).parameters
    except ValueError:  # a function without a signature
        return False


def _given(weights: Vector | None, scoring: Scoring) -> dict[str, Vector]:
    return {"sample_weight": weights} if weights is not None and takes_weights(scoring) else {}


CLASSIFICATION_SCORES = ("accuracy", "balanced_accuracy")
"""Names of the scores of labels with proven intervals."""


def _r2(y: Vector, errors: Vector, weights: Vector) -> float:
    if len(y) < 2:
        what = "R^2 is not defined for a fold with one held-out sample; use fewer folds, or scoring"
        warnings.warn(f"{what}='neg_mean_squared_error'.", UndefinedMetricWarning, stacklevel=2)
        return math.nan
    spread = squared_spread(y, weights)
    squares = float(weights @ errors**2)
    if spread == 0.0:
        return 1.0 if squares == 0.0 else 0.0  # as scikit-learn has it
    return 1.0 - squares / spread


def _squares(errors: Vector, weights: Vector) -> float:
    return float(np.average(errors**2, weights=weights))


REGRESSION_SCORES: dict[str, Callable[[Vector, Vector, Vector], float]] = {
    "r2": _r2,
    "neg_mean_squared_error": lambda _, errors, own: -_squares(errors, own),
    "neg_root_mean_squared_error": lambda _, errors, own: -math.sqrt(_squares(errors, own)),
    "neg_mean_absolute_error": lambda _, errors, own: -float(np.average(errors, weights=own)),
}
"""Scores of numbers with proven intervals, as functions of y, absolute errors and weights."""


def _known(score: float) -> ScoreInterval:
    return ScoreInterval(score, score, score)


def _by_scorer(
    y: Labels, found: Predictions, scoring: Scoring, answers: _Answers, weights: Vector | None
) -> ScoreInterval:
    """Score by a scikit-learn scorer: exact if it uses proven labels only, else unbounded.

    Raises
    ------
    InvalidParameterError
        The score needs a method that the estimator does not have.
    """
    scorer: Any = metrics.get_scorer(scoring) if isinstance(scoring, str) else scoring
    unseen = np.zeros((len(y), 1))  # a scorer of scikit-learn hands samples to the estimator alone
    try:
        score = float(scorer(answers, unseen, y, **_given(weights, scoring)))
    except AttributeError as error:
        raise InvalidParameterError(
            f"scoring is {scoring!r}, which needs a method that the estimator does not have "
            f"({error}); pass a score of labels, numbers or decision values."
        ) from error
    if found.decided.all() and not answers.asked_for_values:
        return _known(score)
    return ScoreInterval(score, -np.inf, np.inf)


class _Answers(BaseEstimator):  # type: ignore[misc]
    """A fitted estimator whose predictions are known."""

    def __init__(self, found: Predictions) -> None:
        self.found = found
        self.asked_for_values = False

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: Samples) -> Labels:
        del X
        return self.found.labels


class _Numbers(RegressorMixin, _Answers):  # type: ignore[misc]
    def predict(self, X: Samples) -> Labels:
        self.asked_for_values = True
        return super().predict(X)


class _Classes(ClassifierMixin, _Answers):  # type: ignore[misc]
    def __init__(self, found: Predictions, classes: Labels) -> None:
        super().__init__(found)
        self.classes_ = classes

    def decision_function(self, X: Samples) -> Dense:
        del X
        self.asked_for_values = True
        return self.found.decisions
