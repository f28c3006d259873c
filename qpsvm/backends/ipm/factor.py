"""Products with F and its normal matrix, for ``P = F F' + diag(d)``, ``F = R X``."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg.blas import dsyrk

from qpsvm.backends.ipm.feature_pairs import FeaturePairs
from qpsvm.qp._arrays import Dense, Index, Vector

BLOCK_BYTES = 2**20
"""Of the samples taken at once: what stays in a processor's cache."""


class Factor:
    """F, never formed: X is read as it is, in blocks of rows.

    Row i of F is ``signs_i X_index(i)``; the last ``zeros`` rows are zero (slack variables).
    Variables that look at the same sample share its row: ``F' D F = X' diag(R' D R) X``.
    """

    def __init__(self, X: Any, signs: Vector, index: Index | None = None, zeros: int = 0) -> None:
        self.X, self.signs, self.index, self.zeros = X, signs, index, zeros
        self.n_samples, self.rank = X.shape
        self.is_sparse = sp.issparse(X)
        self.size = len(signs) + zeros
        self.XT: Any = X.T.tocsr() if self.is_sparse else X.T
        self.pairs = FeaturePairs(X) if self.is_sparse and FeaturePairs.pays(X) else None
        self._own = np.empty(len(signs))
        self._scores = np.empty(self.n_samples)

    def restricted(self, kept: Index) -> Factor:
        """Of some of the variables, in increasing order."""
        own = kept[: np.searchsorted(kept, len(self.signs))]
        index = own if self.index is None else self.index[own]
        return Factor(self.X, self.signs[own], index, len(kept) - len(own))

    def times(self, c: Vector, out: Vector) -> Vector:
        """``F c``, written to ``out``."""
        m = len(self.signs)
        if self.is_sparse:
            scores = np.asarray(self.X @ c)
        else:
            scores = np.dot(self.X, c, out=self._scores)
        if self.index is None:
            np.multiply(self.signs, scores, out=out[:m])
        else:
            np.take(scores, self.index, out=out[:m])
            out[:m] *= self.signs
        out[m:] = 0.0
        return out

    def transposed(self, v: Vector) -> Vector:
        """``F' v``."""
        own = np.multiply(self.signs, v[: len(self.signs)], out=self._own)
        return np.asarray(self.XT @ self._gathered(own))

    def combination(self, rows: Index, values: Vector) -> Vector:
        """``F' v`` for a v that is zero but for some rows."""
        own = rows[rows < len(self.signs)]
        samples = own if self.index is None else self.index[own]
        return np.asarray(self.X[samples].T @ (self.signs[own] * values[: len(own)]))

    def _gathered(self, own: Vector) -> Vector:
        return own if self.index is None else np.bincount(self.index, own, self.n_samples)

    def normal(self, D: Vector) -> Dense:
        """``F' diag(D) F``, shape (r, r), upper triangle."""
        own = np.multiply(self.signs, D[: len(self.signs)], out=self._own)
        own *= self.signs
        weights = self._gathered(own)
        if self.pairs is not None:
            return self.pairs.normal(weights)
        roots = np.sqrt(weights, out=self._scores)
        total = np.zeros((self.rank, self.rank), order="F")
        rows = max(64, BLOCK_BYTES // (8 * max(self.rank, 1)))
        buffer = np.empty((min(rows, self.n_samples), self.rank))
        for begin in range(0, self.n_samples, rows):
            block, root = self.X[begin : begin + rows], roots[begin : begin + rows]
            scaled = buffer[: len(root)]
            if self.is_sparse:
                block.toarray(out=scaled)
                scaled *= root[:, None]
            else:
                np.multiply(block, root[:, None], out=scaled)
            total = dsyrk(1.0, scaled.T, beta=1.0, c=total, overwrite_c=1)
        return total
