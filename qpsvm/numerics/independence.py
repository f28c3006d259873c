"""Linear independence of many rows: lower bounds on their smallest singular value."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from qpsvm.numerics.arrays import Index, Matrix
from qpsvm.numerics.definiteness import is_definite_dense, is_definite_sparse


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
