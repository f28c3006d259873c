"""The feasible point beside a point that misses linear rows and bounds by a little.

A solver's answer satisfies ``R x <= r`` (some rows with ``=``) and ``lower <= x <= upper`` only to
its tolerance. A bound on the optimum needs a point that satisfies them. It is found in two stages:

1. clip x to its bounds, then move it by the smallest change d (in a metric) that makes the missed
   rows hold, again and again, until the rows are missed by rounding only;
2. what is still missed then is a number of the order of rounding that floating point cannot remove,
   but some real point ``x + d`` satisfies the rows: its change d is computed, and whoever uses the
   point pays for it. Rows that contradict each other by the rounding of their own numbers (repeated
   ones, say) are satisfied by no real point; what is left of them is reported.

Residuals are rounded once (``exact_sums``), so "missed" means missed.

The change is the smallest one relative to each entry, ``min sum (d_j / |x_j|)^2``; where entries
that are zero have to move, one relative to what the rows would notice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from qpsvm.qp._arrays import Index, Mask, Matrix, Vector, as_dense
from qpsvm.qp.exact_sums import row_residuals

EPS = float(np.finfo(np.float64).eps)
TINY = float(np.finfo(np.float64).tiny)

ROUNDS = 30
"""Changes of one metric: each makes the missed rows hold, and may miss others by that."""

PATIENCE = 4
"""Changes in a row that do not halve the worst miss, after which a metric is given up."""

ROUNDING = 16.0 * EPS
"""Share of a row's terms up to which a miss is the rounding of the point's own entries."""

REMOVED = 1e-6
"""A real change is taken for one that makes the rows hold if it leaves this share of a miss of the
order of rounding: 1e-22 of the row's terms."""

PENALTY = 1e4
"""Price of missing a row by all of its terms, where moving a variable by its reach costs 1."""

CONTRADICTION = 1e-9
"""Rows that no search makes hold together, missed by less than this share of their terms: they
contradict each other by the rounding of their own numbers, and what is left of them is priced."""

SEARCH_SECONDS = 5.0
"""Longest search for a feasible point by a linear program."""

DENSE_ROWS = 600
"""Missed rows up to which a change is computed by a singular value decomposition."""

REGULARISATION = 1e-12
"""Added to the sparse equations of a change, relative: repeated rows make these singular."""

INSIGNIFICANT = 1e-13
"""Singular values below this share of the largest count as zero: rows that repeat others."""


class Rows(Protocol):
    """Linear rows, of which a few are looked at one by one."""

    @property
    def shape(self) -> tuple[int, int]: ...

    def estimate(self, x: Vector) -> tuple[Vector, Vector]:
        """``R x`` in plain arithmetic and ``|R| |x|``."""

    def take(self, index: Index) -> Matrix:
        """Some rows, dense or CSR."""


@dataclass(frozen=True, eq=False)
class MatrixRows:
    """Rows of a stored matrix."""

    matrix: Any

    @property
    def shape(self) -> tuple[int, int]:
        """(number of rows, number of variables)."""
        return (int(self.matrix.shape[0]), int(self.matrix.shape[1]))

    def estimate(self, x: Vector) -> tuple[Vector, Vector]:
        """``R x`` and ``|R| |x|``."""
        return np.asarray(self.matrix @ x), np.asarray(abs(self.matrix) @ np.abs(x))

    def take(self, index: Index) -> Matrix:
        """The rows with these numbers."""
        return self.matrix[index]

    @classmethod
    def of(cls, matrix: Any) -> MatrixRows:
        """Rows of a dense or sparse matrix of any format."""
        return cls(sp.csr_array(matrix) if sp.issparse(matrix) else np.asarray(matrix))


@dataclass(frozen=True, eq=False)
class Restrictions:
    """``R x <= r``, with equality in some rows, and ``lower <= x <= upper``.

    Attributes
    ----------
    rows : Rows of shape (m, n)
    right : array of shape (m,)
        ``inf`` for a row that does not bind.
    is_equality : array of bool of shape (m,)
    lower, upper : arrays of shape (n,)
    """

    rows: Rows
    right: Vector
    is_equality: Mask
    lower: Vector
    upper: Vector


