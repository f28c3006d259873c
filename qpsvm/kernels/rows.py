"""Evaluators of rows of a kernel matrix that do the work shared by all rows once."""

from __future__ import annotations

from collections.abc import Callable

from qpsvm.kernels.products import write_inner_products
from qpsvm.kernels.settings import EVALUATION
from qpsvm.numerics.arrays import Dense, Index, is_sparse, row_blocks
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


def densified(X: Stored, beside: Stored | None = None) -> Stored:
    """Convert sparse samples to a dense array where that makes products faster and fits memory.

    Parameters
    ----------
    X : array or CSR matrix
    beside : array or CSR matrix, optional
        The other factor of the products. With a dense one, X is dense as well if it fits memory.
    """
    if not is_sparse(X):
        return X
    n, d = X.shape
    is_faster = d * n <= EVALUATION.dense_up_to * X.nnz
    if beside is not None:
        is_faster = not is_sparse(beside)
    return X.toarray() if is_faster and 8 * d * n <= EVALUATION.largest_copy_bytes else X
