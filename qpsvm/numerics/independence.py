"""Lower bounds on the singular values of many rows; groups of rows without a common variable."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from qpsvm.numerics.arrays import Index


def connected_rows(rows: sp.csr_array) -> list[Index]:
    """The rows in groups that have no variable in common with each other."""
    m = rows.shape[0]
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
    products = sp.csc_array(rows @ rows.T)
    identity = sp.eye_array(products.shape[0], format="csc")
    for bound in bounds:
        if _is_positive_definite(products - bound * bound * identity, most_dense_rows):
            return bound
    return None


def _is_positive_definite(matrix: sp.csc_array, most_dense_rows: int) -> bool:
    if matrix.shape[0] <= most_dense_rows:
        try:
            np.linalg.cholesky(matrix.toarray())
        except np.linalg.LinAlgError:
            return False
        return True
    try:
        factor = splu(
            sp.csc_array(matrix),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
    except RuntimeError:  # exactly singular
        return False
    # without exchanges of rows the pivots have the signs of the eigenvalues
    in_order = bool((factor.perm_r == factor.perm_c).all())
    return in_order and bool((factor.U.diagonal() > 0.0).all())
