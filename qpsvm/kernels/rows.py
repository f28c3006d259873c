"""Evaluators of rows of a kernel matrix that do the work shared by all rows once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from qpsvm.kernels.products import write_inner_products
from qpsvm.kernels.settings import EVALUATION
from qpsvm.native import products_by_row
from qpsvm.numerics.arrays import Dense, Index, Sparse, as_dense, is_sparse, row_blocks
from qpsvm.numerics.single_precision import Stored
from qpsvm.numerics.threads import BLOCK, for_each

Finish = Callable[[Index | slice, slice, Dense], None]
"""Function that replaces a block of inner products by kernel values; it is given the rows and
columns of the block, and the block."""


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
            write_inner_products(left, self.U[columns], values)
            for block in row_blocks(len(rows), values.shape[1], EVALUATION.finished_bytes):
                self.finish(rows[block], columns, values[block])

        # pieces of columns: every product prepares its right factor anew
        for_each(evaluate, row_blocks(out.shape[1], len(rows), BLOCK))


class ColumnsOfProducts:
    """A kernel ``k(x, z) = f(x'z)``, prepared once for fixed samples z and then called for many x.

    Parameters
    ----------
    V : array of shape (n, d)
    finish : callable
    """

    def __init__(self, V: Dense, finish: Finish) -> None:
        self.V, self._columns, self.finish = V, np.ascontiguousarray(V.T), finish

    def __call__(self, X: Stored) -> Dense:
        return self.finished(as_dense(X) if is_sparse(X) else X, self.finish)

    def finished(self, U: Stored, finish: Finish) -> Dense:
        """Kernel values for rows u of a dense array, each row added up on its own."""
        rows = np.ascontiguousarray(U, dtype=np.float64)
        values = products_by_row(rows, self._columns)
        for block in row_blocks(len(values), values.shape[1], EVALUATION.finished_bytes):
            finish(block, slice(0, values.shape[1]), values[block])
        return values


def is_faster_dense(X: Sparse) -> bool:
    """Return whether products of sparse samples are faster in a dense copy that fits memory."""
    n, d = X.shape
    return bool(
        d * n <= EVALUATION.dense_up_to * X.nnz and 8 * d * n <= EVALUATION.largest_copy_bytes
    )


def densified(X: Stored, beside: Stored | None = None) -> Stored:
    """Convert sparse samples to a dense array where that makes products faster.

    Parameters
    ----------
    X : array or CSR matrix
    beside : array or CSR matrix, optional
        The other factor of the products. With a dense one, X is dense as well if it fits memory.
    """
    if not is_sparse(X):
        return X
    if beside is not None:
        fits = 8 * X.shape[0] * X.shape[1] <= EVALUATION.largest_copy_bytes
        return X.toarray() if fits and not is_sparse(beside) else X
    return X.toarray() if is_faster_dense(X) else X
