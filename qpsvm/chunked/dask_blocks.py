"""Division of Dask collections into chunks: one for every block of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from qpsvm.chunked.chunks import (
    Chunk,
    ChunkedSamples,
    Column,
    RawChunk,
    imported,
    one_per_row,
    samples_of,
)
from qpsvm.exceptions import InvalidDataError
from qpsvm.numerics.arguments import an


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


def of_dask(X: Any, y: Column, sample_weight: Column) -> ChunkedSamples:
    """Divide a Dask array or DataFrame into chunks, one for every block of rows."""
    if not _is_table(X):
        raise InvalidDataError(f"X is {an(X)} of Dask; pass a dask.array or a dask.dataframe.")
    dask = imported("dask")
    names = None
    if hasattr(X, "columns"):
        names = tuple(X.columns) if all(isinstance(c, str) for c in X.columns) else None
        blocks = X.to_delayed()
        sizes: list[int] | None = None
    else:
        if X.ndim != 2:
            raise InvalidDataError(f"X must have two dimensions, got shape {X.shape}.")
        if np.isnan(X.shape[1]):
            raise InvalidDataError(
                f"Nobody knows how many columns X has (shape {X.shape}); call "
                "X.compute_chunk_sizes() first."
            )
        X = X.rechunk({1: -1})
        blocks = X.to_delayed().ravel()
        sizes = None if any(np.isnan(X.chunks[0])) else [int(c) for c in X.chunks[0]]
    own = [
        _blocks_of(v, w, len(blocks), sizes, dask)
        for v, w in ((y, "y"), (sample_weight, "sample_weight"))
    ]
    make = dask.delayed(RawChunk, pure=True)
    chunks = [
        Chunk(f"block {k}", make(*parts)) for k, parts in enumerate(zip(blocks, *own, strict=True))
    ]
    return samples_of(chunks, names, f"Dask collection of {len(blocks)} blocks")


def _is_table(X: Any) -> bool:
    """Return whether a Dask collection is an array or a DataFrame."""
    module = type(X).__module__
    return module.startswith(("dask.array", "dask.dataframe", "dask_expr"))


def _blocks_of(
    value: Column, what: str, n_blocks: int, sizes: list[int] | None, dask: Any
) -> Sequence[Any]:
    if value is None:
        return [None] * n_blocks
    if is_dask(value):
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
        blocks = value.to_delayed()
        blocks = blocks.ravel() if isinstance(blocks, np.ndarray) else blocks
        if len(blocks) != n_blocks:
            raise InvalidDataError(
                f"X has {n_blocks} blocks of rows and {what} {len(blocks)}; repartition one like "
                "the other."
            )
        return list(blocks)
    if sizes is None:
        raise InvalidDataError(
            f"{what} is {an(value)}, and nobody knows how many rows each block of X "
            "has; pass a Dask collection with the same partitions."
        )
    array = one_per_row(value, what, sum(sizes))
    ends = np.cumsum(sizes)
    return [
        dask.delayed(array[end - size : end], pure=False)
        for size, end in zip(sizes, ends.tolist(), strict=True)
    ]