@dataclass(frozen=True, eq=False)
class NearestPoint:
    """A point whose real neighbour ``point + change`` satisfies every restriction.

    Attributes
    ----------
    point : array of shape (n,)
        Within its bounds; rows are missed by rounding at most.
    change : array of shape (n,)
        Of the order of rounding; zero where the point itself satisfies the rows.
    left : array of shape (m,)
        What the rows miss even then: rounding of rows that contradict each other by no more.
    blocked : int or None
        A row that is missed by more than rounding; None if there is none. Without it nothing is
        known.
    """

    point: Vector
    change: Vector
    left: Vector
    blocked: int | None = None


def nearest_feasible(restrictions: Restrictions, x: Vector) -> NearestPoint:
    """A point near x that satisfies rows and bounds; see the module's docstring.

    Parameters
    ----------
    restrictions : Restrictions
    x : array of shape (n,)
        Finite.

    Returns
    -------
    NearestPoint

    Examples
    --------
    >>> rows = MatrixRows(np.array([[1e10, 1.0]]))
    >>> box = np.zeros(2), np.full(2, 9.0)
    >>> at_most_one = Restrictions(rows, np.array([1.0]), np.array([False]), *box)
    >>> nearest_feasible(at_most_one, np.array([0.0, 1.5])).point
    array([0., 1.])
    """
    start = np.clip(x, restrictions.lower, restrictions.upper)
    nothing = np.zeros(restrictions.rows.shape[0])
    best = NearestPoint(start, np.zeros(len(start)), nothing, 0 if len(nothing) else None)
    if len(nothing) == 0:
        return best
    noticed = _noticed_by(restrictions)
    for metric, is_linear in ((np.abs, False), (noticed, False), (np.abs, True), (noticed, True)):
        begin = _vertex(restrictions, start, metric(start)) if is_linear else start
        if begin is None:
            continue
        found = _Search(restrictions, metric).run(begin)
        if found.blocked is None and not found.left.any():
            return found
        if best.blocked is not None:
            best = found
        if best.blocked is None and not is_linear:  # rows contradict each other by rounding
            break
    return best


def _noticed_by(restrictions: Restrictions) -> Any:
    """A metric: ``|x_j|`` plus the move of x_j that some row notices as much as all its terms."""

    def metric(x: Vector) -> Vector:
        R = restrictions.rows
        index = np.arange(R.shape[0])
        sizes = R.estimate(x)[1] + np.where(
            np.isfinite(restrictions.right), np.abs(restrictions.right), 0.0
        )
        matrix = abs(sp.csr_array(R.take(index)))
        smallest = float(np.min(sizes, where=sizes > 0.0, initial=1.0))
        share = sp.diags_array(1.0 / np.maximum(sizes, smallest)) @ matrix
        largest = np.asarray(sp.csr_array(share).max(axis=0).toarray()).ravel()
        unit = np.where(largest > 0.0, 1.0 / np.where(largest > 0.0, largest, 1.0), 0.0)
        return np.asarray(np.abs(x) + unit)

    return metric


@dataclass(frozen=True, eq=False)
class _Missed:
    """Rows that have to be looked at: numbers, exact residuals, sizes, and whether missed."""

    index: Index
    value: Vector
    size: Vector
    is_missed: Mask


