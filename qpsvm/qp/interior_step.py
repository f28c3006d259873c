"""A step from a point towards the interior of linear constraints, found by a linear program."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.precision import TINY
from qpsvm.qp.feasibility_settings import FEASIBILITY
from qpsvm.qp.nudging import MissedRows


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
