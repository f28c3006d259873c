"""Fitted models on the command line: their files, samples for them, scores, certified predictions.

A model is an estimator, or a ``SavedModel`` of a formulation.

A model with scaled features is written as that of its formulation, which knows the scaling and
applies it to every sample; all others are written as estimators.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qpsvm.datasets import DataFile
from qpsvm.exceptions import InvalidDataError, QPSVMError
from qpsvm.numerics.arguments import Samples, Targets
from qpsvm.tables import Preparation

if TYPE_CHECKING:
    from qpsvm.models.scaling import Scaling


class Kind(Enum):
    """Kinds of predictions: labels, numbers, ranks, novelties."""

    LABELS = "labels"
    NUMBERS = "numbers"
    RANKS = "ranks"
    NOVELTIES = "novelties"


def kind_of(model: object) -> Kind:
    """Return what an estimator or SavedModel predicts."""
    from sklearn.base import is_classifier, is_outlier_detector, is_regressor

    from qpsvm import formulations, models

    if isinstance(model, models.SavedModel):
        formulation: object = model.formulation
        if isinstance(formulation, formulations.OneClass | formulations.DataDescription):
            return Kind.NOVELTIES
        labels: object = model.classes
        if labels is not None:
            return Kind.LABELS
        return Kind.RANKS if isinstance(formulation, formulations.Ranking) else Kind.NUMBERS
    if is_outlier_detector(model):
        return Kind.NOVELTIES
    if is_classifier(model):
        return Kind.LABELS
    return Kind.NUMBERS if is_regressor(model) else Kind.RANKS


def save(path: Path, estimator: Any, scaling: Scaling | None, data: DataFile) -> None:
    """Write a fitted estimator.

    Parameters
    ----------
    path : Path
    estimator : fitted estimator
    scaling : Scaling or None
        Applied to the samples before the fit.
    data : DataFile
        What the estimator was fitted to: names and numbering of its features and the preparation of
        its table are stored.

    Raises
    ------
    ModelFileError
        What cannot be written as plain data; a path that cannot be written.
    """
    if scaling is None:
        estimator.save(path, preparation=data.preparation)
        return
    from qpsvm import models, verify

    problem, solution = estimator.problem_, estimator.solution_
    report = verify(problem, solution, eps=estimator.eps)
    models.save(
        path,
        problem,
        solution,
        report,
        scaling=scaling,
        feature_names=data.feature_names,
        preparation=data.preparation,
        zero_based=data.zero_based,
    )


def load(path: Path) -> Any:
    """Read an estimator, or a SavedModel.

    Raises
    ------
    ModelFileError
        No model file, or a damaged one.
    """
    import qpsvm

    return qpsvm.load(path)


# --- samples for a model --------------------------------------------------------------------------


def features_of(model: Any) -> tuple[tuple[str, ...] | None, int]:
    """Names of the training features, and their number."""
    if hasattr(model, "n_features_in_"):
        names = getattr(model, "feature_names_in_", None)
        return None if names is None else tuple(map(str, names)), int(model.n_features_in_)
    return model.feature_names, int(model.n_features)


def preparation_of(model: Any) -> Preparation:
    """The preparation of the table that a model was trained with.

    A model whose file has none knows its features by name, or by their number.
    """
    stored: Preparation | None = getattr(model, "preparation_", getattr(model, "preparation", None))
    if stored is not None:
        return stored
    names, width = features_of(model)
    return Preparation.of_numbers(range(width) if names is None else names)


def samples_for(model: object, data: DataFile, file: Path) -> Any:
    """The samples of a data file in the width that a model was trained with.

    Tables were matched to the model when they were read, by ``preparation_of``.

    Parameters
    ----------
    model : estimator or SavedModel
    data : DataFile
    file : Path
        For messages.

    Raises
    ------
    InvalidDataError
        There are other columns than in the training data.
    """
    X: Any = data.X
    _, width = features_of(model)
    if X.shape[1] != width:
        raise InvalidDataError(
            f"{file} has {X.shape[1]} features, the model was trained with {width}; pass the same "
            "features."
        )
    return X


def options_for(
    model: object,
    file: Path,
    format: str | None,
    *,
    header: bool | None = None,
    zero_based: bool | None = None,
) -> dict[str, Any]:
    """Parameters of ``qpsvm.datasets.load`` with which a file has the features of a model.

    A model that knows the names of its features finds them in the header of a CSV file. A LIBSVM
    file is counted as that of the training data.

    Parameters
    ----------
    model : estimator or SavedModel
    file : Path
    format : str or None
    header, zero_based : bool or None
        What the options say of this file; None where they say nothing.
    """
    from qpsvm import datasets

    names, width = features_of(model)
    kind = datasets.format_of(str(file), format)
    if kind == "csv" and header is None and names is not None:
        header = True
    options: dict[str, Any] = {"header": header, "zero_based": zero_based}
    if kind == "libsvm":
        known = getattr(model, "zero_based_", getattr(model, "zero_based", None))
        options |= {"n_features": width, "zero_based": known if zero_based is None else zero_based}
    return options


@contextmanager
def data_errors() -> Iterator[None]:
    """Turn the ValueErrors with which scikit-learn refuses samples into InvalidDataError.

    Raises
    ------
    InvalidDataError
        With scikit-learn's message.
    """
    try:
        yield
    except QPSVMError:
        raise
    except ValueError as error:
        raise InvalidDataError(str(error)) from error


# --- what a model says of samples -----------------------------------------------------------------


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
