"""One layout in memory for all numbers that come in, whatever layout the caller has them in.

Solvers and compiled loops take native byte order, aligned and C-contiguous memory, and indices of
32 bits: some refuse anything else (CVXOPT a dtype with an explicit byte order, LIBLINEAR indices
of 64 bits), some are slower with it. NumPy and SciPy calculate with any layout and pass it on.
"""

from __future__ import annotations

import mmap
from typing import Any, TypeVar, cast, overload

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

_Number = TypeVar("_Number", bound=np.generic)
_Compressed = TypeVar("_Compressed", sp.csr_array, sp.csc_array)

NARROW = np.dtype(np.int32)
"""Indices of a sparse matrix, wherever its sizes and its number of entries can be counted in it."""
WIDE = np.dtype(np.int64)
"""Indices of a larger sparse matrix."""


def is_immutable(array: object) -> bool:
    """Return whether an array cannot be written to, neither directly nor through its base."""
    if not isinstance(array, np.ndarray):
        return False
    memory: object = array
    while isinstance(memory, np.ndarray):
        if memory.flags.writeable:
            return False
        memory = cast("object", memory.base)
    # of memory that is not NumPy's own only a file that was opened for reading is known
    return memory is None or (isinstance(memory, mmap.mmap) and memoryview(memory).readonly)


@overload
def plain(values: npt.ArrayLike) -> npt.NDArray[np.float64]: ...
@overload
def plain(
    values: npt.ArrayLike, dtype: type[_Number] | np.dtype[_Number]
) -> npt.NDArray[_Number]: ...
def plain(values: npt.ArrayLike, dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
    """Return an array in native byte order, aligned and C-contiguous: ``values`` if it is one.

    A view of the same memory where only the name of the byte order differs (``<f8`` on a
    little-endian machine, as ``scipy.io.loadmat`` returns), a copy where the bytes do.
    """
    native = np.dtype(dtype)
    array = np.require(np.asarray(values), native, ["C", "A"])
    # "<f8" equals "=f8" there, but not for who reads the buffer's format
    return array if array.dtype.byteorder in "=|" else array.view(native)


def plain_sparse(
    value: sp.sparray | sp.spmatrix, kind: type[_Compressed], *, take_over: bool = False
) -> _Compressed:
    """Return a sparse matrix as a read-only float64 CSR or CSC array, in the plain layout.

    Entries are sorted, repeated ones added. Memory is shared with ``value`` only where nobody can
    write to it, or with ``take_over``.

    Parameters
    ----------
    value : sparse matrix or array
    kind : type
        ``scipy.sparse.csr_array`` or ``csc_array``.
    take_over : bool
        The arrays inside ``value`` are handed over: they need not be copied.

    Raises
    ------
    ValueError
        An index that is negative or beyond the shape.
    """
    matrix = kind(value, dtype=np.float64)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()  # SciPy adds in place
        matrix.sum_duplicates()
    matrix.check_format(full_check=True)  # a narrow copy of an index beyond the shape may be inside
    width = index_width(matrix.nnz, matrix.shape)
    parts = plain(matrix.data), plain(matrix.indices, width), plain(matrix.indptr, width)
    # other formats than this one have been converted: nothing is shared with them
    is_shared = value.format == matrix.format and not take_over
    lent = (value.data, value.indices, value.indptr) if is_shared else ()
    result = kind(tuple(_own(part, lent) for part in parts), shape=matrix.shape)
    result.has_canonical_format = True
    return result


def index_width(n_entries: int, shape: tuple[int, ...]) -> np.dtype[np.int32] | np.dtype[np.int64]:
    """Return the dtype of the indices of a sparse matrix with so many entries."""
    return NARROW if max(n_entries, *shape) <= np.iinfo(NARROW).max else WIDE


def _own(part: npt.NDArray[_Number], lent: tuple[npt.NDArray[Any], ...]) -> npt.NDArray[_Number]:
    """The array as a read-only one, copied if other code may write to it."""
    is_shared = any(np.may_share_memory(part, other) for other in lent)
    own = part.copy() if is_shared and not is_immutable(part) else part
    own.flags.writeable = False  # before SciPy takes views of it: they are immutable as well
    return own
