"""Estimators of this package as models to audit, by the numbers of their files."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from qpsvm.audits.claims import Reading
from qpsvm.audits.readers import files
from qpsvm.audits.readers.attributes import Estimator
from qpsvm.audits.readers.inputs import Inputs
from qpsvm.data.targets import as_weights
from qpsvm.display import one_line
from qpsvm.exceptions import AuditRefusedError, ModelFileError
from qpsvm.formulations import NuClassification, Ranking
from qpsvm.models import SavedModel
from qpsvm.models.reading import model_of


def is_own(model: Estimator) -> bool:
    """Return whether a model is an estimator of this package, or derived from one."""
    return any(kind.__module__.startswith("qpsvm.estimators.") for kind in type(model).__mro__)


def read_own(model: Estimator, inputs: Inputs) -> Reading:
    """Read an estimator of this package.

    Raises
    ------
    AuditRefusedError
        An estimator that is not fitted, one with a kernel function of the caller's, other data or
        sample weights than those of its fit, or one whose ``predict`` says something else than the
        machine.
    """
    name = type(model).__name__
    if not model.__sklearn_is_fitted__():
        raise AuditRefusedError(f"This {name} is not fitted; call fit(X, y) first.")
    try:
        found = model_of(model.__getstate__()["contents"])
        if isinstance(found.formulation, Ranking):
            raise ModelFileError("query groups are no argument of an audit.")
        _require_weights(name, found, inputs)
        _require_same_predictions(model, found, inputs.X)
        reading = files.read(found, replace(inputs, sample_weight=None))
    except ModelFileError as error:
        raise AuditRefusedError(
            f"This {name} cannot be audited: {error} Without the data of the fit "
            "qpsvm.verify(model.problem_, model.solution_) verifies the machine."
        ) from error
    return replace(reading, model=one_line(model))


def _require_weights(name: str, found: SavedModel, inputs: Inputs) -> None:
    """Raise AuditRefusedError unless the sample weights are those of the estimator's fit."""
    if inputs.sample_weight is None:
        return
    given = as_weights(inputs.sample_weight, found.n_given)
    stored: Any = np.ones(found.n_given) if found.sample_weight is None else found.sample_weight
    if not np.array_equal(given, stored):
        raise AuditRefusedError(
            f"This {name} was fitted with other sample weights; pass those of its fit."
        )


def _require_same_predictions(model: Estimator, found: SavedModel, X: Any) -> None:
    """Raise AuditRefusedError if an estimator and its stored machine predict different labels.

    ``NuSVC`` with several classes compares decision values in another scale than its machine, in
    which other labels may have the most votes: nothing is compared.
    """
    if isinstance(getattr(found.formulation, "formulation", None), NuClassification):
        return
    own, stored = np.asarray(model.predict(X)), found.predict(X)
    if not np.array_equal(own, stored):
        differ = int(np.count_nonzero(own != stored)) if own.shape == stored.shape else len(stored)
        raise AuditRefusedError(
            f"This {type(model).__name__} predicts something else than its machine for {differ} "
            "of the samples: its predict is another method, or was changed; fit it again."
        )
