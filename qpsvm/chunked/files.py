"""Division of files into chunks: Parquet by row groups, ``.npz`` by files, ``.npy`` by rows.

A reader holds a path and what to read of it; the worker that needs the chunk calls it.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from qpsvm.chunked.chunks import (
    Beside,
    Chunk,
    ChunkedSamples,
    Column,
    RawChunk,
    imported,
    rows_of_arrays,
)
from qpsvm.exceptions import ChunkError, InvalidDataError
from qpsvm.io import npz
from qpsvm.numerics.arguments import an
from qpsvm.numerics.arrays import IN_CACHE, row_blocks

SUFFIXES = {"parquet": (".parquet", ".pq"), "npz": (".npz",), "npy": (".npy",)}
"""File name extensions of the formats in which samples in chunks may be stored."""

Found = TypeVar("Found")


def of_path(path: Path, beside: Beside, rows: int) -> ChunkedSamples:
    """Divide the training samples in a file or folder into chunks."""
    try:
        files = [path] if path.is_file() else [p for p in path.rglob("*") if p.is_file()]
    except OSError as error:
        raise ChunkError(f"Cannot look for samples in {str(path)!r}: {error}.") from error
    # writers leave hidden and temporary files that are no data
    seen = [
        p for p in files if not any(n.startswith((".", "_")) for n in p.relative_to(path).parts)
    ]
    by_kind = {
        kind: sorted((p for p in seen if p.suffix.lower() in suffixes), key=_natural_order)
        for kind, suffixes in SUFFIXES.items()
    }
    kinds = [kind for kind, found in by_kind.items() if found]
    if len(kinds) != 1:
        found = "files of several kinds (" + ", ".join(kinds) + ")" if kinds else "none"
        found += "" if path.exists() else ": it does not exist"
        raise InvalidDataError(
            f"{str(path)!r} must hold Parquet, .npz or .npy files of one kind, and holds {found}."
        )
    own, features = by_kind[kinds[0]], None
    if kinds[0] == "npy":
        chunks = [*_of_npy(own, beside, rows)]
    elif kinds[0] == "npz":
        names = _names(beside)
        chunks = [Chunk(str(file), NpzFile(str(file), *names)) for file in own]
    else:
        chunks, features = _of_parquet(own, _names(beside), rows)
    return ChunkedSamples(tuple(chunks), features, str(path))


def _natural_order(path: Path) -> tuple[list[tuple[int, str]], str]:
    """Sort key that puts part-2 before part-10; part-01 and part-1 keep one order, too."""
    parts = re.findall(r"(\D+)|(\d+)", str(path))
    return [(int(digits or 0), text) for text, digits in parts], str(path)


def _names(beside: Beside) -> tuple[str | None, str | None]:
    """The names under which labels and weights are stored in every file."""
    for what, value in beside.items():
        if value is not None and not isinstance(value, str):
            raise InvalidDataError(
                f"{what} is {an(value)}; for files pass the name under which it is stored."
            )
    y, weight = beside.values()
    return y, weight


def _opened(file: Path, look: Callable[[Path], Found]) -> Found:
    """Look into a file.

    Raises
    ------
    ChunkError
        It cannot be read.
    """
    try:
        return look(file)
    except Exception as error:  # whatever a reader raises on a damaged file
        raise ChunkError(f"Cannot read {str(file)!r}: {error}; check or remove it.") from error


# --- Parquet -------------------------------------------------------------------------------------


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

        beside = (self.target, self.weight)
        wanted = [*self.features, *(name for name in beside if name is not None)]
        with parquet.ParquetFile(self.path, memory_map=True) as file:
            table = file.read_row_groups(list(self.groups), columns=wanted, use_threads=False)
        y, weights = (None if name is None else table.column(name).to_numpy() for name in beside)
        columns = [table.column(name) for name in self.features]
        dtypes = {str(column.type) for column in columns}
        if not dtypes <= {"float", "double", "halffloat"} or any(c.null_count for c in columns):
            return RawChunk(table.select(self.features).to_pandas(), y, weights)
        single = dtypes <= {"float", "halffloat"}
        X = np.empty((table.num_rows, len(columns)), np.float32 if single else np.float64)
        values = [column.to_numpy() for column in columns]
        for rows in row_blocks(
            len(X), len(columns), IN_CACHE
        ):  # writing whole columns would miss the cache
            np.stack([own[rows] for own in values], axis=1, out=X[rows])
        X.flags.writeable = False
        return RawChunk(X, y, weights)


def _of_parquet(
    files: Sequence[Path], named: tuple[str | None, str | None], rows: int
) -> tuple[list[Chunk], tuple[str, ...]]:
    """Chunks of neighbouring row groups, and the names of the features."""
    parquet = imported("pyarrow.parquet")
    features, chunks = tuple[str, ...](), list[Chunk]()
    for file in files:
        metadata = _opened(file, lambda file: parquet.ParquetFile(file).metadata)
        columns = tuple(metadata.schema.to_arrow_schema().names)
        for name in filter(None, named):
            if name not in columns:
                raise InvalidDataError(
                    f"{str(file)!r} has no column {name!r}; it has {', '.join(columns[:12])}"
                    f"{', ...' if len(columns) > 12 else ''}."
                )
        own = tuple(name for name in columns if name not in named)
        if not own:
            raise InvalidDataError(
                f"{str(file)!r} has no column of features beside {', '.join(columns)}."
            )
        features = features or own
        if set(own) != set(features):
            raise InvalidDataError(
                f"{str(file)!r} has other columns than {str(files[0])!r}: "
                f"{sorted(set(own) ^ set(features))}; the files of one folder must agree."
            )
        sizes = [metadata.row_group(g).num_rows for g in range(metadata.num_row_groups)]
        for groups in _grouped(sizes, rows):
            reader = ParquetRows(str(file), groups, features, *named)
            chunks.append(Chunk(f"{file}, row groups {groups[0]} to {groups[-1]}", reader))
    return chunks, features


def _grouped(sizes: Sequence[int], rows: int) -> Iterator[tuple[int, ...]]:
    """Put neighbouring row groups together while they have at most so many rows."""
    begin, total = 0, 0
    for g, size in enumerate(sizes):
        if g > begin and total + size > rows:
            yield tuple(range(begin, g))
            begin, total = g, 0
        total += size
    if sizes:
        yield tuple(range(begin, len(sizes)))


# --- NumPy's files -------------------------------------------------------------------------------


@dataclass(frozen=True)
class NpzFile:
    """Reader of a chunk that is one ``.npz`` file with dense or CSR samples."""

    path: str
    target: str | None
    weight: str | None

    def read(self) -> RawChunk:
        parts = ("data", "indices", "indptr", "shape")
        wanted = ["X", "format", *parts, *filter(None, (self.target, self.weight))]
        arrays = npz.read(self.path, ChunkError, limit_bytes=sys.maxsize, only=wanted)
        missing = [n for n in (self.target, self.weight) if n and n not in arrays]
        if missing:
            raise ValueError(f"it has the arrays {npz.names(self.path)} and no {missing[0]!r}")
        y, weights = (None if n is None else arrays[n] for n in (self.target, self.weight))
        if "X" in arrays:
            return RawChunk(arrays["X"], y, weights)
        form = arrays["format"].item() if "format" in arrays else b"csr"
        if form not in (b"csr", "csr"):
            raise ValueError(
                f"it holds a sparse matrix in the format {bytes(form).decode()!r}; write "
                "matrix.tocsr()"
            )
        if not set(parts) <= set(arrays):
            raise ValueError(f"it has the arrays {npz.names(self.path)} and no 'X'")
        data, indices, indptr, shape = (arrays[name] for name in parts)
        X = sp.csr_array((data, indices, indptr), shape=tuple(shape.tolist()))
        return RawChunk(X, y, weights)


def _of_npy(files: Sequence[Path], beside: Beside, rows: int) -> Iterator[Chunk]:
    """Chunks of rows of ``.npy`` files, with as many rows of the files beside them."""
    folders = {what: _folder(value, what, len(files)) for what, value in beside.items()}
    for k, file in enumerate(files):
        X, own = _mapped(file), list[Any]()
        if X.ndim != 2:
            raise InvalidDataError(
                f"{str(file)!r} must have two dimensions (samples, features), got shape {X.shape}."
            )
        for what, folder in folders.items():
            own.append(None if folder is None else _mapped(folder[k]))
            if folder is not None and own[-1].shape[:1] != X.shape[:1]:
                raise InvalidDataError(
                    f"{what} in {str(folder[k])!r} has the shape {own[-1].shape}, and "
                    f"{str(file)!r} {X.shape[0]} rows; pass one value per row."
                )
        yield from rows_of_arrays(X, own[0], own[1], rows, f"{file}, ")


def _mapped(file: Path) -> Any:
    return _opened(file, lambda file: np.load(file, mmap_mode="r"))


def _folder(value: Column, what: str, n_files: int) -> list[Path] | None:
    if value is None:
        return None
    if not isinstance(value, str | os.PathLike):
        raise InvalidDataError(
            f"{what} is {an(value)}; for a folder of .npy files pass a folder with as "
            "many files, in the same order."
        )
    path = Path(value)
    files = [path] if path.is_file() else sorted(path.glob("*.npy"), key=_natural_order)
    if len(files) != n_files:
        raise InvalidDataError(
            f"{what} names {len(files)} .npy files and X {n_files}; pass one for each."
        )
    return files
