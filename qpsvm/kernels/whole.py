"""Evaluation of kernel matrices ``K_ij = f(u_i'v_j)``, a piece of their rows at a time.

Of a symmetric matrix each piece is evaluated from the diagonal on and mirrored. That halves the
work, and makes the matrix exactly symmetric, which rounding alone would not.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from qpsvm.kernels.products import write_inner_products
from qpsvm.kernels.rows import Finish, densified
from qpsvm.kernels.settings import EVALUATION
from qpsvm.numerics.arrays import Dense, Matrix, row_blocks
from qpsvm.numerics.threads import BLOCK, for_each


def kernel_values(
    U: Matrix, V: Matrix, finish: Finish | None = None, out: Dense | None = None
) -> Dense:
    """Evaluate a kernel matrix ``K_ij = f(u_i'v_j)``, with a function f of inner products.

    The matrix is exactly symmetric if U is V.

    Parameters
    ----------
    U, V : arrays or CSR matrices of shapes (m, d) and (n, d)
    finish : callable, optional
        f, on blocks; the identity without one.
    out : array of shape (m, n), optional
        Where the matrix is written.

    Returns
    -------
    array of shape (m, n)
        ``out``, or a fresh one without it.
    """
    is_symmetric = U is V
    V = densified(V)
    U = V if is_symmetric else densified(U, beside=V)
    gram = np.empty((U.shape[0], V.shape[0])) if out is None else out

    def evaluate(piece: slice) -> None:
        columns = slice(piece.start if is_symmetric else 0, gram.shape[1])
        values = gram[piece, columns]
        write_inner_products(U[piece], V[columns], values)
        if finish is not None:
            for block in row_blocks(len(values), values.shape[1], EVALUATION.finished_bytes):
                rows = slice(piece.start + block.start, piece.start + block.stop)
                finish(rows, columns, values[block])
        if is_symmetric:
            square = gram[piece, piece]
            np.copyto(square, square.T, where=np.tri(len(square), k=-1, dtype=np.bool_))
            gram[piece.stop :, piece] = gram[piece, piece.stop :].T

    pieces = _pieces(gram.shape, is_dense_square=is_symmetric and not sp.issparse(U))
    if gram.nbytes > BLOCK:
        for_each(evaluate, pieces)
    else:  # threads would wait for each other longer than they save
        for piece in pieces:
            evaluate(piece)
    return gram


def _pieces(shape: tuple[int, int], *, is_dense_square: bool) -> list[slice]:
    """Divide the rows of a kernel matrix into pieces that are evaluated one at a time."""
    if not is_dense_square:  # a sparse factor may be converted for every piece
        return row_blocks(*shape, BLOCK)
    own, row_bytes = EVALUATION, max(1, 8 * shape[1])
    share = -(-shape[0] // own.pieces_of_square)
    rows = max(own.smallest_piece, min(share, own.largest_piece_bytes // row_bytes))
    return row_blocks(*shape, rows * row_bytes)
