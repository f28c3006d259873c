"""Linear independence of many rows: lower bounds on their smallest singular value.

Positive definiteness is tested by a factorisation, up to its rounding.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from qpsvm.numerics.arrays import Dense, Index, Matrix, Sparse
from qpsvm.numerics.cholesky import factored_in_place


def is_definite_sparse(matrix: Sparse, shift: float) -> bool:
    """Return whether ``P + shift I = L D L'`` has a positive D, without exchanges of pivots."""
    shifted = sp.csc_array(matrix + shift * sp.eye_array(matrix.shape[0]))
    try:
        factor = splu(
            shifted,
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
    except RuntimeError:  # a pivot of zero
        return False
    unexchanged = np.array_equal(factor.perm_r, factor.perm_c)
    return bool(unexchanged and (factor.U.diagonal() > 0.0).all())


def is_definite_dense(matrix: Dense, shift: float) -> bool:
    """Return whether the Cholesky factorisation of ``P + shift I`` succeeds."""
    shifted = np.array(matrix, order="C")
    shifted.flat[:: len(shifted) + 1] += shift
    try:
        factored_in_place(shifted)
    except np.linalg.LinAlgError:
        return False
    return True


def connected_rows(rows: Matrix) -> list[Index]:
    """Split rows into groups that have no variable in common."""
    m = rows.shape[0]
    if m == 0:
        return []
    if not sp.issparse(rows):
        if (rows != 0.0).all(axis=0).any():  # one variable is in all of them
            return [np.arange(m)]
        rows = sp.csr_array(rows)
    graph = sp.block_array([[None, rows], [rows.T, None]], format="csr")
    labels = connected_components(graph, directed=False)[1][:m]
    order = np.argsort(labels, kind="stable")
    ends = np.flatnonzero(np.diff(labels[order])) + 1
    return [np.asarray(group) for group in np.split(order, ends)]


def proven_independence(
    rows: sp.csr_array, bounds: tuple[float, ...], most_dense_rows: int
) -> float | None:
    """Compute a lower bound above zero on the smallest singular value; None if none is found.

    ``B B' - s^2 I`` has a Cholesky factor if all singular values of B are above s. The rows of B
    have length one.

    Parameters
    ----------
    rows : CSR array of shape (m, n)
    bounds : tuple of float
        Values of s that are tried in turn, the largest first.
    most_dense_rows : int
        Rows up to which ``B B'`` is factored as a dense matrix.
    """
    try:
        products = rows @ rows.T
        if products.shape[0] <= most_dense_rows:
            dense = products.toarray()
            proven = (s for s in bounds if is_definite_dense(dense, -s * s))
        else:
            proven = (s for s in bounds if is_definite_sparse(products, -s * s))
        return next(proven, None)
    except MemoryError:  # too much fill in the factor: nothing is proven
        return None
