"""Conversion and checks of the samples that the caller passes.

Every refusal names the argument, the row or column, the value seen and the remedy.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sized
from typing import Any, overload

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from qpsvm.data.objects import as_objects, is_numeric, kind_of, require_unmasked, text_remedy
from qpsvm.exceptions import InvalidDataError
from qpsvm.kernels import Kernel, Precomputed
from qpsvm.numerics.arguments import Samples
from qpsvm.numerics.arrays import (
    Dense,
    Index,
    Matrix,
    Sparse,
    all_finite,
    freeze,
    immutable,
    is_sparse,
)
from qpsvm.numerics.conversion import first_rounded, is_sealed, plain, plain_sparse, sealed
from qpsvm.numerics.single_precision import SinglePrecision, Stored

LARGEST_FEATURE = math.sqrt(sys.float_info.max) / 2.0
"""Largest size of a feature, divided by the root of their number: the squared distance of two
samples is at most the largest float."""


def samples_for(kernel: Kernel, X: Samples) -> Stored:
    """Check X: a table of numbers, or an array of Python objects for a user-defined kernel.

    Raises
    ------
    InvalidDataError
        As ``as_samples`` and ``as_objects``.
    """
    if kernel.takes_objects and not is_numeric(X):
        return as_objects(X)
    return as_samples(X, keep_single=True, squared=not isinstance(kernel, Precomputed))


@overload
def as_samples(X: Samples, name: str = "X", *, borrow: bool = False) -> Matrix: ...
@overload
def as_samples(
    X: Samples,
    name: str = "X",
    *,
    keep_single: bool,
    borrow: bool = False,
    squared: bool = True,
) -> Matrix | SinglePrecision: ...
def as_samples(
    X: Samples,
    name: str = "X",
    *,
    keep_single: bool = False,
    borrow: bool = False,
    squared: bool = True,
) -> Matrix | SinglePrecision:
    """Convert X to a read-only float64 array or CSR array of shape (n, d), n and d at least 1.

    In the layout of ``qpsvm.numerics.conversion``, and in memory that no other code can write to: a
    copy, unless X is in such memory already.

    Parameters
    ----------
    X : array, DataFrame or sparse matrix
    name : str
        For messages.
    keep_single : bool
        The copy of a read-only array of float32 (``flags.writeable = False``, a ``numpy.memmap``
        opened for reading) has the same precision: ``SinglePrecision``.
    borrow : bool
        The result is used, and forgotten, before X can change: a dense X need not be copied.
    squared : bool
        The entries are features, of which kernels sum squares; False for kernel values.

    Raises
    ------
    InvalidDataError
        Not two-dimensional, empty, not numeric (with the column), NaN or infinite (with the row);
        integers that float64 would round (with row, column and value); numbers whose squares
        are too large for float64.
    """
    if isinstance(X, SinglePrecision):
        if not keep_single:
            return sealed(X)
        if is_sealed(X.values):
            return X
        return SinglePrecision(sealed(X.values, np.float32), X.is_absolute)
    matrix = _sparse(X, name) if is_sparse(X) else _dense(X, name, keep_single, borrow)
    if 0 in matrix.shape:
        raise InvalidDataError(
            f"{name} is empty: shape {matrix.shape}; pass at least one sample and one feature."
        )
    require_exact(matrix, X, name)
    require_finite_rows(matrix, X, name)
    if squared:
        _require_squares(matrix, X, name)
    if keep_single and not is_sparse(matrix) and matrix.dtype == np.float32:
        return SinglePrecision(np.asarray(matrix, dtype=np.float32))
    return freeze(matrix)


def feature_names(X: Samples) -> tuple[str, ...] | None:
    """Column names of a DataFrame, if all of them are strings; else None."""
    columns = getattr(X, "columns", None)
    if columns is None or not all(isinstance(c, str) for c in columns):
        return None
    return tuple(columns)


def _sparse(X: Sparse, name: str) -> Sparse:
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


def _dense(
    X: Samples, name: str, keep_single: bool, borrow: bool
) -> Dense | npt.NDArray[np.float32]:
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
        keeps = keep_single and is_single and not raw.flags.writeable
        matrix: Dense | npt.NDArray[np.float32]
        if borrow:  # a view, to be made read-only
            matrix = plain(raw, np.float32).view() if keeps else plain(raw).view()
        else:
            matrix = sealed(raw, np.float32) if keeps else immutable(raw)
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, InvalidDataError):
            raise
        _require_equal_lengths(X, name)
        remedy = text_remedy(np.array(X, dtype=object).flat)
        raise InvalidDataError(
            f"{name} must be a table of numbers ({error}); {remedy}, or pass a kernel function of "
            "your own, which may take any samples."
        ) from error
    if matrix.ndim != 2:
        raise InvalidDataError(_not_two_dimensional(name, matrix.shape))
    return matrix


def _require_equal_lengths(X: Samples, name: str) -> None:
    """Refuse a list of rows of different lengths, and name the first that differs."""
    if not isinstance(X, list | tuple) or not all(isinstance(row, Sized) for row in X):
        return
    lengths = [len(row) for row in X if isinstance(row, Sized) and not isinstance(row, str)]
    odd = next((i for i, length in enumerate(lengths) if length != lengths[0]), None)
    if odd is not None:
        raise InvalidDataError(
            f"{name} has {lengths[0]} features in row 0 and {lengths[odd]} in row {odd}; give "
            "every row the same number of features."
        )


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


def _require_numeric_columns(X: Samples, name: str) -> None:
    """Refuse a DataFrame with a column that is not numeric, and name the first."""
    frame: Any = X
    dtypes = getattr(X, "dtypes", None)
    columns = getattr(X, "columns", None)
    if dtypes is None or columns is None:
        return
    for column, dtype in zip(columns, dtypes, strict=True):
        if kind_of(dtype) not in "biuf":
            raise InvalidDataError(
                f"{name} column {column!r} is not numeric (dtype {dtype}); "
                f"{text_remedy(frame[column])}, or drop it."
            )


def require_exact(matrix: Any, original: Samples, name: str = "X") -> None:
    """Refuse integers that float64 would round, since distinct ones could become equal.

    Raises
    ------
    InvalidDataError
        With row, column and value of the first.
    """
    rounded = first_rounded(original, matrix)
    if rounded is None:
        return
    row, column = rounded.place
    raise InvalidDataError(
        f"{name} has {rounded.value} in row {row}, {_column(original, column)}, {rounded.problem}"
    )


def require_finite_rows(matrix: Any, original: Samples, name: str = "X") -> None:
    """Refuse NaN and infinite entries.

    Raises
    ------
    InvalidDataError
        With row, column and value of the first.
    """
    if all_finite(_values(matrix)):
        return
    rows, columns = _places(matrix, ~np.isfinite(_values(matrix)))
    value = matrix[rows[0], columns[0]]
    n_rows = len(np.unique(rows))
    shown = "NaN" if np.isnan(value) else str(value)
    remedy = (
        "impute the missing values, for instance with sklearn.impute.SimpleImputer, or drop the "
        "rows"
        if np.isnan(value)
        else "replace the infinite values by finite ones, or drop the rows"
    )
    raise InvalidDataError(
        f"{name} has {shown} in row {rows[0]}, {_column(original, columns[0])} "
        f"({n_rows} such row{'' if n_rows == 1 else 's'}); {remedy}."
    )


def _require_squares(matrix: Any, original: Samples, name: str) -> None:
    """Refuse numbers of which the sum of squares over a sample would not be a float."""
    values = _values(matrix)
    largest = max(float(np.max(values, initial=0.0)), -float(np.min(values, initial=0.0)))
    limit = LARGEST_FEATURE / math.sqrt(matrix.shape[1])
    if largest <= limit:
        return
    rows, columns = _places(matrix, np.abs(values) > limit)
    raise InvalidDataError(
        f"{name} has {matrix[rows[0], columns[0]]:.6g} in row {rows[0]}, "
        f"{_column(original, columns[0])}: squares of numbers above {limit:.1e} are too large for "
        "float64, and kernels sum them; scale the features, for instance with "
        "sklearn.preprocessing.MaxAbsScaler."
    )


def _values(matrix: Any) -> Any:
    """The stored entries of a dense or sparse matrix."""
    return matrix.data if is_sparse(matrix) else matrix


def _places(matrix: Any, is_bad: Any) -> tuple[Index, Index]:
    """Rows and columns of the stored entries that a mask marks, in the order of the rows."""
    if is_sparse(matrix):
        entries = matrix.tocoo()
        rows, columns = entries.row[is_bad], entries.col[is_bad]
    else:
        rows, columns = np.nonzero(is_bad)
    return rows.astype(np.intp), columns.astype(np.intp)


def _column(original: Samples, column: int) -> str:
    """Describe a column of X in an error message: its name, or else its number."""
    names = feature_names(original)
    return f"column {names[column]!r}" if names else f"column {column}"
