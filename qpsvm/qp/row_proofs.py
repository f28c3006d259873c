"""Proofs that linear constraints have an exact solution beside a point of doubles.

Rows that hold up to 2^-68 of their terms are satisfied by a real point beside, if they are
independent: the inverse of a basis bounds a correction (``row_corrections``).
Rows that depend on each other up to rounding prove nothing: ``x_1 + x_2 = 1`` and
``x_1 + (1 + u) x_2 = 1 + 100 u`` have one solution, (-99, 100), and (1, 0) misses the second one by
rounding. Two questions about exact numbers decide what is said:

- rows that depend on each other exactly, right-hand sides included, count once (``exact_rank``);
- rows that are missed contradict each other if a Farkas proof holds in rational numbers.

Where neither can be shown, nothing is known of these rows.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from qpsvm.numerics.arrays import Dense, Index, Mask, Vector, as_dense
from qpsvm.numerics.exact_rank import PRIMES, rank, residues
from qpsvm.numerics.exact_sums import row_residuals, without_tiny_rows
from qpsvm.numerics.independence import connected_rows
from qpsvm.numerics.precision import EPS, TINY
from qpsvm.qp.contradiction import is_contradiction
from qpsvm.qp.feasibility_settings import FEASIBILITY
from qpsvm.qp.interior_step import interior_step
from qpsvm.qp.nearest_point import NearestPoint, unnoticed
from qpsvm.qp.nudging import MissedRows, nudge
from qpsvm.qp.restrictions import MatrixRows, Restrictions
from qpsvm.qp.row_corrections import (
    basic_correction,
    independent_correction,
    own_variables,
)


def prove_rows(given: Restrictions, found: NearestPoint, *, prices: bool = False) -> NearestPoint:
    """Prove that an exact solution of the constraints lies beside a given point.

    Parameters
    ----------
    given : Restrictions
    found : NearestPoint
        From ``nearest_feasible(given, ...)``.
    prices : bool
        The caller has a price for whatever a row is missed by: rows of which nothing is known are
        reported with their residual in ``left``, and need no contradiction.

    Returns
    -------
    NearestPoint
        ``change`` has grown by the correction that remains; ``blocked`` names a row of which
        nothing is known.

    Examples
    --------
    >>> u = 2.0**-52
    >>> rows = MatrixRows(np.array([[1.0, 1.0], [1.0, 1.0 + u]]))
    >>> free, equal = np.full(2, np.inf), np.ones(2, dtype=bool)
    >>> both = Restrictions(rows, np.array([1.0, 1.0 + 100.0 * u]), equal, -free, free)
    >>> off = NearestPoint(np.array([1.0, 0.0]), np.zeros(2), np.array([0.0, 100.0 * u]))
    >>> prove_rows(both, off).blocked
    1
    """
    if given.rows.shape[0] == 0:
        return found
    with np.errstate(all="ignore"):
        every = np.arange(given.rows.shape[0])
        rows, right, exponents = without_tiny_rows(given.rows.take(every), given.right)
        scaled = replace(given, rows=MatrixRows(rows), right=right) if exponents.any() else given
        left = np.ldexp(found.left, exponents) if exponents.any() else found.left
        proven = _proven(scaled, replace(found, left=left), prices=prices)
        return replace(proven, left=np.ldexp(proven.left, -exponents))


def _proven(given: Restrictions, found: NearestPoint, *, prices: bool) -> NearestPoint:
    """Prove feasibility beside a point; if that fails, beside one that a linear program moved."""
    proof, best = _Proof(given, found), found
    if found.blocked is None:
        best = proof.result(prices=prices)
        nudge = None if _is_proven(best) else proof.nudge()
        if nudge is not None:
            step, multipliers = nudge
            second = _Proof(given, proof.moved(step))
            best = second.result(prices=prices, multipliers=multipliers)
        if _is_proven(best):
            return best
    inwards = proof.inwards()
    if inwards is None:
        return best
    third = _Proof(given, proof.moved(inwards)).result(prices=prices)
    return third if _is_proven(third) or best.blocked is not None else best


def _is_proven(point: NearestPoint) -> bool:
    return point.blocked is None and not point.left.any()


class _Proof:
    """The constraints that are active at one point, with their exact residuals."""

    def __init__(self, given: Restrictions, found: NearestPoint) -> None:
        self.given, self.found = given, found
        x = found.point
        self.change = _inside(given, x, found.change)
        value, terms = given.rows.estimate(x)
        binds = ~np.isposinf(given.right)
        every = sp.csr_array(given.rows.take(np.arange(given.rows.shape[0])))
        size = sizes_of_rows(every, terms + np.where(binds, np.abs(given.right), 0.0))
        there = value - np.where(binds, given.right, 0.0) + given.rows.estimate(self.change)[0]
        near = binds & (given.is_equality | ~(there < -FEASIBILITY.near_rows * size))
        self.index: Index = np.flatnonzero(near)
        self.far: Index = np.flatnonzero(binds & ~near)
        self.far_room = -there[self.far] * 0.5
        self.is_equality: Mask = given.is_equality[self.index]
        rows = given.rows.take(self.index)
        self.size = size[self.index]
        both, right = sp.hstack([sp.csr_array(rows)] * 2), given.right[self.index]
        residuals = row_residuals(both, np.concatenate([x, self.change]), right)
        self.value, self.doubt = residuals.value, residuals.error
        self.rows, self.sizes = rows, size

    def result(self, *, prices: bool, multipliers: Vector | None = None) -> NearestPoint:
        """Create the point with its proof, or with the name of a row that is not proven."""
        found, left = self.found, self.found.left.copy()
        over = np.where(self.is_equality, np.abs(self.value), np.maximum(self.value, 0.0))
        is_off = ~(np.where(self.is_equality, over, self.value) + self.doubt <= 0.0)  # NaN is off
        miss = self.by_length(np.where(left[self.index] > 0.0, self.value, 0.0))
        if multipliers is not None:
            miss = self.by_size(multipliers[self.index])
            left[self.index] = np.where(over > FEASIBILITY.holds * self.size, over, 0.0)
        is_left = left[self.index] > 0.0
        if is_left.any() and not prices and not self.is_contradiction(is_left, miss):
            return replace(found, blocked=int(self.index[np.argmax(is_left * over / self.size)]))
        must = is_off & ~is_left
        if not must.any():
            return replace(found, change=self.change, left=left)
        correction = self.correction(must, is_left)
        if correction is None:
            if prices:
                left[self.index] = np.maximum(left[self.index], over + self.doubt)
                return replace(found, change=self.change, left=left)
            return replace(found, blocked=int(self.index[np.argmax(must * over / self.size)]))
        if is_left.any():
            kept = self.index[is_left]
            left[kept] += np.asarray(abs(self.rows[np.flatnonzero(is_left)]) @ correction)
        return replace(found, change=self.grown(correction), left=left)

    def by_size(self, multipliers: Vector) -> Vector:
        """Undo the scaling of row multipliers, and drop those that are rounding."""
        largest = float(np.max(np.abs(multipliers), initial=0.0))
        used = np.abs(multipliers) > FEASIBILITY.cancelled * largest
        return np.where(used, multipliers / np.maximum(self.size, TINY), 0.0)

    def by_length(self, miss: Vector) -> Vector:
        """Turn residuals of a least-squares correction into row multipliers."""
        squares = np.asarray((self.rows * self.rows).sum(axis=1)).ravel()
        return miss / np.where(squares > 0.0, squares, 1.0)

    def nudge(self) -> tuple[Vector, Vector] | None:
        """Search for a tiny step that reduces violations; and multipliers of all rows."""
        given = self.given
        lower = given.lower - self.found.point - self.change
        upper = given.upper - self.found.point - self.change
        missed = MissedRows(self.rows, self.value, self.size, self.is_equality)
        found = nudge(missed, np.abs(self.found.point), lower, upper)
        if found is None:
            return None
        multipliers = np.zeros(len(given.right))
        multipliers[self.index] = found[1]
        return found[0], multipliers

    def moved(self, step: Vector) -> NearestPoint:
        """The point after one more change."""
        found = self.found
        nothing = np.zeros(len(found.left))
        return replace(found, change=self.change + step, left=nothing, blocked=None)

    def inwards(self) -> Vector | None:
        """Search for a tiny step towards a point that has room in all inequalities."""
        given, x, change = self.given, self.found.point, self.change
        binds = np.flatnonzero(~np.isposinf(given.right))
        both = sp.hstack([sp.csr_array(given.rows.take(binds))] * 2)
        residuals = row_residuals(both, np.concatenate([x, change]), given.right[binds])
        rows = sp.csr_array(given.rows.take(binds))
        missed = MissedRows(rows, residuals.value, self.sizes[binds], given.is_equality[binds])
        if not missed.worst <= FEASIBILITY.farthest_miss:
            return None
        return interior_step(
            missed,
            residuals.error,
            self.unit(rows, missed.size),
            given.lower - x - change,
            given.upper - x - change,
        )

    def unit(self, rows: sp.csr_array, size: Vector) -> Vector:
        """Scale of each variable: its value and the smallest move that equals a row's terms."""
        share = sp.csr_array(sp.diags_array(1.0 / size) @ abs(rows))
        largest = np.asarray(share.max(axis=0).toarray()).ravel()
        return np.abs(self.found.point) + np.where(
            largest > 0.0, 1.0 / np.where(largest > 0.0, largest, 1.0), 1.0
        )

    def grown(self, correction: Vector) -> Vector:
        """Enlarge every entry of the change by its correction."""
        return np.where(self.change < 0.0, self.change - correction, self.change + correction)

    # --- rows that hold up to a residual ---------------------------------------------------------

    def correction(self, must: Mask, is_left: Mask) -> Vector | None:
        """Bound every entry of a correction that makes all constraints hold; None if unknown."""
        chosen = must | (self.is_equality & ~is_left)
        for _ in range(40):
            size = self.smallest_correction(chosen)
            if size is None:
                return None
            moved = np.asarray(abs(self.rows) @ size)
            room = np.where(self.is_equality, np.inf, -self.value - self.doubt)
            short = ~chosen & ~is_left & (moved > room)
            if not short.any():
                far = np.asarray(abs(self.given.rows.take(self.far)) @ size)
                return size if (far <= self.far_room).all() else None
            chosen = chosen | short
        return None

    def smallest_correction(self, chosen: Mask) -> Vector | None:
        """Bound every entry of the shortest correction of some violated rows; None if unknown.

        Rows without a common variable are corrected on their own.
        """
        given, index = self.given, np.flatnonzero(chosen)
        rows, size = sp.csr_array(self.rows[index]), np.maximum(self.size[chosen], TINY)
        x, change = self.found.point, self.change
        share = sp.csr_array(sp.diags_array(1.0 / size) @ abs(rows))
        largest = np.asarray(share.max(axis=0).toarray()).ravel()
        unit = np.abs(x) + np.where(largest > 0.0, 1.0 / np.where(largest > 0.0, largest, 1.0), 0.0)
        room = _room(given, x, change)
        missed = (np.abs(self.value) + self.doubt)[chosen]
        far = FEASIBILITY.movable_distance * float(np.max(missed / size)) * unit
        for least in (far, 0.0 * far):
            movable = np.where((largest > 0.0) & (room > least), room, 0.0)
            correction = self.correction_within(rows, missed, index, unit, movable)
            if correction is not None:
                return correction
        return None

    def correction_within(
        self, rows: sp.csr_array, missed: Vector, index: Index, unit: Vector, room: Vector
    ) -> Vector | None:
        """Bound every entry of a correction, none of which is larger than its room.

        Parameters
        ----------
        rows : CSR array of shape (k, n)
        missed : array of shape (k,)
        index : array of int of shape (k,)
            Their numbers among the active rows.
        unit, room : arrays of shape (n,)
            Scale of each variable, and how far it may move; zero for those that stay.
        """
        movable = sp.csr_array(rows @ sp.diags_array((room > 0.0).astype(np.float64)))
        movable.eliminate_zeros()
        if not np.isfinite(movable.data).all() or not np.isfinite(missed).all():
            return None
        own = own_variables(movable, missed, room)
        rest = np.flatnonzero(own < 0)
        correction = self.correction_of_rest(movable[rest], missed[rest], index[rest], unit, room)
        if correction is None:
            return None
        alone = np.flatnonzero(own >= 0)
        terms = missed[alone] + abs(movable[alone]) @ correction + movable.shape[1] * TINY
        entries = np.abs(np.asarray(movable[alone, own[alone]]).ravel())
        correction[own[alone]] = terms / entries * (1.0 + (movable.shape[1] + 8.0) * EPS)
        return correction if (correction <= room).all() else None

    def correction_of_rest(
        self, movable: sp.csr_array, missed: Vector, index: Index, unit: Vector, room: Vector
    ) -> Vector | None:
        """Bound a correction of rows that share their variables, one connected part at a time."""
        correction = np.zeros(len(unit))
        for own in connected_rows(movable):
            rows = movable[own]
            columns = np.unique(rows.indices)
            block = rows[:, columns]
            if len(own) > FEASIBILITY.most_examined_rows:
                found = independent_correction(block, missed[own], unit[columns])
            else:
                found = self.correction_of_few(
                    as_dense(block), missed[own], index[own], columns, unit, room
                )
            if found is None:
                return None
            correction[columns] = found
        return correction

    def correction_of_few(
        self, rows: Dense, missed: Vector, own: Index, columns: Index, unit: Vector, room: Vector
    ) -> Vector | None:
        """Bound a correction of connected rows, shape (m,); None if they may depend inexactly."""
        found = basic_correction(rows, missed, unit[columns], room[columns])
        if found is None:
            return None
        rank = len(found.columns)
        if rank < len(own) and not self.is_exact(own, columns[found.columns], rank):
            return None
        correction = np.zeros(len(columns))
        correction[found.columns] = found.size
        return correction

    def is_exact(self, own: Index, columns: Index, independent: int) -> bool:
        """Return whether some rows, right-hand sides included, have a given rank exactly."""
        rows = sp.csr_array(self.rows[own])
        used = np.unique(rows.indices)
        dense, right = as_dense(rows[:, used]), self.given.right[self.index][own]
        is_moved = np.isin(used, columns)
        fixed = used[~is_moved]
        ranks = set()
        for prime in PRIMES:
            whole = residues(dense, prime)
            rest = residues(right, prime)
            for values in (self.found.point[fixed], self.change[fixed]):
                terms = whole[:, ~is_moved] * residues(values, prime) % prime
                rest = (rest - terms.sum(axis=1)) % prime
            ranks.add(rank(np.column_stack([whole[:, is_moved], rest]), prime))
        return max(ranks) == independent

    def is_contradiction(self, is_left: Mask, miss: Vector) -> bool:
        """Return whether the missed rows take part in a proven contradiction."""
        used = np.flatnonzero(miss)
        if not np.isfinite(miss).all() or not np.isin(np.flatnonzero(is_left), used).all():
            return False
        return is_contradiction(self.given, self.index[used], self.rows[used], miss[used])


