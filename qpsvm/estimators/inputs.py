"""Samples, targets and weights as scikit-learn's estimators take them."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from qpsvm.data.objects import is_numeric
from qpsvm.data.targets import as_weights
from qpsvm.kernels import Precomputed
from qpsvm.numerics.arguments import Samples, Targets
from qpsvm.numerics.arrays import Array, Vector
from qpsvm.numerics.single_precision import Stored

SAMPLE_TYPES = (np.float64, np.float32)
"""Precisions that are not converted; others become the first."""


def training_data(estimator: Any, X: Samples, y: Targets | None) -> tuple[Samples, Targets | None]:
    """Check X and y by scikit-learn's rules, and set ``n_features_in_`` of the estimator.

    Samples that are no numbers are left to the kernel, which has to be a function of the caller's.

    Raises
    ------
    ValueError, TypeError
        With scikit-learn's messages: shapes, NaN, complex numbers, sparse formats.
    """
    if takes_objects(estimator, X):
        return X, y
    tags = estimator.__sklearn_tags__()
    if y is None and not tags.target_tags.required:
        return validate_data(estimator, X, accept_sparse="csr", dtype=SAMPLE_TYPES), None
    checked: tuple[Stored, Array] = validate_data(
        estimator,
        X,
        y,
        accept_sparse="csr",
        dtype=SAMPLE_TYPES,
        y_numeric=tags.estimator_type != "classifier",
        ensure_min_samples=estimator._fewest_samples,
    )
    return checked


def samples(estimator: object, X: Samples) -> Stored:
    """Check samples to predict by scikit-learn's rules against those of ``fit``.

    Raises
    ------
    ValueError
        Another number of features, other names of columns, NaN.
    """
    if takes_objects(estimator, X):
        return X
    return validate_data(estimator, X, accept_sparse="csr", dtype=SAMPLE_TYPES, reset=False)


def takes_objects(estimator: object, X: Samples) -> bool:
    """Return whether X holds samples that are no numbers, for a kernel that takes them."""
    kernel = getattr(estimator, "kernel", "linear")
    if isinstance(kernel, str) or not (callable(kernel) or getattr(kernel, "takes_objects", False)):
        return False
    return bool(getattr(kernel, "takes_objects", True)) and not is_numeric(X)


def is_precomputed(estimator: object) -> bool:
    """Return whether X is the kernel matrix."""
    kernel = getattr(estimator, "kernel", "linear")
    return isinstance(kernel, Precomputed) or (isinstance(kernel, str) and kernel == "precomputed")


def weights(sample_weight: Any, X: Stored) -> Vector:
    """Sample weights, shape (n,); a single number is the weight of all samples, None is 1.

    Raises
    ------
    InvalidDataError
        Another length, negative, not finite, all zero.
    """
    n_samples = int(X.shape[0]) if hasattr(X, "shape") else len(X)
    if isinstance(sample_weight, Real):
        sample_weight = np.full(n_samples, sample_weight, dtype=np.float64)
    return as_weights(sample_weight, n_samples)
