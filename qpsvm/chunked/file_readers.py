"""Readers of chunks in files: Parquet row groups, ``.npz`` archives, ranges of rows of ``.npy``.

A reader holds a path and what to read of it; the worker that needs the chunk calls it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.chunked.chunks import RawChunk, owned
from qpsvm.numerics.arrays import IN_CACHE, Array, row_blocks


@dataclass(frozen=True)
class ParquetRows:
    """Reader of a chunk that is a part of a Parquet file."""

    path: str
    groups: tuple[int, ...]
    features: tuple[str, ...]
    target: str | None
    weight: str | None

    def read(self) -> RawChunk:
        from pyarrow import parquet

        extra = [name for name in (self.target, self.weight) if name is not None]
        with parquet.ParquetFile(self.path, memory_map=True) as file:
            table = file.read_row_groups(
                list(self.groups), columns=[*self.features, *extra], use_threads=False
            )
        columns = [table.column(name) for name in self.features]
        dtypes = {str(column.type) for column in columns}
        if not dtypes <= {"float", "double", "halffloat"} or any(c.null_count for c in columns):
            return RawChunk(table.select(self.features).to_pandas(), *_columns(table, self))
        single = dtypes <= {"float", "halffloat"}
        X = np.empty((table.num_rows, len(columns)), np.float32 if single else np.float64)
        values = [column.to_numpy() for column in columns]
        for rows in row_blocks(
            len(X), len(columns), IN_CACHE
        ):  # writing whole columns would miss the cache
            np.stack([own[rows] for own in values], axis=1, out=X[rows])
        X.flags.writeable = False
        return RawChunk(X, *_columns(table, self))


def _columns(table: Any, reader: ParquetRows) -> tuple[Array | None, Array | None]:
    found = [
        None if name is None else table.column(name).to_numpy()
        for name in (reader.target, reader.weight)
    ]
    return found[0], found[1]


@dataclass(frozen=True)
class NpzFile:
    """Reader of a chunk that is one ``.npz`` file with dense or CSR samples."""

    path: str
    target: str | None
    weight: str | None

    def read(self) -> RawChunk:
        # NumPy leaves a damaged file open that it has opened itself
        with Path(self.path).open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            missing = [n for n in (self.target, self.weight) if n and n not in arrays.files]
            if missing:
                raise ValueError(f"it has the arrays {arrays.files} and no {missing[0]!r}")
            y = arrays[self.target] if self.target else None
            weights = arrays[self.weight] if self.weight else None
            if "X" in arrays.files:
                return RawChunk(arrays["X"], y, weights)
            form = arrays["format"].item() if "format" in arrays.files else b"csr"
            if form not in (b"csr", "csr"):
                raise ValueError(
                    f"it holds a sparse matrix in the format {bytes(form).decode()!r}; write "
                    "matrix.tocsr()"
                )
            parts = ("data", "indices", "indptr", "shape")
            if not set(parts) <= set(arrays.files):
                raise ValueError(f"it has the arrays {arrays.files} and no 'X'")
            data, indices, indptr, shape = (arrays[name] for name in parts)
            X = sp.csr_array((data, indices, indptr), shape=tuple(shape.tolist()))
            return RawChunk(X, y, weights)


@dataclass(frozen=True)
class NpyRows:
    """Reader of a chunk that is a range of rows of an ``.npy`` file."""

    path: str
    start: int
    stop: int
    target: str | None
    weight: str | None

    def read(self) -> RawChunk:
        X, y, weights = (  # copies: the files may be written again
            None if path is None else owned(np.load(path, mmap_mode="r")[self.start : self.stop])
            for path in (self.path, self.target, self.weight)
        )
        return RawChunk(X, y, weights)
