"""Training set of a model file: data that identify it, and that predictions need."""

from __future__ import annotations

from typing import Any

import numpy as np

from qpsvm.data.training_sets import (
    BinaryTrainingSet,
    MulticlassTrainingSet,
    RegressionTrainingSet,
    TrainingSet,
)
from qpsvm.exceptions import ModelFileError
from qpsvm.formulations import CrammerSinger, Ranking
from qpsvm.formulations.family import Classifier, Regressor
from qpsvm.formulations.multiclass import Reduction
from qpsvm.formulations.ranking import RankedTrainingSet
from qpsvm.numerics.arguments import Labels
from qpsvm.numerics.arrays import Array, Index, Vector, freeze
from qpsvm.numerics.single_precision import Stored


def has_classes(formulation: object) -> bool:
    """Return whether a formulation is about labels."""
    return isinstance(formulation, Classifier | CrammerSinger | Reduction)


def has_values(formulation: object) -> bool:
    """Return whether a formulation is about numeric targets."""
    return isinstance(formulation, Regressor | Ranking)


def targets_of(data: TrainingSet) -> Array | None:
    """Targets of a training set, or places of its labels among the classes; None without any."""
    if isinstance(data, BinaryTrainingSet):
        return (data.signs > 0.0).astype(np.int64)
    if isinstance(data, MulticlassTrainingSet):
        return data.codes.astype(np.int64)
    return data.values if isinstance(data, RegressionTrainingSet) else None


def sample_weight_of(data: TrainingSet) -> Vector | None:
    """Sample weights of the caller's rows; None if all are 1."""
    if data.n_given == data.n_samples and (data.weights == 1.0).all():
        return None
    weights = np.zeros(data.n_given)
    weights[data.kept] = data.weights
    return weights


def training_set(
    formulation: object,
    X: Stored,
    rows: Index,
    *,
    kept: Index,
    n_given: int,
    feature_names: tuple[str, ...] | None,
    sample_weight: Vector | None,
    targets: Array | None,
    classes: Labels | None,
) -> TrainingSet:
    """Build the training set of some of the samples.

    Parameters
    ----------
    formulation : object
        Decides of which kind it is.
    X : array or CSR array of shape (m, d)
    rows : array of int of shape (m,)
        Which of the caller's rows they are, ascending.
    kept : array of int of shape (n,)
        The caller's rows that were trained on.
    n_given, feature_names, sample_weight, targets, classes
        As in the file: ``sample_weight`` of all rows given, ``targets`` of those kept.

    Raises
    ------
    ModelFileError
        Rows that were not trained on; places of labels beyond the classes.
    """
    at = np.minimum(np.searchsorted(kept, rows), len(kept) - 1)
    if not np.array_equal(kept[at], rows):
        raise ModelFileError("it holds support vectors that are no training samples.")
    weights = np.ones(len(rows)) if sample_weight is None else sample_weight[rows]
    base: dict[str, Any] = {
        "X": freeze(X),
        "weights": freeze(weights),
        "kept": freeze(rows.astype(np.intp)),
        "n_given": n_given,
        "feature_names": feature_names,
    }
    if classes is not None and targets is not None:
        if targets.min() < 0 or targets.max() >= len(classes):
            raise ModelFileError("its targets are no places among the classes.")
        if isinstance(formulation, Classifier):
            signs = freeze(np.where(targets[at] > 0, 1.0, -1.0))
            return BinaryTrainingSet(**base, signs=signs, classes=classes)
        return MulticlassTrainingSet(**base, codes=freeze(targets[at]), classes=classes)
    if targets is None:
        return TrainingSet(**base)
    values = freeze(np.asarray(targets[at], dtype=np.float64))
    if isinstance(formulation, Ranking):
        pairs = freeze(np.zeros((0, 2), dtype=np.intp))
        return RankedTrainingSet(**base, values=values, pairs=pairs)
    return RegressionTrainingSet(**base, values=values)
