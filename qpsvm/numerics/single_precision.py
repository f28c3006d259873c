"""Float32 matrices whose products are computed in float64, a block of rows at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from numpy.lib.mixins import NDArrayOperatorsMixin

from qpsvm.numerics.arrays import (
    IN_CACHE,
    Array,
    Dense,
    Index,
    Mask,
    Matrix,
    freeze,
    is_sparse,
    restore_frozen,
    row_blocks,
)


@dataclass(frozen=True, eq=False)
class SinglePrecision(NDArrayOperatorsMixin):
    """Float32 matrix with float64 products, block by block, without a float64 copy.

    Rows that are taken out and all products are float64. The conversion is exact: results differ
    from those of the copy by the order of sums alone. Operators and NumPy's functions work on a
    copy (``numpy.asarray``), never in single precision.

    Parameters
    ----------
    values : float32 array of shape (n, r)
        Not copied: the caller hands it over.
    is_absolute : bool
        Stand for the absolute values.

    Examples
    --------
    >>> X = SinglePrecision(np.ones((3, 2), dtype=np.float32))
    >>> X @ np.ones(2), X.T @ np.ones(3), X[1].dtype
    (array([2., 2., 2.]), array([3., 3.]), dtype('float64'))
    """

    values: npt.NDArray[np.float32]
    is_absolute: bool = False

    def __post_init__(self) -> None:
        freeze(self.values)

    __setstate__ = restore_frozen

    @property
    def shape(self) -> tuple[int, int]:
        """(n, r)."""
        n, r = self.values.shape
        return n, r

    @property
    def ndim(self) -> int:
        """2."""
        return self.values.ndim

    @property
    def size(self) -> int:
        """Number of entries."""
        return self.values.size

    @property
    def dtype(self) -> np.dtype[np.float64]:
        """The dtype of products: float64."""
        return np.dtype(np.float64)

    @property
    def T(self) -> Transposed:
        """The transposed matrix, for products."""
        return Transposed(self)

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("Samples in single precision become an array only by a copy.")
        return np.asarray(self[:], dtype=dtype)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if ufunc is np.matmul and method == "__call__" and not options:
            left, right = inputs
            if not isinstance(left, SinglePrecision):
                return self._multiplied_by(left)
            if not isinstance(right, SinglePrecision):
                return left @ right
        if any(isinstance(v, SinglePrecision) for v in options.get("out", ())):
            return NotImplemented
        arrays = [np.asarray(v) if isinstance(v, SinglePrecision) else v for v in inputs]
        return getattr(ufunc, method)(*arrays, **options)

    def __getitem__(self, which: _Rows | int | tuple[_Rows | int | Sequence[int], ...]) -> Dense:
        chosen = np.asarray(self.values[which], dtype=np.float64)
        return np.abs(chosen) if self.is_absolute else chosen

    def __abs__(self) -> SinglePrecision:
        return SinglePrecision(self.values, is_absolute=True)

    def taken(self, rows: _Rows) -> SinglePrecision:
        """Select rows, still in single precision."""
        return SinglePrecision(self.values[rows], self.is_absolute)

    def __matmul__(self, right: npt.ArrayLike) -> Dense:
        if sp.issparse(right):
            return NotImplemented
        other = np.asarray(right, dtype=np.float64)
        result = np.empty((len(self), *other.shape[1:]))
        for rows in row_blocks(*self.shape, IN_CACHE):
            result[rows] = self[rows] @ other
        return result

    def _multiplied_by(self, left: npt.ArrayLike) -> Dense:
        other = np.asarray(left, dtype=np.float64)
        result = np.zeros((*other.shape[:-1], self.shape[1]))
        for rows in row_blocks(*self.shape, IN_CACHE):
            result += other[..., rows] @ self[rows]
        return result


@dataclass(frozen=True, eq=False)
class Transposed:
    """The transpose ``X'``, which offers products only.

    Parameters
    ----------
    matrix : SinglePrecision
    """

    matrix: SinglePrecision

    def __matmul__(self, right: npt.ArrayLike) -> Dense:
        return (np.asarray(right).T @ self.matrix).T

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        return np.asarray(self.matrix, dtype=dtype).T


Stored: TypeAlias = Matrix | SinglePrecision | Array
"""Checked samples: a float64 array or CSR array, ``SinglePrecision``, or an array of objects."""

_Rows: TypeAlias = Index | Mask | slice


def rows_of(X: Stored, rows: _Rows) -> Stored:
    """Select rows of a sample matrix and keep its storage."""
    return X.taken(rows) if isinstance(X, SinglePrecision) else X[rows]


def stored_values(X: Stored) -> Array:
    """The array of all entries that dense, CSR or single-precision samples store."""
    if isinstance(X, SinglePrecision):
        return X.values
    return X.data if is_sparse(X) else X


def stored_arrays(X: Stored) -> tuple[Array, ...]:
    """All arrays in which samples of any kind are stored: of CSR samples also the indices."""
    values = stored_values(X)
    return (values, X.indices, X.indptr) if is_sparse(X) else (values,)
