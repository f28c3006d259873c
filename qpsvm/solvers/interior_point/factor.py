"""Products with F and its normal matrix, for ``P = F F' + diag(d)``, ``F = R X``."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg.blas import dsyrk

from qpsvm.numerics.arrays import IN_CACHE, Dense, Index, Vector, row_blocks
from qpsvm.numerics.rows import row_squares
from qpsvm.numerics.single_precision import rows_of
from qpsvm.solvers.interior_point.feature_pairs import FeaturePairs
from qpsvm.solvers.interior_point.settings import DEFAULTS, InteriorPointSettings


class Factor:
    """The factor ``F = R X``, never formed: products read X in blocks of rows.

    Row i of F is ``signs_i [X_index(i), root]``, with ``root^2`` the constant, if there is one; the
    last ``zeros`` rows are zero (slack variables). Variables that look at the same sample share its
    row: ``F' D F = X' diag(R' D R) X``.

    Parameters
    ----------
    X : array, CSR array or SinglePrecision of shape (n_samples, d)
    signs : array of shape (n,)
    index : array of int of shape (n,) or None
        None for the identity.
    zeros : int
    constant : float
    settings : InteriorPointSettings
    """

    def __init__(
        self,
        X: Any,
        signs: Vector,
        index: Index | None = None,
        zeros: int = 0,
        constant: float = 0.0,
        settings: InteriorPointSettings = DEFAULTS,
    ) -> None:
        self.settings = settings
        self.X, self.signs, self.index, self.zeros = X, signs, index, zeros
        self.constant, self.root = constant, float(np.sqrt(constant))
        self.n_samples, self.width = X.shape
        self.rank = self.width + (constant > 0.0)
        self.is_sparse = sp.issparse(X)
        self.size = len(signs) + zeros
        self.n_entries = max(X.nnz if self.is_sparse else X.size, 1)
        self.XT: Any = X.T
        self._calls = 0
        self._own = np.empty(len(signs))
        self._scores = np.empty(self.n_samples)

    @cached_property
    def _pairs(self) -> FeaturePairs:
        return FeaturePairs.of(self.X)

    @cached_property
    def _pairs_after(self) -> float:
        """Number of normal matrices after which preparing products of feature pairs pays."""
        if not self.is_sparse or not FeaturePairs.pays(self.X, self.settings):
            return np.inf
        return FeaturePairs.pays_after(self.X, self.settings)

    @cached_property
    def gram(self) -> Dense:
        """``F F'``, for fewer variables than columns."""
        everybody = np.arange(self.size)
        return self.products(everybody, everybody)

    def products(self, rows: Index, columns: Index) -> Dense:
        """The block ``F_i F_j'`` for some rows i and j of F, shape (rows, columns)."""
        of_rows, of_columns = rows < len(self.signs), columns < len(self.signs)
        i, j = rows[of_rows], columns[of_columns]
        left, right = (self.X[k if self.index is None else self.index[k]] for k in (i, j))
        product: Any = left @ right.T
        own = np.asarray(product.toarray() if self.is_sparse else product)
        own += self.constant
        own *= self.signs[i, None]
        own *= self.signs[j]
        if of_rows.all() and of_columns.all():
            return own
        result = np.zeros((len(rows), len(columns)))
        result[np.ix_(of_rows, of_columns)] = own
        return result

    @cached_property
    def column_sizes(self) -> Vector:
        """The length of every column of F."""
        weights = self._gathered(self.signs * self.signs)
        X = self.X
        if self.is_sparse:
            squares = np.asarray(X.multiply(X).T @ weights).ravel()
        else:
            squares = np.zeros(self.width)
            for rows in row_blocks(self.n_samples, self.width, IN_CACHE):
                squares += weights[rows] @ (X[rows] * X[rows])
        if self.constant:
            squares = np.append(squares, self.constant * np.sum(weights))
        return np.asarray(np.sqrt(squares))

    def restricted(self, kept: Index) -> Factor:
        """The factor of some of the variables, in increasing order."""
        own = kept[: np.searchsorted(kept, len(self.signs))]
        index = own if self.index is None else self.index[own]
        rest = len(kept) - len(own), self.constant, self.settings
        if len(own) < self.settings.copied_share * self.n_samples:
            if self.is_sparse and 8 * len(own) * self.width <= IN_CACHE:
                few = self.X[index].toarray()
                return Factor(few, self.signs[own], None, *rest)
            copy = Factor(rows_of(self.X, index), self.signs[own], None, *rest)
            if "_pairs" in self.__dict__:
                copy._pairs, copy._pairs_after = self._pairs.restricted(index), 0
            return copy
        return Factor(self.X, self.signs[own], index, *rest)

    def times(self, c: Vector, out: Vector) -> Vector:
        """``F c``, written to ``out``."""
        m = len(self.signs)
        own = c[: self.width]
        if isinstance(self.X, np.ndarray):
            scores = np.dot(self.X, own, out=self._scores)
        else:
            scores = np.asarray(self.X @ own)
        if self.constant:
            scores += self.root * c[-1]
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
        return self._with_constant(self.XT @ self._gathered(own), own)

    def combination(self, rows: Index, values: Vector) -> Vector:
        """``F' v`` for a v that is nonzero in some rows only."""
        own = rows[rows < len(self.signs)]
        samples = own if self.index is None else self.index[own]
        signed = self.signs[own] * values[: len(own)]
        return self._with_constant(self.X[samples].T @ signed, signed)

    def _with_constant(self, of_features: Any, v: Vector) -> Vector:
        if not self.constant:
            return np.asarray(of_features)
        return np.append(of_features, self.root * np.sum(v))

    def rows(self, i: Index) -> Dense:
        """Rows of F, shape (len(i), r)."""
        result = np.zeros((len(i), self.rank))
        is_own = i < len(self.signs)
        own = i[is_own]
        X = self.X[own if self.index is None else self.index[own]]
        result[is_own, : self.width] = X.toarray() if self.is_sparse else X
        if self.constant:
            result[is_own, -1] = self.root
        result[is_own] *= self.signs[own, None]
        return result

    def squares(self) -> Vector:
        """The squared size of every row of F."""
        of_samples = row_squares(self.X) + self.constant
        own = of_samples if self.index is None else of_samples[self.index]
        return np.concatenate([own * self.signs**2, np.zeros(self.zeros)])

    def squared_products(self, V: Dense, A: Dense, W: Dense) -> Vector:
        """The squared size of every row of ``F V + A'W``, for V of shape (r, k)."""
        m = len(self.signs)
        result = np.zeros(self.size)
        of_slack = A[:, m:].T @ W
        result[m:] = np.einsum("ij,ij->i", of_slack, of_slack)
        for rows in row_blocks(m, max(self.width, V.shape[1]), IN_CACHE):
            X = self.X[rows] if self.index is None else self.X[self.index[rows]]
            product = np.asarray(X @ V[: self.width])
            if self.constant:
                product += self.root * V[-1]
            product *= self.signs[rows, None]
            if len(A):
                product += A[:, rows].T @ W
            result[rows] = np.einsum("ij,ij->i", product, product)
        return result

    def _gathered(self, own: Vector) -> Vector:
        if self.index is None:
            return own
        return np.bincount(self.index, own, self.n_samples).astype(np.float64)

    def normal(self, D: Vector) -> Dense:
        """``F' diag(D) F``, shape (r, r), upper triangle."""
        own = np.multiply(self.signs, D[: len(self.signs)], out=self._own)
        own *= self.signs
        weights = self._gathered(own)
        if not self.constant:
            return self._of_features(weights)
        total = np.zeros((self.rank, self.rank), order="F")
        total[:-1, -1] = self.root * np.asarray(self.XT @ weights)
        total[-1, -1] = self.constant * np.sum(weights)
        total[:-1, :-1] = self._of_features(weights)
        return total

    def _of_features(self, weights: Vector) -> Dense:
        """``X' diag(weights) X``, upper triangle."""
        used = np.flatnonzero(weights)
        if len(used) < self.settings.copied_share * self.n_samples:
            return _weighted_gram(rows_of(self.X, used), np.sqrt(weights[used]))
        self._calls += 1
        if self._calls > self._pairs_after:
            return self._pairs.normal(weights)
        return _weighted_gram(self.X, np.sqrt(weights, out=self._scores))


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
