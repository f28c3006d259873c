"""Groups of identical variables: equal samples, and equal entries in every vector.

Each is hashed to 64 bits, and those with equal hashes are compared. Equal ones become one: only
their sum matters, and it is shared out in proportion to the room that each has.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from qpsvm.numerics.arrays import IN_CACHE, Index, Mask, Vector, is_sparse, row_blocks
from qpsvm.numerics.compensated import sums_of_groups
from qpsvm.numerics.single_precision import Stored

Hash = npt.NDArray[np.uint64]
Bounds = tuple[Vector, Vector]

WORTH = 0.95
"""Variables are merged where that leaves less than this share of them."""

_SEED = 20_020_607
_ODD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class Merged:
    """Map from a program of groups of identical variables back to all variables.

    Each gets what is nearest to zero in its bounds, and of what is left to the sum a share::

        x_i = nearest_i + (share of the room above, or below) (X - sum of nearest)

    Where zero is within the bounds that is a product, and rounds as x does: no offset as large as
    a bound comes and goes. Shares round, and one of each group takes what that leaves of the sum.

    Attributes
    ----------
    nearest, above, below : arrays of shape (n,)
    bounds : pair of arrays of shape (n,)
    group : array of int of shape (n,)
    kept : array of int of shape (m,)
        The first of every group.
    lower, upper, diag : arrays of shape (m,)
        Of the sums: their bounds, and d in their costs ``1/2 d_i x_i^2``.
    """

    nearest: Vector
    above: Vector
    below: Vector
    bounds: Bounds
    group: Index
    kept: Index
    lower: Vector
    upper: Vector
    diag: Vector

    @classmethod
    def of(
        cls, X: Stored, samples: Index | None, vectors: list[Vector], bounds: Bounds, diag: Vector
    ) -> Merged | None:
        """Merge identical variables; None if hardly fewer variables are left.

        Parameters
        ----------
        X, samples, vectors
            See ``first_equal``.
        bounds : pair of arrays of shape (n,)
        diag : array of shape (n,)
            d. Those whose d is positive are merged from zero upwards without end, when all of a
            group are the same; others share their sum in any way.
        """
        lower, upper = bounds
        can = np.isfinite(lower) & ((diag == 0.0) | ((lower == 0.0) & np.isinf(upper)))
        alone = np.where(can, 0.0, np.arange(1.0, len(diag) + 1.0))
        first = first_equal(X, samples, [*vectors, diag, alone])
        kept = np.flatnonzero(first == np.arange(len(first)))
        if len(kept) >= WORTH * len(first):
            return None
        group = np.searchsorted(kept, first)
        nearest = np.where(can, np.clip(0.0, lower, upper), 0.0)
        above, below = _shares(upper - nearest, group), _shares(nearest - lower, group)
        # a sum of one is that one, to the last bit and if it is infinite
        lowest, highest = (sums_of_groups(group, bound, len(kept)) for bound in bounds)
        of_sums = diag[kept] / np.bincount(group)
        return cls(nearest, above, below, bounds, group, kept, lowest, highest, of_sums)

    def sums(self, x: Vector) -> Vector:
        """Add up the entries of every group of equal variables."""
        return sums_of_groups(self.group, x, len(self.kept))

    def undone(self, X: Vector) -> Vector:
        """Divide sums among their equal variables; a sum at its bound puts all at their bounds."""
        left = (X - np.bincount(self.group, self.nearest))[self.group]
        x = self.nearest + np.where(left > 0.0, self.above, self.below) * left
        x = clip_scaled(x, *self.bounds)
        x[self._with_most_room(x)] += X - clip_scaled(self.sums(x), self.lower, self.upper)
        return np.clip(x, *self.bounds)

    def _with_most_room(self, x: Vector) -> Index:
        """Index, for every group of equal variables, of the one farthest from its bounds."""
        room = np.minimum(x - self.bounds[0], self.bounds[1] - x)
        order = np.lexsort((room, self.group))
        last = np.append(np.flatnonzero(np.diff(self.group[order])), len(x) - 1)
        return np.asarray(order[last])


def clip_scaled(x: Vector, lower: Vector, upper: Vector) -> Vector:
    """The nearest point of a box; entries within a rounding error of a bound move onto it."""
    for bound in (lower, upper):
        # rounding of an entry that was scaled there and back
        x = np.where(np.abs(bound - x) <= 1e-14 * np.abs(x), bound, x)
    return np.clip(x, lower, upper)


def _shares(room: Vector, group: Index) -> Vector:
    """Shares of a group's sum, in proportion to the room of each variable."""
    endless = np.isinf(room)
    has_endless = np.bincount(group, endless) > 0.0
    room = np.where(has_endless[group], endless, np.where(endless, 0.0, room))
    room = np.where((np.bincount(group, room) > 0.0)[group], room, 1.0)
    return np.asarray(room / np.bincount(group, room)[group])


