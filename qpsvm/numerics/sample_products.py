"""All products of a sample matrix that the evaluation of a linear machine needs, in one pass.

A machine that is measured needs its decision values ``X w`` and the weights ``X'v`` that its dual
variables imply. What rounding can have done to them is bounded by the sums of the absolute terms,
``|X| |w|`` and ``|X|' |v|``: where terms cancel these exceed the sums by any factor, so neither
follows from the other. The four products read X once, a block of rows at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from qpsvm.numerics.arrays import IN_CACHE, Sparse, Vector, is_sparse, row_blocks
from qpsvm.numerics.exact_sums import exact_sum
from qpsvm.numerics.single_precision import Stored


@dataclass(frozen=True, eq=False)
class SampleProducts:
    """Products of X with weights, and of its transpose with vectors, and the sizes of their terms.

    Attributes
    ----------
    scores, score_sizes : arrays of shape (n,), or None without weights
        ``X w`` and ``|X| |w|``.
    sums : tuple of arrays of shape (d,)
        ``X'v`` of every vector v.
    column_sizes : tuple of arrays of shape (d,)
        ``|X|' |v|``.
    term_sizes, centred_sizes : tuples of arrays of shape (d,)
        ``|X|' t`` and ``|X - c|' t`` for the sizes t of the terms of which every v is a sum, with
        the common offset c of the rows; the same without one.
    """

    scores: Vector | None
    score_sizes: Vector | None
    sums: tuple[Vector, ...]
    column_sizes: tuple[Vector, ...]
    term_sizes: tuple[Vector, ...]
    centred_sizes: tuple[Vector, ...]


def sample_products(
    X: Stored,
    w: Vector | None,
    vectors: Sequence[Vector],
    terms: Sequence[Vector],
    offset: Vector | None,
) -> SampleProducts:
    """Compute ``X w``, and ``X'v`` of every vector, with the sums of their absolute terms.

    The sums have the bits of ``row_sums.sum_of_rows``.

    Parameters
    ----------
    X : array, CSR array or SinglePrecision of shape (n, d)
    w : array of shape (d,) or None
    vectors, terms : sequences of arrays of shape (n,)
        At least one vector; the sizes of the terms that its entries are sums of.
    offset : array of shape (d,) or None
        ``row_sums.common_offset(X)``: taken off the rows before these are added up.
    """
    # the vectors whose absolute values are wanted, each once
    sizes = [np.abs(v) for v in vectors]
    own = [not np.array_equal(t, size) for t, size in zip(terms, sizes, strict=True)]
    asked = [*sizes, *(t for t, differs in zip(terms, own, strict=True) if differs)]
    find = _of_sparse if is_sparse(X) else _of_dense
    scores, score_sizes, sums, columns, centred = find(X, w, vectors, asked, offset)
    place, later = list[int](), len(sizes)
    for k, differs in enumerate(own):
        place.append(later if differs else k)
        later += differs
    return SampleProducts(
        scores=scores,
        score_sizes=score_sizes,
        sums=tuple(sums),
        column_sizes=tuple(columns[: len(sizes)]),
        term_sizes=tuple(columns[k] for k in place),
        centred_sizes=tuple(centred[k] for k in place),
    )


class _Found(NamedTuple):
    """``X w``, ``|X| |w|``, ``X'v``, and ``|X|'s`` and ``|X - c|'s`` of sizes s."""

    scores: Vector | None
    score_sizes: Vector | None
    sums: Sequence[Vector]
    columns: Sequence[Vector]
    centred: Sequence[Vector]


def _of_dense(
    X: Stored,
    w: Vector | None,
    vectors: Sequence[Vector],
    sizes: Sequence[Vector],
    offset: Vector | None,
) -> _Found:
    n, d = X.shape
    scores, score_sizes = np.empty(n), np.empty(n)
    sums = [np.zeros(d) for _ in vectors]
    columns, centred = ([np.zeros(d) for _ in sizes] for _ in range(2))
    size_w = None if w is None else np.abs(w)
    blocks = row_blocks(n, d, IN_CACHE)
    room = np.empty((blocks[0].stop if blocks else 0, d))
    for rows in blocks:
        block = np.asarray(X[rows])
        magnitudes = np.abs(block, out=room[: len(block)])
        if w is not None and size_w is not None:
            np.matmul(block, w, out=scores[rows])
            np.matmul(magnitudes, size_w, out=score_sizes[rows])
        for k, size in enumerate(sizes):
            columns[k] += magnitudes.T @ size[rows]
        if offset is not None:
            block = np.subtract(block, offset, out=magnitudes)
        for k, v in enumerate(vectors):
            sums[k] += block.T @ v[rows]
        if offset is not None:
            magnitudes = np.abs(block, out=magnitudes)
            for k, size in enumerate(sizes):
                centred[k] += magnitudes.T @ size[rows]
    if offset is not None:
        for k, v in enumerate(vectors):
            sums[k] += offset * exact_sum(v.tolist())
    return _Found(
        scores=None if w is None else scores,
        score_sizes=None if w is None else score_sizes,
        sums=sums,
        columns=columns,
        centred=columns if offset is None else centred,
    )


def _of_sparse(
    X: Sparse,
    w: Vector | None,
    vectors: Sequence[Vector],
    sizes: Sequence[Vector],
    offset: Vector | None,
) -> _Found:
    """The products of a CSR array, whose rows count as without a common offset."""
    del offset
    magnitudes = sp.csr_array((np.abs(X.data), X.indices, X.indptr), shape=X.shape)
    columns = np.ascontiguousarray((magnitudes.T @ np.column_stack(sizes)).T)
    return _Found(
        scores=None if w is None else np.asarray(X @ w),
        score_sizes=None if w is None else np.asarray(magnitudes @ np.abs(w)),
        sums=list(np.ascontiguousarray((X.T @ np.column_stack(vectors)).T)),
        columns=list(columns),
        centred=list(columns),
    )
