"""Training data: whatever the caller has, checked and in one form.

Every refusal names the argument, the row or column, the value seen and the remedy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.exceptions import InvalidDataError
from qpsvm.kernels import Kernel, Precomputed
from qpsvm.qp._arrays import Vector, freeze, restore_frozen


@dataclass(frozen=True, eq=False)
class BinaryTrainingSet:
    """Samples of two classes.

    Attributes
    ----------
    X : array or CSR array of shape (n, d), float64, read-only
    signs : array of shape (n,)
        -1 for the first class, +1 for the second.
    classes : array of shape (2,)
        The caller's two labels, sorted: (negative, positive).
    feature_names : tuple of str or None
        Column names, when X came as a DataFrame.
    """

    X: Any
    signs: Vector
    classes: Any
    feature_names: tuple[str, ...] | None = None

    def __setstate__(self, state: dict[str, Any]) -> None:
        restore_frozen(self, state)

    @property
    def n_samples(self) -> int:
        """Number of rows of X."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of columns of X."""
        return int(self.X.shape[1])

    def equals(self, other: BinaryTrainingSet) -> bool:
        """True for the same samples and labels in the same order (dense or sparse alike)."""
        if other is self:
            return True
        if self.X.shape != other.X.shape or not np.array_equal(self.signs, other.signs):
            return False
        if sp.issparse(self.X) or sp.issparse(other.X):
            same = (sp.csr_array(self.X) - sp.csr_array(other.X)).count_nonzero() == 0
        else:
            same = np.array_equal(self.X, other.X)
        names_differ = (
            self.feature_names is not None
            and other.feature_names is not None
            and self.feature_names != other.feature_names
        )
        return bool(same and not names_differ and np.array_equal(self.classes, other.classes))

    def labels(self, decision: Vector) -> Any:
        """The caller's labels for decision values: positive above zero."""
        return self.classes[(np.asarray(decision) > 0).astype(np.intp)]


def binary_training_set(X: Any, y: Any, kernel: Kernel) -> BinaryTrainingSet:
    """Check samples and labels together.

    Parameters
    ----------
    X : array, DataFrame or sparse matrix of shape (n, d)
    y : array of shape (n,)
        Two different labels of any kind: numbers, strings, booleans.
    kernel : Kernel
        ``Precomputed`` asks for a square X.

    Raises
    ------
    InvalidDataError
        See the module's tests for every case.
    """
    samples = as_samples(X)
    signs, classes = as_signs(y)
    if len(signs) != samples.shape[0]:
        raise InvalidDataError(
            f"X has {samples.shape[0]} rows and y has {len(signs)} labels; pass one label per row."
        )
    if isinstance(kernel, Precomputed):
        if samples.shape[0] != samples.shape[1]:
            raise InvalidDataError(
                f"With kernel='precomputed', X is the kernel matrix and must be square, got shape "
                f"{samples.shape}."
            )
        if sp.issparse(samples):
            samples = freeze(samples.toarray())
    return BinaryTrainingSet(samples, signs, classes, feature_names(X))


def as_samples(X: Any, name: str = "X") -> Any:
    """X as a read-only float64 array or CSR array of shape (n, d), both at least 1.

    Raises
    ------
    InvalidDataError
        Not two-dimensional, empty, not numeric (with the column), NaN or infinite (with the row).
    """
    matrix: Any
    if sp.issparse(X):
        if np.issubdtype(X.dtype, np.complexfloating):
            raise InvalidDataError(f"{name} holds complex numbers; pass real features.")
        if X.ndim != 2:
            raise InvalidDataError(_not_two_dimensional(name, X.shape))
        matrix = sp.csr_array(X, dtype=np.float64, copy=True)
        matrix.sum_duplicates()
    else:
        _require_numeric_columns(X, name)
        _require_unmasked(X, name)
        try:
            raw = np.asarray(X)
            if np.issubdtype(raw.dtype, np.complexfloating):
                raise InvalidDataError(f"{name} holds complex numbers; pass real features.")
            if raw.dtype.kind not in "biufO":  # NumPy would read numbers out of text and dates
                raise TypeError(f"its dtype is {raw.dtype}")
            text = [v for v in raw.flat if isinstance(v, str | bytes)] if raw.dtype == "O" else []
            if text:
                raise TypeError(f"it holds text such as {text[0]!r}")
            matrix = np.array(raw, dtype=np.float64, order="C")
        except (TypeError, ValueError, OverflowError) as error:
            if isinstance(error, InvalidDataError):
                raise
            raise InvalidDataError(
                f"{name} must be a table of numbers ({error}); encode text and categories first, "
                "for instance with sklearn.preprocessing.OneHotEncoder."
            ) from error
        if matrix.ndim != 2:
            raise InvalidDataError(_not_two_dimensional(name, matrix.shape))
    if 0 in matrix.shape:
        raise InvalidDataError(
            f"{name} is empty: shape {matrix.shape}; pass at least one sample and one feature."
        )
    _require_finite_rows(matrix, X, name)
    return freeze(matrix)


