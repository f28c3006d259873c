"""Samples, targets and weights as scikit-learn's estimators take them."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from qpsvm.data.objects import is_numeric
from qpsvm.data.samples import require_exact, require_finite_rows
from qpsvm.data.targets import as_weights, exact_labels, require_exact_vector
from qpsvm.exceptions import InvalidDataError
from qpsvm.kernels import Precomputed
from qpsvm.numerics.arguments import Samples, Targets
from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.single_precision import Stored

SAMPLE_TYPES = (np.float64, np.float32)
"""Precisions that are not converted; others become the first."""


def training_data(estimator: Any, X: Samples, y: Targets | None) -> tuple[Samples, Targets | None]:
    """Check X and y by scikit-learn's rules, and set ``n_features_in_`` of the estimator.

    Samples that are no numbers are left to the kernel, which has to be a function of the caller's.

    Raises
    ------
    ValueError, TypeError
        With scikit-learn's messages: shapes, NaN, complex numbers, sparse formats. Integers that
        float64 would round.
    """
    if takes_objects(estimator, X):
        return X, y
    tags = estimator.__sklearn_tags__()
    if y is None and not tags.target_tags.required:
        return _features(estimator, X), None
    is_classifier = tags.estimator_type == "classifier"
    try:
        checked, targets = validate_data(
            estimator,
            X,
            exact_labels(y, "y") if is_classifier and y is not None else y,
            accept_sparse="csr",
            dtype=SAMPLE_TYPES,
            y_numeric=not is_classifier,
            ensure_all_finite=False,
            ensure_min_samples=estimator._fewest_samples,
        )
    except ValueError as error:
        _explain_target(error, y)
        _name_columns(error, X)
        raise
    require_finite_rows(checked, X)
    require_exact(checked, X)
    if targets.dtype.kind == "f":
        require_exact_vector(targets, y, "y")
    return checked, targets


def samples(estimator: object, X: Samples) -> Stored:
    """Check samples to predict by scikit-learn's rules against those of ``fit``.

    Raises
    ------
    ValueError
        Another number of features, other names of columns, NaN, integers that float64 would round.
    """
    if takes_objects(estimator, X):
        return X
    return _features(estimator, X, reset=False)


def _explain_target(error: ValueError, y: Targets | None) -> None:
    """Raise scikit-learn's error about NaN or infinite targets with the first of them."""
    if not str(error).startswith("Input y contains"):
        return
    bad = np.flatnonzero(~np.isfinite(np.asarray(y, dtype=np.float64)))
    shown = np.ravel(np.asarray(y, dtype=np.float64))[bad[0]]
    raise InvalidDataError(
        f"{str(error).splitlines()[0]} y[{bad[0]}] is {'NaN' if np.isnan(shown) else shown} "
        f"({len(bad)} such target{'' if len(bad) == 1 else 's'}); drop those rows."
    ) from error


def _name_columns(error: ValueError, X: Any) -> None:
    """Raise scikit-learn's error about a text with the columns of a DataFrame that hold texts."""
    if not (str(error).startswith("could not convert") and hasattr(X, "select_dtypes")):
        return
    names = [repr(name) for name in X.select_dtypes(exclude=["number", "bool"]).columns]
    raise InvalidDataError(
        f"X has columns that are not numbers: {', '.join(names)} ({error}); encode them, for "
        "instance with sklearn.preprocessing.OneHotEncoder in a ColumnTransformer, or drop them."
    ) from error


def _features(estimator: object, X: Samples, *, reset: bool = True) -> Stored:
    """Check samples alone, by scikit-learn's rules; NaN and infinity by qpsvm's."""
    options: Any = {"accept_sparse": "csr", "dtype": SAMPLE_TYPES, "ensure_all_finite": False}
    try:
        checked = validate_data(estimator, X, reset=reset, **options)
    except ValueError as error:
        _name_columns(error, X)
        raise
    require_finite_rows(checked, X)
    require_exact(checked, X)
    return checked


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
        sample_weight = np.full(n_samples, sample_weight)
    return as_weights(sample_weight, n_samples)
