"""Fitted models on the command line: their files, samples for them, scores and certified bounds.

A model is an estimator, or a ``SavedModel`` of a formulation.

A model with scaled features is written as that of its formulation, which knows the scaling and
applies it to every sample; all others are written as estimators.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

import qpsvm
from qpsvm.cli.printing import note
from qpsvm.exceptions import InvalidDataError, QPSVMError
from qpsvm.numerics.arguments import Samples, Targets

if TYPE_CHECKING:
    from qpsvm.datasets import DataFile
    from qpsvm.models import Scaling

Kind: TypeAlias = Literal["labels", "numbers", "ranks", "novelties"]
"""Kinds of predictions."""


def kind_of(model: Any) -> Kind:
    """Return what an estimator or SavedModel predicts."""
    from sklearn.base import is_classifier, is_outlier_detector, is_regressor

    if isinstance(model, qpsvm.models.SavedModel):
        of_one_class = (qpsvm.OneClass, qpsvm.DataDescription)
        is_novelty_detector = isinstance(model.formulation, of_one_class)
        has_labels = getattr(model, "classes", None) is not None
        has_numbers = not isinstance(model.formulation, qpsvm.Ranking)
    else:
        is_novelty_detector = is_outlier_detector(model)
        has_labels, has_numbers = is_classifier(model), is_regressor(model)
    if is_novelty_detector:
        return "novelties"
    return "labels" if has_labels else "numbers" if has_numbers else "ranks"


# --- writing --------------------------------------------------------------------------------------


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
        note(f"Model written to {path}")
        return
    problem, solution = estimator.problem_, estimator.solution_
    report = qpsvm.verify(problem, solution, eps=estimator.eps)
    save_solved(path, problem, solution, report, scaling, data)


def save_solved(
    path: Path, problem: Any, solution: Any, report: Any, scaling: Scaling | None, data: DataFile
) -> None:
    """Write a verified solution with what its data file says about features; as ``save``."""
    names = ("feature_names", "preparation", "zero_based")
    known: dict[str, Any] = {name: getattr(data, name) for name in names}
    qpsvm.models.save(path, problem, solution, report, scaling=scaling, **known)
    note(f"Model written to {path}")


# --- samples for a model --------------------------------------------------------------------------


def _features_of(model: Any) -> tuple[tuple[str, ...] | None, int]:
    """Names of the training features, and their number."""
    if hasattr(model, "n_features_in_"):
        names = getattr(model, "feature_names_in_", None)
        return None if names is None else tuple(map(str, names)), int(model.n_features_in_)
    return model.feature_names, int(model.n_features)


def options_for(model: object, file: Path, given: Mapping[str, Any]) -> dict[str, Any]:
    """Choose how a data file is read so that it has the features of a model.

    A model that knows the names of its features finds them in the header of a CSV file. A LIBSVM
    file is counted as that of the training data.

    Parameters
    ----------
    model : estimator or SavedModel
    file : Path
    given : mapping
        What the options say of this file, as arguments of ``qpsvm.datasets.load``; None where they
        say nothing.
    """
    options = dict(given)
    names, width = _features_of(model)
    kind = qpsvm.datasets.loading.format_of(str(file), options.get("format"))
    if kind == "csv" and options.get("header") is None and names is not None:
        options["header"] = True
    if kind == "libsvm":
        options["n_features"] = width
        if options.get("zero_based") is None:
            known = getattr(model, "zero_based_", getattr(model, "zero_based", None))
            options["zero_based"] = known
    return options


def read_for(model: Any, file: Path, **given: Any) -> DataFile:
    """Read a data file for a model that was trained on such data.

    The table is prepared as that of the training data; a model whose file does not say how knows
    its features by name, or by their number.

    Parameters
    ----------
    model : estimator or SavedModel
    file : Path
    **given
        Options of ``qpsvm.datasets.load``; None where nothing is said.

    Raises
    ------
    InvalidDataError
        There are other columns than in the training data.
    """
    stored = getattr(model, "preparation_", getattr(model, "preparation", None))
    names, width = _features_of(model)
    if stored is None:
        stored = qpsvm.tables.Preparation.of_numbers(range(width) if names is None else names)
    data = qpsvm.datasets.load(file, preparation=stored, **options_for(model, file, given))
    if data.X.shape[1] != width:
        raise InvalidDataError(
            f"{file} has {data.X.shape[1]} features, the model was trained with {width}; pass the "
            "same features."
        )
    return data


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


# --- scores and proofs ----------------------------------------------------------------------------


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
        case "novelties":
            return "share of samples inside", float(np.mean(predicted == 1))
        case "labels":
            return "accuracy", float(accuracy_score(y, predicted))
        case "numbers":
            return "R squared", float(r2_score(y, predicted))
        case "ranks":
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


def certified_columns(model: Any, X: Samples, training: DataFile) -> dict[str, Any]:
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
    kind = kind_of(model)
    known = (training.X, training.y)
    groups = {"groups": training.groups} if kind == "ranks" else {}
    if isinstance(model, qpsvm.models.SavedModel):
        problem: Any = model.problem(*known, **groups)
        proof = proven = qpsvm.certify(problem, model.solution(problem))
        X = X if model.scaling is None else model.scaling(X)
    else:
        proven = model.restore(*known, **groups)
        proof = getattr(proven, "certificate_", proven)
    if kind in ("labels", "novelties"):
        found = proven.predict_certified(X)
        return {"prediction": found.labels, "certified": found.decided}
    bounds = proof.decision_bounds(X)
    return {"prediction": bounds.values, "lower": bounds.lower, "upper": bounds.upper}
