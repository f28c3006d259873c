"""Sequential minimal optimisation on a stored kernel block."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from qpsvm.exceptions import InvalidParameterError
from qpsvm.native.checks import (
    Array,
    Vector,
    require_apart,
    require_array,
    require_at_least,
    require_box,
    require_indices,
    require_row_wise,
    require_vector,
)
from qpsvm.native.library import Status, run
from qpsvm.native.settings import CORE

Kept: TypeAlias = Literal["sum", "sums", "none"]
"""The equality rows: ``1'v``, the sum over each of two groups, or none."""

_GROUPS = {"none": 0, "sum": 1, "sums": 2}


class Steps(NamedTuple):
    """The end of a run of steps.

    Parameters
    ----------
    status : Status
        DONE, LIMIT after the largest number of steps, UNBOUNDED, STALLED where rounding leaves
        every step at zero, or NOT_FINITE.
    steps : int
        How many were made.
    violation : float
        ``max g_j - min g_i`` over the variables that may fall, or rise; without an equality row
        the largest absolute projected gradient.
    """

    status: Status
    steps: int
    violation: float


def descend_pairs(
    block: Array,
    v: Vector,
    gradient: Vector,
    lower: Vector,
    upper: Vector,
    *,
    kept: Kept = "sum",
    tol: float,
    max_steps: int,
    groups: Array | None = None,
    added: Vector | None = None,
    constant: float = 0.0,
    offsets: Array | None = None,
    columns: Array | None = None,
) -> Steps:
    """Minimise over a box and equality rows, two variables at a time.

    The program is::

        minimise  1/2 v'(K + c 11' + diag(D)) v + q'v   subject to  lower <= v <= upper

    and, by ``kept``, ``1'v`` unchanged, the sum of v over each of two groups unchanged, or no
    equality row (then one variable at a time). With labels s the variables are ``v_i = s_i a_i``:
    the box of ``v_i`` is ``[-u, -l]`` where ``s_i = -1``, the gradient that of a times s, ``s'a``
    is ``1'v``, and a nu machine keeps the sums over the groups ``s_i = 1`` and ``s_i = -1``.

    Parameters
    ----------
    block : array of shape (n, n), or (k,) with offsets
        K, symmetric, its rows each in one piece. With ``offsets`` any float64 memory: row i begins
        at ``block[offsets[i]]``.
    v, gradient : arrays of shape (n,)
        A point in its box and ``(K + c 11' + diag(D)) v + q`` there. Both change in place.
    lower, upper : arrays of shape (n,)
        Bounds, which may be infinite.
    kept : {"sum", "sums", "none"}
        The equality rows.
    tol : float
        Violation at which the run ends.
    max_steps : int
        Largest number of steps. A run that is continued gives the bits of one run.
    groups : int8 array of shape (n,), optional
        0 and 1, for ``kept="sums"``.
    added : array of shape (n,), optional
        D >= 0.
    constant : float
        c >= 0, such as 1 for a penalised intercept.
    offsets : int64 array of shape (n,), optional
        Where the rows begin in ``block``.
    columns : int64 array of shape (n,), optional
        The place of variable j in every row, by default j: so a part of cached columns is read
        where it lies, and two variables of one sample share its row.

    Returns
    -------
    Steps

    Raises
    ------
    InvalidParameterError
        An array of another type, shape or layout than these, an index out of range, v outside its
        box, arrays that overlap.

    Examples
    --------
    Two samples with opposite labels and C = 10: ``v = (a, -a)``.

    >>> K, v = np.array([[1.0, 0.5], [0.5, 1.0]]), np.zeros(2)
    >>> g, box = np.array([-1.0, 1.0]), (np.array([0.0, -10.0]), np.array([10.0, 0.0]))
    >>> descend_pairs(K, v, g, *box, tol=1e-9, max_steps=100).steps, v.tolist()
    (1, [2.0, -2.0])
    """
    n = len(v) if isinstance(v, np.ndarray) and v.ndim == 1 else -1
    require_vector(v, "v", None, written=True)
    require_vector(gradient, "gradient", n, written=True, finite=True)
    require_vector(lower, "lower", n)
    require_vector(upper, "upper", n)
    require_box(v, "v", lower, upper)
    if kept not in _GROUPS:
        raise InvalidParameterError(f"kept is {kept!r}: it must be one of {', '.join(_GROUPS)}")
    tol = require_at_least(tol, "tol", 0.0, infinite=True)
    constant = require_at_least(constant, "constant", 0.0)
    if added is not None:
        require_vector(added, "added", n, finite=True)
        require_at_least(np.min(added, initial=0.0), "the smallest of added", 0.0)
    if kept == "sums":
        if groups is None:
            raise InvalidParameterError(
                "groups is None: kept='sums' needs an int8 array of 0 and 1"
            )
        require_indices(require_array(groups, "groups", np.int8, (n,)), "groups", 2)
    stride = _checked_block(block, n, offsets, columns)
    require_apart(
        {"v": v, "gradient": gradient},
        {"block": block, "lower": lower, "upper": upper, "added": added, "groups": groups}
        | {"offsets": offsets, "columns": columns},
    )
    kernel = (n, stride, block, offsets, columns, constant)
    work, violation, steps = np.empty(7 * n), np.zeros(1), np.zeros(1, np.int64)
    box = added, lower, upper, groups, _GROUPS[kept]
    at_once, total, status = max(1, CORE.kernel_values_per_call // max(1, 3 * n)), 0, Status.LIMIT
    while status is Status.LIMIT:
        now = min(at_once, max(0, max_steps - total))
        place = v, gradient, work, violation, steps
        status = run("pairs_run", kernel, *box, tol, now, *place)
        total += int(steps[0])
        if total >= max_steps:
            break
    return Steps(status, total, float(violation[0]))


def _checked_block(block: Array, n: int, offsets: Array | None, columns: Array | None) -> int:
    """Return the distance between rows, after checking that every entry is inside the block."""
    if columns is not None:
        require_array(columns, "columns", np.int64, (n,))
    width = n if columns is None else int(np.max(columns, initial=-1)) + 1
    if offsets is not None:
        require_array(block, "block", np.float64, (None,))
        require_array(offsets, "offsets", np.int64, (n,))
        require_indices(offsets, "offsets", max(0, len(block) - width + 1))
        if columns is not None:
            require_indices(columns, "columns", len(block))
        return 0
    stride = require_row_wise(block, "block")
    if len(block) != n or (columns is None and block.shape[1] != n):
        raise InvalidParameterError(
            f"block has the shape {block.shape}: there are {n} variables, so it must be ({n}, {n})"
        )
    if columns is not None:
        require_indices(columns, "columns", block.shape[1])
    return stride
