"""Search for the training rows that are a model's support vectors.

LIBSVM writes support vectors with ``%.8g``: to find them among the training rows, these have to be
rounded in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from qpsvm.data.samples import as_samples
from qpsvm.exceptions import ModelFileError
from qpsvm.numerics.arguments import Samples, Targets
from qpsvm.numerics.arrays import (
    IN_CACHE,
    Index,
    Matrix,
    Sparse,
    Vector,
    is_sparse,
    row_blocks,
)

EXACT = 17
"""Significant digits that tell every float64 from its neighbours."""

Precision: TypeAlias = type[np.float64] | type[np.float32]
"""Type of floating-point numbers that a library stores."""


def match_rows(
    support_vectors: Matrix,
    X: Samples,
    digits: int = EXACT,
    *,
    dtype: Precision = np.float64,
    labels: tuple[Targets, Targets] | None = None,
    targets: tuple[Targets, Targets] | None = None,
    source: str = "the model",
    first_line: int | None = None,
) -> Index:
    """Find the row of X that each support vector is.

    Two vectors are the same when they are after ``as_printed(value, digits)``. Of rows with the
    same values each is used once, in their order.

    Parameters
    ----------
    support_vectors : array or sparse matrix of shape (m, d')
        Columns beyond those of X must be zero.
    X : array or sparse matrix of shape (n, d)
        The samples to look in.
    digits : int
        Significant digits the support vectors were printed with; 17 if they are exact.
    dtype : float64 or float32
        The precision X was rounded to before it was printed.
    labels : (array of shape (m,), array of shape (n,)), optional
        Numbers that must agree too: classes of the support vectors and of the rows.
    targets : (array of shape (m,), array of shape (n,)), optional
        Coefficients of the support vectors of a regression, and targets. Where more rows have the
        same values than there are such support vectors, those with negative coefficients are the
        rows with the smallest targets, the others those with the largest: so they are at the
        optimum, ``t_i - f(x_i)`` having the sign of the coefficient.
    source : str
        The model, for messages.
    first_line : int, optional
        The line of the first support vector, for messages.

    Returns
    -------
    array of int of shape (m,)
        No row twice.

    Raises
    ------
    ModelFileError
        A support vector is no row of X, with the nearest one; or there are more of them than such
        rows.
    InvalidDataError
        X is not a table of finite numbers.

    Notes
    -----
    Rows are looked up by their rounded values: time and memory are linear in the data.

    Examples
    --------
    >>> match_rows([[0.33333333]], [[0.0], [1 / 3], [1.0]], digits=8)
    array([1])
    """
    samples = as_samples(X)
    vectors = sp.csr_array(support_vectors, dtype=np.float64)
    own_labels, row_labels = (None, None) if labels is None else map(_vector, labels)
    keys = list(_keys(vectors, digits, np.float64, own_labels))
    wanted: dict[bytes, list[int]] = {}
    for i, key in enumerate(keys):
        wanted.setdefault(key, []).append(i)
    rows_of: dict[bytes, list[int]] = {key: [] for key in wanted}
    for row, key in enumerate(_keys(samples, digits, dtype, row_labels)):
        if key in rows_of:
            rows_of[key].append(row)
    found = np.full(len(keys), -1, dtype=np.intp)
    for key, same in wanted.items():
        own, rows = same, rows_of[key]
        if targets is not None and len(rows) > len(own):
            own, rows = _by_target(own, rows, *map(_vector, targets))
        found[own[: len(rows)]] = rows[: len(own)]
    missing = np.flatnonzero(found < 0)
    if missing.size:
        i = int(missing[0])
        where = "" if first_line is None else f" (line {first_line + i})"
        reason = _too_often(rows_of[keys[i]]) or _difference(vectors[[i]], samples, digits, dtype)
        raise ModelFileError(
            f"{source!r} does not match the data: support vector {i}{where} {reason}. Of "
            f"{len(keys)} support vectors {missing.size} are not found; pass the training data as "
            "the library got them, scaled and with all columns."
        )
    return found


# --- keys -------------------------------------------------------------------------------------


def _keys(matrix: Matrix, digits: int, dtype: Precision, labels: Vector | None) -> Iterator[bytes]:
    """Yield each row's rounded nonzero entries and their columns as bytes."""
    n, d = matrix.shape
    for rows in row_blocks(n, d, IN_CACHE):
        block = _rounded(matrix[rows], digits, dtype)
        columns, values, ends = block.indices.astype(np.int64), block.data, block.indptr.tolist()
        for i, (start, end) in enumerate(pairwise(ends)):
            key = columns[start:end].tobytes() + values[start:end].tobytes()
            yield key if labels is None else key + labels[rows.start + i].tobytes()


def _rounded(matrix: Matrix, digits: int, dtype: Precision) -> Sparse:
    """The entries as they would be printed, in column order, without zeros."""
    block = sp.csr_array(matrix, dtype=np.float64, copy=True)
    block.sum_duplicates()
    with np.errstate(over="ignore"):
        block.data = as_printed(block.data.astype(dtype).astype(np.float64), digits)
    block.eliminate_zeros()
    return block


# --- rows with the same values ----------------------------------------------------------------


def _by_target(
    own: list[int], rows: list[int], coefficients: Vector, targets: Vector
) -> tuple[list[int], list[int]]:
    """Pair support vectors, sorted by coefficient, with the rows of extreme targets."""
    own = sorted(own, key=lambda i: coefficients[i])
    rows = sorted(rows, key=lambda row: targets[row])
    below = sum(coefficients[i] < 0.0 for i in own)
    return own, rows[:below] + rows[len(rows) - (len(own) - below) :]


# --- what to say ------------------------------------------------------------------------------


def _too_often(rows: list[int]) -> str:
    """Message that more support vectors than rows of X have the same values; may be empty."""
    if not rows:
        return ""
    return (
        f"has the values of row {rows[0]} of X, but more support vectors have these values than "
        f"rows do ({len(rows)})"
    )


def _difference(vector: Sparse, samples: Matrix, digits: int, dtype: Precision) -> str:
    """Describe how a support vector differs from the nearest row of X."""
    d = samples.shape[1]
    beyond = vector.indices[(vector.indices >= d) & (vector.data != 0.0)]
    if beyond.size:
        return f"has a value in column {int(beyond.max())} (from 0), X has {d} columns"
    dense = np.zeros(d)
    inside = vector.indices < d
    dense[vector.indices[inside]] = vector.data[inside]
    with np.errstate(over="ignore", invalid="ignore"):
        squares = samples.multiply(samples) if is_sparse(samples) else samples * samples
        distance = np.asarray(squares.sum(axis=1)).ravel() - 2.0 * (samples @ dense)
        row = int(np.argmin(np.where(np.isfinite(distance), distance, np.inf)))
        nearest = _rounded(samples[[row]], digits, dtype).toarray().ravel()
        column = int(np.argmax(np.abs(nearest - dense)))
    if nearest[column] == dense[column]:
        return f"has the values of row {row} of X, which has another label"
    theirs, own = (f"{value:.{min(digits, EXACT)}g}" for value in (dense[column], nearest[column]))
    return (
        f"is no row of X; row {row}, the nearest, differs in column {column} (from 0): {theirs} "
        f"against {own}"
    )


def _vector(values: Targets) -> Vector:
    return np.asarray(values, dtype=np.float64)


# --- digits ------------------------------------------------------------------------------------


def as_printed(values: Vector, digits: int) -> Vector:
    """Round numbers to significant digits, exactly as writing them by ``printf`` and reading would.

    Parameters
    ----------
    values : array
    digits : int
        Significant digits, at least 1; from 17 on nothing changes.

    Examples
    --------
    >>> as_printed(np.array([2 / 3, 1234.5678951, 0.0]), 8)
    array([6.6666667e-01, 1.2345679e+03, 0.0000000e+00])
    """
    if digits >= EXACT:
        return values
    return np.array([float(f"{value:.{digits}g}") for value in values.tolist()])


def most_digits(text: bytes, before: bytes, at_least: int) -> int:
    """Largest number of significant digits of the numbers that follow a given character.

    Parameters
    ----------
    text : bytes
    before : bytes of length 1
        What stands before the numbers meant.
    at_least : int
        The answer where all of them are shorter.

    Returns
    -------
    int
        ``EXACT`` if one has more than 15: with 16 the shortest decimal that is read back as the
        same float64 and the nearest one may differ (9.95 and 9.949999999999999).

    Examples
    --------
    >>> most_digits(b"0.98765432109876 1:0.012345678901 2:4", b":", 8)
    11
    """
    for digits in range(at_least, 16):
        # leading zeros do not count; the point may be anywhere
        longer = re.compile(before + rb"[+-]?[0.]*+[1-9](?:\.?\d){%d}" % digits)
        if not longer.search(text):
            return digits
    return EXACT
