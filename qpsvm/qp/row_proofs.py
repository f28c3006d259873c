"""Proofs that linear constraints have an exact solution beside a point of doubles.

Rows that hold up to 2^-68 of their terms are satisfied by a real point beside, if they are
independent: a correction in variables with room is bounded by the smallest singular value of the
rows. A row with a variable of its own is, whatever the others need; the others are examined one
connected part at a time.

Rows that depend on each other up to rounding prove nothing: ``x_1 + x_2 = 1`` and
``x_1 + (1 + u) x_2 = 1 + 100 u`` have one solution, (-99, 100), and (1, 0) misses the second one by
rounding. Two questions about exact numbers decide what is said:

- rows that depend on each other exactly, right-hand sides included, count once (``_is_exact``);
- rows that are missed contradict each other if a Farkas proof holds in rational numbers.

Where no proof is found beside the point, two linear programs look for another one: the step of a
few roundings that violates the rows least, whose multipliers may prove a contradiction; and a step
towards a point with room in all inequalities. Where both fail, nothing is known of these rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import qr

from qpsvm.numerics.arrays import EIGENVALUE_SIZE, Index, Mask, Matrix, Vector, as_dense
from qpsvm.numerics.compensated import RowResiduals, row_residuals, without_tiny_rows
from qpsvm.numerics.independence import (
    connected_rows,
    null_space,
    primes_for,
    proven_independence,
    rank,
    residues,
)
from qpsvm.numerics.precision import EPS, TINY
from qpsvm.numerics.rows import entries_of, scaled_columns, scaled_rows
from qpsvm.qp.nearest import CONTRADICTION, HOLDS, ROUNDS, row_sizes, unit_of
from qpsvm.qp.restrictions import NearestPoint, Restrictions, linear_program

CANCELLED = 1e-6
"""Share of its terms up to which a sum over a column is meant to cancel."""

FARTHEST_STEP = 2.0**20
"""Longest correction, in units of the largest miss: roundings of rows whose smallest singular value
is 1e-6, and 1e-10 of a variable at most."""


def prove_rows(
    given: Restrictions, found: NearestPoint, *, allow_residuals: bool = False
) -> NearestPoint:
    """Prove that an exact solution of the constraints lies beside a given point.

    Parameters
    ----------
    given : Restrictions
    found : NearestPoint
        From ``nearest_feasible(given, ...)``.
    allow_residuals : bool
        The caller adds residuals, times multipliers, to its bound: rows of which nothing is known
        are reported with their residual in ``left``, and need no contradiction.

    Returns
    -------
    NearestPoint
        ``change`` has grown by the correction that remains; ``blocked`` names a row of which
        nothing is known.

    Examples
    --------
    >>> u = 2.0**-52
    >>> rows = np.array([[1.0, 1.0], [1.0, 1.0 + u]])
    >>> free, equal = np.full(2, np.inf), np.ones(2, dtype=bool)
    >>> both = Restrictions(rows, np.array([1.0, 1.0 + 100.0 * u]), equal, -free, free)
    >>> off = NearestPoint(np.array([1.0, 0.0]), np.zeros(2), np.array([0.0, 100.0 * u]))
    >>> prove_rows(both, off).blocked
    1
    """
    if not len(given.right):
        return found
    with np.errstate(all="ignore"):
        rows, right, exponents = without_tiny_rows(given.rows, given.right)
        given = replace(given, rows=rows, right=right)
        found = replace(found, left=np.ldexp(found.left, exponents))
        active, best = _ActiveRows.at(given, found), found
        if found.blocked is None:
            missed = np.where(found.left[active.index] > 0.0, active.own.value, 0.0)
            squares = np.asarray((active.rows * active.rows).sum(axis=1)).ravel()
            multipliers = missed / np.where(squares > 0.0, squares, 1.0)
            best = _with_proof(active, found, multipliers, allow_residuals=allow_residuals)
            reduced = None if best.is_exact else _reduce_violation(active)
            if reduced is not None:
                moved = _ActiveRows.at(given, replace(found, change=active.change + reduced[0]))
                left, multipliers = np.zeros(len(right)), reduced[1][moved.index]
                left[moved.index] = np.where(moved.over > HOLDS * moved.size, moved.over, 0.0)
                best = _with_proof(
                    moved, replace(found, left=left), multipliers, allow_residuals=allow_residuals
                )
        inner = None if best.is_exact else _step_to_interior(active, found)
        if inner is not None:
            beside = _ActiveRows.at(given, inner)
            proven = _with_proof(
                beside, inner, np.zeros(len(beside.index)), allow_residuals=allow_residuals
            )
            best = proven if proven.is_exact else best
        return replace(best, left=np.ldexp(best.left, -exponents))


@dataclass(frozen=True, eq=False)
class _ActiveRows:
    """Equalities, and inequalities that hold with little room, at the real point ``x + change``.

    Attributes
    ----------
    given : Restrictions
    point, change : arrays of shape (n,)
        Entries of the change that would leave the bounds are dropped.
    sizes : array of shape (m,)
        Sizes of the terms of all rows.
    index : array of int of shape (k,)
        The active rows among all.
    far, far_room : arrays of the same shape
        The other rows that bind, and by how much their left-hand sides may grow.
    """

    given: Restrictions
    point: Vector
    change: Vector
    sizes: Vector
    index: Index
    far: Index
    far_room: Vector

    @classmethod
    def at(cls, given: Restrictions, found: NearestPoint) -> _ActiveRows:
        """Find the active rows beside a point."""
        x, binds = found.point, given.binds
        distance = np.where(found.change > 0.0, given.upper - x, x - given.lower)
        leaves = np.abs(found.change) > distance * (1.0 - 4.0 * EPS)  # as far as rounding can say
        change = np.where(leaves, 0.0, found.change)
        sizes = row_sizes(given, x)
        there = given.rows @ x - np.where(binds, given.right, 0.0) + given.rows @ change
        terms = np.asarray(abs(given.rows) @ np.abs(change))
        # an inequality with room for far more than rounding is left out of a proof at first
        has_room = there < -(2.0**-36) * (sizes + terms)  # NaN has none
        near = binds & (given.is_equality | ~has_room)
        far = np.flatnonzero(binds & ~near)
        return cls(given, x, change, sizes, np.flatnonzero(near), far, -there[far] * 0.5)

    @cached_property
    def rows(self) -> Matrix:
        """The active rows, shape (k, n)."""
        return self.given.rows[self.index]

    @cached_property
    def size(self) -> Vector:
        """Sizes of the terms of the active rows, shape (k,)."""
        return np.asarray(self.sizes[self.index])

    @cached_property
    def is_equality(self) -> Mask:
        """Active rows that are equalities, shape (k,)."""
        return np.asarray(self.given.is_equality[self.index])

    @cached_property
    def own(self) -> RowResiduals:
        """Residuals of the active rows with bounds on their errors."""
        return self.residuals(self.index)

    def residuals(self, index: Index) -> RowResiduals:
        """Residuals of chosen rows, each one sum, with bounds on their errors."""
        rows = self.given.rows[index]
        both = sp.hstack([rows, rows]) if sp.issparse(rows) else np.hstack([rows, rows])
        values = np.concatenate([self.point, self.change])
        return row_residuals(both, values, self.given.right[index])

    @cached_property
    def over(self) -> Vector:
        """Violations of the active rows, shape (k,)."""
        value = self.own.value
        return np.where(self.is_equality, np.abs(value), np.maximum(value, 0.0))

    @cached_property
    def room(self) -> Vector:
        """Distance of ``x + change`` from the nearer bound of every variable, rounded down."""
        below, above = self.point - self.given.lower, self.given.upper - self.point
        room = np.minimum(below + self.change, above - self.change)
        room = room - 2.0 * EPS * np.abs(self.change)
        return np.maximum(room, 0.0) * (1.0 - 4.0 * EPS)

    def worst(self, among: Mask) -> int:
        """The row among some active ones that is missed most."""
        return int(self.index[np.argmax(among * self.over / self.size)])


def _with_proof(
    active: _ActiveRows, found: NearestPoint, multipliers: Vector, *, allow_residuals: bool
) -> NearestPoint:
    """Create the point with its proof, or with the name of a row that is not proven.

    ``found.left`` has what rows that contradict each other are missed by, and the multipliers of
    the active rows, shape (k,), may prove it.
    """
    left, (value, _, error) = found.left[active.index], active.own
    is_left = left > 0.0
    if is_left.any() and not allow_residuals and not _is_contradicted(active, is_left, multipliers):
        return replace(found, blocked=active.worst(is_left))
    whole = np.zeros(len(found.left))
    whole[active.index] = left
    is_off = ~(np.where(active.is_equality, active.over, value) + error <= 0.0)  # NaN is off
    must = is_off & ~is_left
    size = _correction(active, must, is_left) if must.any() else np.zeros(len(active.point))
    if size is None and not allow_residuals:
        return replace(found, blocked=active.worst(must))
    if size is None:
        whole[active.index] = np.maximum(left, active.over + error)
        return replace(found, change=active.change, left=whole)
    rows_left = np.flatnonzero(is_left)
    whole[active.index[rows_left]] += np.asarray(abs(active.rows[rows_left]) @ size)
    grown = np.abs(active.change) + size
    grown = np.where(size > 0.0, np.nextafter(grown, np.inf), grown)
    return replace(found, change=np.where(active.change < 0.0, -grown, grown), left=whole)


# --- corrections -----------------------------------------------------------------------------


def _correction(active: _ActiveRows, must: Mask, is_left: Mask) -> Vector | None:
    """Bound every entry of a correction that makes all constraints hold; None if unknown.

    Parameters
    ----------
    active : _ActiveRows
    must : bool array of shape (k,)
        The active rows that do not hold yet.
    is_left : bool array of shape (k,)
        Rows that contradict others, and are left as they are.
    """
    chosen = must | (active.is_equality & ~is_left)
    value, _, error = active.own
    for _ in range(ROUNDS):
        found = _of_chosen(active, np.flatnonzero(chosen))
        if found is None:
            return None
        moved = np.asarray(abs(active.rows) @ found) * (1.0 + (len(found) + 8.0) * EPS)
        room = np.where(active.is_equality, np.inf, -value - error)
        short = ~chosen & ~is_left & ~(moved <= room)  # NaN is short
        if not short.any():
            far = np.asarray(abs(active.given.rows[active.far]) @ found)
            return found if (far <= active.far_room).all() else None
        chosen = chosen | short
    return None


def _of_chosen(active: _ActiveRows, index: Index) -> Vector | None:
    """Bound a correction of some active rows, no entry of which is larger than its room.

    At most a share of its scale of every variable moves, far more than the rows are missed by; of
    a variable with less room than that share the scale is smaller. Where this does not do, every
    scale is at most the room.
    """
    rows, size = active.rows[index], np.maximum(active.size[index], TINY)
    missed = (np.abs(active.own.value) + active.own.error)[index]
    unit, used = unit_of(rows, size, active.point)
    for share in (min(2.0**12 * float(np.max(missed / size)), 1.0), 1.0):
        scales = np.where(used & (active.room > 0.0), np.minimum(unit, active.room / share), 0.0)
        found = _within(active, index, missed, scales, share)
        if found is not None:
            return found
    return None


def _within(
    active: _ActiveRows, index: Index, missed: Vector, unit: Vector, share: float
) -> Vector | None:
    """Bound a correction of some active rows of at most a share of the scale of each variable."""
    movable = scaled_columns(active.rows[index], (unit > 0.0).astype(np.float64))
    row, column, entry = entries_of(movable)
    if not np.isfinite(entry).all() or not np.isfinite(missed).all():
        return None
    # a row is corrected by a variable that no other row contains, whatever the others need
    own = np.full(len(index), -1, dtype=np.intp)
    alone = np.bincount(column, minlength=len(unit))[column] == 1
    effect = np.abs(entry) * unit[column] * share
    alone &= effect > 2.0**12 * missed[row]
    order = np.flatnonzero(alone)[np.argsort(effect[alone], kind="stable")]
    own[row[order]] = column[order]  # of several the one with the most room
    found, rest, alone_rows = np.zeros(len(unit)), np.flatnonzero(own < 0), np.flatnonzero(own >= 0)
    for part in connected_rows(movable[rest]):
        rows = rest[part]
        if missed[rows].any():
            columns = np.unique(entries_of(movable[rows])[1])
            scale = _scale(active, index[rows], columns, unit[columns], missed[rows])
            if scale is None or not scale <= share:
                return None
            found[columns] = unit[columns] * scale
    outwards = 1.0 + (len(unit) + 8.0) * EPS
    terms = missed[alone_rows] + abs(movable[alone_rows]) @ found + len(unit) * TINY
    entries = np.abs(np.asarray(movable[alone_rows, own[alone_rows]]).ravel())
    found[own[alone_rows]] = terms / entries * outwards
    return found if (found <= active.room).all() else None


def _scale(
    active: _ActiveRows, index: Index, columns: Index, unit: Vector, missed: Vector
) -> float | None:
    """Bound the length of the shortest correction of connected rows, in units; None if unknown.

    It is the length of what they miss over the smallest singular value. Of rows that depend on each
    other, the rank has to be the same in exact arithmetic, with the residuals as one more column.
    """
    rows = active.rows[index][:, columns]
    scaled = scaled_columns(rows, unit)
    norms = np.sqrt(np.asarray((scaled * scaled).sum(axis=1)).ravel())
    norms = np.where(norms > 0.0, norms, 1.0)
    scaled, length = scaled_rows(1.0 / norms, scaled), _length(missed / norms)
    least = proven_independence(scaled)
    if least is None and len(index) <= EIGENVALUE_SIZE:
        dense = as_dense(scaled)
        if not np.isfinite(dense).all():
            return None
        _, R, order = qr(dense.T, mode="economic", pivoting=True)
        # shares of the largest above this are told from rounding
        independent = int(np.count_nonzero(np.abs(np.diagonal(R)) > 1e-12))
        if independent < len(index) and not _is_exact(active, index, columns, independent):
            return None
        if not independent:
            return 0.0
        values = np.linalg.svd(dense[order[:independent]], compute_uv=False)
        least = float(values[-1]) - 4.0 * sum(dense.shape) * EPS * float(values[0])
    if least is None or not least > 0.0 or (missed.any() and not length > 0.0):
        return None
    return 2.0 * length / least


def _length(v: Vector) -> float:
    """Euclidean length of v, at least: the squares of tiny numbers alone would be zero."""
    largest = float(np.max(np.abs(v), initial=0.0))
    if not 0.0 < largest < np.inf:
        return largest  # NaN stays
    return largest * float(np.linalg.norm(v / largest)) * (1.0 + 8.0 * EPS)


def _is_exact(active: _ActiveRows, index: Index, columns: Index, independent: int) -> bool:
    """Return whether some rows, residuals at the point included, have a given rank exactly."""
    rows, right = active.rows[index], active.given.right[active.index[index]]
    used = np.unique(entries_of(rows)[1])
    dense, is_moved, ranks = as_dense(rows[:, used]), np.isin(used, columns), set()
    for prime in primes_for(dense, right):
        whole, rest = residues(dense, prime), residues(right, prime)
        for values in (active.point[used], active.change[used]):
            rest = (rest - (whole * residues(values, prime) % prime).sum(axis=1)) % prime
        ranks.add(rank(np.column_stack([whole[:, is_moved], rest]), prime))
    return max(ranks) == independent


# --- contradictions ----------------------------------------------------------------------------


def _is_contradicted(active: _ActiveRows, is_left: Mask, multipliers: Vector) -> bool:
    """Return whether multipliers near the given ones prove that missed rows contradict others.

    By no more than the rounding of their own numbers: a point far out rounds more than they do.
    """
    used = np.flatnonzero(multipliers)
    if not np.isfinite(multipliers).all() or not multipliers[is_left].all():
        return False
    miss = multipliers[used] / np.max(np.abs(multipliers), initial=TINY)
    rows, index = sp.csr_array(active.rows[used]), active.index[used]
    as_they_are = [Fraction(v) for v in miss.tolist()]
    near = np.minimum(np.abs(active.point), 1.0)
    return _is_farkas(active.given, index, rows, as_they_are, near) or _is_farkas(
        active.given, index, rows, _cancelling(active.given, rows, miss), near
    )


def _cancelling(given: Restrictions, rows: sp.csr_array, miss: Vector) -> list[Fraction]:
    """Find rational multipliers near the given ones with ``v'R = 0`` in unbounded variables."""
    # solutions of equations in rational numbers take their time
    if rows.shape[0] > 40:
        return []
    sums, terms = rows.T @ miss, abs(rows).T @ np.abs(miss)
    ends = np.where(sums > 0.0, given.lower, given.upper)
    cancels = (terms > 0.0) & (np.isinf(ends) | (np.abs(sums) <= CANCELLED * terms))
    matrix = as_dense(rows[:, np.flatnonzero(cancels)]).T
    basis = null_space([[Fraction(v) for v in row] for row in matrix.tolist()], rows.shape[0])
    if not basis:
        return []
    B = np.array([[float(v) for v in vector] for vector in basis])
    weights = [Fraction(w) for w in np.linalg.lstsq(B.T, miss, rcond=None)[0].tolist()]
    return [
        sum((w * vector[k] for w, vector in zip(weights, basis, strict=True)), Fraction(0))
        for k in range(rows.shape[0])
    ]


