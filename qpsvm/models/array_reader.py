"""Checked reading of the arrays in a model file."""

from __future__ import annotations

from typing import TypeVar, overload

import numpy as np
import numpy.typing as npt

from qpsvm.exceptions import ModelFileError
from qpsvm.files.npz import Arrays
from qpsvm.numerics.arrays import Matrix, Vector
from qpsvm.numerics.layout import compressed_rows

Number = TypeVar("Number", bound=np.generic)
"""Type of the entries of an array."""

CSR_PARTS = ("data", "indices", "indptr", "shape")
"""The arrays that a sparse matrix is stored as."""


class ArrayReader:
    """The arrays of a file, each checked and handed out once."""

    def __init__(self, arrays: Arrays) -> None:
        self._arrays = arrays

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    @overload
    def vector(self, name: str, length: int, *, infinite: bool = False) -> Vector: ...
    @overload
    def vector(self, name: str, length: int, *, optional: bool) -> Vector | None: ...
    def vector(
        self, name: str, length: int, *, optional: bool = False, infinite: bool = False
    ) -> Vector | None:
        """Take a float64 vector; with ``infinite`` its entries may be that."""
        if optional and name not in self._arrays:
            return None
        return self._of_length(
            self._take(name, np.dtype(np.float64), infinite=infinite), name, length
        )

    def integers(self, name: str, length: int) -> npt.NDArray[np.int64]:
        """Take an int64 vector."""
        return self._of_length(self._take(name, np.dtype(np.int64)), name, length)

    def any_integers(self, name: str) -> npt.NDArray[np.int64]:
        """Take an int64 vector of any length."""
        array = self._take(name, np.dtype(np.int64))
        return self._of_length(array, name, array.size)

    def matrix(self, name: str, columns: int) -> Matrix:
        """Take a float64 matrix, dense or from the parts of a CSR matrix."""
        if name in self._arrays:
            matrix = self._take(name, np.dtype(np.float64))
        else:
            data = self._take(f"{name}_data", np.dtype(np.float64))
            integers = [self._take(f"{name}_{part}", np.dtype(np.int64)) for part in CSR_PARTS[1:]]
            try:
                matrix = compressed_rows(data, *integers)
                if not matrix.has_canonical_format:
                    raise ValueError("the columns of a row do not rise")
            except (ValueError, TypeError, OverflowError, IndexError) as error:
                raise ModelFileError(f"{name!r} is not a CSR matrix ({error}).") from error
        if matrix.ndim != 2 or matrix.shape[1] != columns:
            raise ModelFileError(
                f"{name!r} has shape {matrix.shape}; the model has {columns} columns."
            )
        return matrix

    def require_empty(self) -> None:
        """Refuse a file with arrays that were not requested."""
        if self._arrays:
            raise ModelFileError(f"it holds unknown arrays: {', '.join(sorted(self._arrays))}.")

    def _of_length(self, array: npt.NDArray[Number], name: str, length: int) -> npt.NDArray[Number]:
        if array.shape != (length,):
            raise ModelFileError(f"array {name!r} has shape {array.shape} instead of ({length},).")
        return array

    def _take(
        self, name: str, dtype: np.dtype[Number], *, infinite: bool = False
    ) -> npt.NDArray[Number]:
        if name not in self._arrays:
            raise ModelFileError(f"array {name!r} is missing.")
        array = self._arrays.pop(name)
        if array.dtype != dtype:
            raise ModelFileError(f"array {name!r} has dtype {array.dtype} instead of {dtype}.")
        if np.isnan(array).any() or not (infinite or np.isfinite(array).all()):
            raise ModelFileError(f"array {name!r} holds NaN or infinite numbers.")
        # a copy is aligned, which sums may depend on to the last bit
        return np.array(array, order="C")
