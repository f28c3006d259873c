"""Conversion of arguments to read-only float64 arrays, with descriptive errors."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard, TypeVar, overload

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from qpsvm.exceptions import InvalidProgramError, MemoryLimitError
from qpsvm.numerics.conversion import first_rounded, is_sealed, plain_sparse, sealed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Vector: TypeAlias = npt.NDArray[np.float64]
"""One-dimensional float64 array."""
Dense: TypeAlias = npt.NDArray[np.float64]
"""Two-dimensional float64 array."""
Sparse: TypeAlias = sp.csc_array | sp.csr_array
"""A SciPy sparse matrix by columns or rows (SciPy ships no type information)."""
Matrix: TypeAlias = Dense | Sparse
"""``Dense`` or ``Sparse``."""
Array: TypeAlias = npt.NDArray[Any]
"""Array of any shape and dtype."""
Index: TypeAlias = npt.NDArray[np.intp]
Mask: TypeAlias = npt.NDArray[np.bool_]

_FLOAT64 = np.dtype(np.float64)
_SPARSE = (sp.sparray, sp.spmatrix)
_Frozen = TypeVar("_Frozen", bound="Array | Sparse")


def is_sparse(value: object) -> TypeGuard[Sparse]:
    """Return whether ``value`` is a SciPy sparse matrix; type checkers then know it, too."""
    return isinstance(value, _SPARSE)


def freeze(array: _Frozen) -> _Frozen:
    """Make a NumPy array, or the arrays inside a CSC/CSR matrix, read-only; return it."""
    if isinstance(array, np.ndarray):
        array.flags.writeable = False
    else:
        array.sum_duplicates()  # SciPy sorts on demand, in place, and could not do so any more
        for part in (array.data, array.indices, array.indptr):
            part.flags.writeable = False
    return array


def immutable(value: npt.ArrayLike) -> Dense:
    """``value`` as a float64 array that no other code can write to: a copy, unless it is sealed.

    In the layout of ``qpsvm.numerics.conversion``.

    Raises
    ------
    TypeError, ValueError, OverflowError
        NumPy's, for what is no array of numbers.
    """
    if _is_in_store(value):
        return value
    if np.ma.is_masked(value):  # NumPy drops a mask silently, and the hidden values come back
        hidden = int(np.sum(np.ma.getmaskarray(np.ma.asarray(value))))
        raise ValueError(f"it is a masked array with {hidden} hidden entries")
    dtype = np.dtype(getattr(value, "dtype", np.float64))
    if dtype.kind in "MmSU":  # NumPy would read numbers out of dates and text
        raise TypeError(f"its dtype is {dtype}")
    return sealed(value)


def _is_in_store(value: object) -> TypeGuard[Dense]:
    """Return whether ``immutable`` would return the value itself."""
    return (
        type(value) is np.ndarray
        and value.dtype is _FLOAT64
        and value.flags.c_contiguous
        and value.flags.aligned
        and not value.flags.writeable
        and is_sealed(value)
    )


@overload
def stored(value: None, name: str, error: type[Exception]) -> None: ...
@overload
def stored(value: npt.ArrayLike, name: str, error: type[Exception]) -> Dense: ...
def stored(value: npt.ArrayLike | None, name: str, error: type[Exception]) -> Dense | None:
    """``value`` as a float64 copy that no other code can write to; None stays None.

    What is no real number becomes NaN, which no verifier passes: all of an array of complex
    numbers, the hidden entries of a masked one.

    Raises
    ------
    error
        Text, dates, a sparse matrix, rows of different lengths: no array of numbers.
    """
    if type(value) is np.ndarray and value.dtype is _FLOAT64 and value.flags.writeable:
        return sealed(value)
    if value is None or _is_in_store(value):
        return value
    try:
        if sp.issparse(value):
            raise TypeError("it is sparse; pass value.toarray()")
        array = np.asarray(value)
        if array.dtype.kind == "O":
            array = _without_text(array)
        if array.dtype.kind == "c":
            array = np.full(array.shape, np.nan)
        elif array.dtype.kind not in "biufO":  # NumPy would read numbers out of text and dates
            raise TypeError(f"its dtype is {array.dtype}")
        if np.ma.is_masked(value):
            array = np.ma.filled(np.ma.asarray(value, dtype=np.float64), np.nan)
        own = sealed(array)
    except (TypeError, ValueError, OverflowError) as reason:
        shown = repr(value)
        raise error(
            f"{name} must be an array of numbers, got {_describe(value)}: "
            f"{shown if len(shown) <= 60 else shown[:57] + '...'} ({reason}); pass floats."
        ) from reason
    _require_exact(own, value, name, error)
    return own


def store_fields(
    instance: object, names: Iterable[str], owner: str, error: type[Exception]
) -> None:
    """Convert array fields of a frozen dataclass to read-only float64 arrays of its own."""
    for name in names:
        value = getattr(instance, name)
        own = None if value is None else stored(value, f"{name} of {owner}", error)
        if own is not value:  # it is after a replacement of other fields
            object.__setattr__(instance, name, own)


def _without_text(array: Array) -> Array:
    """Return a complex array in place of Python objects with a complex number, else themselves.

    Raises
    ------
    TypeError
        An entry is a text.
    """
    if any(isinstance(entry, complex) for entry in array.flat):
        return np.zeros(array.shape, dtype=np.complex128)
    text = [entry for entry in array.flat if isinstance(entry, str | bytes)]
    if text:
        raise TypeError(f"it holds text such as {text[0]!r}")
    return array


def all_finite(values: npt.ArrayLike) -> bool:
    """Return whether all entries are finite, without a temporary array in the usual case."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(np.sum(values)) or np.isfinite(values).all())


