"""Scores of a fitted model on samples, and its certified predictions."""

from __future__ import annotations

from typing import Any

import numpy as np

from qpsvm.cli.model_files import Kind, kind_of
from qpsvm.datasets import DataFile
from qpsvm.numerics.arguments import Samples, Targets


def score_of(model: Any, X: Samples, y: Any, groups: Targets | None = None) -> tuple[str, float]:
    """Name and value of the score: accuracy, R squared, share of ordered pairs or of inliers.

    Parameters
    ----------
    model : fitted estimator or SavedModel
    X : array or CSR array of shape (m, d)
    y : array of shape (m,)
        Labels or targets; not used for novelty detectors.
    groups : array of shape (m,) or None
        Queries of a ranking.
    """
    from sklearn.metrics import accuracy_score, r2_score

    from qpsvm.estimators.ranking import share_in_order

    predicted = model.predict(X)
    match kind_of(model):
        case Kind.NOVELTIES:
            return "share of samples inside", float(np.mean(predicted == 1))
        case Kind.LABELS:
            return "accuracy", float(accuracy_score(y, predicted))
        case Kind.NUMBERS:
            return "R squared", float(r2_score(y, predicted))
        case Kind.RANKS:
            return "share of pairs in order", share_in_order(y, predicted, groups)


def score_line(name: str, value: float, where: str) -> str:
    """A score as a line of text; shares are printed in percent.

    Examples
    --------
    >>> score_line("accuracy", 0.98, "Training")
    'Training accuracy: 98.00 %'
    >>> score_line("R squared", 0.5, "")
    'R squared: 0.5000'
    """
    text = f"{value:.4f}" if name == "R squared" else f"{100.0 * value:.2f} %"
    line = f"{where} {name}: {text}".strip()
    return line[0].upper() + line[1:]


def certified_columns(model: object, X: Samples, training: DataFile) -> dict[str, object]:
    """Predictions and their certified bounds, as columns by name.

    Parameters
    ----------
    model : estimator or SavedModel
    X : array or CSR array of shape (m, d)
        Samples as the model takes them.
    training : DataFile
        What the model was fitted to.

    Returns
    -------
    dict
        "prediction" and "certified", or for numbers and ranks "prediction", "lower" and "upper".

    Raises
    ------
    ModelFileError
        Other data than those of the fit.
    """
    proven, samples = _proven(model, X, training)
    if kind_of(model) in (Kind.LABELS, Kind.NOVELTIES):
        found = proven.predict_certified(samples)
        return {"prediction": found.labels, "certified": found.decided}
    bounds = getattr(proven, "certificate_", proven).decision_bounds(samples)
    return {"prediction": bounds.values, "lower": bounds.lower, "upper": bounds.upper}


def _proven(model: Any, X: Samples, training: DataFile) -> tuple[Any, Any]:
    """Restore an estimator, or certify another model; convert the samples for its machine."""
    from qpsvm import certify, models

    groups = {"groups": training.groups} if kind_of(model) is Kind.RANKS else {}
    if isinstance(model, models.SavedModel):
        problem: Any = model.problem(training.X, training.y, **groups)
        scaled = X if model.scaling is None else model.scaling(X)
        return certify(problem, model.solution(problem)), scaled
    return model.restore(training.X, training.y, **groups), X
