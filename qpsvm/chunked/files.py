"""Division of files into chunks: Parquet by row groups, ``.npz`` by files, ``.npy`` by rows."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from qpsvm.chunked.chunks import Chunk, ChunkedSamples, Column, imported, samples_of
from qpsvm.chunked.file_readers import NpyRows, NpzFile, ParquetRows
from qpsvm.exceptions import ChunkError, InvalidDataError
from qpsvm.numerics.arguments import an

SUFFIXES = {"parquet": (".parquet", ".pq"), "npz": (".npz",), "npy": (".npy",)}
"""File name extensions of the formats in which samples in chunks may be stored."""

Found = TypeVar("Found")


def of_path(path: Path, y: Column, sample_weight: Column, rows: int) -> ChunkedSamples:
    """Divide the training samples in a file or folder into chunks."""
    try:
        files = [path] if path.is_file() else [p for p in path.rglob("*") if p.is_file()]
    except OSError as error:
        raise ChunkError(f"Cannot look for samples in {str(path)!r}: {error}.") from error
    seen = [p for p in files if not _is_hidden(p, path)]
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
    build = {"parquet": _of_parquet, "npz": _of_npz, "npy": _of_npy}[kinds[0]]
    return build(path, by_kind[kinds[0]], y, sample_weight, rows)


def _is_hidden(file: Path, folder: Path) -> bool:
    """Return whether a path is a hidden or temporary file of a writer, and no data."""
    return any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)


def _of_parquet(
    path: Path, files: Sequence[Path], y: Column, sample_weight: Column, rows: int
) -> ChunkedSamples:
    parquet = imported("pyarrow.parquet")
    named = [_name(value, what) for value, what in ((y, "y"), (sample_weight, "sample_weight"))]
    features: tuple[str, ...] | None = None
    chunks = list[Chunk]()
    for file in files:
        metadata = _opened(file, lambda: parquet.ParquetFile(file).metadata)  # noqa: B023
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
        if features is None:
            features = own
        elif set(own) != set(features):
            raise InvalidDataError(
                f"{str(file)!r} has other columns than {str(files[0])!r}: "
                f"{sorted(set(own) ^ set(features))}; the files of one folder must agree."
            )
        sizes = [metadata.row_group(g).num_rows for g in range(metadata.num_row_groups)]
        for groups in _grouped(sizes, rows):
            reader = ParquetRows(str(file), groups, features, *named)
            which = f"row groups {groups[0]} to {groups[-1]}"
            chunks.append(Chunk(f"{file}, {which}", reader))
    return samples_of(chunks, features, str(path))


def _of_npz(
    path: Path, files: Sequence[Path], y: Column, sample_weight: Column, rows: int
) -> ChunkedSamples:
    del rows
    named = [_name(value, what) for value, what in ((y, "y"), (sample_weight, "sample_weight"))]
    return samples_of([Chunk(str(f), NpzFile(str(f), *named)) for f in files], None, str(path))


def _of_npy(
    path: Path, files: Sequence[Path], y: Column, sample_weight: Column, rows: int
) -> ChunkedSamples:
    named = (("y", y), ("sample_weight", sample_weight))
    beside = [_folder(value, what, len(files)) for what, value in named]
    chunks = list[Chunk]()
    for k, file in enumerate(files):
        shape = _shape(file)
        if len(shape) != 2:
            raise InvalidDataError(
                f"{str(file)!r} must have two dimensions (samples, features), got shape {shape}."
            )
        for (what, _), found in zip(named, beside, strict=True):
            if found is not None and _shape(found[k])[:1] != shape[:1]:
                raise InvalidDataError(
                    f"{what} in {str(found[k])!r} has the shape {_shape(found[k])}, and "
                    f"{str(file)!r} {shape[0]} rows; pass one value per row."
                )
        own = [None if found is None else str(found[k]) for found in beside]
        for start in range(0, shape[0], rows):
            stop = min(start + rows, shape[0])
            reader = NpyRows(str(file), start, stop, *own)
            chunks.append(Chunk(f"{file}, rows {start} to {stop - 1}", reader))
    return samples_of(chunks, None, str(path))


def _shape(file: Path) -> tuple[int, ...]:
    shape: tuple[int, ...] = _opened(file, lambda: np.load(file, mmap_mode="r").shape)
    return shape


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


def _name(value: Column, what: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise InvalidDataError(
        f"{what} is {an(value)}; for files pass the name under which it is stored."
    )


def _grouped(sizes: Sequence[int], rows: int) -> list[tuple[int, ...]]:
    """Put neighbouring row groups together while they have at most so many rows."""
    groups, current, total = list[tuple[int, ...]](), list[int](), 0
    for g, size in enumerate(sizes):
        if current and total + size > rows:
            groups.append(tuple(current))
            current, total = [], 0
        current.append(g)
        total += size
    if current:
        groups.append(tuple(current))
    return groups


def _natural_order(path: Path) -> tuple[list[tuple[int, str]], str]:
    """Sort key that puts part-2 before part-10; part-01 and part-1 keep one order, too."""
    parts = re.findall(r"(\D+)|(\d+)", str(path))
    return [(int(digits or 0), text) for text, digits in parts], str(path)


def _opened(file: Path, look: Callable[[], Found]) -> Found:
    try:
        return look()
    except Exception as error:  # whatever a reader raises on a damaged file
        raise ChunkError(f"Cannot read {str(file)!r}: {error}; check or remove it.") from error
