"""The first pass: checks of all chunks, classes, sums of weights, and a sample of the rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from qpsvm.chunked.contents import Contents, Task, rows_of_contents
from qpsvm.chunked.row_sample import chosen_rows
from qpsvm.data.targets import exact_labels, require_one_kind
from qpsvm.exceptions import InvalidDataError
from qpsvm.numerics.arguments import Labels
from qpsvm.numerics.arrays import IN_CACHE, Index, Matrix, Vector, freeze, is_sparse, row_blocks
from qpsvm.numerics.digests import digest
from qpsvm.numerics.precision import EPS
from qpsvm.numerics.rows import row_squares


@dataclass(frozen=True, eq=False)
class ChunkTotals:
    """Result of the first pass on one chunk.

    Attributes
    ----------
    n_rows, n_features : int
        Rows with a weight above zero.
    n_bytes : int
        Size of the samples in memory.
    is_sparse : bool
    weight : float
    labels : array
        The distinct labels; empty without any.
    label_weights : array
        The sum of weights of each.
    smallest_target, largest_target : float
        NaN without targets.
    largest_square : float
        Of the norms of the rows, squared.
    digest : str
        Of all numbers and labels.
    sample : Contents
        Rows chosen at random.
    shares : array of shape (m,)
        How many rows each of them stands for.
    """

    n_rows: int
    n_features: int
    n_bytes: int
    is_sparse: bool
    weight: float
    labels: Labels
    label_weights: Vector
    smallest_target: float
    largest_target: float
    largest_square: float
    digest: str
    sample: Contents
    shares: Vector


@dataclass(frozen=True, eq=False)
class Totals:
    """Result of the first pass over all chunks: sizes, classes, sums, and a sample of the rows.

    Attributes
    ----------
    n_rows, n_features, n_bytes : int
    is_sparse : bool
    weight : float
        Sum of the sample weights.
    classes : array of shape (2,) or None
        The two labels, sorted.
    class_weights : tuple of float
    smallest_target, largest_target, largest_square : float
    squared_spread : float
        The largest distance of a row of the sample from the mean of these rows, squared; 1 if that
        is zero.
    n_rows_by_chunk : tuple of int
    digests : tuple of str
        Of every chunk.
    sample : tuple of Contents
        Rows chosen at random, a part of every chunk.
    shares : tuple of arrays
        How many rows of its chunk each row of these parts stands for.
    """

    n_rows: int
    n_features: int
    n_bytes: int
    is_sparse: bool
    weight: float
    classes: Labels | None
    class_weights: tuple[float, ...]
    smallest_target: float
    largest_target: float
    largest_square: float
    squared_spread: float
    n_rows_by_chunk: tuple[int, ...]
    digests: tuple[str, ...]
    sample: tuple[Contents, ...]
    shares: tuple[Vector, ...]


def chunk_totals(contents: Contents, task: Task, n_sample: int, seed: Sequence[int]) -> ChunkTotals:
    """Sum up one chunk in the first pass, and choose rows of it at random."""
    n = contents.n_rows
    labels, codes = np.empty(0), np.empty(0, dtype=np.intp)
    smallest = largest = math.nan
    if task == "binary":
        assert contents.y is not None
        try:
            labels, codes = np.unique(contents.y, return_inverse=True)
        except TypeError as error:
            require_one_kind(contents.y.tolist())
            raise InvalidDataError(f"y holds labels that cannot be sorted ({error}).") from error
    elif task == "regression" and n:
        assert contents.y is not None
        smallest, largest = float(np.min(contents.y)), float(np.max(contents.y))
    rows, shares = chosen_rows(contents, n_sample, seed, codes if len(labels) else None)
    return ChunkTotals(
        n_rows=n,
        n_features=contents.n_features,
        n_bytes=contents.n_bytes,
        is_sparse=contents.is_sparse,
        weight=sum_of_weights(contents.weights.tolist()) if contents.has_weights else float(n),
        labels=labels,
        label_weights=_sums_by_label(codes.ravel(), contents.weights, len(labels)),
        smallest_target=smallest,
        largest_target=largest,
        largest_square=float(max(map(np.max, contents.block_squares()), default=0.0)),
        digest=digest_of(contents),
        sample=rows_of_contents(contents, rows),
        shares=shares,
    )


def _sums_by_label(codes: Index, weights: Vector, n_labels: int) -> Vector:
    return np.array([sum_of_weights(weights[codes == k].tolist()) for k in range(n_labels)])


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


def digest_of(contents: Contents) -> str:
    """Compute the digest of all numbers and labels of a chunk: samples, y and weights."""
    return digest(contents.X, contents.y, contents.weights if contents.has_weights else None)


def combined(parts: Sequence[ChunkTotals], names: Sequence[str], task: Task) -> Totals:
    """Add up the results of the first pass on all chunks, in their order.

    Raises
    ------
    InvalidDataError
        Chunks with different numbers of features; one class only, or more than two; no rows left.
    """
    for part, name in zip(parts, names, strict=True):
        if part.n_features != parts[0].n_features:
            raise InvalidDataError(
                f"Chunk {name!r} has {part.n_features} features and chunk {names[0]!r} "
                f"{parts[0].n_features}; all chunks must have the same columns."
            )
    used = [part for part in parts if part.n_rows]
    if not used:
        raise InvalidDataError("No chunk has a row of weight above zero.")
    weight = sum_of_weights(part.weight for part in parts)
    classes, class_weights = _classes(used) if task == "binary" else (None, (weight,))
    shares = tuple(part.shares for part in used)
    targets = [(part.smallest_target, part.largest_target) for part in used]
    return Totals(
        n_rows=sum(part.n_rows for part in parts),
        n_features=parts[0].n_features,
        n_bytes=sum(part.n_bytes for part in parts),
        is_sparse=any(part.is_sparse for part in parts),
        weight=weight,
        classes=classes,
        class_weights=class_weights,
        smallest_target=min(low for low, _ in targets),
        largest_target=max(high for _, high in targets),
        largest_square=max(part.largest_square for part in parts),
        squared_spread=_squared_spread([part.sample.X for part in used], shares),
        n_rows_by_chunk=tuple(part.n_rows for part in parts),
        digests=tuple(part.digest for part in parts),
        sample=tuple(part.sample for part in used),
        shares=shares,
    )


def _squared_spread(parts: Sequence[Matrix], shares: Sequence[Vector]) -> float:
    """Lower bound of the spread ``max |x - mean|^2``, from a sample of rows; 1 for equal rows."""
    total, count = np.zeros(parts[0].shape[1]), 0.0
    for X, share in zip(parts, shares, strict=True):
        total += np.asarray(X.T @ share)
        count += float(np.sum(share))
    mean, largest, all_zero = total / count, 0.0, True
    for X in parts:
        if is_sparse(X):
            own, other = row_squares(X), float(mean @ mean)
            squares = own - 2.0 * np.asarray(X @ mean) + other
            rounding = (X.shape[1] + 8.0) * EPS * (own + other)
            largest = max(largest, float(np.max(squares - rounding)))
            all_zero &= not own.any()
            continue
        for rows in row_blocks(X.shape[0], X.shape[1], IN_CACHE):
            largest = max(largest, float(np.max(row_squares(X[rows] - mean))))
    return largest if largest > 0.0 else 1.0


def _classes(parts: Sequence[ChunkTotals]) -> tuple[Labels, tuple[float, ...]]:
    sums = dict[object, list[float]]()
    for part in parts:
        for label, weight in zip(part.labels.tolist(), part.label_weights.tolist(), strict=True):
            sums.setdefault(label, []).append(weight)
    try:
        found = sorted(sums)  # type: ignore[type-var] # what does not compare is refused here
    except TypeError as error:
        raise InvalidDataError(f"y holds labels of mixed kinds ({error}).") from error
    if len(found) != 2:
        shown = ", ".join(map(repr, found[:6])) + (", ..." if len(found) > 6 else "")
        raise InvalidDataError(
            f"y has {len(found)} classes ({shown}); this formulation takes two: select two, or "
            "pass y == label for one class against the rest."
        )
    # chunks may hold labels of different widths: "no" in one, "maybe" in another
    classes = np.array(found, dtype=np.result_type(*(part.labels.dtype for part in parts)))
    if classes.dtype.kind == "f":
        classes = exact_labels(found, "y of all chunks together")
    return freeze(classes), tuple(sum_of_weights(sums[label]) for label in found)
