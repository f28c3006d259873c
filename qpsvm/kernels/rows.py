"""Evaluators of rows of a kernel matrix that do the work shared by all rows once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from qpsvm.kernels.products import inner_products
from qpsvm.numerics.arrays import Dense, Index, is_sparse, row_blocks
from qpsvm.numerics.single_precision import Stored
from qpsvm.numerics.threads import BLOCK, for_each

CACHED = 2**19
"""Bytes of a Gram matrix that are finished at a time: two such arrays stay in a core's cache."""

DENSE_UP_TO = 30
"""Columns for every entry of a row, up to which products of dense arrays are faster."""

LARGEST_COPY = 2**30
"""Bytes of a dense copy of sparse samples."""

Finish = Callable[[Index, slice, Dense], None]
"""Makes kernel values of the inner products of some rows with some columns, in place."""


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
        left = self.U[rows]

        def evaluate(columns: slice) -> None:
            values = out[:, columns]
            if sp.issparse(self.U):
                values[:] = inner_products(left, self.U[columns])
            else:
                np.matmul(left, self.U[columns].T, out=values)
            for block in row_blocks(len(rows), values.shape[1], CACHED):
                self.finish(rows[block], columns, values[block])

        # pieces of columns: every product prepares its right factor anew
        for_each(evaluate, row_blocks(out.shape[1], len(rows), BLOCK))


def densified(X: Stored) -> Stored:
    """Convert sparse samples to a dense array where that makes products faster and fits memory."""
    if is_sparse(X):
        n, d = X.shape
        worth = d * n <= DENSE_UP_TO * X.nnz and 8 * d * n <= LARGEST_COPY
        return X.toarray() if worth else X
    return X
