"""Contents of chunks: read, checked, and evaluated in one pass over all chunks, by Dask.

Dask decides where and when: with a ``distributed.Client`` its workers, without one the threads of
this process. Results come back in the order of the chunks, whatever the order of the work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
import scipy.sparse as sp

from qpsvm.chunked.chunks import Chunk, RawChunk, imported
from qpsvm.data.samples import as_samples
from qpsvm.data.targets import as_labels, as_targets, as_weights
from qpsvm.exceptions import ChunkError, InvalidDataError, QPSVMError
from qpsvm.numerics.arguments import Labels
from qpsvm.numerics.arrays import Index, Matrix, Vector, is_sparse, row_blocks
from qpsvm.numerics.contents import digest
from qpsvm.numerics.single_precision import SinglePrecision, rows_of, stored_values
from qpsvm.numerics.threads import one_blas_thread

Task: TypeAlias = Literal["binary", "regression", "unlabelled"]
"""What y is: one of two labels, a number, or nothing."""

Result = TypeVar("Result")


@dataclass(frozen=True)
class ChunkSettings:
    """Numbers of passes over samples in chunks that are no options of a solve.

    Attributes
    ----------
    block_bytes : int
        Size of the blocks of rows in which a chunk is evaluated, in double precision. The passes
        over 3,000,000 rows of 28 features take 3.0 s with 1 MiB, and 2.6 s with 2 or 4 MiB (two
        threads).
    sample_rows : int
        Rows that are chosen at random, about: the guess is off by 1 / sqrt(sample_rows) of the
        margin, and training it takes about a second.
    rare_share : float
        Share of the rows chosen in a chunk that each class has, if the chunk has as many of it;
        with 4 of 4,000 samples in one class, half of 15 solves did not end without it.
    seed : int
        Of the choice, together with the number of the chunk.
    leverage_features : int
        Features up to which each sample has a leverage of its own: it costs as many operations as
        features for each stored entry.
    wide : float
        The band, in units of the estimated error of decision values: few samples beyond it are
        fixed wrongly.
    narrow : float
        The band that memory has to allow, in the same units; otherwise a step of Newton's method
        reduces the error first.
    smoothing : float
        Where such a step rounds off the kink, in the same units.
    search_points : int
        Machines on the way of a step, each half as far as the one before, whose objective is
        measured with that of its end.
    """

    block_bytes: int = 2**21
    sample_rows: int = 100_000
    rare_share: float = 0.1
    seed: int = 20_020_607
    leverage_features: int = 512
    wide: float = 6.0
    narrow: float = 3.0
    smoothing: float = 2.0
    search_points: int = 6


CHUNKS = ChunkSettings()
"""Settings of every pass."""


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
    """

    X: Matrix | SinglePrecision
    y: Labels | None
    weights: Vector

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.X.shape[1])

    @property
    def n_bytes(self) -> int:
        """Size of the chunk's samples in memory, in bytes."""
        return int(stored_values(self.X).nbytes)

    def digest(self) -> str:
        """Compute the digest of all numbers and labels: samples, y and weights."""
        has_weights = bool((self.weights != 1.0).any())
        return digest(self.X, self.y, self.weights if has_weights else None)

    def blocks(self) -> Iterator[tuple[slice, Matrix]]:
        """Split the samples of a chunk into blocks of rows, each in double precision."""
        width = max(1, stored_values(self.X).size // max(1, self.n_rows))
        for rows in row_blocks(self.n_rows, width, CHUNKS.block_bytes):
            yield rows, self.X[rows]

    def taken(self, rows: Index | slice) -> Contents:
        """Some rows of a chunk, in a copy of their own."""
        X: Matrix | SinglePrecision = rows_of(self.X, rows)
        y = None if self.y is None else self.y[rows]
        return Contents(X, y, self.weights[rows])


def stacked(parts: Sequence[Matrix | SinglePrecision]) -> Matrix | SinglePrecision:
    """Put rows of samples below each other; sparse if any are, float32 if all are."""
    if any(is_sparse(X) for X in parts):
        return sp.csr_array(sp.vstack([X if is_sparse(X) else np.asarray(X) for X in parts]))
    single = [X.values for X in parts if isinstance(X, SinglePrecision)]
    if len(single) == len(parts):
        return SinglePrecision(np.concatenate(single))
    return np.concatenate([np.asarray(X) for X in parts])


def checked(raw: RawChunk, task: Task) -> Contents:
    """Check the rows of a chunk, and drop those of weight zero.

    Raises
    ------
    InvalidDataError
        As ``qpsvm.data.samples.as_samples``, with the row in the chunk.
    """
    if getattr(raw.X, "shape", ())[:1] == (0,):
        return _nothing(raw, task)
    X = as_samples(raw.X, keep_single=True, borrow=True)
    n = X.shape[0]
    y: Labels | None = None
    if task != "unlabelled":
        y = as_targets(raw.y) if task == "regression" else as_labels(raw.y)
        if len(y) != n:
            raise InvalidDataError(f"X has {n} rows and y {len(y)}; pass one per row.")
    weights = np.ones(n)
    if raw.weights is not None:
        # a chunk may have no weight at all, if only another has
        weights = as_weights(raw.weights, n, may_vanish=True)
    found, kept = Contents(X, y, weights), np.flatnonzero(weights)
    return found if len(kept) == n else found.taken(kept)


def _nothing(raw: RawChunk, task: Task) -> Contents:
    """Contents of a chunk without rows, which a filter of Dask may leave."""
    if len(raw.X.shape) != 2:
        raise InvalidDataError(
            f"X must have two dimensions (samples, features), got shape {raw.X.shape}."
        )
    for what, values in (("y", raw.y), ("sample_weight", raw.weights)):
        if values is not None and np.shape(values)[:1] != (0,):
            raise InvalidDataError(
                f"X has 0 rows and {what} the shape {np.shape(values)}; pass one value per row."
            )
    dtype = np.float64 if task == "regression" else np.asarray(raw.y).dtype
    y = None if task == "unlabelled" else np.zeros(0, dtype=dtype)
    return Contents(np.zeros((0, raw.X.shape[1])), y, np.zeros(0))


# --- passes over all chunks ----------------------------------------------------------------------

Work: TypeAlias = Callable[[Contents, Any, int], Result]
"""What a pass computes on one chunk: of its contents, a request, and its number."""


def on_chunk(
    work: Work[Result], task: Task, name: str, number: int, content: Any, shared: tuple[Any, Any]
) -> Result:
    """Read a chunk, unless Dask has read it already, check it, and compute a function of it.

    All chunks share the request and the digests of their contents (``run_pass``).

    Raises
    ------
    ChunkError, InvalidDataError
        It cannot be read, or not be trained on, or has changed; the message names it.
    """
    try:
        raw = content() if callable(content) else content
    except InvalidDataError as error:
        raise InvalidDataError(f"Chunk {name}: {error}") from error
    except Exception as error:  # whatever a reader raises on a damaged or missing file
        kind = "" if isinstance(error, ChunkError) else f"{type(error).__name__}: "
        raise ChunkError(
            f"Cannot read chunk {name}: {kind}{str(error).rstrip('.')}. Restore it, and continue "
            "with resume= if there is a checkpoint."
        ) from error
    request, digests = shared
    try:
        contents = checked(raw, task)
        with one_blas_thread():
            found = work(contents, request, number)
        if digests:  # the errors before say more
            require_unchanged(contents, digests[number])
        return found
    except InvalidDataError as error:
        raise type(error)(f"Chunk {name}: {error}") from error


def require_unchanged(contents: Contents, expected: str) -> None:
    """Refuse a chunk that is not, bit for bit, the one of the first pass.

    What the first pass found (upper bounds, numbers of rows, scales of a gap) holds for its samples
    only.

    Raises
    ------
    InvalidDataError
        Other samples, labels, targets or weights than those with the digest expected.
    """
    if contents.digest() != expected:
        raise InvalidDataError(
            "its samples, labels or weights have changed since the problem was built; build it "
            "again. A Dask collection that is computed anew in every pass, to "
            "other last digits, has to be stored first (persist)."
        )


def run_pass(
    work: Work[Result],
    task: Task,
    chunks: Sequence[Chunk],
    request: object,
    *,
    digests: Sequence[str] = (),
    verbose: bool = False,
) -> list[Result]:
    """Compute a function of every chunk, and return its values in the order of the chunks.

    Parameters
    ----------
    work : function
        Of a module, so that a worker can import it.
    task : "binary", "regression" or "unlabelled"
    chunks : sequence of Chunk
    request : object
        What all chunks have in common.
    digests : sequence of str
        Of the contents of every chunk, as the first pass found them; empty in that pass.
    verbose : bool
        Show Dask's progress bar.

    Returns
    -------
    list
        In the order of the chunks.

    Raises
    ------
    ChunkError
        A chunk that cannot be read or computed.
    InvalidDataError
        A chunk with samples that an SVM cannot be trained on.
    """
    dask = imported("dask")
    # once for all tasks, and without looking for Dask's own objects in it
    shared = dask.delayed((request, digests), traverse=False, pure=False)
    tasks = list[Any]()
    for k, chunk in enumerate(chunks):
        own = partial(on_chunk, work, task, chunk.name, k)
        tasks.append(dask.delayed(own, pure=False)(chunk.content, shared))
    lazy = any(dask.is_dask_collection(chunk.content) for chunk in chunks)
    try:
        return _computed(tasks, verbose=verbose)
    except QPSVMError:
        raise
    except Exception as error:
        # what computes the blocks of a collection may raise anything, and not by name
        if not (lazy or type(error).__name__ == "KilledWorker"):
            raise
        raise ChunkError(
            f"Dask could not compute a block: {type(error).__name__}: {error}. Correct what it "
            "names, and continue with resume= if there is a checkpoint."
        ) from error


def _computed(tasks: list[Any], *, verbose: bool) -> list[Any]:
    """Compute Dask's tasks, by the client that is the default scheduler if there is one.

    Whatever ends the wait for a client's workers, an error or Ctrl-C, cancels what they have not
    begun yet.
    """
    # a client schedules by its method ``get``
    client: Any = getattr(imported("dask.base").get_scheduler(), "__self__", None)
    if not hasattr(client, "gather"):
        bar = imported("dask.diagnostics").ProgressBar() if verbose else nullcontext()
        # for the whole pass: a thread of Dask's that ends first would give BLAS its threads back
        with one_blas_thread(), bar:
            return list(imported("dask").compute(*tasks))
    distributed, futures = imported("distributed"), client.compute(tasks)
    try:
        if verbose:
            distributed.progress(futures, notebook=False)
        for future in distributed.as_completed(futures):
            if future.status != "finished":
                future.result()  # raises what the task raised
        return list(client.gather(futures))
    except BaseException:
        client.cancel(futures, force=True)
        raise
