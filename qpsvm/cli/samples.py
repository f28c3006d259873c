"""Samples from data files in the form that a fitted model takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import scipy.sparse as sp

from qpsvm.cli.model_files import FittedModel
from qpsvm.datasets import DataFile
from qpsvm.exceptions import InvalidDataError


def samples_for(fitted: FittedModel, data: DataFile, file: Path) -> Any:
    """The samples of a file as the model takes them: its columns, in its order, scaled.

    Where file and model have names of columns, they decide; columns that the model does not know
    are left out. A LIBSVM file may lack the last features, which are zero then.

    Raises
    ------
    InvalidDataError
        Columns are missing, or there are others than in the training data.
    """
    X = data.X
    known, names = getattr(fitted.estimator, "feature_names_in_", None), data.feature_names
    n_features = int(getattr(fitted.estimator, "n_features_in_", X.shape[1]))
    if known is not None and names is not None:
        missing = [str(name) for name in known if name not in names]
        if missing:
            raise InvalidDataError(
                f"{file} has no column {missing[0]!r}, which the model was trained with; its "
                f"columns are {', '.join(names)}."
            )
        X = X[:, [names.index(str(name)) for name in known]]
    elif data.format == "libsvm" and X.shape[1] < n_features:
        rows = sp.csr_array(X)
        X = sp.csr_array((rows.data, rows.indices, rows.indptr), shape=(X.shape[0], n_features))
    if X.shape[1] != n_features:
        raise InvalidDataError(
            f"{file} has {X.shape[1]} features, the model was trained with {n_features}; name the "
            "column of the label, if there is one, with --label."
        )
    return fitted.scaled(X)
