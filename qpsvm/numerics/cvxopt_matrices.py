"""Arrays as CVXOPT's own matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qpsvm.exceptions import MissingPackageError
from qpsvm.numerics.arrays import Matrix, is_sparse

if TYPE_CHECKING:
    import cvxopt


def as_cvxopt(array: Matrix) -> cvxopt.matrix | cvxopt.spmatrix:
    """A ``cvxopt.matrix``, or a ``cvxopt.spmatrix`` of a sparse array, of doubles.

    Raises
    ------
    MissingPackageError
        CVXOPT is not installed.
    """
    try:
        from cvxopt import matrix, spmatrix
    except ImportError as error:
        raise MissingPackageError(
            "CVXOPT's matrices need cvxopt, which is not installed; run: pip install cvxopt."
        ) from error
    if is_sparse(array):
        coo = array.tocoo()
        return spmatrix(coo.data, coo.row, coo.col, size=coo.shape, tc="d")
    if array.size == 0:
        return matrix(0.0, (array.shape[0], array.shape[1] if array.ndim == 2 else 1), "d")
    return matrix(np.asarray(array, dtype=np.float64))