def _is_farkas(
    given: Restrictions,
    index: Index,
    rows: sp.csr_array,
    multipliers: list[Fraction],
    near: Vector,
) -> bool:
    """Return whether multipliers prove, in exact arithmetic, that rows contradict each other.

    And whether by no more than a rounding of the terms ``|v|'(|R| x + |r|)``, for the bounds that
    the proof needs in place of x, and for x = ``near`` elsewhere.
    """
    sums, least = dict[int, Fraction](), Fraction(0)
    sizes, size = np.zeros(len(near)), 0.0
    for k, v in enumerate(multipliers):
        if v == 0 or (v < 0 and not given.is_equality[index[k]]):
            return False  # of a row without a multiplier nothing is known
        least -= v * Fraction(float(given.right[index[k]]))
        size += abs(float(v)) * abs(float(given.right[index[k]]))
        own = slice(rows.indptr[k], rows.indptr[k + 1])
        for j, entry in zip(rows.indices[own].tolist(), rows.data[own].tolist(), strict=True):
            sums[j] = sums.get(j, Fraction(0)) + v * Fraction(entry)
            sizes[j] += abs(float(v) * entry)
    for j, c in sums.items():
        end = float(given.lower[j] if c > 0 else given.upper[j])
        if c != 0 and not math.isfinite(end):
            return False
        least += c * Fraction(end) if c else 0
        size += sizes[j] * (abs(end) if c else near[j])
    return 0 < least <= CONTRADICTION * size


