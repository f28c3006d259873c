"""Certified predictions of models read from a file, given their training data."""

from __future__ import annotations

from typing import Any

from qpsvm.cli.model_files import Kind, kind_of
from qpsvm.datasets import DataFile
from qpsvm.numerics.arguments import Samples


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
