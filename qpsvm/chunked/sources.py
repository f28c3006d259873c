"""Sources of samples in chunks: Dask collections, files, folders, memory maps and arrays.

Nothing is read here: a chunk is a file or a part of one, rows of an array, or a block of a Dask
collection, and is read by the worker that needs it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.chunked.chunks import (
    Beside,
    Chunk,
    ChunkedSamples,
    Column,
    RawChunk,
    imported,
    row_chunks,
)
from qpsvm.chunked.files import of_path
from qpsvm.data.objects import require_unmasked
from qpsvm.data.targets import exact_labels, require_one_kind
from qpsvm.exceptions import InvalidDataError, InvalidParameterError
from qpsvm.numerics.arguments import an, explains_calls
from qpsvm.numerics.arrays import default_memory_limit


def is_dask(X: object) -> bool:
    """Return whether an object is a Dask collection; Dask itself is not imported.

    Parameters
    ----------
    X : object
        Anything.

    Returns
    -------
    bool
        True for a Dask array, DataFrame or Series.

    Examples
    --------
    >>> is_dask([[0.0], [1.0]])
    False
    """
    return type(X).__module__.split(".")[0] in ("dask", "dask_expr") and hasattr(X, "dask")


def is_chunked(X: object) -> bool:
    """Return whether samples come in chunks: a Dask collection, a path, or a large memory map.

    A memory map is large if it takes more than the memory that a kernel matrix may take.

    Parameters
    ----------
    X : object
        Samples of any kind.

    Returns
    -------
    bool
        True for what formulations read chunk by chunk.

    Examples
    --------
    >>> is_chunked("folder/of/parquet"), is_chunked([[0.0], [1.0]])
    (True, False)
    """
    if isinstance(X, str | os.PathLike | ChunkedSamples) or is_dask(X):
        return True
    return isinstance(X, np.memmap) and X.ndim == 2 and X.nbytes > default_memory_limit()


def require_whole(X: object, what: str) -> None:
    """Refuse samples in chunks where all samples are needed at once.

    Parameters
    ----------
    X : object
        Samples; a memory map, of whatever size, is an array in memory, too.
    what : str
        What needs all of them.

    Raises
    ------
    InvalidParameterError
        Samples in chunks, with the formulations that take them.
    """
    if is_chunked(X) and not isinstance(X, np.memmap):
        raise InvalidParameterError(
            f"{what} needs all samples at once; pass arrays that fit into memory. SoftMargin, "
            "EpsilonRegression, QuantileRegression, NuClassification, NuRegression, OneClass and "
            "DataDescription take samples in chunks."
        )


@explains_calls
def chunked(
    X: object, y: Column = None, sample_weight: Column = None, *, rows: int = 262_144
) -> ChunkedSamples:
    """Divide samples into chunks without reading them.

    Parameters
    ----------
    X : dask.array, dask.dataframe, path, memory map, array or sparse matrix
        A path names a Parquet file, a folder of Parquet files (or of folders of them), or a folder
        of ``.npy`` or ``.npz`` files; files are taken in the order of their names, numbers in them
        by size. Folders and files whose names begin with ``.`` or ``_`` are left out, and names of
        folders (``day=3``) are no columns. An ``.npz`` file holds a dense array ``X``, or the
        ``data``, ``indices``, ``indptr`` and ``shape`` that ``scipy.sparse.save_npz`` writes.
    y, sample_weight : array, Dask collection, str or path, optional
        For Parquet the name of a column, for ``.npz`` that of an array; for ``.npy`` a folder with
        as many files. For the others an array, or a Dask collection with the same chunks of rows.
    rows : int
        Rows in a chunk of a memory map, an array or an ``.npy`` file, and at most in one of a
        Parquet file.

    Returns
    -------
    ChunkedSamples
        What formulations take in place of X, y and sample weights.

    Raises
    ------
    InvalidDataError
        A path without such files; labels that do not fit the samples.
    ChunkError
        A file that cannot be opened.
    InvalidParameterError
        ``rows`` that are no whole number above zero.
    MissingPackageError
        Dask or PyArrow, the extra ``qpsvm[dask]``, is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> chunked(np.zeros((10, 2)), np.arange(10) % 2, rows=4)
    ChunkedSamples(array of 10 rows, 3 chunks)
    """
    if np.asarray(rows).dtype.kind not in "iu" or np.ndim(rows) or rows < 1:
        raise InvalidParameterError(f"rows is {rows!r}; pass a whole number above 0.")
    if isinstance(X, ChunkedSamples):
        if y is not None or sample_weight is not None:
            raise InvalidDataError("ChunkedSamples have their labels and weights; pass no others.")
        return X
    beside = {"y": y, "sample_weight": sample_weight}
    if isinstance(X, str | os.PathLike):
        return of_path(Path(X), beside, int(rows))
    return _of_dask(X, beside) if is_dask(X) else _of_array(X, beside, int(rows))


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


# --- Dask ----------------------------------------------------------------------------------------


def _of_dask(X: Any, beside: Beside) -> ChunkedSamples:
    """Divide a Dask array or DataFrame into chunks, one for every block of rows."""
    if not type(X).__module__.startswith(("dask.array", "dask.dataframe", "dask_expr")):
        raise InvalidDataError(f"X is {an(X)} of Dask; pass a dask.array or a dask.dataframe.")
    names = sizes = None
    if hasattr(X, "columns"):
        names = tuple(X.columns) if all(isinstance(c, str) for c in X.columns) else None
    elif X.ndim != 2:
        raise InvalidDataError(f"X must have two dimensions, got shape {X.shape}.")
    elif np.isnan(X.shape[1]):
        raise InvalidDataError(
            f"Nobody knows how many columns X has (shape {X.shape}); call "
            "X.compute_chunk_sizes() first."
        )
    else:
        X = X.rechunk({1: -1})
        sizes = None if any(np.isnan(X.chunks[0])) else [int(c) for c in X.chunks[0]]
    blocks = np.ravel(X.to_delayed())
    own = [_blocks_of(value, what, len(blocks), sizes) for what, value in beside.items()]
    make = imported("dask").delayed(RawChunk, pure=True)
    parts = enumerate(zip(blocks, *own, strict=True))
    chunks = tuple(Chunk(f"block {k}", make(*part)) for k, part in parts)
    return ChunkedSamples(chunks, names, f"Dask collection of {len(blocks)} blocks")


def _blocks_of(value: Column, what: str, n_blocks: int, sizes: list[int] | None) -> Sequence[Any]:
    """Divide labels or weights into the blocks of rows that X has."""
    if value is None:
        return [None] * n_blocks
    if not is_dask(value):
        if sizes is None:
            raise InvalidDataError(
                f"{what} is {an(value)}, and nobody knows how many rows each block of X "
                "has; pass a Dask collection with the same partitions."
            )
        parts = np.split(one_per_row(value, what, sum(sizes)), np.cumsum(sizes)[:-1])
        return [imported("dask").delayed(part, pure=False) for part in parts]
    if sizes is not None and hasattr(value, "rechunk") and not np.isnan(value.shape[0]):
        if value.shape[0] != sum(sizes):
            raise InvalidDataError(
                f"X has {sum(sizes)} rows and {what} {value.shape[0]}; pass one per row."
            )
        if value.ndim > 2 or value.shape[1:] not in ((), (1,)):
            raise InvalidDataError(
                f"{what} must be one-dimensional, got shape {value.shape}; select a column."
            )
        value = value.reshape(-1).rechunk((tuple(sizes),))
    blocks = np.ravel(value.to_delayed())
    if len(blocks) != n_blocks:
        raise InvalidDataError(
            f"X has {n_blocks} blocks of rows and {what} {len(blocks)}; repartition one like "
            "the other."
        )
    return list(blocks)


# --- arrays and memory maps ----------------------------------------------------------------------


def _of_array(X: Any, beside: Beside, rows: int) -> ChunkedSamples:
    """Divide an array, sparse matrix or memory map into chunks of ``rows`` consecutive rows."""
    if not hasattr(X, "shape") or len(X.shape) != 2:
        raise InvalidDataError(
            "X must be a Dask collection, a path, or an array or memory map of two dimensions."
        )
    if sp.issparse(X):
        X = sp.csr_array(X)
    require_unmasked(X, "X")
    n = int(X.shape[0])
    own = [one_per_row(value, what, n) for what, value in beside.items()]
    kind = "memory map" if isinstance(X, np.memmap) else "array"
    return ChunkedSamples(tuple(row_chunks([X, *own], rows)), None, f"{kind} of {n} rows")
