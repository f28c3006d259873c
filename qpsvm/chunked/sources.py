"""Chunks of samples: what can be read of each one, and from where.

A chunk is a part of the rows that fits into memory many times over. It is either a file (or a part
of one) that a worker reads itself, or blocks of Dask collections. Nothing is read here: chunks hold
paths, ranges of rows and Dask's own task graphs.
"""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp

from qpsvm.exceptions import ChunkError, InvalidDataError, MissingPackageError
from qpsvm.numerics.arrays import Array, default_memory_limit


@dataclass(frozen=True, eq=False)
class RawChunk:
    """Rows of one chunk as they came, unchecked.

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
    """What reads one chunk on the worker that needs it."""

    def read(self) -> RawChunk: ...


@dataclass(frozen=True, eq=False)
class Chunk:
    """One chunk of rows.

    Attributes
    ----------
    name : str
        For messages: the path of a file with the rows meant, or the number of a block.
    content : Reader or Delayed
        What reads the rows, or Dask's promise of a ``RawChunk``.
    """

    name: str
    content: Any


Column: TypeAlias = Any
"""y or sample_weight: a name inside the files, a folder, an array, or a Dask collection."""


def is_chunked(X: object) -> bool:
    """Return whether samples come in chunks: a Dask collection, a path, or a large memory map.

    A memory map is large if it takes more than the memory that a kernel matrix may take.
    """
    if isinstance(X, str | os.PathLike | ChunkedSamples) or _is_dask(X):
        return True
    return isinstance(X, np.memmap) and X.ndim == 2 and X.nbytes > default_memory_limit()


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


def chunked(
    X: Any, y: Column = None, sample_weight: Column = None, *, rows: int = 262_144
) -> ChunkedSamples:
    """Divide samples into chunks without reading them.

    Parameters
    ----------
    X : dask.array, dask.dataframe, path, memory map or array
        A path names a Parquet file, a folder of Parquet files (or of folders of them), or a folder
        of ``.npy`` or ``.npz`` files; files are taken in the order of their names, numbers in them
        by size. An ``.npz`` file holds a dense array ``X``, or the ``data``, ``indices``,
        ``indptr`` and ``shape`` that ``scipy.sparse.save_npz`` writes.
    y, sample_weight : array, Dask collection, str or path, optional
        For Parquet the name of a column, for ``.npz`` that of an array; for ``.npy`` a folder with
        as many files. For the others an array, or a Dask collection with the same chunks of rows.
    rows : int
        Rows in a chunk of a memory map, an array or an ``.npy`` file, and at most in one of a
        Parquet file.

    Returns
    -------
    ChunkedSamples

    Raises
    ------
    InvalidDataError
        A path without such files; labels that do not fit the samples.
    ChunkError
        A file that cannot be opened.
    MissingPackageError
        Dask or PyArrow, the extra ``qpsvm[dask]``, is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> chunked(np.zeros((10, 2)), np.arange(10) % 2, rows=4)
    ChunkedSamples(array of 10 rows, 3 chunks)
    """
    if isinstance(X, ChunkedSamples):
        if y is not None or sample_weight is not None:
            raise InvalidDataError("ChunkedSamples have their labels and weights; pass no others.")
        return X
    if isinstance(X, str | os.PathLike):
        return _of_path(Path(X), y, sample_weight, rows)
    if _is_dask(X):
        return _of_dask(X, y, sample_weight)
    return _of_array(X, y, sample_weight, rows)


# --- files ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ParquetRows:
    """Reads some row groups of a Parquet file."""

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
        for j, column in enumerate(columns):
            at = 0
            for piece in column.chunks:
                X[at : at + len(piece), j] = piece.to_numpy(zero_copy_only=False)
                at += len(piece)
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
    """Reads one ``.npz`` file with dense or CSR samples."""

    path: str
    target: str | None
    weight: str | None

    def read(self) -> RawChunk:
        with np.load(self.path, allow_pickle=False) as arrays:
            missing = [n for n in (self.target, self.weight) if n and n not in arrays.files]
            if missing:
                raise ValueError(f"it has the arrays {arrays.files} and no {missing[0]!r}")
            y = arrays[self.target] if self.target else None
            weights = arrays[self.weight] if self.weight else None
            if "X" in arrays.files:
                return RawChunk(arrays["X"], y, weights)
            parts = ("data", "indices", "indptr", "shape")
            if not set(parts) <= set(arrays.files):
                raise ValueError(f"it has the arrays {arrays.files} and no 'X'")
            data, indices, indptr, shape = (arrays[name] for name in parts)
            X = sp.csr_array((data, indices, indptr), shape=tuple(shape.tolist()))
            return RawChunk(X, y, weights)


@dataclass(frozen=True)
class NpyRows:
    """Reads a range of rows of an ``.npy`` file, and of files with labels and weights."""

    path: str
    start: int
    stop: int
    target: str | None
    weight: str | None

    def read(self) -> RawChunk:
        X, y, weights = (
            None if path is None else np.load(path, mmap_mode="r")[self.start : self.stop]
            for path in (self.path, self.target, self.weight)
        )
        return RawChunk(_own(X), y, weights)


@dataclass(frozen=True, eq=False)
class ArrayRows:
    """Rows of an array or memory map that this process holds."""

    X: Any
    y: Any
    weights: Any
    start: int
    stop: int

    def read(self) -> RawChunk:
        rows = slice(self.start, self.stop)
        y, weights = (None if v is None else v[rows] for v in (self.y, self.weights))
        return RawChunk(_own(self.X[rows]), y, weights)


@dataclass(frozen=True)
class MappedRows:
    """Reads a range of rows of a memory map, by the path of its file."""

    path: str
    dtype: str
    offset: int
    shape: tuple[int, int]
    start: int
    stop: int
    y: Any
    weights: Any

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
        return RawChunk(_own(X), self.y, self.weights)


def _own(X: Any) -> Any:
    """A copy in memory that nobody can write to, so that float32 stays float32."""
    copy = np.array(X, order="C")
    copy.flags.writeable = False
    return copy


def _of_path(path: Path, y: Column, sample_weight: Column, rows: int) -> ChunkedSamples:
    try:
        files = [path] if path.is_file() else [p for p in path.rglob("*") if p.is_file()]
    except OSError as error:
        raise ChunkError(f"Cannot look for samples in {str(path)!r}: {error}.") from error
    by_kind = {
        kind: sorted((p for p in files if p.suffix.lower() in suffixes), key=_natural_order)
        for kind, suffixes in (("parquet", (".parquet", ".pq")), ("npz", (".npz",)), ("npy", (".npy",)))
    }
    kinds = [kind for kind, found in by_kind.items() if found]
    if len(kinds) != 1:
        seen = "files of several kinds (" + ", ".join(kinds) + ")" if kinds else "none"
        raise InvalidDataError(
            f"{str(path)!r} must hold Parquet, .npz or .npy files of one kind, and holds {seen}."
        )
    build = {"parquet": _of_parquet, "npz": _of_npz, "npy": _of_npy}[kinds[0]]
    return build(path, by_kind[kinds[0]], y, sample_weight, rows)


def _of_parquet(
    path: Path, files: Sequence[Path], y: Column, sample_weight: Column, rows: int
) -> ChunkedSamples:
    parquet = imported("pyarrow.parquet")
    named = [_name(value, what) for value, what in ((y, "y"), (sample_weight, "sample_weight"))]
    features: tuple[str, ...] | None = None
    chunks = list[Chunk]()
    for file in files:
        metadata = _opened(file, lambda: parquet.ParquetFile(file).metadata)  # noqa: B023
        columns = tuple(metadata.schema.names)
        for name in filter(None, named):
            if name not in columns:
                raise InvalidDataError(
                    f"{str(file)!r} has no column {name!r}; it has {', '.join(columns[:12])}"
                    f"{', ...' if len(columns) > 12 else ''}."
                )
        own = tuple(name for name in columns if name not in named)
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
    return _samples(chunks, features, str(path))


def _of_npz(
    path: Path, files: Sequence[Path], y: Column, sample_weight: Column, rows: int
) -> ChunkedSamples:
    del rows
    named = [_name(value, what) for value, what in ((y, "y"), (sample_weight, "sample_weight"))]
    return _samples([Chunk(str(f), NpzFile(str(f), *named)) for f in files], None, str(path))


def _of_npy(
    path: Path, files: Sequence[Path], y: Column, sample_weight: Column, rows: int
) -> ChunkedSamples:
    beside = [_folder(v, w, len(files)) for v, w in ((y, "y"), (sample_weight, "sample_weight"))]
    chunks = list[Chunk]()
    for k, file in enumerate(files):
        shape = _opened(file, lambda: np.load(file, mmap_mode="r").shape)  # noqa: B023
        own = [None if found is None else str(found[k]) for found in beside]
        for start in range(0, shape[0], rows):
            stop = min(start + rows, shape[0])
            reader = NpyRows(str(file), start, stop, *own)
            chunks.append(Chunk(f"{file}, rows {start} to {stop - 1}", reader))
    return _samples(chunks, None, str(path))


def _folder(value: Column, what: str, n_files: int) -> list[Path] | None:
    if value is None:
        return None
    if not isinstance(value, str | os.PathLike):
        raise InvalidDataError(
            f"{what} is a {type(value).__name__}; for a folder of .npy files pass a folder with as "
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
        f"{what} is a {type(value).__name__}; for files pass the name under which it is stored."
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


def _natural_order(path: Path) -> list[tuple[int, str]]:
    """Sort key that puts part-2 before part-10."""
    return [(int(t or 0), s) for s, t in re.findall(r"(\D+)|(\d+)", str(path))]


def _opened(file: Path, look: Callable[[], Any]) -> Any:
    try:
        return look()
    except Exception as error:  # whatever a reader raises on a damaged file
        raise ChunkError(f"Cannot read {str(file)!r}: {error}; check or remove it.") from error


# --- collections and arrays ----------------------------------------------------------------------


def _is_dask(X: object) -> bool:
    return type(X).__module__.split(".")[0] in ("dask", "dask_expr") and hasattr(X, "dask")


def _of_dask(X: Any, y: Column, sample_weight: Column) -> ChunkedSamples:
    dask = imported("dask")
    names = None
    if hasattr(X, "columns"):
        names = tuple(X.columns) if all(isinstance(c, str) for c in X.columns) else None
        blocks = X.to_delayed()
        sizes: list[int] | None = None
    else:
        if X.ndim != 2:
            raise InvalidDataError(f"X must have two dimensions, got shape {X.shape}.")
        X = X.rechunk({1: -1})
        blocks = X.to_delayed().ravel()
        sizes = None if any(np.isnan(X.chunks[0])) else [int(c) for c in X.chunks[0]]
    own = [
        _blocks_of(v, w, len(blocks), sizes, dask)
        for v, w in ((y, "y"), (sample_weight, "sample_weight"))
    ]
    make = dask.delayed(RawChunk, pure=True)
    chunks = [Chunk(f"block {k}", make(*parts)) for k, parts in enumerate(zip(blocks, *own, strict=True))]
    return _samples(chunks, names, f"Dask collection of {len(blocks)} blocks")


def _blocks_of(
    value: Column, what: str, n_blocks: int, sizes: list[int] | None, dask: Any
) -> Sequence[Any]:
    if value is None:
        return [None] * n_blocks
    if _is_dask(value):
        if sizes is not None and hasattr(value, "rechunk") and not np.isnan(value.shape[0]):
            if value.shape[0] != sum(sizes):
                raise InvalidDataError(
                    f"X has {sum(sizes)} rows and {what} {value.shape[0]}; pass one per row."
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
            f"{what} is a {type(value).__name__}, and nobody knows how many rows each block of X "
            "has; pass a Dask collection with the same partitions."
        )
    array = np.asarray(value)
    if len(array) != sum(sizes):
        raise InvalidDataError(f"X has {sum(sizes)} rows and {what} {len(array)}; pass one per row.")
    ends = np.cumsum(sizes)
    return [
        dask.delayed(array[end - size : end], pure=False)
        for size, end in zip(sizes, ends.tolist(), strict=True)
    ]


def _of_array(X: Any, y: Column, sample_weight: Column, rows: int) -> ChunkedSamples:
    if not hasattr(X, "shape") or len(X.shape) != 2:
        raise InvalidDataError(
            "X must be a Dask collection, a path, or an array or memory map of two dimensions."
        )
    own = [None if v is None else np.asarray(v) for v in (y, sample_weight)]
    for array, what in zip(own, ("y", "sample_weight"), strict=True):
        if array is not None and len(array) != X.shape[0]:
            raise InvalidDataError(f"X has {X.shape[0]} rows and {what} {len(array)}.")
    n = int(X.shape[0])
    mapped = isinstance(X, np.memmap) and X.filename is not None and X.flags.c_contiguous
    # a view of a map keeps the offset of the map it was cut from
    mapped = mapped and X.base is not None and not isinstance(X.base, np.memmap)
    chunks = list[Chunk]()
    for start in range(0, n, rows):
        stop = min(start + rows, n)
        parts = [None if a is None else a[start:stop] for a in own]
        reader: Reader
        if mapped:
            where = (str(X.filename), X.dtype.str, int(X.offset), (n, int(X.shape[1])))
            reader = MappedRows(*where, start, stop, *parts)
        else:
            reader = ArrayRows(X[start:stop], *parts, 0, stop - start)
        chunks.append(Chunk(f"rows {start} to {stop - 1}", reader))
    kind = "memory map" if isinstance(X, np.memmap) else "array"
    return _samples(chunks, None, f"{kind} of {n} rows")


def _samples(
    chunks: Sequence[Chunk], names: tuple[str, ...] | None, origin: str
) -> ChunkedSamples:
    if not chunks:
        raise InvalidDataError(f"There are no rows in {origin}.")
    return ChunkedSamples(tuple(chunks), names, origin)


def imported(name: str) -> Any:
    """Import Dask or PyArrow.

    Raises
    ------
    MissingPackageError
        It is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingPackageError(
            f"Samples in chunks need {name.split('.')[0]}: pip install 'qpsvm[dask]'."
        ) from error