def restore_frozen(instance: object, state: Mapping[str, object]) -> None:
    """Implement ``__setstate__`` so that unpickled arrays are sealed again."""
    for name, value in state.items():
        own = value
        if isinstance(value, np.ndarray) and not _is_in_store(value):
            own = freeze(value) if value.dtype.hasobject else sealed(value, value.dtype)
        elif isinstance(value, _SPARSE):
            value.data, value.indices, value.indptr = (
                sealed(part, part.dtype) for part in (value.data, value.indices, value.indptr)
            )
        object.__setattr__(instance, name, own)


def as_vector(
    value: npt.ArrayLike | Sparse | None, name: str, length: int | None = None, fill: float = 0.0
) -> Vector:
    """``value`` as a read-only float64 vector; ``None`` and scalars are broadcast.

    A copy, unless it is sealed (``qpsvm.numerics.conversion``).
    """
    if value is None:
        if length is None:
            raise InvalidProgramError(f"{name} is missing; pass a vector.")
        array = np.full(length, fill)
        array.flags.writeable = False
        return array
    array = _real_array(value.toarray() if is_sparse(value) else value, name)
    if array.ndim == 0 and length is not None:
        array = np.full(length, float(array))
    if array.ndim == 2 and 1 in array.shape:
        array = array.ravel()
    if array.ndim != 1:
        raise InvalidProgramError(f"{name} must be a vector, got shape {array.shape}.")
    if length is not None and array.shape[0] != length:
        raise InvalidProgramError(
            f"{name} has {array.shape[0]} entries, the program needs {length}."
        )
    array.flags.writeable = False
    return array


