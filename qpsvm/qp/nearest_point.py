"""The nearest feasible point, and entries of points that are rounding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from qpsvm.numerics.arrays import Matrix, Vector


@dataclass(frozen=True, eq=False)
class NearestPoint:
    """A point whose real neighbour ``point + change`` satisfies every restriction.

    Attributes
    ----------
    point : array of shape (n,)
        Within its bounds; rows are missed by the rounding of its entries.
    change : array of shape (n,)
        From the point to its real neighbour, which no doubles express. Mostly a rounding of the
        entry; at most a rounding of the terms of a row that the entry must make up for.
    left : array of shape (m,)
        Violation of the rows at the real neighbour: rounding of rows that contradict each other by
        no more.
    blocked : int or None
        A row whose violation is larger: nothing is known. None if there is none.
    worst : float
        The largest of ``left``, relative to the terms of its row.
    """

    point: Vector
    change: Vector
    left: Vector
    blocked: int | None = None
    worst: float = 0.0


def unnoticed(matrix: Matrix, sizes: Vector) -> Vector:
    """Largest change of each variable that the rounding of one of its rows hides, shape (n,).

    A variable that is rounding beside the other terms of one row, and all there is in another, is
    zero there.
    """
    if not sp.issparse(matrix):
        entries = np.abs(matrix)
        per_term = sizes[:, None] / np.where(entries > 0.0, entries, 1.0)
        return np.asarray(np.max(np.where(entries > 0.0, per_term, 0.0), axis=0, initial=0.0))
    sparse = sp.csr_array(abs(matrix))
    per_entry = np.repeat(sizes, np.diff(sparse.indptr)) / np.where(
        sparse.data > 0.0, sparse.data, np.inf
    )
    largest = np.zeros(matrix.shape[1])
    np.maximum.at(largest, sparse.indices, per_entry)
    return largest
