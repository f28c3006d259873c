"""Conversion and checks of samples, labels, targets and weights that the caller passes.

Every refusal names the argument, the row or column, the value seen and the remedy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.data.integers import integers_of, rounded_integers
from qpsvm.data.objects import as_objects, is_missing, is_numeric, require_unmasked
from qpsvm.exceptions import InvalidDataError
from qpsvm.kernels import Kernel
from qpsvm.numerics.arrays import Index, Vector, all_finite, freeze, immutable
from qpsvm.numerics.layout import is_immutable, plain, plain_sparse
from qpsvm.numerics.single_precision import SinglePrecision


def samples_for(kernel: Kernel, X: Any) -> Any:
    """Convert X to the samples a kernel takes: a numeric table, or objects.

    Raises
    ------
    InvalidDataError
        As ``as_samples`` and ``as_objects``.
    """
    if kernel.takes_objects and not is_numeric(X):
        return as_objects(X)
    return as_samples(X, keep_single=True)


def as_samples(X: Any, name: str = "X", *, keep_single: bool = False) -> Any:
    """Convert X to a read-only float64 array or CSR array of shape (n, d), n and d at least 1.

    In the layout of ``qpsvm.numerics.layout``; a copy, unless that is what X is already and nobody
    can write to it (an array with ``flags.writeable = False``, a ``numpy.memmap`` opened for
    reading). With ``keep_single`` such an array of float32 is not copied either, but wrapped:
    ``SinglePrecision``.

    Raises
    ------
    InvalidDataError
        Not two-dimensional, empty, not numeric (with the column), NaN or infinite (with the row);
        integers that float64 would round (with row, column and value).
    """
    if isinstance(X, SinglePrecision):
        return X if keep_single else freeze(X[:])
    matrix = _sparse(X, name) if sp.issparse(X) else _dense(X, name, keep_single)
    if 0 in matrix.shape:
        raise InvalidDataError(
            f"{name} is empty: shape {matrix.shape}; pass at least one sample and one feature."
        )
    _require_exact_integers(matrix, X, name)
    _require_finite_rows(matrix, X, name)
    return SinglePrecision(matrix) if matrix.dtype == np.float32 else freeze(matrix)


def _sparse(X: Any, name: str) -> Any:
    if np.issubdtype(X.dtype, np.complexfloating):
        raise InvalidDataError(f"{name} holds complex numbers; pass real features.")
    if X.ndim != 2:
        raise InvalidDataError(_not_two_dimensional(name, X.shape))
    try:
        return plain_sparse(X, sp.csr_array)
    except ValueError as error:
        raise InvalidDataError(
            f"{name} is not a usable sparse matrix ({error}); rebuild it, for instance with "
            "scipy.sparse.coo_array((values, (rows, columns)), shape=...)."
        ) from error


def _dense(X: Any, name: str, keep_single: bool) -> Any:
    _require_numeric_columns(X, name)
    require_unmasked(X, name)
    try:
        raw = np.asarray(X)
        if np.issubdtype(raw.dtype, np.complexfloating):
            raise InvalidDataError(f"{name} holds complex numbers; pass real features.")
        if raw.dtype.kind not in "biufO":  # NumPy would read numbers out of text and dates
            raise TypeError(f"its dtype is {raw.dtype}")
        text = [v for v in raw.flat if isinstance(v, str | bytes)] if raw.dtype == "O" else []
        if text:
            raise TypeError(f"it holds text such as {text[0]!r}")
        is_single = raw.dtype == np.float32 and raw.flags.c_contiguous
        keeps = keep_single and is_single and is_immutable(raw)
        matrix = plain(raw, np.float32) if keeps else immutable(raw)
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, InvalidDataError):
            raise
        raise InvalidDataError(
            f"{name} must be a table of numbers ({error}); encode text and categories first, "
            "for instance with sklearn.preprocessing.OneHotEncoder, or pass a kernel function of "
            "your own, which may take any samples."
        ) from error
    if matrix.ndim != 2:
        raise InvalidDataError(_not_two_dimensional(name, matrix.shape))
    return matrix


def as_signs(y: Any) -> tuple[Vector, Any]:
    """Convert two kinds of labels to -1 and +1; return also the sorted labels (negative first).

    Raises
    ------
    InvalidDataError
        As ``as_classes``; more than two classes.
    """
    codes, classes = as_classes(y)
    if len(classes) > 2:
        shown = ", ".join(repr(_plain(c)) for c in classes[:6]) + (
            ", ..." if len(classes) > 6 else ""
        )
        looks_continuous = np.issubdtype(classes.dtype, np.floating) and not np.array_equal(
            classes, np.round(classes)
        )
        hint = (
            "these look like regression targets, not classes; use EpsilonRegression"
            if looks_continuous
            else "select two classes, train one against the rest (OneVsRest) or in pairs "
            "(OneVsOne), or all at once (CrammerSinger)"
        )
        raise InvalidDataError(
            f"y has {len(classes)} classes ({shown}); this formulation takes two: {hint}."
        )
    return freeze(np.where(codes == 1, 1.0, -1.0)), classes


def as_classes(y: Any) -> tuple[Index, Any]:
    """Convert labels to indices into the sorted distinct labels; return both.

    Raises
    ------
    InvalidDataError
        Not one-dimensional, empty, missing values, mixed kinds, or only one class.
    """
    labels = _as_column(y, "label")
    missing = _missing(labels)
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
    return np.asarray(freeze(np.asarray(index).ravel().astype(np.intp))), freeze(np.array(classes))


def as_targets(y: Any) -> Vector:
    """Convert regression targets to float64, shape (n,).

    Raises
    ------
    InvalidDataError
        Not one-dimensional, empty, not numeric, NaN or infinite (with the row); integers that
        float64 would round.
    """
    raw = raw_column = _as_column(y, "target")
    if raw.dtype.kind not in "biuf":
        try:
            if raw.dtype.kind != "O" or any(isinstance(v, str | bytes) for v in raw.tolist()):
                raise TypeError(f"its dtype is {raw.dtype}")
            raw = raw.astype(np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidDataError(
                f"y must hold numbers to predict ({error}); for classes use a classifier such as "
                "SoftMargin."
            ) from error
    values = np.array(raw, dtype=np.float64)
    given = y if isinstance(y, list | tuple) else raw_column
    rounded = rounded_integers(given, values.reshape(np.shape(given)))
    if len(rounded):
        row = int(np.max(rounded[0]))  # a column, or a row, of a matrix
        exact = integers_of(given).ravel()[row]
        raise InvalidDataError(
            f"y[{row}] is {exact}, an integer that float64 rounds to {int(values[row])} "
            f"({len(rounded)} such targets); subtract a common offset."
        )
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise InvalidDataError(
            f"y[{bad[0]}] is {values[bad[0]]} ({bad.size} such targets); drop those rows."
        )
    return np.asarray(freeze(values))


def as_weights(sample_weight: Any, n_samples: int) -> Vector:
    """Convert sample weights to float64, shape (n,); ones if None.

    Raises
    ------
    InvalidDataError
        Another length, not numeric, negative, not finite, or all zero.
    """
    if sample_weight is None:
        return np.asarray(freeze(np.ones(n_samples)))
    require_unmasked(sample_weight, "sample_weight")
    raw = np.asarray(sample_weight)
    if raw.dtype.kind not in "biuf":
        raise InvalidDataError(f"sample_weight must hold numbers, its dtype is {raw.dtype}.")
    weights = np.array(raw, dtype=np.float64).reshape(-1) if raw.ndim else raw.astype(np.float64)
    if weights.shape != (n_samples,) or (raw.ndim > 1 and 1 not in raw.shape):
        raise InvalidDataError(
            f"sample_weight has shape {raw.shape} for {n_samples} rows of X; pass one weight a row."
        )
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0.0)))
    if bad.size:
        raise InvalidDataError(
            f"sample_weight[{bad[0]}] is {weights[bad[0]]} ({bad.size} such weights); weights are "
            "finite and at least 0."
        )
    if not weights.any():
        raise InvalidDataError("sample_weight is 0 for every row; nothing would be left to learn.")
    return np.asarray(freeze(weights))


def as_groups(groups: Any, n_samples: int) -> Index:
    """Convert group labels to numbers from 0, shape (n,); a single group if None.

    Raises
    ------
    InvalidDataError
        Another length, or labels that cannot be sorted.
    """
    if groups is None:
        return np.zeros(n_samples, dtype=np.intp)
    labels = np.asarray(groups)
    if labels.shape != (n_samples,):
        raise InvalidDataError(
            f"groups has shape {labels.shape} for {n_samples} rows of X; pass one group a row."
        )
    try:
        return np.unique(labels, return_inverse=True)[1].astype(np.intp)
    except TypeError as error:
        raise InvalidDataError(f"groups holds labels that cannot be sorted ({error}).") from error


def feature_names(X: Any) -> tuple[str, ...] | None:
    """Column names of a DataFrame, if all of them are strings; else None."""
    columns = getattr(X, "columns", None)
    if columns is None or not all(isinstance(c, str) for c in columns):
        return None
    return tuple(columns)


def _as_column(y: Any, what: str) -> Any:
    """Convert a vector, or a matrix with a single row or column, to one dimension."""
    if y is None:
        raise InvalidDataError(f"y is missing; pass one {what} per sample.")
    require_unmasked(y, "y")
    column = y.toarray() if sp.issparse(y) else np.asarray(y)
    if column.ndim == 2 and 1 in column.shape:
        column = column.ravel()
    if column.ndim != 1:
        raise InvalidDataError(f"y must be one-dimensional, got shape {column.shape}.")
    if column.size == 0:
        raise InvalidDataError(f"y is empty; pass one {what} per sample.")
    return column


def _not_two_dimensional(name: str, shape: tuple[int, ...]) -> str:
    remedy = (
        f" Reshape it with {name}.reshape(-1, 1) (one feature) or {name}.reshape(1, -1) "
        "(one sample)."
        if len(shape) == 1
        else f" Flatten every sample, {name}.reshape(len({name}), -1); for a kernel function of "
        "your own put each into an entry of an array of objects."
        if len(shape) > 2
        else ""
    )
    return f"{name} must have two dimensions (samples, features), got shape {shape}." + remedy


def _require_numeric_columns(X: Any, name: str) -> None:
    """Refuse a DataFrame with a column that is not numeric, and name the first."""
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


def _require_exact_integers(matrix: Any, original: Any, name: str) -> None:
    """Refuse integers that float64 would round, since distinct ones could become equal."""
    if sp.issparse(original) and original.dtype.kind in "fb":
        places = []
    elif sp.issparse(original):
        coo = original.tocoo()
        places = [
            (int(coo.row[i]), int(coo.col[i]), coo.data[i])
            for (i,) in rounded_integers(coo.data, np.asarray(coo.data, dtype=np.float64))
        ]
    elif hasattr(original, "dtypes") and hasattr(original, "iloc"):
        # column by column: pandas makes floats of integers beside floats
        columns = [original.iloc[:, j].to_numpy() for j in range(original.shape[1])]
        places = [
            (int(i), j, column[i])
            for j, column in enumerate(columns)
            for (i,) in rounded_integers(column, matrix[:, j])
        ]
    else:
        rounded = rounded_integers(original, matrix)
        exact: Any = integers_of(original) if len(rounded) else None
        places = [(int(i), int(j), exact[i, j]) for i, j in rounded]
    if not places:
        return
    row, column, value = min(places, key=lambda place: place[:2])
    names = feature_names(original)
    where = f"column {names[column]!r}" if names else f"column {column}"
    raise InvalidDataError(
        f"{name} has {value} in row {row}, {where}, an integer that float64 rounds to "
        f"{int(float(value))} ({len(places)} such entries): different values would become equal; "
        "subtract a common offset, split the column in two, or encode identifiers as categories."
    )


def _require_finite_rows(matrix: Any, original: Any, name: str) -> None:
    values = matrix.data if sp.issparse(matrix) else matrix
    if all_finite(values):
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


def _missing(labels: Any) -> Any:
    """Mask of missing labels, without a loop where the dtype allows."""
    if labels.dtype.kind in "biu":
        return np.zeros(len(labels), dtype=bool)
    if labels.dtype.kind == "f":
        return np.isnan(labels)
    # pandas' NA, also where it has become text
    return np.array([is_missing(label) or str(label) == "<NA>" for label in labels.tolist()])


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label
