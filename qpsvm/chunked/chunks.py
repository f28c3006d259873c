"""Chunks of samples: rows that a worker reads together.

A chunk is a part of the rows that fits into memory many times over. It is either a file (or a part
of one) that a worker reads itself, or blocks of Dask collections. Nothing is read here: chunks hold
paths, ranges of rows and Dask's own task graphs.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from qpsvm.data.objects import require_unmasked
from qpsvm.data.samples import require_exact
from qpsvm.data.targets import exact_labels, require_one_kind
from qpsvm.exceptions import InvalidDataError, MissingPackageError

Column: TypeAlias = Any
"""Labels, targets or weights of samples in chunks: a column's name, a folder, or an array."""


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


class Reader(Protocol):
    """Reader of one chunk, called by the worker that needs the chunk."""

    def read(self) -> RawChunk: ...


@dataclass(frozen=True, eq=False)
class Chunk:
    """One part of the training samples, and what reads it when it is needed.

    Attributes
    ----------
    name : str
        For messages: the path of a file with the rows meant, or the number of a block.
    content : Reader or Delayed
        What reads the rows, or Dask's promise of a ``RawChunk``.
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

    def __repr__(self) -> str:
        return f"ChunkedSamples({self.origin}, {len(self.chunks)} chunks)"


def samples_of(
    chunks: Sequence[Chunk], names: tuple[str, ...] | None, origin: str
) -> ChunkedSamples:
    """Put chunks together; an error if there are none.

    Raises
    ------
    InvalidDataError
        No chunks.
    """
    if not chunks:
        raise InvalidDataError(f"There are no rows in {origin}.")
    return ChunkedSamples(tuple(chunks), names, origin)


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
