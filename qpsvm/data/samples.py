"""Conversion and checks of the samples that the caller passes.

Every refusal names the argument, the row or column, the value seen and the remedy.
"""

from __future__ import annotations

from typing import Any, overload

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from qpsvm.data.objects import as_objects, is_numeric, require_unmasked
from qpsvm.exceptions import InvalidDataError
from qpsvm.kernels import Kernel
from qpsvm.numerics.arguments import Samples
from qpsvm.numerics.arrays import Dense, Matrix, Sparse, all_finite, freeze, immutable, is_sparse
from qpsvm.numerics.integers import first_rounded
from qpsvm.numerics.layout import is_sealed, plain, plain_sparse, sealed
from qpsvm.numerics.single_precision import SinglePrecision, Stored


def samples_for(kernel: Kernel, X: Samples) -> Stored:
    """Check X: a table of numbers, or an array of Python objects for a user-defined kernel.

    Raises
    ------
    InvalidDataError
        As ``as_samples`` and ``as_objects``.
    """
    if kernel.takes_objects and not is_numeric(X):
        return as_objects(X)
    return as_samples(X, keep_single=True)


@overload
def as_samples(X: Samples, name: str = "X", *, borrow: bool = False) -> Matrix: ...
@overload
def as_samples(
    X: Samples, name: str = "X", *, keep_single: bool, borrow: bool = False
) -> Matrix | SinglePrecision: ...
def as_samples(
    X: Samples, name: str = "X", *, keep_single: bool = False, borrow: bool = False
) -> Matrix | SinglePrecision:
    """Convert X to a read-only float64 array or CSR array of shape (n, d), n and d at least 1.

    In the layout of ``qpsvm.numerics.layout``, and in memory that no other code can write to: a
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

    Raises
    ------
    InvalidDataError
        Not two-dimensional, empty, not numeric (with the column), NaN or infinite (with the row);
        integers that float64 would round (with row, column and value).
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
    _require_finite_rows(matrix, X, name)
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
        raise InvalidDataError(
            f"{name} must be a table of numbers ({error}); encode text and categories first, "
            "for instance with sklearn.preprocessing.OneHotEncoder, or pass a kernel function of "
            "your own, which may take any samples."
        ) from error
    if matrix.ndim != 2:
        raise InvalidDataError(_not_two_dimensional(name, matrix.shape))
    return matrix


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


def _require_finite_rows(matrix: Matrix, original: Samples, name: str) -> None:
    values = matrix.data if sp.issparse(matrix) else matrix
    if all_finite(values):
        return
    if is_sparse(matrix):
        coo = matrix.tocoo()
        bad = np.flatnonzero(~np.isfinite(coo.data))
        row, column = int(coo.row[bad[0]]), int(coo.col[bad[0]])
        value, rows = coo.data[bad[0]], len(np.unique(coo.row[bad]))
    else:
        row, column = (int(i) for i in np.argwhere(~np.isfinite(matrix))[0])
        value, rows = matrix[row, column], int((~np.isfinite(matrix)).any(axis=1).sum())
    raise InvalidDataError(
        f"{name} has {value} in row {row}, {_column(original, column)} ({rows} such rows); impute "
        "the missing values, for instance with sklearn.impute.SimpleImputer, or drop the rows."
    )


def _column(original: Samples, column: int) -> str:
    """Describe a column of X in an error message: its name, or else its number."""
    names = feature_names(original)
    return f"column {names[column]!r}" if names else f"column {column}"