# --- small steps -----------------------------------------------------------------------------


def _reduce_violation(active: _ActiveRows) -> tuple[Vector, Vector] | None:
    """Find the step of a few roundings that violates the active rows least; None without any.

    Variables at their bounds may move inwards, which the least change that came before does not
    try. The multipliers of all rows come with it.
    """
    value, size, is_equality = active.own.value, active.size, active.is_equality
    k, scale = len(value), float(np.max(active.over / size, initial=0.0))
    if k > EIGENVALUE_SIZE or not (np.isfinite(scale) and scale > 0.0):
        return None
    unit = unit_of(active.rows, size, active.point)[0] * scale
    scaled = scaled_columns(scaled_rows(1.0 / size / scale, sp.csr_array(active.rows)), unit)
    low = np.clip((active.given.lower - active.point - active.change) / unit, -FARTHEST_STEP, 0.0)
    high = np.clip((active.given.upper - active.point - active.change) / unit, 0.0, FARTHEST_STEP)
    over = sp.diags_array(is_equality.astype(np.float64))
    both = sp.hstack([scaled, -scaled, over, -sp.eye_array(k)], format="csr")
    ends = np.concatenate([high, -low, np.full(2 * k, np.inf)])
    # to move a variable by a rounding costs 1
    cost = np.concatenate([np.ones(2 * len(unit)), np.full(2 * k, 1e8)])
    found = _linear_program(
        cost, both, -value / size / scale, is_equality, (np.zeros(len(ends)), ends)
    )
    if found is None:
        return None
    up, down = np.split(found.x[: 2 * len(unit)], 2)
    signs = np.zeros(k)
    signs[~is_equality], signs[is_equality] = found.ineqlin.marginals, found.eqlin.marginals
    is_used = np.abs(signs) > CANCELLED * float(np.max(np.abs(signs), initial=0.0))
    multipliers = np.zeros(len(active.given.right))
    multipliers[active.index] = np.where(is_used, -signs / size, 0.0)
    return unit * np.clip(up - down, low, high), multipliers


