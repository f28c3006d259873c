"""The first pass: checks of all chunks, classes, sums of weights, and a random choice of rows.

A row is chosen with probability proportional to ``1/n + sum_j x_ij^2 / (d sum_k x_kj^2)``, at most
1: half of the choice is uniform, half goes by the share that the row has in each column. Rare
features with large values are then seen often enough for their weights to be guessed. A tenth of
the choice, at least, is of each class: a machine that has seen no row of a class is no guess. A row
that is chosen stands for as many as the inverse of its probability.

Source: Drineas, Mahoney and Muthukrishnan, "Sampling algorithms for l2 regression and applications"
(2006), section 3, with the column sums in place of leverages.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from qpsvm.chunked.chunks import ChunkedSamples, Column
from qpsvm.chunked.contents import CHUNKS, Contents, Task, run_pass, stacked
from qpsvm.chunked.sources import chunked
from qpsvm.data.targets import distinct, exact_labels
from qpsvm.exceptions import InvalidDataError
from qpsvm.numerics.arguments import Labels
from qpsvm.numerics.arrays import IN_CACHE, Index, Matrix, Vector, freeze, is_sparse, row_blocks
from qpsvm.numerics.precision import EPS
from qpsvm.numerics.rows import row_squares


@dataclass(frozen=True, eq=False)
class Totals:
    """Counts, classes and sums of a data set in chunks, with a random sample of its rows.

    Attributes
    ----------
    n_rows_by_chunk : tuple of int
        Rows with a weight above zero.
    n_bytes : int
        Size of the samples in memory.
    classes : array of shape (k,) or None
        The labels, sorted: two of all chunks, one or more of a single chunk; None without any.
    class_weights : tuple of float
        Sum of the sample weights of each class; of all samples without classes.
    targets : pair of float
        The smallest and the largest one; NaN without any.
    largest_square : float
        Of the norms of the rows, squared.
    digests : tuple of str
        Of all numbers and labels of every chunk.
    sample : Contents
        Rows chosen at random, in the order of the chunks.
    shares : array of shape (m,)
        How many rows of its chunk each of them stands for.
    n_chosen_by_chunk : tuple of int
    """

    n_rows_by_chunk: tuple[int, ...]
    n_bytes: int
    classes: Labels | None
    class_weights: tuple[float, ...]
    targets: tuple[float, float]
    largest_square: float
    digests: tuple[str, ...]
    sample: Contents
    shares: Vector
    n_chosen_by_chunk: tuple[int, ...]

    @property
    def n_rows(self) -> int:
        """Number of rows with a weight above zero."""
        return sum(self.n_rows_by_chunk)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.sample.n_features

    @property
    def is_sparse(self) -> bool:
        """Return whether samples of any chunk are stored as sparse matrices."""
        return is_sparse(self.sample.X)

    @cached_property
    def squared_spread(self) -> float:
        """Largest squared distance of a sampled row from the mean, rounded down; 1 if that is 0."""
        X, shares = self.sample.X, self.shares
        mean = np.asarray(X.T @ shares) / float(np.sum(shares))
        if is_sparse(X):
            own, other = row_squares(X), float(mean @ mean)
            squares = own - 2.0 * np.asarray(X @ mean) + other
            squares -= (X.shape[1] + 8.0) * EPS * (own + other)
        else:
            blocks = row_blocks(X.shape[0], X.shape[1], IN_CACHE)
            squares = np.concatenate([row_squares(X[rows] - mean) for rows in blocks])
        return float(np.max(squares)) if np.max(squares) > 0.0 else 1.0


def first_pass(
    task: Task, X: object, y: Column, sample_weight: Column, sample_rows: int | None = None
) -> tuple[ChunkedSamples, Totals]:
    """Divide samples into chunks, check them, and choose about so many rows at random.

    Raises
    ------
    InvalidDataError, ChunkError, MissingPackageError
        As ``chunked_problem``.
    """
    if task != "unlabelled" and y is None and not isinstance(X, ChunkedSamples):
        raise InvalidDataError(
            "y is missing; for Parquet and .npz files pass the name of a column or an array, "
            "for Dask collections another one."
        )
    samples = chunked(X, None if task == "unlabelled" else y, sample_weight)
    n_sample = max(1, -(-(sample_rows or CHUNKS.sample_rows) // len(samples.chunks)))
    parts = run_pass(chunk_totals, task, samples.chunks, (task, n_sample))
    return samples, combined(parts, [chunk.name for chunk in samples.chunks], task)


def chunk_totals(contents: Contents, request: tuple[Task, int], number: int) -> Totals:
    """Sum up one chunk in the first pass, and choose rows of it at random.

    Parameters
    ----------
    contents : Contents
    request : pair
        What y is, and how many rows are chosen, about.
    number : int
        Of the chunk.

    Raises
    ------
    InvalidDataError
        Labels that cannot be sorted; weights whose sum overflows.
    """
    task, n_sample = request
    n, y = contents.n_rows, contents.y
    classes, codes, targets = None, np.zeros(n, dtype=np.intp), (math.nan, math.nan)
    if task == "binary" and y is not None:
        classes, codes = distinct(y)
    elif task == "regression" and y is not None and n:
        targets = float(np.min(y)), float(np.max(y))
    rows, shares = chosen_rows(contents, n_sample, (CHUNKS.seed, number), codes)
    k = 1 if classes is None else len(classes)
    return Totals(
        n_rows_by_chunk=(n,),
        n_bytes=contents.n_bytes,
        classes=classes,
        class_weights=tuple(
            sum_of_weights(contents.weights[codes == c].tolist()) for c in range(k)
        ),
        targets=targets,
        largest_square=float(np.max(row_squares(contents.X), initial=0.0)),
        digests=(contents.digest(),),
        sample=contents.taken(rows),
        shares=shares,
        n_chosen_by_chunk=(len(shares),),
    )


def chosen_rows(
    contents: Contents, n_sample: int, seed: Sequence[int], codes: Index | None = None
) -> tuple[Index, Vector]:
    """Draw a random sample of a chunk's rows, each weighted by the inverse of its probability.

    Parameters
    ----------
    contents : Contents
    n_sample : int
        All rows are chosen if there are no more.
    seed : sequence of int
    codes : array of int of shape (n,) or None
        The class of every row, numbered from 0; None without classes.

    Returns
    -------
    rows : array of int of shape (m,)
    shares : array of shape (m,)
        They add up to the number of rows.
    """
    n = contents.n_rows
    if n <= n_sample:
        return np.arange(n), np.ones(n)
    rng = np.random.default_rng(list(seed))
    chances = np.minimum(1.0, n_sample * 0.5 * (1.0 / n + _shares_of_columns(contents)))
    if codes is not None and len(counts := np.bincount(codes)) == 2:
        chances = np.maximum(chances, np.minimum(1.0, CHUNKS.rare_share * n_sample / counts[codes]))
    order, start = rng.permutation(n), rng.random()
    # a row is chosen where the sum of chances passes a whole number: the size hardly varies
    steps = np.floor(np.cumsum(chances[order]) + start)
    rows = order[np.diff(steps, prepend=0.0) > 0.0]
    rows = np.sort(rows if len(rows) else order[:1])
    shares = 1.0 / chances[rows]
    return rows, shares * (n / float(np.sum(shares)))


def _shares_of_columns(contents: Contents) -> Vector:
    """``1/d sum_j x_ij^2 / sum_k x_kj^2`` of every row; columns that overflow count nothing."""
    sums, parts = np.zeros(contents.n_features), list[Vector]()
    with np.errstate(over="ignore", invalid="ignore"):
        for _, block in contents.blocks():
            sums += np.asarray(_squares(block).sum(axis=0)).ravel()
        used = np.isfinite(sums) & (sums > 0.0)
        factors = used / np.where(used, sums, 1.0) / max(1, len(sums))
        for _, block in contents.blocks():
            parts.append(np.asarray(_squares(block) @ factors))
    return np.asarray(np.nan_to_num(np.concatenate(parts), nan=0.0, posinf=1.0))


def _squares(block: Matrix) -> Matrix:
    return block.power(2) if is_sparse(block) else block * block


def combined(parts: Sequence[Totals], names: Sequence[str], task: Task) -> Totals:
    """Add up the results of the first pass on all chunks, in their order.

    Raises
    ------
    InvalidDataError
        Chunks with different numbers of features; one class only, or more than two; no rows left.
    """
    d = parts[0].n_features
    for part, name in zip(parts, names, strict=True):
        if part.n_features != d:
            raise InvalidDataError(
                f"Chunk {name!r} has {part.n_features} features and chunk {names[0]!r} "
                f"{d}; all chunks must have the same columns."
            )
    used = [part for part in parts if part.n_rows]
    if not used:
        raise InvalidDataError("No chunk has a row of weight above zero.")
    sums = dict[Any, list[float]]()
    for part in used:
        labels = [0] if part.classes is None else part.classes.tolist()
        for label, weight in zip(labels, part.class_weights, strict=True):
            sums.setdefault(label, []).append(weight)
    classes = _classes(used, sums) if task == "binary" else None
    return Totals(
        n_rows_by_chunk=tuple(part.n_rows for part in parts),
        n_bytes=sum(part.n_bytes for part in parts),
        classes=classes,
        class_weights=tuple(sum_of_weights(sums[label]) for label in sorted(sums)),
        targets=(min(p.targets[0] for p in used), max(p.targets[1] for p in used)),
        largest_square=max(part.largest_square for part in parts),
        digests=tuple(digest for part in parts for digest in part.digests),
        sample=joined([part.sample for part in used], classes),
        shares=np.concatenate([part.shares for part in used]),
        n_chosen_by_chunk=tuple(len(part.shares) for part in parts),
    )


def _classes(parts: Sequence[Totals], sums: dict[Any, list[float]]) -> Labels:
    """The two labels of all chunks, sorted."""
    try:
        found = sorted(sums)
    except TypeError as error:
        raise InvalidDataError(f"y holds labels of mixed kinds ({error}).") from error
    if len(found) != 2:
        shown = ", ".join(map(repr, found[:6])) + (", ..." if len(found) > 6 else "")
        raise InvalidDataError(
            f"y has {len(found)} classes ({shown}); this formulation takes two: select two, or "
            "pass y == label for one class against the rest."
        )
    # chunks may hold labels of different widths: "no" in one, "maybe" in another
    dtypes = [part.classes.dtype for part in parts if part.classes is not None]
    classes = np.array(found, dtype=np.result_type(*dtypes))
    if classes.dtype.kind == "f":
        classes = exact_labels(found, "y of all chunks together")
    return freeze(classes)


def joined(parts: Sequence[Contents], classes: Labels | None) -> Contents:
    """Put rows of several chunks together; their labels may be of different types."""
    y, weights = None, np.concatenate([part.weights for part in parts])
    if parts[0].y is not None:
        dtype = np.dtype(np.float64) if classes is None else classes.dtype
        y = np.concatenate([np.asarray(part.y, dtype) for part in parts])
    return Contents(stacked([part.X for part in parts]), y, weights)


def sum_of_weights(weights: Iterable[float]) -> float:
    """Compute the correctly rounded sum of sample weights.

    Raises
    ------
    InvalidDataError
        It is beyond the range of double precision.
    """
    try:
        return math.fsum(weights)
    except OverflowError as error:
        raise InvalidDataError(
            f"sample_weight adds up to more than {np.finfo(np.float64).max:.3g}; scale the "
            "weights down."
        ) from error
