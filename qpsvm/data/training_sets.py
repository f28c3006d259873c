"""Training sets: checked samples with labels, targets, weights or none."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from qpsvm.data.objects import NUMERIC
from qpsvm.data.samples import feature_names, samples_for
from qpsvm.data.targets import (
    as_classes,
    as_signs,
    as_targets,
    as_weights,
    one_per_row,
    require_comparable,
    same_labels,
    squared_spread,
)
from qpsvm.display import short_repr
from qpsvm.exceptions import InvalidDataError
from qpsvm.kernels import Kernel, Precomputed
from qpsvm.numerics import contents
from qpsvm.numerics.arguments import Labels, Samples, Targets, Weights
from qpsvm.numerics.arrays import Array, Index, Vector, freeze, is_sparse, restore_frozen
from qpsvm.numerics.conversion import sealed
from qpsvm.numerics.single_precision import SinglePrecision, Stored, rows_of, stored_arrays


@short_repr
@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Samples without labels; the base of every training set.

    Attributes
    ----------
    X : array or CSR array of shape (n, d), float64, read-only
        Or ``SinglePrecision``: the copy of a read-only array of float32
        (``numpy.asarray(data.X)`` makes it one of float64). Or objects, for a kernel that takes
        them: a read-only array of shape (n,) or (n, d) of any other dtype.
    weights : array of shape (n,)
        Sample weights, above zero.
    kept : array of int of shape (n,)
        Which of the caller's rows these are: rows of weight zero are gone.
    n_given : int
        How many rows the caller gave.
    feature_names : tuple of str or None
        Column names, when X came as a DataFrame.
    """

    X: Stored
    weights: Vector
    kept: Index
    n_given: int
    feature_names: tuple[str, ...] | None

    def __post_init__(self) -> None:
        _ = self._as_built

    def __setstate__(self, state: dict[str, object]) -> None:
        restore_frozen(self, {name: value for name, value in state.items() if name != "_as_built"})
        _ = self._as_built

    @cached_property
    def _as_built(self) -> tuple[Array, ...]:
        return stored_arrays(self.X)

    @property
    def is_unchanged(self) -> bool:
        """Return whether the arrays of X are still those that the problem was built with.

        A sparse matrix gets other arrays where an entry is added to it.
        """
        now, before = (tuple(map(_place, a)) for a in (stored_arrays(self.X), self._as_built))
        return now == before

    @property
    def n_samples(self) -> int:
        """Number of rows of X."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of columns of X; 1 where every sample is one object."""
        return int(self.X.shape[1]) if self.X.ndim == 2 else 1

    @property
    def storage(self) -> Literal["dense", "sparse", "objects"]:
        """Storage of X: "dense", "sparse", or "objects" for samples that are not numbers."""
        if sp.issparse(self.X):
            return "sparse"
        return "dense" if self.X.dtype.kind in NUMERIC else "objects"

    @property
    def targets(self) -> Labels:
        """Label or target of every sample, shape (n,); ones if there are no labels."""
        return np.full(self.n_samples, 1)

    def equals(self, other: object) -> bool:
        """Return whether two sets have the same samples and targets in the same order."""
        if other is self:
            return True
        if type(other) is not type(self) or self.X.shape != other.X.shape:
            return False
        if sp.issparse(self.X) or sp.issparse(other.X):
            same = (sp.csr_array(self.X) - sp.csr_array(other.X)).count_nonzero() == 0
        elif "objects" in (self.storage, other.storage):
            same = contents.same(self.X, other.X)
        else:
            same = np.array_equal(self.X, other.X)
        names_differ = (
            self.feature_names is not None
            and other.feature_names is not None
            and self.feature_names != other.feature_names
        )
        mine, theirs = (
            [data.targets, data.kept, np.asarray(data.n_given), data.weights]
            for data in (self, other)
        )
        return bool(same and not names_differ and all(map(np.array_equal, mine, theirs)))

    def predictions(self, decision: Vector) -> Labels:
        """Convert decision values to predictions: +1 (inside) or -1 without labels."""
        return np.where(np.asarray(decision) >= 0.0, 1, -1)

    def score(self, decision: Vector, y: Targets) -> float:
        """Score of decision values against targets y: the share of correct predictions."""
        predicted, labels = self.predictions(decision), one_per_row(y, decision)
        require_comparable(labels, predicted)
        return float(np.mean(same_labels(predicted, labels)))


def _place(array: Array) -> tuple[object, ...]:
    """Address, shape and strides of an array."""
    return array.__array_interface__["data"], array.shape, array.strides, array.dtype


@short_repr
@dataclass(frozen=True, eq=False)
class BinaryTrainingSet(TrainingSet):
    """Samples of two classes.

    Attributes
    ----------
    signs : array of shape (n,)
        -1 for the first class, +1 for the second.
    classes : array of shape (2,)
        The caller's two labels, sorted: (negative, positive).
    """

    signs: Vector
    classes: Labels

    @property
    def targets(self) -> Labels:
        return self.predictions(self.signs)

    def equals(self, other: object) -> bool:
        return (
            isinstance(other, BinaryTrainingSet)
            and super().equals(other)
            and np.array_equal(self.classes, other.classes)
        )

    def predictions(self, decision: Vector) -> Labels:
        """Convert decision values to labels: the second label where positive."""
        return self.classes[(np.asarray(decision) > 0).astype(np.intp)]


@short_repr
@dataclass(frozen=True, eq=False)
class MulticlassTrainingSet(TrainingSet):
    """Samples of two or more classes.

    Attributes
    ----------
    codes : array of int of shape (n,)
        Index into ``classes``.
    classes : array of shape (k,)
        The caller's labels, sorted.
    """

    codes: Index
    classes: Labels

    @property
    def targets(self) -> Labels:
        return self.classes[self.codes]

    def predictions(self, decision: Vector) -> Labels:
        """The label of the largest of the k decision values in each row (ties: the first)."""
        chosen: Labels = self.classes[np.argmax(decision, axis=1)]
        return chosen


@short_repr
@dataclass(frozen=True, eq=False)
class RegressionTrainingSet(TrainingSet):
    """Samples with numeric targets.

    Attributes
    ----------
    values : array of shape (n,)
        The targets.
    """

    values: Vector

    @property
    def targets(self) -> Labels:
        return self.values

    def predictions(self, decision: Vector) -> Labels:
        """The decision values, unchanged."""
        return np.asarray(decision)

    def score(self, decision: Vector, y: Targets) -> float:
        """Coefficient of determination ``R^2`` of the decision values against y."""
        values = as_targets(one_per_row(y, decision))
        unexplained = float(np.sum((values - decision) ** 2))
        total = squared_spread(values, np.ones(len(values)))
        if total == 0.0:  # constant targets: all or nothing
            return 1.0 if unexplained == 0.0 else 0.0
        return 1.0 - unexplained / total


# --- construction, without samples of weight zero -------------------------------------------------


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
) -> dict[str, Any]:
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
