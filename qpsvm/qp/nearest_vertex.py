"""Nearest feasible point of linear constraints in the 1-norm, by a linear program."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from qpsvm.numerics.arrays import Mask, Matrix, Vector
from qpsvm.qp.feasibility_settings import FEASIBILITY
from qpsvm.qp.restrictions import Restrictions


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
