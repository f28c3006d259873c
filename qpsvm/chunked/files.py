"""Samples in chunks in files: Parquet is divided by row groups, .npz by files, .npy by rows."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
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
from qpsvm.exceptions import ChunkError, InvalidDataError
from qpsvm.io import npz
from qpsvm.numerics.arguments import an
from qpsvm.numerics.arrays import IN_CACHE, row_blocks

SUFFIXES = {"parquet": (".parquet", ".pq"), "npz": (".npz",), "npy": (".npy",)}
"""File name extensions of the formats in which samples in chunks may be stored."""


def of_path(path: Path, beside: Beside, rows: int) -> ChunkedSamples:
    """Divide the training samples in a file or folder into chunks."""
    try:
        files = [path] if path.is_file() else [p for p in path.rglob("*") if p.is_file()]
    except OSError as error:
        raise ChunkError(f"Cannot look for samples in {str(path)!r}: {error}.") from error
    by_kind = dict[str, list[Path]]()
    for file in sorted(files, key=_natural_order):
        # writers leave hidden and temporary files that are no data
        if not any(n.startswith((".", "_")) for n in file.relative_to(path).parts):
            for kind, suffixes in SUFFIXES.items():
                if file.suffix.lower() in suffixes:
                    by_kind.setdefault(kind, []).append(file)
    kinds = [kind for kind in SUFFIXES if kind in by_kind]
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
        chunks = [Chunk(str(file), partial(_npz_file, str(file), *names)) for file in own]
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


def _opened(file: Path, look: Callable[[Path], Any]) -> Any:
    """Look into a file; whatever a reader raises on a damaged one becomes a ``ChunkError``."""
    try:
        return look(file)
    except Exception as error:
        raise ChunkError(f"Cannot read {str(file)!r}: {error}; check or remove it.") from error


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
            reader = partial(_parquet_rows, str(file), groups, features, *named)
            chunks.append(Chunk(f"{file}, row groups {groups[0]} to {groups[-1]}", reader))
    return chunks, features


def _grouped(sizes: Sequence[int], rows: int) -> list[list[int]]:
    """Put neighbouring row groups together while they have at most so many rows."""
    found, total = list[list[int]](), 0
    for g, size in enumerate(sizes):
        if not found or total + size > rows:
            found.append([])
            total = 0
        found[-1].append(g)
        total += size
    return found


def _parquet_rows(
    path: str,
    groups: list[int],
    features: Sequence[str],
    target: str | None,
    weight: str | None,
) -> RawChunk:
    """Read row groups of a Parquet file: an array if all columns are floats, else a DataFrame."""
    wanted = [*features, *(name for name in (target, weight) if name is not None)]
    with imported("pyarrow.parquet").ParquetFile(path, memory_map=True) as file:
        table = file.read_row_groups(groups, columns=wanted, use_threads=False)
    y, weights = (None if n is None else table.column(n).to_numpy() for n in (target, weight))
    columns = [table.column(name) for name in features]
    dtypes = {str(column.type) for column in columns}
    if not dtypes <= {"float", "double", "halffloat"} or any(c.null_count for c in columns):
        return RawChunk(table.select(features).to_pandas(), y, weights)
    single = dtypes <= {"float", "halffloat"}
    X = np.empty((table.num_rows, len(columns)), np.float32 if single else np.float64)
    values = [column.to_numpy() for column in columns]
    for rows in row_blocks(
        len(X), len(columns), IN_CACHE
    ):  # writing whole columns would miss the cache
        np.stack([own[rows] for own in values], axis=1, out=X[rows])
    X.flags.writeable = False
    return RawChunk(X, y, weights)


def _npz_file(path: str, target: str | None, weight: str | None) -> RawChunk:
    """Read an ``.npz`` file with dense or CSR samples."""
    parts, beside = ("data", "indices", "indptr", "shape"), (target, weight)
    wanted = ["X", "format", *parts, *filter(None, beside)]
    arrays = npz.read(path, ChunkError, limit_bytes=sys.maxsize, only=wanted)
    needed = [*filter(None, beside), *(() if set(parts) <= set(arrays) else ("X",))]
    form = arrays["format"].item() if "format" in arrays and "X" not in arrays else b"csr"
    if form not in (b"csr", "csr"):
        raise ValueError(
            f"it holds a sparse matrix in the format {bytes(form).decode()!r}; write matrix.tocsr()"
        )
    for name in needed:
        if name not in arrays:
            raise ValueError(f"it has the arrays {npz.names(path)} and no {name!r}")
    y, weights = (None if name is None else arrays[name] for name in beside)
    if "X" in arrays:
        return RawChunk(arrays["X"], y, weights)
    data, indices, indptr, shape = (arrays[name] for name in parts)
    return RawChunk(sp.csr_array((data, indices, indptr), shape=tuple(shape.tolist())), y, weights)


def _of_npy(files: Sequence[Path], beside: Beside, rows: int) -> Iterator[Chunk]:
    """Divide ``.npy`` files of samples, and those of labels and weights, into chunks of rows."""
    folders = {what: _folder(value, what, len(files)) for what, value in beside.items()}
    mapped = partial(np.load, mmap_mode="r")
    for k, file in enumerate(files):
        own = [X := _opened(file, mapped)]
        if X.ndim != 2:
            raise InvalidDataError(
                f"{str(file)!r} must have two dimensions (samples, features), got shape {X.shape}."
            )
        for what, folder in folders.items():
            own.append(None if folder is None else _opened(folder[k], mapped))
            if folder is not None and own[-1].shape[:1] != X.shape[:1]:
                raise InvalidDataError(
                    f"{what} in {str(folder[k])!r} has the shape {own[-1].shape}, and "
                    f"{str(file)!r} {X.shape[0]} rows; pass one value per row."
                )
        yield from row_chunks(own, rows, f"{file}, ")


def _folder(value: Column, what: str, n_files: int) -> list[Path] | None:
    """The ``.npy`` files beside those of the samples, one for each; None stays None."""
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