def _real_array(value: npt.ArrayLike, name: str) -> Dense:
    _require_real(value, name)
    try:
        array = immutable(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidProgramError(
            f"{name} must hold real numbers, got {_describe(value)} ({error})."
        ) from error
    _require_exact(array, value, name, InvalidProgramError)
    return array


def _require_real(value: npt.ArrayLike | Sparse, name: str) -> None:
    if np.iscomplexobj(value):
        raise InvalidProgramError(f"{name} must hold real numbers, got complex ones.")
    entries = np.asarray(value) if not is_sparse(value) else value.data
    if entries.dtype.kind in "SUO":
        text = next((v for v in entries.ravel().tolist() if isinstance(v, str | bytes)), None)
        if text is not None:
            raise InvalidProgramError(
                f"{name} must hold real numbers, got the text {text!r}; convert it, for "
                "instance with np.asarray(..., dtype=float)."
            )


def _require_exact(array: Matrix, original: object, name: str, error: type[Exception]) -> None:
    """Raise ``error`` for integers that float64 would round."""
    if getattr(original, "dtype", None) is _FLOAT64:
        return
    rounded = first_rounded(original, array)
    if rounded is not None:
        where = f"[{', '.join(map(str, rounded.place))}]" if rounded.place else ""
        raise error(f"{name}{where} is {rounded.value}, {rounded.problem}")


def as_matrix(value: npt.ArrayLike | Sparse | None, name: str, columns: int) -> Matrix:
    """``value`` as a read-only float64 array or sorted CSC array.

    A copy, unless it is sealed (``qpsvm.numerics.conversion``).
    """
    if value is None:
        return freeze(np.zeros((0, columns)))
    if sp.issparse(value):
        _require_real(value, name)
        try:
            matrix = plain_sparse(value, sp.csc_array)
        except ValueError as error:
            raise InvalidProgramError(f"{name} is not a sparse matrix ({error}).") from error
        _require_exact(matrix, value, name, InvalidProgramError)
        finite = np.isfinite(matrix.data)
    else:
        matrix = _real_array(value, name)
        if matrix.ndim == 1:
            matrix = matrix.reshape(1, -1)
        if matrix.ndim != 2:
            raise InvalidProgramError(f"{name} must be a matrix, got shape {matrix.shape}.")
        finite = np.isfinite(matrix)
    if matrix.shape[1] != columns:
        raise InvalidProgramError(
            f"{name} has {matrix.shape[1]} columns, the program has {columns} variables."
        )
    if not finite.all():
        raise InvalidProgramError(
            f"{name} contains {int(np.size(finite) - np.count_nonzero(finite))} NaN or infinite "
            "entries; every coefficient must be finite."
        )
    return freeze(matrix)


def require_finite(array: Vector, name: str) -> None:
    """Raise InvalidProgramError naming the first entry that is NaN or infinite."""
    if not np.isfinite(array).all():
        bad = np.flatnonzero(~np.isfinite(array))
        raise InvalidProgramError(
            f"{name}[{bad[0]}] is {array[bad[0]]} ({bad.size} such entries); it must be finite."
        )


def as_dense(matrix: Matrix) -> Dense:
    """A dense or sparse matrix as an array."""
    return np.asarray(matrix.toarray() if is_sparse(matrix) else matrix)


def _describe(value: object) -> str:
    return f"{type(value).__name__} of dtype {getattr(value, 'dtype', '?')}"


# --- memory ----------------------------------------------------------------------------------


def default_memory_limit() -> int:
    """A quarter of the machine's memory, in bytes (2 GiB if it is unknown)."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4
    except (AttributeError, OSError, ValueError):
        return 2 * 2**30


def require_memory(
    rows: int, columns: int, what: str, remedy: str, limit_bytes: int | None = None
) -> None:
    """Raise MemoryLimitError if a dense float64 (rows, columns) matrix exceeds the limit."""
    limit = default_memory_limit() if limit_bytes is None else limit_bytes
    needed = 8 * rows * columns
    if needed > limit:
        raise MemoryLimitError(
            f"{what} as a dense {rows} x {columns} matrix needs {needed:,} bytes, the limit is "
            f"{limit:,} bytes; {remedy}",
            needed,
            limit,
        )


IN_CACHE = 2**20
"""Bytes of a block that stays in a processor's cache."""

EIGENVALUE_SIZE = 1500
"""Rows up to which eigenvalues, singular values and factors with pivots are computed of a dense
matrix, in seconds: the work grows with their third power."""


def row_blocks(rows: int, columns: int, block_bytes: int = 32 * 2**20) -> list[slice]:
    """Slices that cut ``rows`` so that a (block, columns) float64 matrix stays near block_bytes."""
    size = max(1, min(rows, block_bytes // max(1, 8 * columns)))
    if 0 < rows <= size:
        return [slice(0, rows)]
    return [slice(start, min(rows, start + size)) for start in range(0, rows, size)]


def largest_magnitude(value: Matrix) -> float:
    """Largest absolute entry of an array, 0 for an empty one."""
    data = value.data if is_sparse(value) else value
    return float(np.max(np.abs(data), initial=0.0))