class _Search:
    """One metric's attempt."""

    def __init__(self, restrictions: Restrictions, metric: Any) -> None:
        self.given = restrictions
        self.metric = metric

    def run(self, x: Vector) -> NearestPoint:
        given, self.start = self.given, np.abs(x)
        active: Index = np.flatnonzero(given.is_equality)
        reach = self.metric(x)
        contradictory, stalled, least = None, 0, np.inf
        for _ in range(ROUNDS):
            missed = self.missed(x, active)
            if not missed.is_missed.any():
                return NearestPoint(x, np.zeros(len(x)), np.zeros(len(given.right)))
            if np.isnan(missed.value).any():
                break
            rounded = np.abs(missed.value) <= ROUNDING * missed.size
            if (rounded | ~missed.is_missed).all():
                found = self.real_change(x, missed, reach)
                if not found.left.any():
                    return found
                contradictory = found
            active = np.union1d(active, missed.index[missed.is_missed])
            now = self.missed(x, active, only=True)
            moved = self.moved(x, now, reach)
            if moved is None:
                break
            following, reach = moved
            worst_now = float(
                np.max(np.abs(now.value[now.is_missed]) / now.size[now.is_missed], initial=0.0)
            )
            stalled, least = (stalled + 1, least) if worst_now > 0.5 * least else (0, worst_now)
            if np.array_equal(following, x) or stalled > PATIENCE:
                break
            x = following
        worst = self.missed(x, active)
        if contradictory is None and not np.isnan(worst.value).any():
            contradictory = self.real_change(x, worst, reach)
        return self.unless_blocked(x, contradictory, worst)

    def unless_blocked(self, x: Vector, found: NearestPoint | None, worst: _Missed) -> NearestPoint:
        """What was found, if all that it leaves of the rows is rounding."""
        right = self.given.right
        ratio = np.where(worst.is_missed, np.abs(worst.value), 0.0)
        ratio = np.where(np.isnan(worst.value), np.inf, ratio / np.maximum(worst.size, TINY))
        row = int(worst.index[np.argmax(ratio)])
        if found is not None:
            size = self.given.rows.estimate(found.point)[1] + np.where(
                np.isfinite(right), np.abs(right), 0.0
            )
            if (found.left <= CONTRADICTION * size).all():
                return found
            row = int(np.argmax(found.left / np.maximum(size, TINY)))
        return NearestPoint(x, np.zeros(len(x)), np.zeros(len(right)), row)

    def missed(self, x: Vector, active: Index, *, only: bool = False) -> _Missed:
        """The active rows, and (unless ``only``) all others that may be missed."""
        given = self.given
        index = active
        if not only:
            value, size = given.rows.estimate(x)
            value = value - given.right
            size = size + np.where(np.isfinite(given.right), np.abs(given.right), 0.0)
            n = given.rows.shape[1]
            near = ~(value < -(n + 2.0) * EPS * size)  # NaN is near
            near &= ~np.isposinf(given.right)
            index = np.union1d(active, np.flatnonzero(near))
        exact = row_residuals(given.rows.take(index), x, given.right[index])
        is_equality = given.is_equality[index]
        is_missed = np.where(is_equality, exact.value != 0.0, ~(exact.value <= 0.0))
        return _Missed(index, exact.value, exact.size, is_missed)

    def moved(self, x: Vector, rows: _Missed, reach: Vector) -> tuple[Vector, Vector] | None:
        """The point after the smallest change that makes the rows hold, clipped to its bounds."""
        lower, upper = self.given.lower, self.given.upper
        matrix = self.given.rows.take(rows.index)
        step = _least_change(matrix, reach, -rows.value)
        if step is None:
            return None
        target = x + step
        # what cancels altogether is zero: rounding would leave a number that nothing is relative to
        beside = np.maximum(self.start, np.maximum(np.abs(x), np.abs(step)))
        vanished = np.abs(target) <= np.maximum(
            ROUNDING * beside, EPS * _unnoticed(matrix, rows.size)
        )
        target = np.where(vanished, 0.0, target)
        beyond = (target < lower) | (target > upper)
        target = np.clip(target, lower, upper)
        stopped = beyond & (target == x)
        if beyond.any() and not stopped.any() and np.array_equal(target, x):
            return None
        return target, np.where(beyond, 0.0, reach)

    def real_change(self, x: Vector, missed: _Missed, reach: Vector) -> NearestPoint:
        """The change of a real neighbour for which every row that is near holds."""
        lower, upper = self.given.lower, self.given.upper
        inside = (x > lower) & (x < upper)
        near = missed.is_missed | (np.abs(missed.value) <= ROUNDING * missed.size)
        matrix = self.given.rows.take(missed.index[near])
        wanted = np.where(missed.is_missed, -missed.value, 0.0)[near]
        scale = np.where(inside, np.maximum(reach, self.metric(x)), 0.0)
        total, left = np.zeros(len(x)), wanted
        for _ in range(3):
            step = _least_change(matrix, scale, left)
            if step is None:
                break
            total = total + step
            left = -row_residuals(matrix, total, wanted).value
        remaining = np.zeros(len(self.given.right))
        if (total < lower - x).any() or (total > upper - x).any():
            total, left = np.zeros(len(x)), wanted
        is_left = ~(np.abs(left) <= REMOVED * ROUNDING * missed.size[near])
        remaining[missed.index[near][is_left]] = np.abs(left[is_left])
        if total.any():  # it must not take other rows along
            others = self.given.rows.estimate(x)[0] - self.given.right
            others = others + self.given.rows.estimate(total)[0]
            others[missed.index[near]] = 0.0
            others[self.given.is_equality] = 0.0
            remaining = np.maximum(remaining, others)
        return NearestPoint(x, total, remaining)


