"""Reading and writing of model files: estimators, and models of formulations.

A model with scaled features is written as that of its formulation, which knows the scaling and
applies it to every sample; all others are written as estimators.
"""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qpsvm.exceptions import ModelFileError

if TYPE_CHECKING:
    from qpsvm.datasets import DataFile
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


def require_savable(estimator: object, *, standardize: bool) -> None:
    """Refuse to fit what cannot be saved afterwards.

    Raises
    ------
    ModelFileError
        This version has no model files of estimators.
    """
    if not (standardize or hasattr(estimator, "save")):
        raise ModelFileError(
            f"This version of qpsvm has no model files for {type(estimator).__name__}; leave out "
            "--model, or use --standardize or 'qpsvm solve --model' for two classes."
        )


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

    return getattr(qpsvm, "load", qpsvm.models.load)(path)
