"""Tests of positive definiteness by a factorisation, up to its rounding."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from qpsvm.numerics.arrays import Dense, Sparse
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
