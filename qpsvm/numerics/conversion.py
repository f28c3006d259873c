"""Conversion of given numbers to plain memory of float64: none rounded unseen, none shared.

Solvers and compiled loops take native byte order, aligned and C-contiguous memory, and indices of
32 bits: some refuse anything else (CVXOPT a dtype with an explicit byte order, LIBLINEAR indices
of 64 bits), some are slower with it. NumPy and SciPy calculate with any layout and pass it on.

Beyond 2^53 float64 does not represent every integer. Two identifiers such as 9007199254740992 and
9007199254740993 would become the same number, and no error would say so. So integers stay exact or
are refused, never rounded. The rule covers integers of every size and type (NumPy's, Python's,
``Decimal``, ``Fraction``, ``numpy.longdouble``), and texts that write a whole number without an
exponent. Numbers with a fractional part, and texts with an exponent, are rounded to the nearest
float64, as every reader of numbers does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from qpsvm.exceptions import MissingPackageError

if TYPE_CHECKING:
    import cvxopt

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
    """Return whether the memory of an array is sealed: no code can write to it.

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


def as_cvxopt(array: Any) -> cvxopt.matrix | cvxopt.spmatrix:
    """A ``cvxopt.matrix``, or a ``cvxopt.spmatrix`` of a sparse array, of doubles.

    Raises
    ------
    MissingPackageError
        CVXOPT is not installed.
    """
    try:
        from cvxopt import matrix, spmatrix
    except ImportError as error:
        raise MissingPackageError(
            "CVXOPT's matrices need cvxopt, which is not installed; run: pip install cvxopt."
        ) from error
    if sp.issparse(array):
        coo = array.tocoo()
        return spmatrix(coo.data, coo.row, coo.col, size=coo.shape, tc="d")
    if array.size == 0:
        return matrix(0.0, (array.shape[0], array.shape[1] if array.ndim == 2 else 1), "d")
    return matrix(np.asarray(array, dtype=np.float64))


# --- integers that float64 rounds ----------------------------------------------------------------


EXACT = 2.0**53
"""The largest number up to which float64 represents every integer exactly."""


@dataclass(frozen=True)
class Rounded:
    """First integer of an array that has no exact float64 value, with its position.

    Attributes
    ----------
    place : tuple of int
        Where the integer is.
    value : int
    count : int
        How many such integers there are.
    """

    place: tuple[int, ...]
    value: int
    count: int

    @property
    def problem(self) -> str:
        """Write the end of the error message: the rounded value, how many there are, the remedy."""
        return (
            f"an integer that float64 rounds to {int(float(self.value))} ({self.count} such "
            "entries): different values would become equal; subtract a common offset, encode "
            "identifiers as categories, or pass floats where the nearest one will do."
        )


def first_rounded(original: Any, converted: Any) -> Rounded | None:
    """Find the integers that have no exact float64 value.

    Parameters
    ----------
    original : array, sparse matrix, table of columns, list or other sequence
        As the caller has it.
    converted : array or sparse matrix of the same size
        The same numbers as float64, or float32.

    Returns
    -------
    Rounded or None
        None if no integer changes.

    Examples
    --------
    >>> ids = [[2**53], [2**53 + 1], [2**60]]
    >>> first_rounded(ids, np.array(ids, dtype=float))
    Rounded(place=(1, 0), value=9007199254740993, count=1)
    """
    dtype = getattr(original, "dtype", None)
    if getattr(dtype, "kind", "O") in "fb" and getattr(dtype, "itemsize", 8) <= 8:
        return None
    # entries of one place may cancel: their sum says nothing about them
    values = original.data if sp.issparse(original) else np.asarray(converted)
    if values.size == 0 or (np.max(values) < EXACT and np.min(values) > -EXACT):
        return None  # where there is a NaN the comparison is false
    found = list(_rounded(original, converted))
    if not found:
        return None
    place, value = min(found, key=lambda each: each[0])
    return Rounded(place, int(cast("Any", _number(value))), len({place for place, _ in found}))


def exact_array(values: object) -> npt.NDArray[Any]:
    """Convert to an array whose integers are exact, even beside floats."""
    if hasattr(values, "dtype") or hasattr(values, "__array__"):
        return np.asarray(values)
    return np.array(values, dtype=object)


def is_rounded(entry: object) -> bool:
    """Return whether a number, or a text that Python reads as a number, is an integer to refuse.

    Examples
    --------
    >>> [is_rounded(each) for each in (2**53 + 1, "9007199254740993", "0.1", "1e23")]
    [True, True, False, False]
    """
    try:
        exact: Any = _number(entry)
        rounded = float(exact)
        if not EXACT <= abs(rounded) < math.inf:
            return False
        whole = int(exact)
        return whole == exact and whole != int(rounded)
    except (TypeError, ValueError, OverflowError, InvalidOperation):
        return False  # no number: others refuse it


def _number(entry: object) -> object:
    """The number that a text stands for, as a float if it has an exponent; a number itself."""
    text = entry.decode(errors="replace") if isinstance(entry, bytes) else entry
    if not isinstance(text, str):
        return entry
    return float(text) if "e" in text.lower() else Decimal(text)


def _rounded(original: Any, converted: Any) -> Iterator[tuple[tuple[int, ...], object]]:
    """Yield position and value of every integer that has no exact float64 value."""
    columns = None if sp.issparse(original) else _columns_of(original)
    if sp.issparse(original):
        added = sp.csr_array(original, copy=True)
        added.sum_duplicates()
        for entries in (original.tocoo(), added.tocoo()):
            for (i,), value in _in_array(entries.data, np.asarray(entries.data, dtype=np.float64)):
                yield tuple(int(axis[i]) for axis in entries.coords), value
    elif columns is not None and np.ndim(converted) == 2:
        for j, column in enumerate(columns):
            for (i,), value in _in_array(column, converted[:, j]):
                yield (i, j), value
    else:
        yield from _in_array(original, np.asarray(converted))


def _columns_of(table: Any) -> list[Any] | None:
    """Split a pandas, Polars or PyArrow table into its columns, each with its own dtype."""
    if hasattr(table, "iloc") and hasattr(table, "columns"):
        return [table.iloc[:, j].to_numpy() for j in range(table.shape[1])]
    for method in ("get_columns", "itercolumns"):
        if hasattr(table, method):
            return [column.to_numpy() for column in getattr(table, method)()]
    return None


def _in_array(
    original: Any, converted: npt.NDArray[Any]
) -> Iterator[tuple[tuple[int, ...], object]]:
    exact = exact_array(original).reshape(converted.shape)
    if exact.dtype.kind in "iu":
        # the upper part is a multiple of 2^32 and a float64; so is what is left of a float64
        low = exact & exact.dtype.type(0xFFFFFFFF)
        rest = converted - (exact - low).astype(np.float64)
        changed = rest != low.astype(np.float64)
    elif exact.dtype.kind == "f" and exact.dtype.itemsize > 8:
        changed = (np.trunc(exact) == exact) & np.isfinite(converted) & (exact != converted)
    elif exact.dtype.kind in "OUS":
        changed = np.reshape([is_rounded(entry) for entry in exact.flat], exact.shape)
    else:
        return
    for place in np.argwhere(changed):
        where = tuple(int(k) for k in place)
        yield where, exact[where]
