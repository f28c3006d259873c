"""The Maros-Meszaros programs, from a folder of MATLAB files.

Each file holds ``min 1/2 x'Px + q'x`` with ``l <= A x <= u``, the bounds of x as the last rows of
A: the form in which ProxSuite's source distribution has them
(``test/data/maros_meszaros_data/*.mat``).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse as sp

from qpsvm.qp import QuadraticProgram

INFINITE = 1e19
"""Bounds from here on stand for none."""


def load(path: Path) -> QuadraticProgram:
    """Read one program; the numbers stay as they are."""
    parts = scipy.io.loadmat(path)
    P, A = (sp.csr_array(parts[name].astype(np.float64)) for name in ("P", "A"))
    q, lower, upper = (np.asarray(parts[name], dtype=np.float64).ravel() for name in "qlu")
    lower = np.where(lower <= -INFINITE, -np.inf, lower)
    upper = np.where(upper >= INFINITE, np.inf, upper)
    n, m = len(q), len(lower) - len(q)
    lb, ub = np.full(n, -np.inf), np.full(n, np.inf)
    if m >= 0 and (A[m:] != sp.eye_array(n)).nnz == 0:
        lb, ub = lower[m:], upper[m:]
        A, lower, upper = A[:m], lower[:m], upper[:m]
    is_equality = lower == upper
    above, below = ~is_equality & np.isfinite(upper), ~is_equality & np.isfinite(lower)
    G = sp.vstack([A[above], -A[below]], format="csr")
    h = np.concatenate([upper[above], -lower[below]])
    return QuadraticProgram(P, q, G=G, h=h, A=A[is_equality], b=lower[is_equality], lb=lb, ub=ub)
