"""Chunks of samples: rows that a worker reads together.

A chunk is a part of the rows that fits into memory many times over. It is a file or a part of one,
rows of an array or of a memory map, or a block of a Dask collection. Nothing is read here: chunks
hold arrays, paths with ranges of rows, or Dask's own task graphs.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
import scipy.sparse as sp

from qpsvm.data.objects import require_unmasked
from qpsvm.data.samples import require_exact
from qpsvm.data.targets import exact_labels, require_one_kind
from qpsvm.exceptions import InvalidDataError, MissingPackageError
from qpsvm.numerics.arrays import is_sparse

Column: TypeAlias = Any
"""Labels, targets or weights of samples in chunks: a column's name, a folder, or an array."""

Beside: TypeAlias = Mapping[str, Column]
"""What is stored beside the samples, by the names of arguments: y, then sample_weight."""


@dataclass(frozen=True, eq=False)
class RawChunk:
    """Rows of one chunk as they are stored, unchecked.

    Attributes
    ----------
    X : array, CSR array or DataFrame of shape (m, d)
    y : array of shape (m,) or None
        Labels or targets.
    weights : array of shape (m,) or None
        Sample weights.
    """

    X: Any
    y: Any = None
    weights: Any = None


@dataclass(frozen=True, eq=False)
class Chunk:
    """One part of the training samples, and what reads it when it is needed.

    Attributes
    ----------
    name : str
        For messages: the path of a file with the rows meant, or the number of a block.
    content : reader or Delayed
        An object whose method ``read`` returns a ``RawChunk``, called by the worker that needs the
        chunk; or Dask's promise of a ``RawChunk``.
    """

    name: str
    content: Any


@dataclass(frozen=True, eq=False)
class ChunkedSamples:
    """Samples in chunks, with their labels or targets and weights.

    Attributes
    ----------
    chunks : tuple of Chunk
        In the order of the rows.
    feature_names : tuple of str or None
    origin : str
        Where the samples are, for people.
    """

    chunks: tuple[Chunk, ...]
    feature_names: tuple[str, ...] | None
    origin: str

    def __post_init__(self) -> None:
        if not self.chunks:
            raise InvalidDataError(f"There are no rows in {self.origin}.")

    def __repr__(self) -> str:
        return f"ChunkedSamples({self.origin}, {len(self.chunks)} chunks)"


@dataclass(frozen=True)
class MappedRows:
    """Consecutive rows of an array in a file, mapped into memory when they are read."""

    path: str
    dtype: str
    offset: int
    shape: tuple[int, ...]
    order: str
    start: int
    stop: int

    @classmethod
    def of(cls, array: np.memmap[Any, Any], start: int, stop: int) -> Self:
        """Rows of a memory map."""
        order = "C" if array.flags.c_contiguous else "F"
        own = str(array.filename), array.dtype.str, int(array.offset), array.shape, order
        return cls(*own, start, stop)

    def read(self) -> Any:
        """Copy the rows into memory: the file may be written again."""
        order: Any = self.order
        own = np.memmap(self.path, self.dtype, "r", self.offset, self.shape, order)
        return owned(own[self.start : self.stop])


@dataclass(frozen=True, eq=False)
class ArrayRows:
    """Reader of one chunk: consecutive rows of arrays in memory or in mapped files."""

    X: Any
    y: Any
    weights: Any

    def read(self) -> RawChunk:
        X, y, weights = (
            part.read() if isinstance(part, MappedRows) else part
            for part in (self.X, self.y, self.weights)
        )
        return RawChunk(X if is_sparse(X) else owned(X), y, weights)


def rows_of_arrays(X: Any, y: Any, weights: Any, rows: int, prefix: str = "") -> Iterator[Chunk]:
    """Cut arrays, sparse matrices or memory maps into chunks of so many consecutive rows."""
    n = int(X.shape[0])
    for start in range(0, n, rows):
        stop = min(start + rows, n)
        parts = [
            MappedRows.of(a, start, stop) if _is_mapped(a) else a if a is None else a[start:stop]
            for a in (X, y, weights)
        ]
        yield Chunk(f"{prefix}rows {start} to {stop - 1}", ArrayRows(*parts))


def _is_mapped(array: Any) -> bool:
    """Return whether all that an array has is in its file, from its offset on."""
    if not isinstance(array, np.memmap) or array.filename is None:
        return False
    # a view of a map keeps the offset of the map it was cut from; what is written to a map that
    # copies on writing is not in its file
    is_whole = array.base is not None and not isinstance(array.base, np.memmap)
    return is_whole and array.mode != "c" and array.flags.forc


def of_array(X: Any, beside: Beside, rows: int) -> ChunkedSamples:
    """Divide an array, sparse matrix or memory map into chunks of ``rows`` consecutive rows."""
    if not hasattr(X, "shape") or len(X.shape) != 2:
        raise InvalidDataError(
            "X must be a Dask collection, a path, or an array or memory map of two dimensions."
        )
    if sp.issparse(X):
        X = sp.csr_array(X)
    require_unmasked(X, "X")
    n = int(X.shape[0])
    y, weights = (one_per_row(value, what, n) for what, value in beside.items())
    kind = "memory map" if isinstance(X, np.memmap) else "array"
    return ChunkedSamples(tuple(rows_of_arrays(X, y, weights, rows)), None, f"{kind} of {n} rows")


def imported(name: str) -> Any:
    """Import a module of Dask or PyArrow, with an error that names the extra.

    Raises
    ------
    MissingPackageError
        It is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingPackageError(
            f"Samples in chunks need {name.split('.', maxsplit=1)[0]}: pip install 'qpsvm[dask]'."
        ) from error


def one_per_row(value: Any, what: str, n_rows: int) -> Any:
    """Convert labels, targets or sample weights to an array; None stays None.

    Raises
    ------
    InvalidDataError
        Another length; a mask, which NumPy would drop; a list of labels of several kinds; integers
        beside floats that would round them.
    """
    if value is None:
        return None
    require_unmasked(value, what)
    array = exact_labels(value, what)
    if array.dtype.kind == "U" and isinstance(value, list | tuple):
        require_one_kind(value)  # NumPy has already turned [1, "a"] into text
    if array.ndim == 0:
        raise InvalidDataError(
            f"{what} is {value!r}; for samples in an array pass an array with one value per row."
        )
    if len(array) != n_rows:
        raise InvalidDataError(f"X has {n_rows} rows and {what} {len(array)}; pass one per row.")
    return array


def owned(X: Any) -> Any:
    """Copy a read-only array, such as a memory map, without converting float32 to float64.

    Raises
    ------
    InvalidDataError
        A table with integers beside floats that would round them.
    """
    copy = np.array(X, order="C")
    if copy.dtype.kind == "f":
        require_exact(copy, X)
    copy.flags.writeable = False
    return copy
