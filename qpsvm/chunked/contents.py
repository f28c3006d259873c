"""Checked contents of one chunk, read block by block in double precision."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from qpsvm.chunked.chunks import RawChunk
from qpsvm.chunked.settings import BLOCKS
from qpsvm.data.samples import as_samples
from qpsvm.data.targets import as_labels, as_targets, as_weights
from qpsvm.exceptions import ChunkError, InvalidDataError, QPSVMError
from qpsvm.numerics.arguments import Labels
from qpsvm.numerics.arrays import Index, Matrix, Vector, is_sparse, row_blocks
from qpsvm.numerics.rows import row_squares
from qpsvm.numerics.single_precision import SinglePrecision, rows_of, stored_values

Task: TypeAlias = Literal["binary", "regression", "unlabelled"]
"""What y is: one of two labels, a number, or nothing."""


@dataclass(frozen=True, eq=False)
class Contents:
    """Checked rows of one chunk, without those of weight zero.

    Attributes
    ----------
    X : array, CSR array or SinglePrecision of shape (m, d)
    y : array of shape (m,) or None
        Labels, or targets as float64.
    weights : array of shape (m,)
        Above zero.
    has_weights : bool
        Whether any of them is not 1.
    """

    X: Matrix | SinglePrecision
    y: Labels | None
    weights: Vector
    has_weights: bool

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.X.shape[1])

    @property
    def is_sparse(self) -> bool:
        """Return whether the samples of the chunk are a CSR array."""
        return is_sparse(self.X)

    @property
    def n_bytes(self) -> int:
        """Size of the chunk's samples in memory, in bytes."""
        return int(stored_values(self.X).nbytes)

    def blocks(self) -> Iterator[tuple[slice, Matrix]]:
        """Split the samples of a chunk into blocks of rows, each in double precision."""
        width = max(1, stored_values(self.X).size // max(1, self.n_rows))
        for rows in row_blocks(self.n_rows, width, BLOCKS.block_bytes):
            yield rows, self.X[rows]

    def block_squares(self) -> Iterator[Vector]:
        """Squared norms of the samples of a chunk, block by block."""
        for _, block in self.blocks():
            yield row_squares(block)


def checked(raw: RawChunk, task: Task, name: str) -> Contents:
    """Check the rows of a chunk, and drop those of weight zero.

    Raises
    ------
    InvalidDataError
        As ``qpsvm.data.samples.as_samples``, with the chunk and the row in it.
    """
    if getattr(raw.X, "shape", ())[:1] == (0,):
        return _nothing(raw, task, name)
    try:
        X = as_samples(raw.X, keep_single=True)
        n = X.shape[0]
        y: Labels | None = None
        if task != "unlabelled":
            y = as_targets(raw.y) if task == "regression" else as_labels(raw.y)
            if len(y) != n:
                raise InvalidDataError(f"X has {n} rows and y {len(y)}; pass one per row.")
        weights, has_weights = np.ones(n), raw.weights is not None
        if has_weights:
            # a chunk may have no weight at all, if only another has
            weights = as_weights(raw.weights, n, may_vanish=True)
    except QPSVMError as error:
        raise type(error)(f"Chunk {name}: {error}") from error
    kept = np.flatnonzero(weights)
    if len(kept) == n:
        return Contents(X, y, weights, has_weights)
    return Contents(_taken(X, kept), None if y is None else y[kept], weights[kept], has_weights)


def _nothing(raw: RawChunk, task: Task, name: str) -> Contents:
    """Contents of a chunk without rows, which a filter of Dask may leave."""
    if len(raw.X.shape) != 2:
        raise InvalidDataError(
            f"Chunk {name}: X must have two dimensions (samples, features), got shape "
            f"{raw.X.shape}."
        )
    for what, values in (("y", raw.y), ("sample_weight", raw.weights)):
        if values is not None and np.shape(values)[:1] != (0,):
            raise InvalidDataError(
                f"Chunk {name}: X has 0 rows and {what} the shape {np.shape(values)}; pass one "
                "value per row."
            )
    dtype = np.float64 if task == "regression" else np.asarray(raw.y).dtype
    y = None if task == "unlabelled" else np.zeros(0, dtype=dtype)
    return Contents(np.zeros((0, raw.X.shape[1])), y, np.zeros(0), has_weights=False)


def read(name: str, content: Any) -> RawChunk:
    """Read a chunk, unless Dask has read it already.

    Raises
    ------
    ChunkError, InvalidDataError
        It cannot be read, or read exactly; the message names it.
    """
    if isinstance(content, RawChunk):
        return content
    try:
        raw: RawChunk = content.read()
    except InvalidDataError as error:
        raise InvalidDataError(f"Chunk {name}: {error}") from error
    except Exception as error:  # whatever a reader raises on a damaged or missing file
        raise ChunkError(
            f"Cannot read chunk {name}: {type(error).__name__}: {error}. Restore it, and continue "
            "with resume= if there is a checkpoint."
        ) from error
    return raw


def rows_of_contents(contents: Contents, rows: Index) -> Contents:
    """Some rows of a chunk, in a copy of their own."""
    y = contents.y
    return Contents(
        _taken(contents.X, rows),
        None if y is None else y[rows],
        contents.weights[rows],
        contents.has_weights,
    )


def _taken(X: Matrix | SinglePrecision, rows: Index) -> Matrix | SinglePrecision:
    taken: Matrix | SinglePrecision = rows_of(X, rows)
    return taken
