"""Samples from data files in the form that a fitted model takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from qpsvm.datasets import DataFile
from qpsvm.exceptions import InvalidDataError


def samples_for(model: object, data: DataFile, file: Path) -> Any:
    """Select the columns of a data file that the model was trained on, in its order.

    Where file and model have names of columns, they decide; columns that the model does not know
    are left out.

    Parameters
    ----------
    model : estimator or SavedModel
    data : DataFile
    file : Path
        For messages.

    Raises
    ------
    InvalidDataError
        Columns are missing, or there are others than in the training data.
    """
    X: Any = data.X
    known, width = features_of(model)
    if known is not None and data.feature_names is not None:
        missing = [name for name in known if name not in data.feature_names]
        if missing:
            raise InvalidDataError(
                f"{file} has no column {missing[0]!r}, which the model was trained with; its "
                f"columns are {', '.join(data.feature_names)} (without a header: --no-header)."
            )
        X = X[:, [data.feature_names.index(name) for name in known]]
    if X.shape[1] != width:
        raise InvalidDataError(
            f"{file} has {X.shape[1]} features, the model was trained with {width}; name the "
            "column of the label, if there is one, with --label."
        )
    return X


def features_of(model: Any) -> tuple[tuple[str, ...] | None, int]:
    """Names of the training features, and their number."""
    if hasattr(model, "n_features_in_"):
        names = getattr(model, "feature_names_in_", None)
        return None if names is None else tuple(map(str, names)), int(model.n_features_in_)
    return model.feature_names, int(model.n_features)
