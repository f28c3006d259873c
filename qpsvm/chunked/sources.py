"""Sources of samples in chunks: Dask collections, files, folders, memory maps and arrays.

A chunk is a part of the rows that fits into memory many times over: a file or a part of one, rows
of an array, or a block of a Dask collection. Nothing is read here: a chunk has Dask's promise of
its rows, or a reader that the worker which needs them calls. Parquet is divided by row groups,
``.npz`` by files, ``.npy`` by rows.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp

from qpsvm.data.objects import require_unmasked
from qpsvm.data.samples import require_exact
from qpsvm.data.targets import exact_labels, require_one_kind
from qpsvm.exceptions import (
    ChunkError,
    InvalidDataError,
    InvalidParameterError,
    MissingPackageError,
)
from qpsvm.io import npz
from qpsvm.numerics.arguments import an, explains_calls
from qpsvm.numerics.arrays import IN_CACHE, default_memory_limit, is_sparse, row_blocks

Column: TypeAlias = Any
"""Labels, targets or weights of samples in chunks: a column's name, a folder, or an array."""

Beside: TypeAlias = Mapping[str, Column]
"""What is stored beside the samples, by the names of arguments: y, then sample_weight."""

SUFFIXES = {"parquet": (".parquet", ".pq"), "npz": (".npz",), "npy": (".npy",)}
"""File name extensions of the formats in which samples in chunks may be stored."""


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
class Reader:
    """A call that reads the rows of a chunk, for the worker that needs them.

    Attributes
    ----------
    function : callable
        Of a module, so that a worker can import it; returns a ``RawChunk``.
    arguments : tuple
    """

    function: Callable[..., RawChunk]
    arguments: tuple[Any, ...]

    def read(self) -> RawChunk:
        """Read the rows."""
        return self.function(*self.arguments)


@dataclass(frozen=True, eq=False)
class Chunk:
    """One part of the training samples, and what reads it when it is needed.

    Attributes
    ----------
    name : str
        For messages: the path of a file with the rows meant, or the number of a block.
    content : reader or Delayed
        An object whose method ``read`` returns a ``RawChunk``; or Dask's promise of one.
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
        return _of_path(Path(X), beside, int(rows))
    return _of_dask(X, beside) if is_dask(X) else _of_array(X, beside, int(rows))


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
    return ChunkedSamples(tuple(_row_chunks([X, *own], rows)), None, f"{kind} of {n} rows")


def _row_chunks(arrays: Sequence[Any], rows: int, prefix: str = "") -> Iterator[Chunk]:
    """Cut X, y and weights into chunks of so many consecutive rows."""
    n = int(arrays[0].shape[0])
    for start in range(0, n, rows):
        stop = min(start + rows, n)
        parts = tuple(_rows(array, start, stop) for array in arrays)
        yield Chunk(f"{prefix}rows {start} to {stop - 1}", Reader(_rows_read, parts))


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
    return _owned(np.memmap(path, dtype, "r", offset, shape, order)[start:stop])


def _rows_read(*arrays: Any) -> RawChunk:
    """Rows of arrays in memory, or in files that are mapped now."""
    X, y, weights = (part() if callable(part) else part for part in arrays)
    is_own = callable(arrays[0]) or is_sparse(X)
    return RawChunk(X if is_own else _owned(X), y, weights)


def _owned(X: Any) -> Any:
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


# --- files ---------------------------------------------------------------------------------------


def _of_path(path: Path, beside: Beside, rows: int) -> ChunkedSamples:
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
        chunks = [Chunk(str(file), Reader(_npz_file, (str(file), *names))) for file in own]
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
            reader = Reader(_parquet_rows, (str(file), groups, features, *named))
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
    """Read row groups of a Parquet file; floats become an array, all else a DataFrame."""
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
    for k, file in enumerate(files):
        own = [X := _mapped(file)]
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
        yield from _row_chunks(own, rows, f"{file}, ")


def _mapped(file: Path) -> Any:
    return _opened(file, lambda file: np.load(file, mmap_mode="r"))


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
