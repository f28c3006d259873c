"""``X' diag(D) X`` for a very sparse X, from the pairwise products of entries in each row.

Row i of X adds ``D_i x_ij x_ik`` to entry (j, k): a sparse matrix with one row for every pair of
features that occur together, times D. It is made once and multiplied in every iteration.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.numerics.arrays import Dense, Index, Vector
from qpsvm.numerics.single_precision import Stored
from qpsvm.solvers.interior_point.settings import InteriorPointSettings


@dataclass(frozen=True, eq=False)
class FeaturePairs:
    """Pairwise products of the entries of every row, for columns j <= k.

    Attributes
    ----------
    products : CSR matrix of shape (n, r^2)
    order : array of int of shape (n,)
        The row of X that each row belongs to.
    rank : int
    """

    products: Any
    order: Index
    rank: int

    @classmethod
    def of(cls, X: Any) -> FeaturePairs:
        """Form the pairwise products of a CSR matrix of shape (n, r)."""
        if not X.has_sorted_indices:
            X = X.sorted_indices()
        n, rank = X.shape
        counts = np.diff(X.indptr)
        order = np.argsort(counts, kind="stable")
        sorted_counts = counts[order].astype(np.int64)
        ends = np.concatenate([[0], np.cumsum(sorted_counts * (sorted_counts + 1) // 2)])
        values, pairs = np.empty(ends[-1]), np.empty(ends[-1], dtype=np.int32)
        row = 0
        for count, rows in zip(*_groups(counts, order), strict=True):
            entries = X.indptr[rows][:, None] + np.arange(count)
            columns, data = X.indices[entries], X.data[entries]
            left, right = np.triu_indices(count)
            own = slice(ends[row], ends[row + len(rows)])
            shape = (len(rows), len(left))
            np.multiply(data[:, left], data[:, right], out=values[own].reshape(shape))
            np.add(rank * columns[:, left], columns[:, right], out=pairs[own].reshape(shape))
            row += len(rows)
        return cls(sp.csr_array((values, pairs, ends), shape=(n, rank**2)), order, rank)

    def restricted(self, rows: Index) -> FeaturePairs:
        """The pairwise products of some rows of X."""
        place = np.empty_like(self.order)
        place[self.order] = np.arange(len(self.order))
        return FeaturePairs(self.products[place[rows]], np.arange(len(rows)), self.rank)

    @staticmethod
    def count(X: Any) -> int:
        """Number of pairwise products of a CSR matrix."""
        counts = np.diff(X.indptr).astype(np.int64)
        return int(counts @ (counts + 1)) // 2

    @classmethod
    def pays(cls, X: Stored, settings: InteriorPointSettings) -> bool:
        """Return whether pairwise products are less work than dense products of blocks."""
        n, rank = X.shape
        numbered = rank**2 <= np.iinfo(np.int32).max
        return bool(numbered and settings.pair_cost * cls.count(X) < n * rank**2 // 2)

    def normal(self, D: Vector) -> Dense:
        """``X' diag(D) X``, upper triangle in Fortran order."""
        total = self.products.T @ D[self.order]
        return np.asfortranarray(total.reshape(self.rank, self.rank))


def _groups(counts: Index, order: Index) -> tuple[Index, list[Index]]:
    """Yield each number of entries per row that occurs, with the rows that have it."""
    found, begin = np.unique(counts[order], return_index=True)
    return found, np.split(order, begin[1:])
