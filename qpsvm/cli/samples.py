"""Samples from data files in the form that a fitted model takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from qpsvm.datasets import DataFile
from qpsvm.exceptions import InvalidDataError
from qpsvm.tables import Preparation


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


def features_of(model: Any) -> tuple[tuple[str, ...] | None, int]:
    """Names of the training features, and their number."""
    if hasattr(model, "n_features_in_"):
        names = getattr(model, "feature_names_in_", None)
        return None if names is None else tuple(map(str, names)), int(model.n_features_in_)
    return model.feature_names, int(model.n_features)
