"""A small step, by linear programming, that reduces row violations.

Another program finds a step from a point towards the interior of linear constraints.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from qpsvm.numerics.arrays import Mask, Matrix, Vector
from qpsvm.numerics.precision import TINY
from qpsvm.qp.feasibility_settings import FEASIBILITY


class MissedRows(NamedTuple):
    """Constraint rows at a point that violates some of them by rounding.

    Attributes
    ----------
    rows : array or sparse matrix of shape (m, n)
    value : array of shape (m,)
        Residuals; violations where positive, or of an equality not zero.
    size : array of shape (m,)
        Positive sizes of the rows' terms.
    is_equality : bool array of shape (m,)
    """

    rows: Matrix
    value: Vector
    size: Vector
    is_equality: Mask

    @property
    def over(self) -> Vector:
        """Violations, shape (m,)."""
        return np.where(self.is_equality, np.abs(self.value), np.maximum(self.value, 0.0))

    @property
    def worst(self) -> float:
        """The largest violation, relative to the row's terms; NaN if any is."""
        return float(np.max(self.over / self.size, initial=0.0))


def nudge(
    missed: MissedRows, reach: Vector, lower: Vector, upper: Vector
) -> tuple[Vector, Vector] | None:
    """Minimise violations within the bounds; return the step and multipliers of all rows.

    Variables at their bounds may move inwards, which the least change that came before does not
    try. None if there is nothing to do, or no solution.

    Parameters
    ----------
    missed : MissedRows
    reach : array of shape (n,)
        Absolute values of the variables.
    lower, upper : arrays of shape (n,)
        Bounds on the step.

    Examples
    --------
    >>> rows = MissedRows(np.array([[1.0, 1.0]]), np.array([-1e-17]), np.ones(1), np.ones(1, bool))
    >>> step, _ = nudge(rows, np.array([1.0, 0.0]), np.array([0.0, 0.0]), np.array([0.0, 1.0]))
    >>> step
    array([0.e+00, 1.e-17])
    """
    from scipy.optimize import linprog

    is_equality, m = missed.is_equality, len(missed.value)
    if m == 0 or m > FEASIBILITY.most_examined_rows:
        return None
    size, scale = np.maximum(missed.size, TINY), missed.worst
    if not (np.isfinite(scale) and scale > 0.0):
        return None
    rows = sp.csr_array(missed.rows)
    share = sp.csr_array(sp.diags_array(1.0 / size) @ abs(rows))
    largest = np.asarray(share.max(axis=0).toarray()).ravel()
    used = np.flatnonzero(largest > 0.0)
    unit = (reach[used] + 1.0 / largest[used]) * scale
    scaled = sp.diags_array(1.0 / size / scale) @ rows[:, used] @ sp.diags_array(unit)
    right = -missed.value / size / scale
    low = np.minimum(np.maximum(lower[used] / unit, -FEASIBILITY.farthest_nudge), 0.0)
    high = np.maximum(np.minimum(upper[used] / unit, FEASIBILITY.farthest_nudge), 0.0)
    short, over_there = sp.eye_array(m), sp.diags_array(is_equality.astype(np.float64))
    both = sp.csr_array(sp.hstack([scaled, -scaled, over_there, -short]))
    n = len(used)
    if not (np.isfinite(both.data).all() and np.isfinite(right).all()):
        return None
    moves = np.column_stack([np.zeros(2 * n), np.concatenate([high, -low])])
    misses = np.column_stack([np.zeros(2 * m), np.full(2 * m, np.inf)])
    found = linprog(
        np.concatenate([np.full(2 * n, 1.0), np.full(2 * m, FEASIBILITY.nudge_penalty)]),
        A_ub=both[~is_equality],
        b_ub=right[~is_equality],
        A_eq=both[is_equality],
        b_eq=right[is_equality],
        bounds=np.vstack([moves, misses]),
        method="highs-ds",
        options={
            "primal_feasibility_tolerance": 1e-10,
            "time_limit": FEASIBILITY.search_seconds,
        },
    )
    if found.x is None:
        return None
    step = np.zeros(len(reach))
    step[used] = unit * np.clip(found.x[:n] - found.x[n : 2 * n], low, high)
    multipliers = np.zeros(m)
    multipliers[~is_equality] = -found.ineqlin.marginals
    multipliers[is_equality] = -found.eqlin.marginals
    return step, multipliers


def interior_step(
    missed: MissedRows, error: Vector, unit: Vector, lower: Vector, upper: Vector
) -> Vector | None:
    """Find a step d that leaves room in all inequalities; None if the search finds none.

    No step exists where no point has room in all of them; the linear program may also fail.

    ``maximise t  subject to  R_k d + t size_k <= -value_k,   R_k d = -value_k in equalities,
    lower + t u <= d <= upper - t u,   t <= 1``, with ``u_j`` at most a quarter of what is between
    the bounds of ``d_j``.

    Parameters
    ----------
    missed : MissedRows
        All rows that bind, near or far.
    error : array of shape (m,)
        Bounds on the error of the residuals.
    unit : array of shape (n,)
        Positive scale of each variable.
    lower, upper : arrays of shape (n,)
        Bounds on the step.

    Examples
    --------
    >>> rows = MissedRows(np.array([[1.0, 1.0]]), np.array([1e-17]), np.ones(1), np.zeros(1, bool))
    >>> step = interior_step(rows, np.zeros(1), np.ones(2), np.array([-1.0, 0.0]), np.ones(2))
    >>> bool(step.sum() < -1e-17), bool(step[1] > 0.0)
    (True, True)
    """
    from scipy.optimize import linprog

    size, is_equality, n = missed.size, missed.is_equality, len(unit)
    rows = sp.diags_array(1.0 / size) @ sp.csr_array(missed.rows) @ sp.diags_array(unit)
    low, high = lower / unit, upper / unit
    between = np.minimum(high - low, 4.0) / 4.0  # NaN leads to None below
    lows, highs = np.flatnonzero(np.isfinite(low)), np.flatnonzero(np.isfinite(high))
    eye = sp.eye_array(n, format="csr")
    room = sp.csr_array(np.where(is_equality, 0.0, 1.0)[:, None])
    inside = sp.block_array(
        [
            [rows[~is_equality], room[~is_equality]],
            [-eye[lows], sp.csr_array(between[lows, None])],
            [eye[highs], sp.csr_array(between[highs, None])],
        ],
        format="csr",
    )
    right = -missed.value / size
    limits = np.concatenate([right[~is_equality], -low[lows], high[highs]])
    on = sp.hstack([rows[is_equality], room[is_equality]], format="csr")
    if not np.isfinite(np.concatenate([inside.data, on.data, limits, right])).all():
        return None  # what overflows says nothing
    cost = np.zeros(n + 1)
    cost[n] = -1.0
    bounds = np.column_stack([np.full(n + 1, -np.inf), np.full(n + 1, np.inf)])
    bounds[n] = [0.0, 1.0]
    found = linprog(
        cost, A_ub=inside, b_ub=limits, A_eq=on, b_eq=right[is_equality], bounds=bounds,
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "time_limit": FEASIBILITY.search_seconds},
    )  # fmt: skip
    if found.x is None or not found.x[n] > FEASIBILITY.least_room:
        return None
    over = np.where(is_equality, 0.0, np.maximum(missed.value, 0.0) + error) / size
    share = FEASIBILITY.beyond * float(np.max(over, initial=TINY)) / float(found.x[n])
    return np.asarray(unit * found.x[:n] * min(share, 1.0))
