"""Whole matrices of kernel values that are functions of inner products, piece by piece.

Of a symmetric matrix each piece is evaluated from the diagonal on and mirrored: half of the work,
and exactly symmetric, which rounding alone would not make it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from qpsvm.kernels.products import write_inner_products
from qpsvm.kernels.rows import CACHED
from qpsvm.numerics.arrays import Dense, Matrix, row_blocks
from qpsvm.numerics.threads import BLOCK, for_each

SQUARE_SHARE = 8
"""A piece has one in so many rows of a symmetric matrix: the square on the diagonal, which is
evaluated twice, is little of it, and threads find enough pieces."""

SQUARE_ROWS = 64
"""Rows of such a piece, at least: a product of fewer rows takes as long."""

SQUARE_BYTES = 2**21
"""Bytes of such a piece, at most, if it has these rows: it is mirrored while it is in the cache."""

Finish = Callable[[slice, slice, Dense], None]
"""Makes kernel values of the inner products of some rows with some columns, in place."""


def kernel_values(U: Matrix, V: Matrix, finish: Finish | None = None) -> Dense:
    """Evaluate ``K_ij = f(u_i'v_j)``, symmetric if U is V.

    Parameters
    ----------
    U, V : arrays or CSR matrices of shapes (m, d) and (n, d)
    finish : callable, optional
        f, on blocks; the identity without one.

    Returns
    -------
    array of shape (m, n)
    """
    is_symmetric = U is V
    gram = np.empty((U.shape[0], V.shape[0]))

    def evaluate(piece: slice) -> None:
        columns = slice(piece.start if is_symmetric else 0, gram.shape[1])
        values = gram[piece, columns]
        write_inner_products(U[piece], V[columns], values)
        if finish is not None:
            for block in row_blocks(len(values), values.shape[1], CACHED):
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
    if not is_dense_square:  # a sparse factor may be converted for every piece
        return row_blocks(*shape, BLOCK)
    share = -(-shape[0] // SQUARE_SHARE)
    in_cache = SQUARE_BYTES // max(1, 8 * shape[1])
    return row_blocks(*shape, 8 * shape[1] * max(SQUARE_ROWS, min(share, in_cache)))