def _step_to_interior(active: _ActiveRows, found: NearestPoint) -> NearestPoint | None:
    """Take a small step towards a point with room in all inequalities; None without any.

    ``maximise t  subject to  R_k d + t size_k <= -value_k,   R_k d = -value_k in equalities,
    lower + t w <= d <= upper - t w,   t <= 1``, with ``w_j`` at most a quarter of what is between
    the bounds of ``d_j``.
    """
    given, x = active.given, active.point
    binds = np.flatnonzero(given.binds)
    size, (value, _, error) = active.sizes[binds], active.residuals(binds)
    is_equality = given.is_equality[binds]
    over = (np.where(is_equality, np.abs(value), np.maximum(value, 0.0)) + error) / size
    worst, n = float(np.max(over, initial=TINY)), len(x)
    # a step that makes up for more costs more than a tolerance allows
    if not worst <= 1e-5:
        return None
    rows = sp.csr_array(given.rows[binds])
    unit = unit_of(rows, size, x)[0]
    low, high = ((end - x - active.change) / unit for end in (given.lower, given.upper))
    between = np.minimum(high - low, 4.0) / 4.0  # NaN leads to None below
    lows, highs = np.flatnonzero(np.isfinite(low)), np.flatnonzero(np.isfinite(high))
    eye = sp.eye_array(n, format="csr")
    system = sp.vstack(
        [scaled_columns(scaled_rows(1.0 / size, rows), unit), -eye[lows], eye[highs]]
    )
    room = np.concatenate([np.where(is_equality, 0.0, 1.0), between[lows], between[highs]])
    right = np.concatenate([-value / size, -low[lows], high[highs]])
    is_equality = np.append(is_equality, np.zeros(len(lows) + len(highs), dtype=bool))
    inside = sp.hstack([system, sp.csr_array(room[:, None])], format="csr")
    free = np.append(np.full(n, np.inf), 1.0)
    ends = np.append(-free[:n], 0.0), free
    depth = np.append(np.zeros(n), -1.0)
    deepest = _linear_program(depth, inside, right, is_equality, ends)
    # less is what rounding has made
    if deepest is None or not deepest.x[n] > 4e-10:
        return None
    share = min(4.0 * worst / float(deepest.x[n]), 1.0)
    # as far as doubles can say, the point itself moves: its rows are missed by rounding again
    step = active.change + unit * deepest.x[:n] * share
    point = np.clip(x + step, given.lower, given.upper)
    return NearestPoint(point, (x - point) + step, np.zeros(len(found.left)))


def _linear_program(
    cost: Vector, rows: sp.csr_array, right: Vector, is_equality: Mask, ends: tuple[Vector, Vector]
) -> Any:
    """Minimise a cost over rows and bounds; None without a solution, or where numbers overflow."""
    if not np.isfinite(np.concatenate([rows.data, right])).all() or np.isnan(ends).any():
        return None
    equal = {"A_eq": rows[is_equality], "b_eq": right[is_equality]}
    unequal = {"A_ub": rows[~is_equality], "b_ub": right[~is_equality]}
    return linear_program(cost, ends, seconds=5.0, **equal, **unequal)
