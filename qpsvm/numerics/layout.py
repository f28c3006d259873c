"""Uniform memory layout of arrays: native byte order, aligned, C-contiguous.

Solvers and compiled loops take native byte order, aligned and C-contiguous memory, and indices of
32 bits: some refuse anything else (CVXOPT a dtype with an explicit byte order, LIBLINEAR indices
of 64 bits), some are slower with it. NumPy and SciPy calculate with any layout and pass it on.
"""

from __future__ import annotations

from typing import Any, TypeVar, overload

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

_Number = TypeVar("_Number", bound=np.generic)
_Compressed = TypeVar("_Compressed", sp.csr_array, sp.csc_array)

NARROW = np.dtype(np.int32)
"""Indices of a sparse matrix, wherever its sizes and its number of entries can be counted in it."""
WIDE = np.dtype(np.int64)
"""Indices of a larger sparse matrix."""


class _Memory(np.ndarray[Any, Any]):
    """Buffer of a sealed array: only that array refers to it, so no other code can write to it."""


def sealed(values: npt.ArrayLike, dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
    """Copy an array into memory that no other code can write to, in the plain layout.

    A read-only array is no such memory: it may be a view of an array that can be written to, an
    array of which such views were taken before, or a map of a file that is written again.
    """
    given = np.asarray(values)
    memory = _Memory(given.shape, np.dtype(dtype))
    memory[...] = given
    memory.flags.writeable = False  # before a view is taken, which never can be made writable then
    return memory.view(np.ndarray)


def is_sealed(array: object) -> bool:
    """Return whether an array is, or is a view of, one that ``sealed`` returned.

    Examples
    --------
    >>> own = sealed([1.0, 2.0])
    >>> is_sealed(own), is_sealed(own[1:]), is_sealed(own.copy())
    (True, True, False)
    """
    memory = array
    while isinstance(memory, np.ndarray) and not isinstance(memory, _Memory):
        memory = memory.base
    return isinstance(memory, _Memory) and not memory.flags.writeable


def is_frozen(array: npt.NDArray[Any]) -> bool:
    """Return whether an array and its base are read-only."""
    memory: object = array
    while isinstance(memory, np.ndarray):
        if memory.flags.writeable:
            return False
        memory = memory.base
    return memory is None


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

    Entries are sorted, repeated ones added. The arrays inside are sealed, but with ``take_over``.

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
    require_sound(value)
    matrix = kind(value, dtype=np.float64)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()  # SciPy adds in place
        matrix.sum_duplicates()
    matrix.check_format(full_check=True)  # a narrow copy of an index beyond the shape may be inside
    width = index_width(matrix.nnz, matrix.shape)
    parts: tuple[npt.NDArray[Any], ...] = (
        plain(matrix.data),
        plain(matrix.indices, width),
        plain(matrix.indptr, width),
    )
    for part in parts if take_over else ():
        part.flags.writeable = False
    if not take_over:
        parts = tuple(part if is_sealed(part) else sealed(part, part.dtype) for part in parts)
    result = kind(parts, shape=matrix.shape)
    result.has_canonical_format = True
    return result


def require_sound(matrix: sp.sparray | sp.spmatrix) -> None:
    """Raise ValueError for a sparse matrix whose indices lie outside of its arrays.

    SciPy's compiled loops read and write wherever the indices point, and its own check lets a
    negative end of the index pointer pass.
    """
    if matrix.format in ("csr", "csc"):
        ends = np.asarray(matrix.indptr)
        stored = min(len(matrix.indices), len(matrix.data))
        n_rows = matrix.shape[0 if matrix.format == "csr" else 1]
        if ends.shape != (n_rows + 1,) or ends[0] != 0 or (np.diff(ends) < 0).any():
            raise ValueError(
                f"its index pointer must have {n_rows + 1} numbers, begin with 0 and not fall"
            )
        if ends[-1] > stored:
            raise ValueError(f"its index pointer ends at {ends[-1]}, and {stored} are stored")
        matrix.check_format(full_check=True)
    elif matrix.format == "coo":
        for axis, coordinates in enumerate(matrix.coords):
            inside = (coordinates >= 0) & (coordinates < matrix.shape[axis])
            if len(coordinates) != len(matrix.data) or not inside.all():
                raise ValueError(f"its coordinates along axis {axis} leave the shape")


def compressed_rows(
    data: npt.NDArray[np.float64],
    indices: npt.NDArray[np.int64],
    indptr: npt.NDArray[np.int64],
    shape: npt.NDArray[np.int64],
) -> sp.csr_array:
    """The CSR matrix that was stored as four arrays.

    Raises
    ------
    ValueError, TypeError, OverflowError, IndexError
        They are not the parts of one.
    """
    matrix = sp.csr_array((data, indices, indptr), shape=tuple(int(n) for n in shape))
    require_sound(matrix)
    if not int(indptr[-1]) == len(data) == len(indices):
        raise ValueError(
            f"its index pointer ends at {int(indptr[-1])}; {len(data)} entries and {len(indices)} "
            "columns are stored"
        )
    return matrix


def index_width(n_entries: int, shape: tuple[int, ...]) -> np.dtype[np.int32] | np.dtype[np.int64]:
    """Return the dtype of the indices of a sparse matrix with so many entries."""
    return NARROW if max(n_entries, *shape) <= np.iinfo(NARROW).max else WIDE