def first_equal(X: Stored, samples: Index | None, vectors: list[Vector]) -> Index:
    """Index of the first equal variable of every variable, shape (n,).

    Parameters
    ----------
    X : array or CSR array of shape (n_samples, r)
    samples : array of int of shape (n,) or None
        The row of X of each variable; None for their own.
    vectors : list of arrays of shape (n,)
        What else has to be equal.
    """
    n = len(vectors[0])
    rows = np.arange(n) if samples is None else samples
    hashes = row_hashes(X)[rows] + _of_vectors(vectors)
    _, begin, inverse = np.unique(hashes, return_index=True, return_inverse=True)
    first = np.asarray(begin[inverse.ravel()], dtype=np.intp)
    second = np.flatnonzero(first != np.arange(n))
    same = _equal_rows(X, rows[second], rows[first[second]])
    for vector in vectors:
        same &= vector[second] == vector[first[second]]
    first[second[~same]] = second[~same]
    return first


def _mixed(values: Vector) -> Hash:
    """Mix the bits of float64 numbers into 64-bit hashes; 0 for zero of either sign."""
    bits = np.ascontiguousarray(values + 0.0).view(np.uint64)
    bits ^= bits >> np.uint64(32)
    bits *= _ODD
    bits ^= bits >> np.uint64(29)
    return bits


def _factors(size: int) -> Hash:
    numbers = np.random.default_rng(_SEED).integers(0, 2**63, size, dtype=np.uint64)
    return 2 * numbers + np.uint64(1)


def row_hashes(X: Stored) -> Hash:
    """64-bit hashes of the rows of X: sums modulo 2^64, in which zeros count as nothing."""
    n, r = X.shape
    factors = _factors(r)
    if is_sparse(X):
        sums = np.cumsum(_mixed(X.data) * factors[X.indices], dtype=np.uint64)
        return np.asarray(np.diff(np.append(np.uint64(0), sums)[X.indptr]))
    hashes = np.empty(n, dtype=np.uint64)
    for rows in row_blocks(n, r, IN_CACHE):
        hashes[rows] = (_mixed(X[rows]) * factors).sum(axis=1)
    return hashes


def _of_vectors(vectors: list[Vector]) -> Hash:
    factors = _factors(len(vectors) + 1)[1:]  # not those of the first columns
    total = np.zeros(len(vectors[0]), dtype=np.uint64)
    for vector, factor in zip(vectors, factors, strict=True):
        total ^= _mixed(vector) * factor
    return total


def _equal_rows(X: Stored, a: Index, b: Index) -> Mask:
    if is_sparse(X):
        return np.asarray(np.diff(sp.csr_array(X[a] != X[b]).indptr) == 0)
    same = np.ones(len(a), dtype=bool)
    for rows in row_blocks(len(a), X.shape[1], IN_CACHE):
        same[rows] = (X[a[rows]] == X[b[rows]]).all(axis=1)
    return same