def sizes_of_rows(rows: sp.csr_array, sizes: Vector) -> Vector:
    """Sizes of constraint rows, no smaller than a rounding of what their variables are elsewhere.

    Where all terms of a row are zero, its variables may still have to move by the rounding of other
    rows. Sizes scale the search for a correction, and prove nothing.

    Parameters
    ----------
    rows : CSR array of shape (m, n)
    sizes : array of shape (m,)
        Sum of the absolute values of each row's terms.
    """
    reach = unnoticed(rows, sizes)
    terms = sp.csr_array(abs(rows) @ sp.diags_array(np.where(np.isfinite(reach), reach, 0.0)))
    largest = np.zeros(len(sizes))
    if rows.shape[1]:
        largest = np.asarray(terms.max(axis=1).toarray()).ravel()
    found = np.maximum(sizes, EPS * largest)
    return np.where(found > 0.0, found, 1.0)


def _room(given: Restrictions, x: Vector, change: Vector) -> Vector:
    """Distance of ``x + change`` from the nearer bound of every variable, rounded down."""
    room = np.minimum(x - given.lower, given.upper - x)
    for j in np.flatnonzero(change).tolist():
        value, step = float(x[j]), float(change[j])
        below = math.fsum([value, step, -float(given.lower[j])])
        room[j] = min(below, math.fsum([float(given.upper[j]), -value, -step]))
    return np.asarray(np.maximum(room, 0.0) * (1.0 - 2.0 * EPS))


def _inside(given: Restrictions, x: Vector, change: Vector) -> Vector:
    """Zero the entries of a change that would leave the bounds."""
    change = change.copy()
    for j in np.flatnonzero(change).tolist():
        value, step = float(x[j]), float(change[j])
        below, above = float(given.lower[j]), float(given.upper[j])
        under = math.isfinite(below) and math.fsum([value, step, -below]) < 0.0
        over = math.isfinite(above) and math.fsum([value, step, -above]) > 0.0
        if under or over:
            change[j] = 0.0
    return change