def _unnoticed(matrix: Matrix, sizes: Vector) -> Vector:
    """The largest ``size_k / |R_kj|`` of every variable, shape (n,).

    A variable that is rounding beside the other terms of one row, and all there is in another, is
    zero there.
    """
    sparse = sp.csr_array(abs(matrix))
    per_entry = np.repeat(sizes, np.diff(sparse.indptr)) / np.where(
        sparse.data > 0.0, sparse.data, np.inf
    )
    largest = np.zeros(matrix.shape[1])
    np.maximum.at(largest, sparse.indices, per_entry)
    return largest


def _vertex(restrictions: Restrictions, x: Vector, reach: Vector) -> Vector | None:
    """The feasible point with the smallest ``sum |d_j| / reach_j``, by a linear program.

    It decides which variables end at a bound, which a sequence of least changes cannot always do.
    Rows may be missed at a high price, for those that contradict each other by rounding. None if
    HiGHS finds no such point.
    """
    from scipy.optimize import linprog

    given, movable = restrictions, np.flatnonzero(reach > 0.0)
    binding = np.flatnonzero(np.isfinite(given.right))
    rows = sp.csr_array(given.rows.take(binding))
    value, size = given.rows.estimate(x)
    right = given.right[binding]
    size = size[binding] + np.abs(right)
    is_used = size > 0.0
    binding, rows, right = binding[is_used], rows[is_used], right[is_used] - value[binding][is_used]
    per_row = sp.diags_array(1.0 / size[is_used])
    scaled = per_row @ rows[:, movable] @ sp.diags_array(reach[movable])
    right = right / size[is_used]
    is_equality = given.is_equality[binding]
    m, n = scaled.shape
    short, over = sp.eye_array(m), sp.diags_array(is_equality.astype(np.float64))
    both = sp.hstack([scaled, -scaled, over, -short], format="csr")
    cost = np.concatenate([np.ones(2 * n), np.full(2 * m, PENALTY)])
    room = [
        (given.upper - x)[movable] / reach[movable],
        (x - given.lower)[movable] / reach[movable],
    ]
    with np.errstate(all="ignore"):
        found = linprog(
            cost,
            A_ub=both[~is_equality],
            b_ub=right[~is_equality],
            A_eq=both[is_equality],
            b_eq=right[is_equality],
            bounds=np.column_stack([0.0 * cost, np.concatenate([*room, np.full(2 * m, np.inf)])]),
            method="highs-ds",
            options={"primal_feasibility_tolerance": 1e-10, "time_limit": SEARCH_SECONDS},
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


def _least_change(matrix: Matrix, reach: Vector, wanted: Vector) -> Vector | None:
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
    except (np.linalg.LinAlgError, RuntimeError, ValueError):
        return None
    if not np.isfinite(short).all():
        return None
    change = np.zeros(len(reach))
    change[movable] = reach[movable] * short
    return change


def _smallest_solution(rows: Matrix, right: Vector) -> Vector:
    """The shortest t with ``B t = right``, or what comes closest."""
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
    for _ in range(3):
        t = t + factor.solve(np.concatenate([np.zeros(n), left]))[:n]
        left = right - B @ t
    return np.asarray(t)
