"""Compiled loops: steps of pairs and of samples, the best intercept, kernel values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from qpsvm.exceptions import InvalidParameterError
from qpsvm.native.checks import (
    Array,
    Dense,
    Vector,
    require_array,
    require_at_least,
    require_box,
    require_conditions,
    require_disjoint,
    require_indices,
    require_not_negative,
    require_row_wise,
    require_vector,
)
from qpsvm.native.library import CORE, CallStatus, run

Kept: TypeAlias = Literal["sum", "sums", "none"]
"""The equality rows: ``1'v``, the sum over each of two groups, or none."""

_GROUPS = {"none": 0, "sum": 1, "sums": 2}


class Steps(NamedTuple):
    """The end of a run of steps.

    Parameters
    ----------
    status : CallStatus
        DONE, LIMIT after the largest number of steps, UNBOUNDED, STALLED where rounding leaves
        every step at zero, or NOT_FINITE.
    steps : int
        How many were made.
    violation : float
        ``max g_j - min g_i`` over the variables that may fall, or rise; without an equality row
        the largest absolute projected gradient.
    """

    status: CallStatus
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
        require_not_negative(added, "added", n)
    if kept == "sums":
        if groups is None:
            raise InvalidParameterError(
                "groups is None: kept='sums' needs an int8 array of 0 and 1"
            )
        require_indices(require_array(groups, "groups", np.int8, (n,)), "groups", 2)
    stride = _checked_block(block, n, offsets, columns)
    require_disjoint(
        {"v": v, "gradient": gradient},
        {"block": block, "lower": lower, "upper": upper, "added": added, "groups": groups}
        | {"offsets": offsets, "columns": columns},
    )
    kernel = (n, stride, block, offsets, columns, constant)
    work, violation, steps = np.empty(7 * n), np.zeros(1), np.zeros(1, np.int64)
    box = added, lower, upper, groups, _GROUPS[kept]
    at_once = max(1, CORE.kernel_values_per_call // max(1, 3 * n))
    total, status = 0, CallStatus.LIMIT
    while status is CallStatus.LIMIT:
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


# --- steps of samples ----------------------------------------------------------------------------


def descend_classes(
    K: Dense,
    codes: Array,
    upper: Vector,
    tau: Dense,
    gradient: Dense,
    *,
    constant: float = 0.0,
    tol: float,
    max_steps: int,
) -> Steps:
    """Minimise over the dual variables of one sample after the other, each time exactly.

    The program is::

        minimise    1/2 sum_m tau_m'(K + c 11')tau_m - sum_i tau_{i,y_i}
        subject to  sum_m tau_im = 0,   tau_im <= C_i [m = y_i]

    Parameters
    ----------
    K : array of shape (n, n)
        Symmetric, each row in one piece.
    codes : int64 array of shape (n,)
        y, the class of every sample, from 0 to k - 1.
    upper : array of shape (n,)
        C_i, above zero and finite.
    tau, gradient : arrays of shape (n, k)
        A feasible point and ``(K + c 11') tau - [m = y_i]`` there. Both change in place.
    constant : float
        c >= 0: 1 for penalised intercepts.
    tol : float
        Violation at which the run ends.
    max_steps : int
        Largest number of steps.

    Returns
    -------
    Steps
        ``violation`` is the largest difference of gradients within a sample that moving variables
        would lower.

    Raises
    ------
    InvalidParameterError
        An array of another type, shape or layout than these, a class out of range, a variable above
        its bound, arrays that overlap.

    Examples
    --------
    Two samples of two classes:

    >>> K, codes, tau = np.eye(2), np.array([0, 1]), np.zeros((2, 2))
    >>> g = -np.eye(2)
    >>> descend_classes(K, codes, np.full(2, 9.0), tau, g, tol=1e-9, max_steps=9).steps
    2
    >>> tau
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """
    n = len(require_vector(upper, "upper", None, finite=True))
    if n and not np.min(upper) > 0.0:
        raise InvalidParameterError(f"upper has {np.min(upper)}: every bound must be above 0")
    require_array(tau, "tau", np.float64, (n, None), written=True)
    k = tau.shape[1]
    require_array(gradient, "gradient", np.float64, (n, k), written=True)
    require_indices(require_array(codes, "codes", np.int64, (n,)), "codes", k)
    stride = require_row_wise(K, "K")
    if K.shape != (n, n):
        raise InvalidParameterError(f"K has the shape {K.shape}: there are {n} samples")
    box = np.where(codes[:, None] == np.arange(k), upper[:, None], 0.0)
    if not (tau <= box).all():
        raise InvalidParameterError("tau has a variable above its bound, or not a number")
    tol = require_at_least(tol, "tol", 0.0)
    constant = require_at_least(constant, "constant", 0.0)
    require_disjoint({"tau": tau, "gradient": gradient}, {"K": K, "codes": codes, "upper": upper})
    memory = np.empty(n), np.empty(2 * k)
    violation, steps = np.zeros(1), np.zeros(1, np.int64)
    program = n, k, K, stride, constant, codes, upper, tol, max(0, int(max_steps))
    status = run("classes_run", *program, tau, gradient, *memory, violation, steps)
    return Steps(status, int(steps[0]), float(violation[0]))


# --- the best intercept --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Losses:
    """Conditions on decision values, with their losses.

    With an intercept b they are::

        v_i = p_i - s_i (f_i + b),   loss_i(v) = max over lower_i <= a <= upper_i of a v - d_i a^2/2

    The hinge is ``(lower, upper, d) = (0, C, 0)``, the squared hinge ``(0, inf, 1 / (2 C))``, a
    tube two conditions per sample, a quantile ``((tau - 1) C, tau C, 0)``, least squares
    ``(-inf, inf, 1 / C)``, a hard condition ``(0, inf, 0)``.

    Parameters
    ----------
    required, lower, upper : arrays of shape (n,)
        p and the slopes. Finite p; lower <= upper, which may be infinite.
    signs, curved : arrays of shape (n,), optional
        s (by default ones) and d >= 0 (by default zeros).
    rows : int64 array of shape (n,), optional
        Condition i is about the decision value ``rows[i]``, by default i.

    Raises
    ------
    InvalidParameterError
        An array of another type or shape than these, or of forbidden values.

    Examples
    --------
    The hinge with C = 1 and decision values of 2, 1 and -3 for labels 1, 1 and -1:

    >>> hinge = Losses(np.ones(3), np.zeros(3), np.ones(3), signs=np.array([1.0, 1.0, -1.0]))
    >>> f = np.array([2.0, 1.0, -3.0])
    >>> hinge.optimal_intercepts(f)
    (0.0, 2.0)
    """

    required: Vector
    lower: Vector
    upper: Vector
    signs: Vector | None = None
    curved: Vector | None = None
    rows: Array | None = None

    def __post_init__(self) -> None:
        inside = np.minimum(np.maximum(np.zeros(require_conditions(self)), self.lower), self.upper)
        require_box(inside, "the slope of least size", self.lower, self.upper)

    def optimal_intercepts(
        self, values: Vector, *, cost: float = 0.0, flat: float = 0.0
    ) -> tuple[float, float]:
        """First and last minimiser of ``cost b + sum_i loss_i(p_i - s_i (f_i + b))`` over b.

        Parameters
        ----------
        values : array of shape (m,)
            f, decision values without intercept.
        cost : float
            Slope of the rest of the objective.
        flat : float
            Where there are only kinks, slopes of at most this size count as zero: costs that
            should cancel do so only but for rounding.

        Returns
        -------
        tuple of float
            Both ends, each may be infinite. Where hard conditions leave no b, twice the one that
            misses them by least; where there is no minimum, twice the infinity of the descent.

        Raises
        ------
        InvalidParameterError
            Decision values of another type or number than needed, or not finite.
        """
        cost, flat = require_at_least(cost, "cost", -np.inf), require_at_least(flat, "flat", 0.0)
        n = len(self.required)
        require_vector(values, "values", n if self.rows is None else None, finite=True)
        if self.rows is not None:
            require_indices(self.rows, "rows", len(values))
        ends, work = np.zeros(2), np.empty(n, np.int64)
        loss = self.lower, self.upper, self.curved
        conditions = (n, self.rows, self.signs, self.required, values, *loss, 0.0)
        status = run("optimal_intercepts", conditions, cost, flat, work, ends)
        if status is CallStatus.NOT_FINITE:
            raise InvalidParameterError(
                "values are so large that required - values overflows: scale the problem"
            )
        return float(ends[0]), float(ends[1])


# --- kernel values -------------------------------------------------------------------------------


EXP_ULPS = 1.5
"""Proven bound on the error of ``exp`` in the compiled core, in units in the last place
(``tiles.c``). Of a million exponents the worst has 1.02."""


def exponent_tile(tile: Dense, rows: Vector, columns: Vector, gamma: float) -> None:
    """Replace inner products by values of the RBF kernel, in place.

    For squared norms of both sides::

        tile_ij <- exp(-gamma max(0, rows_i + columns_j - 2 tile_ij))

    Parameters
    ----------
    tile : array of shape (m, n)
        Inner products; each row lies in one piece. A tile of a larger array may be passed as it
        is, and should fit into a core's cache.
    rows, columns : arrays of shapes (m,) and (n,)
        Squared norms.
    gamma : float
        At least 0.

    Raises
    ------
    InvalidParameterError
        An array of another type, shape or layout than these, arrays that overlap, a negative gamma.

    Notes
    -----
    The exponential is within ``EXP_ULPS`` of the exact one. NaN stays NaN.

    Examples
    --------
    >>> import numpy as np
    >>> tile = np.array([[1.0, 0.0]])
    >>> exponent_tile(tile, np.ones(1), np.ones(2), gamma=0.5)
    >>> tile.round(3).tolist()
    [[1.0, 0.368]]
    """
    stride = require_row_wise(tile, "tile")
    m, n = tile.shape
    if not tile.flags.writeable:
        raise InvalidParameterError("tile is read-only: pass a copy, which is written to")
    require_vector(rows, "rows", m)
    require_vector(columns, "columns", n)
    gamma = require_at_least(gamma, "gamma", 0.0)
    require_disjoint({"tile": tile}, {"rows": rows, "columns": columns})
    run("exponent_tile", m, n, stride, gamma, rows, columns, tile)


def products_by_row(X: Dense, Z: Dense, out: Dense | None = None) -> Dense:
    """``X Z``, each row of it with the same bits whatever the other rows of X are.

    A library's matrix product adds up in an order that depends on the shapes, so that one sample
    and the same sample among others differ in their last digits.

    Parameters
    ----------
    X, Z : arrays of shapes (m, d) and (d, n)
        Each row lies in one piece.
    out : array of shape (m, n), optional
        Where the product is written.

    Returns
    -------
    array of shape (m, n)

    Raises
    ------
    InvalidParameterError
        An array of another type, shape or layout than these, arrays that overlap.

    Examples
    --------
    >>> products_by_row(np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]]))
    array([[11.]])
    """
    left, right = require_row_wise(X, "X"), require_row_wise(Z, "Z")
    (m, d), n = X.shape, Z.shape[1]
    if len(Z) != d:
        raise InvalidParameterError(
            f"X has the shape {X.shape} and Z {Z.shape}: Z must have {d} rows"
        )
    if out is None:
        out = np.empty((m, n))
    stride = require_row_wise(out, "out")
    if out.shape != (m, n) or not out.flags.writeable:
        raise InvalidParameterError(
            f"out has the shape {out.shape}: pass an array of shape {(m, n)} that can be written to"
        )
    require_disjoint({"out": out}, {"X": X, "Z": Z})
    run("products_by_row", m, n, d, X, left, Z, right, out, stride)
    return out
