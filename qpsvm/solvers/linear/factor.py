"""Products with F and its normal matrix, for ``P = F F' + diag(d)``, ``F = R X``."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from scipy.linalg.blas import dsyrk

from qpsvm.numerics.arrays import (
    IN_CACHE,
    Dense,
    Index,
    Vector,
    is_sparse,
)
from qpsvm.numerics.single_precision import rows_of, stored_values
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.qp.sample_quadratic import Selection
from qpsvm.solvers.linear.settings import DEFAULTS, LinearSettings


class Factor(LowRankQuadratic):
    """``F F'`` with products of ``F = R [X, root]`` and F'DF, for which F is never formed.

    Products read X in blocks of rows. Variables that look at the same sample share its row:
    ``F' D F = X' diag(R' D R) X``. A slack variable has a row of zeros.
    """

    settings: LinearSettings = DEFAULTS

    @classmethod
    def of(
        cls, P: LowRankQuadratic, n_slack: int = 0, settings: LinearSettings = DEFAULTS
    ) -> Factor:
        """The factor of a Hessian, with so many slack variables behind."""
        if P.selection.n_samples == 0:  # slack variables need a sample, of which they have none
            P = LowRankQuadratic(np.zeros((1, P.samples.shape[1])), index=np.zeros(0, dtype=int))
        selection = P.selection.extended(n_slack)
        factor = cls.own(P.samples, selection, np.zeros(selection.size), P.constant)
        factor.settings = settings
        return factor

    @property
    def root(self) -> float:
        """The value of the constant feature, the square root of ``constant``."""
        return math.sqrt(self.constant)

    @property
    def width(self) -> int:
        """Number of features that are stored."""
        return int(self.samples.shape[1])

    @property
    def is_sparse(self) -> bool:
        """Return whether the samples are a sparse matrix."""
        return is_sparse(self.samples)

    @cached_property
    def n_entries(self) -> int:
        """Number of stored entries, at least 1."""
        return max(stored_values(self.samples).size, 1)

    @cached_property
    def _pairs(self) -> Any:
        """Products of pairs of features; None where the matrices ``F'D F`` take less without."""
        pays = self.is_sparse and pairs_pay(self.samples, self.settings)
        return feature_pairs(self.samples) if pays else None

    def of_samples(self, samples: Index | None, selection: Selection, diag: Vector) -> Self:
        if samples is not None and self.is_sparse and 8 * len(samples) * self.width <= IN_CACHE:
            few: Any = self.samples[samples]
            copy = self.own(few.toarray(), selection, diag, self.constant)
        else:
            copy = super().of_samples(samples, selection, diag)
            if samples is not None and self.__dict__.get("_pairs") is not None:
                copy._pairs = self._pairs[samples]
        copy.settings = self.settings
        return copy

    def times(self, c: Vector, out: Vector) -> Vector:
        """``F c``, written to ``out``."""
        R = self.selection
        scores = np.asarray(self.samples @ c[: self.width])
        if self.constant:
            scores += self.root * c[-1]
        np.multiply(R.signs, scores if R.index is None else scores[R.index], out=out)
        return out

    def transposed(self, v: Vector) -> Vector:
        """``F' v``."""
        v = self.selection.gather(v)
        of_features = np.asarray(self.samples.T @ v)
        return np.append(of_features, self.root * np.sum(v)) if self.constant else of_features

    def normal(self, D: Vector) -> Dense:
        """``F' diag(D) F``, shape (r, r), upper triangle."""
        weights = self.selection.gather(self.selection.signs * D)
        if not self.constant:
            return self._of_features(weights)
        total = np.zeros((self.rank, self.rank), order="F")
        total[:-1, -1] = self.root * np.asarray(self.samples.T @ weights)
        total[-1, -1] = self.constant * np.sum(weights)
        total[:-1, :-1] = self._of_features(weights)
        return total

    def _of_features(self, weights: Vector) -> Dense:
        """``X' diag(weights) X``, upper triangle."""
        used = np.flatnonzero(weights)
        if len(used) < self.settings.copied_share * self.selection.n_samples:
            return _weighted_gram(rows_of(self.samples, used), np.sqrt(weights[used]))
        if self._pairs is not None:
            return of_pairs(self._pairs, weights)
        return _weighted_gram(self.samples, np.sqrt(weights))


def _weighted_gram(X: Any, roots: Vector) -> Dense:
    """The upper triangle of ``X' diag(roots)^2 X``, by blocks of rows."""
    n, width = X.shape
    total = np.zeros((width, width), order="F")
    rows = max(64, IN_CACHE // (8 * max(width, 1)))
    buffer = np.empty((min(rows, n), width))
    for begin in range(0, n, rows):
        block, root = X[begin : begin + rows], roots[begin : begin + rows]
        scaled = buffer[: len(root)]
        if sp.issparse(X):
            block.toarray(out=scaled)
            scaled *= root[:, None]
        else:
            np.multiply(block, root[:, None], out=scaled)
        total = dsyrk(1.0, scaled.T, beta=1.0, c=total, overwrite_c=1)
    return total


# --- pairs of features ----------------------------------------------------------------------------


def feature_pairs(X: Any) -> Any:
    """Products of the entries j <= k of every row of a CSR matrix: a CSR matrix of shape (n, r^2).

    Row i of X adds ``D_i x_ij x_ik`` to entry (j, k) of ``X'diag(D) X``, so that for a very sparse
    X this is a sparse matrix, made once, times D.
    """
    if not X.has_sorted_indices:
        X = X.sorted_indices()
    n, rank = X.shape
    counts = np.diff(X.indptr).astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(counts * (counts + 1) // 2)])
    values, pairs = np.empty(starts[-1]), np.empty(starts[-1], dtype=np.int32)
    for count in np.unique(counts).tolist():  # all rows of one length together
        rows, (left, right) = np.flatnonzero(counts == count), np.triu_indices(count)
        entries = X.indptr[rows][:, None] + np.arange(count)
        columns, data = X.indices[entries], X.data[entries]
        own = starts[rows][:, None] + np.arange(len(left))
        values[own] = data[:, left] * data[:, right]
        pairs[own] = rank * columns[:, left] + columns[:, right]
    return sp.csr_array((values, pairs, starts), shape=(n, rank**2))


def of_pairs(pairs: Any, D: Vector) -> Dense:
    """``X' diag(D) X``, upper triangle in Fortran order."""
    rank = math.isqrt(pairs.shape[1])
    return np.asfortranarray((pairs.T @ D).reshape(rank, rank))


def pairs_pay(X: Any, settings: LinearSettings) -> bool:
    """Return whether products of pairs are less work than dense products of blocks."""
    n, rank = X.shape
    counts = np.diff(X.indptr).astype(np.int64)
    n_pairs = int(counts @ (counts + 1)) // 2
    is_numbered = rank**2 <= np.iinfo(np.int32).max
    return bool(is_numbered and settings.pair_cost * n_pairs < n * rank**2 // 2)
