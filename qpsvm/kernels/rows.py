"""Evaluators of rows of a kernel matrix that do the work shared by all rows once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from qpsvm.kernels.products import inner_products
from qpsvm.numerics.arrays import Dense, Index, is_sparse, row_blocks
from qpsvm.numerics.single_precision import Stored
from qpsvm.numerics.threads import for_each

CACHED = 2**19
"""Bytes of a Gram matrix that are finished at a time: two such arrays stay in a core's cache."""

DENSE_UP_TO = 30
"""Columns for every entry of a row, up to which products of dense arrays are faster."""

PIECE = 2**21
"""Bytes of rows that a thread evaluates at a time."""

FEWEST_ROWS = 16
"""Rows of such a piece, at least: a product of fewer is slow."""

LARGEST_COPY = 2**30
"""Bytes of a dense copy of sparse samples."""

Finish = Callable[[Index, Dense], None]
"""Makes kernel values of the inner products of some rows with all, in place."""


class RowsOfProducts:
    """Rows of a kernel that is a function of inner products ``u_i'u_j``.

    Parameters
    ----------
    U : array or CSR matrix of shape (n, d)
    finish : callable
    """

    def __init__(self, U: Stored, finish: Finish) -> None:
        self.U, self.finish = U, finish

    def __call__(self, rows: Index, out: Dense) -> None:
        def evaluate(piece: slice) -> None:
            own, values = rows[piece], out[piece]
            if sp.issparse(self.U):
                values[:] = inner_products(self.U[own], self.U)
            else:
                np.matmul(self.U[own], self.U.T, out=values)
            for block in row_blocks(len(own), out.shape[1], CACHED):
                self.finish(own[block], values[block])

        size = max(PIECE, FEWEST_ROWS * 8 * out.shape[1])
        for_each(evaluate, row_blocks(len(rows), out.shape[1], size))


def densified(X: Stored) -> Stored:
    """Convert sparse samples to a dense array where that makes products faster and fits memory."""
    if is_sparse(X):
        n, d = X.shape
        worth = d * n <= DENSE_UP_TO * X.nnz and 8 * d * n <= LARGEST_COPY
        return X.toarray() if worth else X
    return X
