"""Division of arrays and memory maps into chunks of consecutive rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.chunked.chunks import (
    Chunk,
    ChunkedSamples,
    Column,
    RawChunk,
    Reader,
    one_per_row,
    owned,
    samples_of,
)
from qpsvm.data.objects import require_unmasked
from qpsvm.exceptions import InvalidDataError
from qpsvm.numerics.arrays import Array, is_sparse


@dataclass(frozen=True, eq=False)
class ArrayRows:
    """Reader of one chunk: consecutive rows of an array or CSR matrix in memory."""

    X: Any
    y: Array | None
    weights: Array | None

    def read(self) -> RawChunk:
        return RawChunk(self.X if is_sparse(self.X) else owned(self.X), self.y, self.weights)


@dataclass(frozen=True)
class MappedRows:
    """Reader of one chunk: consecutive rows of a memory map."""

    path: str
    dtype: str
    offset: int
    shape: tuple[int, int]
    start: int
    stop: int
    y: Array | None
    weights: Array | None

    def read(self) -> RawChunk:
        n = self.stop - self.start
        row = np.dtype(self.dtype).itemsize * self.shape[1]
        X = np.memmap(
            self.path,
            self.dtype,
            mode="r",
            offset=self.offset + self.start * row,
            shape=(n, self.shape[1]),
        )
        return RawChunk(owned(X), self.y, self.weights)


def of_array(X: Any, y: Column, sample_weight: Column, rows: int) -> ChunkedSamples:
    """Divide an array, sparse matrix or memory map into chunks of ``rows`` consecutive rows."""
    if not hasattr(X, "shape") or len(X.shape) != 2:
        raise InvalidDataError(
            "X must be a Dask collection, a path, or an array or memory map of two dimensions."
        )
    if sp.issparse(X):
        X = sp.csr_array(X)
    require_unmasked(X, "X")
    n = int(X.shape[0])
    named = (("y", y), ("sample_weight", sample_weight))
    own: list[Array | None] = [one_per_row(value, what, n) for what, value in named]
    mapped = isinstance(X, np.memmap) and X.filename is not None and X.flags.c_contiguous
    # a view of a map keeps the offset of the map it was cut from; what is written to a map that
    # copies on writing is not in its file
    mapped = mapped and X.base is not None and not isinstance(X.base, np.memmap) and X.mode != "c"
    chunks = list[Chunk]()
    for start in range(0, n, rows):
        stop = min(start + rows, n)
        parts = [None if a is None else a[start:stop] for a in own]
        reader: Reader
        if mapped:
            where = (str(X.filename), X.dtype.str, int(X.offset), (n, int(X.shape[1])))
            reader = MappedRows(*where, start, stop, parts[0], parts[1])
        else:
            reader = ArrayRows(X[start:stop], parts[0], parts[1])
        chunks.append(Chunk(f"rows {start} to {stop - 1}", reader))
    kind = "memory map" if isinstance(X, np.memmap) else "array"
    return samples_of(chunks, None, f"{kind} of {n} rows")
