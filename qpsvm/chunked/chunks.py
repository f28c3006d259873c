"""Chunks of rows of a data set that is read piece by piece, from arrays or mapped files.

A chunk is a part of the rows that fits into memory many times over. It has Dask's promise of its
rows, or a call that reads them, made by the worker that needs them.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from qpsvm.data.samples import require_exact
from qpsvm.exceptions import InvalidDataError, MissingPackageError
from qpsvm.numerics.arrays import is_sparse

Column: TypeAlias = Any
"""Type of the labels, targets or weights that belong to samples in chunks."""

Beside: TypeAlias = Mapping[str, Column]
"""Type of the targets and sample weights of a chunked data set, by the names of arguments."""


class RawChunk(NamedTuple):
    """Rows of one chunk as they are stored, unchecked.

    Parameters
    ----------
    X : array, CSR array or DataFrame of shape (m, d)
    y, weights : array of shape (m,) or None
        Labels or targets, and sample weights.
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
    content : callable or Delayed
        A call that reads a ``RawChunk``, for the worker that needs it; or Dask's promise of one.
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


# --- rows of arrays ------------------------------------------------------------------------------


def row_chunks(arrays: Sequence[Any], rows: int, prefix: str = "") -> Iterator[Chunk]:
    """Cut X, y and weights into chunks of so many consecutive rows."""
    n = int(arrays[0].shape[0])
    for start in range(0, n, rows):
        stop = min(start + rows, n)
        parts = (_rows(array, start, stop) for array in arrays)
        yield Chunk(f"{prefix}rows {start} to {stop - 1}", partial(_rows_read, *parts))


def _rows(array: Any, start: int, stop: int) -> Any:
    """Rows of an array; of a memory map a call that maps its file again and copies them.

    A view of a map keeps the offset of the map it was cut from, and what is written to a map that
    copies on writing is not in its file: these are arrays.
    """
    is_whole = isinstance(array, np.memmap) and array.filename is not None
    if not is_whole or array.base is None or isinstance(array.base, np.memmap):
        return array if array is None else array[start:stop]
    if array.mode == "c" or not array.flags.forc:
        return array[start:stop]
    order = "C" if array.flags.c_contiguous else "F"
    own = str(array.filename), array.dtype.str, int(array.offset), array.shape, order
    return partial(_mapped_rows, *own, start, stop)


def _mapped_rows(
    path: str, dtype: str, offset: int, shape: Any, order: Any, start: int, stop: int
) -> Any:
    """Copy rows of an array in a file into memory: the file may be written again."""
    return owned(np.memmap(path, dtype, "r", offset, shape, order)[start:stop])


def _rows_read(*arrays: Any) -> RawChunk:
    """Rows of arrays in memory, or in files that are mapped now."""
    X, y, weights = (part() if callable(part) else part for part in arrays)
    is_own = callable(arrays[0]) or is_sparse(X)
    return RawChunk(X if is_own else owned(X), y, weights)


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
