"""Construction of checked training sets, without samples of weight zero."""

from __future__ import annotations

from typing import TypedDict

import numpy as np

from qpsvm.data.samples import feature_names, samples_for
from qpsvm.data.targets import as_classes, as_signs, as_targets, as_weights
from qpsvm.data.training_sets import (
    BinaryTrainingSet,
    MulticlassTrainingSet,
    RegressionTrainingSet,
    TrainingSet,
)
from qpsvm.exceptions import InvalidDataError
from qpsvm.kernels import Kernel, Precomputed
from qpsvm.numerics.arguments import Samples, Targets, Weights
from qpsvm.numerics.arrays import Index, Vector, freeze, is_sparse
from qpsvm.numerics.conversion import sealed
from qpsvm.numerics.single_precision import SinglePrecision, Stored, rows_of


class _Checked(TypedDict):
    """Fields that all training sets have."""

    X: Stored
    weights: Vector
    kept: Index
    n_given: int
    feature_names: tuple[str, ...] | None


def unlabelled_training_set(
    X: Samples, kernel: Kernel, sample_weight: Weights | None = None
) -> TrainingSet:
    """Check samples without labels and build a training set.

    Raises
    ------
    InvalidDataError
        As ``as_samples`` and ``as_weights``; a precomputed kernel matrix that is not square.
    """
    return TrainingSet(**_samples(X, None, kernel, sample_weight))


def binary_training_set(
    X: Samples, y: Targets | None, kernel: Kernel, sample_weight: Weights | None = None
) -> BinaryTrainingSet:
    """Build the checked training set of a two-class problem from samples and labels.

    Raises
    ------
    InvalidDataError
        As ``as_samples``, ``as_signs`` and ``as_weights``; another number of labels than rows.
    """
    signs, classes = as_signs(y, sample_weight)
    base = _samples(X, len(signs), kernel, sample_weight)
    signs = freeze(signs[base["kept"]])
    return BinaryTrainingSet(**base, signs=signs, classes=classes)


def multiclass_training_set(
    X: Samples, y: Targets | None, kernel: Kernel, sample_weight: Weights | None = None
) -> MulticlassTrainingSet:
    """Check samples with two or more kinds of labels and build a training set.

    Raises
    ------
    InvalidDataError
        As ``binary_training_set``.
    """
    codes, classes = as_classes(y, sample_weight)
    base = _samples(X, len(codes), kernel, sample_weight)
    codes = freeze(codes[base["kept"]])
    return MulticlassTrainingSet(**base, codes=codes, classes=classes)


def regression_training_set(
    X: Samples, y: Targets | None, kernel: Kernel, sample_weight: Weights | None = None
) -> RegressionTrainingSet:
    """Check samples with numeric targets and build a training set.

    Raises
    ------
    InvalidDataError
        As ``as_samples``, ``as_targets`` and ``as_weights``; another number of targets than rows.
    """
    values = as_targets(y)
    base = _samples(X, len(values), kernel, sample_weight)
    return RegressionTrainingSet(**base, values=freeze(values[base["kept"]]))


def _samples(
    X: Samples, n_labels: int | None, kernel: Kernel, sample_weight: Weights | None
) -> _Checked:
    """Check the fields that all training sets have."""
    samples = samples_for(kernel, X)
    n = samples.shape[0]
    if n_labels is not None and n_labels != n:
        raise InvalidDataError(
            f"X has {n} rows and y has {n_labels} labels; pass one label per row."
        )
    is_gram = isinstance(kernel, Precomputed)
    if is_gram:
        if n != samples.shape[1]:
            raise InvalidDataError(
                f"With kernel='precomputed', X is the kernel matrix and must be square, got shape "
                f"{samples.shape}."
            )
        if is_sparse(samples):
            samples = sealed(samples.toarray())
    weights = as_weights(sample_weight, n)
    kept = np.flatnonzero(weights)
    if len(kept) < n:
        samples = sealed(samples[np.ix_(kept, kept)]) if is_gram else rows_of(samples, kept)
        if not isinstance(samples, SinglePrecision):
            freeze(samples)
        weights = freeze(weights[kept])
    return {
        "X": samples,
        "weights": weights,
        "kept": freeze(kept),
        "n_given": n,
        "feature_names": feature_names(X),
    }