def as_signs(y: Any) -> tuple[Vector, Any]:
    """Labels as -1/+1, and the two labels they stand for (sorted: negative first).

    Raises
    ------
    InvalidDataError
        Not one-dimensional, missing values, continuous targets, one class, more than two.
    """
    _require_unmasked(y, "y")
    labels = y.toarray() if sp.issparse(y) else np.asarray(y)
    if labels.ndim == 2 and 1 in labels.shape:
        labels = labels.ravel()
    if labels.ndim != 1:
        raise InvalidDataError(f"y must be one-dimensional, got shape {labels.shape}.")
    if labels.size == 0:
        raise InvalidDataError("y is empty; pass one label per sample.")
    missing = np.array([_is_missing(label) for label in labels.tolist()])
    if missing.any():
        row = int(np.flatnonzero(missing)[0])
        raise InvalidDataError(
            f"y[{row}] is {_plain(labels[row])!r} ({int(missing.sum())} missing labels); drop "
            "those rows."
        )
    if np.issubdtype(labels.dtype, np.complexfloating):
        raise InvalidDataError("y holds complex numbers; pass two different labels.")
    if labels.dtype.kind == "U" and isinstance(y, list | tuple):
        _require_one_kind(y)  # NumPy has already turned [1, "a"] into text
    try:
        classes, index = np.unique(labels, return_inverse=True)
    except TypeError as error:
        _require_one_kind(labels.tolist())
        raise InvalidDataError(f"y holds labels that cannot be sorted ({error}).") from error
    if len(classes) == 1:
        raise InvalidDataError(
            f"y has only one class, {_plain(classes[0])!r}; a classifier needs samples of two."
        )
    if len(classes) > 2:
        shown = ", ".join(repr(_plain(c)) for c in classes[:6]) + (
            ", ..." if len(classes) > 6 else ""
        )
        looks_continuous = np.issubdtype(labels.dtype, np.floating) and not np.array_equal(
            labels, np.round(labels)
        )
        hint = (
            "these look like regression targets, not classes"
            if looks_continuous
            else "select two classes, or train one classifier per class (one against the rest)"
        )
        raise InvalidDataError(
            f"y has {len(classes)} classes ({shown}); this formulation takes two: {hint}."
        )
    signs = np.where(np.asarray(index).ravel() == 1, 1.0, -1.0)
    return freeze(signs), freeze(np.array(classes))


def feature_names(X: Any) -> tuple[str, ...] | None:
    """Column names of a DataFrame whose columns are all named by strings."""
    columns = getattr(X, "columns", None)
    if columns is None or not all(isinstance(c, str) for c in columns):
        return None
    return tuple(columns)


def _not_two_dimensional(name: str, shape: tuple[int, ...]) -> str:
    remedy = (
        f" Reshape it with {name}.reshape(-1, 1) (one feature) or {name}.reshape(1, -1) "
        "(one sample)."
        if len(shape) == 1
        else ""
    )
    return f"{name} must have two dimensions (samples, features), got shape {shape}." + remedy


def _require_unmasked(values: Any, name: str) -> None:
    """NumPy drops a mask silently, and the hidden values come back."""
    if np.ma.is_masked(values):
        hidden = int(np.sum(np.ma.getmaskarray(values)))
        raise InvalidDataError(
            f"{name} is a masked array with {hidden} hidden entries; fill them "
            f"({name}.filled(...)) or drop those rows."
        )


def _require_numeric_columns(X: Any, name: str) -> None:
    """Name the first column of a DataFrame that is not numeric."""
    dtypes = getattr(X, "dtypes", None)
    columns = getattr(X, "columns", None)
    if dtypes is None or columns is None:
        return
    for column, dtype in zip(columns, dtypes, strict=True):
        if getattr(dtype, "kind", "O") not in "biuf":
            raise InvalidDataError(
                f"{name} column {column!r} is not numeric (dtype {dtype}); encode it, for instance "
                "with sklearn.preprocessing.OneHotEncoder, or drop it."
            )


def _require_finite_rows(matrix: Any, original: Any, name: str) -> None:
    values = matrix.data if sp.issparse(matrix) else matrix
    if np.isfinite(values).all():
        return
    if sp.issparse(matrix):
        coo = matrix.tocoo()
        bad = np.flatnonzero(~np.isfinite(coo.data))
        row, column = int(coo.row[bad[0]]), int(coo.col[bad[0]])
        value, rows = coo.data[bad[0]], len(np.unique(coo.row[bad]))
    else:
        row, column = (int(i) for i in np.argwhere(~np.isfinite(matrix))[0])
        value, rows = matrix[row, column], int((~np.isfinite(matrix)).any(axis=1).sum())
    names = feature_names(original)
    where = f"column {names[column]!r}" if names else f"column {column}"
    raise InvalidDataError(
        f"{name} has {value} in row {row}, {where} ({rows} such rows); impute the missing values, "
        "for instance with sklearn.impute.SimpleImputer, or drop the rows."
    )


def _require_one_kind(labels: Any) -> None:
    kinds = sorted({type(_plain(label)).__name__ for label in labels})
    if len(kinds) > 1:
        raise InvalidDataError(
            f"y mixes labels of kinds {', '.join(kinds)}; use one kind for both classes."
        )


def _is_missing(label: Any) -> bool:
    return label is None or (isinstance(label, float) and math.isnan(label)) or str(label) == "<NA>"


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label
