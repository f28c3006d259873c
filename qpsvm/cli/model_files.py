"""Fitted models on the command line: their files, and samples for them.

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

from qpsvm.datasets import DataFile
from qpsvm.exceptions import InvalidDataError, QPSVMError
from qpsvm.tables import Preparation

if TYPE_CHECKING:
    from qpsvm.models.saved import Scaling


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
    from qpsvm import verify

    problem, solution = estimator.problem_, estimator.solution_
    report = verify(problem, solution, eps=estimator.eps)
    save_solved(path, problem, solution, report, scaling, data)


def save_solved(
    path: Path, problem: Any, solution: Any, report: Any, scaling: Scaling | None, data: DataFile
) -> None:
    """Write a verified solution with what its data file says about features; as ``save``."""
    from qpsvm import models

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
    """Choose how a data file is read so that it has the features of a model.

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


def read_for(
    model: object,
    file: Path,
    format: str | None = None,
    *,
    header: bool | None = None,
    zero_based: bool | None = None,
    **options: Any,
) -> DataFile:
    """Read a data file for a model that was trained on such data.

    Parameters
    ----------
    model : estimator or SavedModel
    file : Path
    format, header, zero_based
        As ``options_for``.
    **options
        Further options of ``qpsvm.datasets.load``.
    """
    from qpsvm import datasets

    known = options_for(model, file, format, header=header, zero_based=zero_based)
    preparation = preparation_of(model)
    return datasets.load(file, format=format, preparation=preparation, **known, **options)


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
