"""The smallest change of a point that makes linear rows hold: ``min sum (d_j / reach_j)^2``.

With ``t_j = d_j / reach_j`` and rows divided by their length it is the shortest solution of a
system of equations, by a singular value decomposition where the rows are few, and by sparse
equations with a small regularisation and iterative refinement where they are many.

In the 1-norm the nearest feasible point is found by a linear program.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from qpsvm.numerics.arrays import Mask, Matrix, Vector, as_dense
from qpsvm.qp.feasibility_settings import FEASIBILITY
from qpsvm.qp.restrictions import Restrictions

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


def nearest_vertex(restrictions: Restrictions, x: Vector, reach: Vector) -> Vector | None:
    """The feasible point with the smallest ``sum |d_j| / reach_j``, by a linear program.

    It decides which variables end at a bound, which a sequence of least changes cannot always do.
    Rows may be missed at a high price, for those that contradict each other by rounding. None if
    HiGHS finds no such point.
    """
    from scipy.optimize import linprog

    given, movable = restrictions, np.flatnonzero(reach > 0.0)
    binding = np.flatnonzero(np.isfinite(given.right))
    rows = given.rows.take(binding)
    value, size = given.rows.estimate(x)
    right = given.right[binding]
    size = size[binding] + np.abs(right)
    is_used = size > 0.0
    binding, rows, right = binding[is_used], rows[is_used], right[is_used] - value[binding][is_used]
    right = right / size[is_used]
    is_equality = given.is_equality[binding]
    both = _both_ways(rows[:, movable], 1.0 / size[is_used], reach[movable], is_equality)
    m, n = len(right), len(movable)
    cost = np.concatenate([np.ones(2 * n), np.full(2 * m, FEASIBILITY.vertex_penalty)])
    room = [
        (given.upper - x)[movable] / reach[movable],
        (x - given.lower)[movable] / reach[movable],
    ]
    entries = both.data if sp.issparse(both) else both.ravel()
    if np.isnan(np.concatenate(room)).any() or not np.isfinite(np.append(entries, right)).all():
        return None  # what overflows says nothing
    found = linprog(
        cost,
        A_ub=both[~is_equality],
        b_ub=right[~is_equality],
        A_eq=both[is_equality],
        b_eq=right[is_equality],
        bounds=np.column_stack([0.0 * cost, np.concatenate([*room, np.full(2 * m, np.inf)])]),
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "time_limit": FEASIBILITY.search_seconds},
    )
    if found.x is None:
        return None
    up, down = found.x[:n], found.x[n : 2 * n]
    moved = x.copy()
    moved[movable] += reach[movable] * (up - down)
    for steps, distance, ends in ((up, room[0], given.upper), (down, room[1], given.lower)):
        at_end = movable[(steps > 0.0) & (steps >= distance)]
        moved[at_end] = ends[at_end]
    return np.clip(moved, given.lower, given.upper)


def _both_ways(rows: Matrix, per_row: Vector, reach: Vector, is_equality: Mask) -> Matrix:
    """Rows ``[S, -S, E, -I]``: steps up and down, excess and shortfall of each row.

    S has the entries ``R_kj reach_j / size_k``, and E is the identity in the equalities.
    """
    over = is_equality.astype(np.float64)
    if sp.issparse(rows):
        scaled = sp.diags_array(per_row) @ rows @ sp.diags_array(reach)
        short = sp.eye_array(len(over))
        return sp.hstack([scaled, -scaled, sp.diags_array(over), -short], format="csr")
    scaled = np.where(rows != 0.0, per_row[:, None] * rows * reach, 0.0)
    return np.hstack([scaled, -scaled, np.diag(over), -np.eye(len(over))])
