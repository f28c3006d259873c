"""The smallest change of a point that makes linear rows hold: ``min sum (d_j / reach_j)^2``.

With ``t_j = d_j / reach_j`` and rows divided by their length it is the shortest solution of a
system of equations, by a singular value decomposition where the rows are few, and by sparse
equations with a small regularisation and iterative refinement where they are many.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from qpsvm.numerics.arrays import Matrix, Vector, as_dense

DENSE_ROWS = 600
"""Missed rows up to which a change is computed by a singular value decomposition."""

REGULARISATION = 1e-12
"""Added to the sparse equations of a change, relative: repeated rows make these singular."""

INSIGNIFICANT = 1e-13
"""Singular values below this share of the largest count as zero: rows that repeat others."""


def least_change(matrix: Matrix, reach: Vector, wanted: Vector) -> Vector | None:
    """The d with ``R d = wanted`` and the smallest ``sum (d_j / reach_j)^2``; None without any."""
    movable = np.flatnonzero(reach > 0.0)
    if len(wanted) == 0 or len(movable) == 0:
        return None
    scaled = (
        matrix[:, movable] * reach[None, movable]
        if not sp.issparse(matrix)
        else (sp.csr_array(matrix)[:, movable] @ sp.diags_array(reach[movable]))
    )
    norms = np.sqrt(np.asarray((scaled * scaled).sum(axis=1)).ravel())
    used = norms > 0.0
    if not used.any() or not np.isfinite(norms).all():
        return None
    rows, right = scaled[used], wanted[used] / norms[used]
    factors = 1.0 / norms[used]
    rows = sp.diags_array(factors) @ rows if sp.issparse(rows) else rows * factors[:, None]
    try:
        short = _smallest_solution(rows, right)
    except (np.linalg.LinAlgError, RuntimeError, ValueError, MemoryError):
        return None
    if not np.isfinite(short).all():
        return None
    change = np.zeros(len(reach))
    change[movable] = reach[movable] * short
    return change


def _smallest_solution(rows: Matrix, right: Vector) -> Vector:
    """The shortest least-squares solution t of ``B t = right``."""
    m, n = rows.shape
    if m <= DENSE_ROWS:
        dense = as_dense(rows)
        if n > 4 * m:  # the same answer from the small side
            Q, L = np.linalg.qr(dense.T)
            return np.asarray(Q @ np.linalg.lstsq(L.T, right, rcond=INSIGNIFICANT)[0])
        return np.asarray(np.linalg.lstsq(dense, right, rcond=INSIGNIFICANT)[0])
    from scipy.sparse.linalg import splu

    B = sp.csc_array(rows)
    system = sp.block_array(
        [[sp.eye_array(n), B.T], [B, -REGULARISATION * sp.eye_array(m)]], format="csc"
    )
    factor = splu(system)
    t, left = np.zeros(n), right
    size = np.inf
    for _ in range(40):
        t = t + factor.solve(np.concatenate([np.zeros(n), left]))[:n]
        left = right - B @ t
        size, before = float(np.linalg.norm(left)), size
        if not size < 0.5 * before:
            break
    return np.asarray(t)
