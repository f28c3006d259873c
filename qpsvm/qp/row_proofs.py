"""Proofs that linear constraints have an exact solution beside a point of doubles.

Rows that hold up to 2^-68 of their terms are satisfied by a real point beside, if they are
independent: the shortest correction is at most the residual divided by the smallest singular value.
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

from qpsvm.numerics.arrays import Index, Mask, Vector, as_dense
from qpsvm.numerics.exact_rank import PRIMES, rank, residues
from qpsvm.numerics.exact_sums import row_residuals, without_tiny_rows
from qpsvm.numerics.independence import connected_rows, proven_independence
from qpsvm.numerics.precision import EPS, TINY
from qpsvm.qp.contradiction import is_contradiction
from qpsvm.qp.feasibility_settings import FEASIBILITY
from qpsvm.qp.nearest_point import NearestPoint
from qpsvm.qp.restrictions import MatrixRows, Restrictions


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
    if found.blocked is not None or given.rows.shape[0] == 0:
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
    proof = _Proof(given, found)
    first = proof.result(prices=prices)
    if first.blocked is None and not first.left.any():
        return first
    nudge = proof.nudge()
    if nudge is None:
        return first
    step, multipliers = nudge
    second = _Proof(given, replace(found, change=proof.change + step, left=0.0 * found.left))
    return second.result(prices=prices, multipliers=multipliers)


class _Proof:
    """The constraints that are active at one point, with their exact residuals."""

    def __init__(self, given: Restrictions, found: NearestPoint) -> None:
        self.given, self.found = given, found
        x = found.point
        self.change = _inside(given, x, found.change)
        value, terms = given.rows.estimate(x)
        binds = ~np.isposinf(given.right)
        size = terms + np.where(binds, np.abs(given.right), 0.0)
        there = value - np.where(binds, given.right, 0.0) + given.rows.estimate(self.change)[0]
        near = binds & (given.is_equality | ~(there < -FEASIBILITY.near_rows * size))
        self.index: Index = np.flatnonzero(near)
        self.far: Index = np.flatnonzero(binds & ~near)
        self.far_room = -there[self.far] * 0.5
        self.size = size[self.index]
        self.is_equality: Mask = given.is_equality[self.index]
        rows = given.rows.take(self.index)
        first = row_residuals(rows, x, given.right[self.index]).value
        second = row_residuals(rows, self.change, -first).value
        moved = bool(self.change.any())
        self.value = second
        self.doubt = 0.5 * EPS * (np.abs(first) + np.abs(second)) if moved else 0.0 * first
        self.rows = rows

    def result(self, *, prices: bool, multipliers: Vector | None = None) -> NearestPoint:
        """Create the point with its proof, or with the name of a row that is not proven."""
        found, left = self.found, self.found.left.copy()
        over = np.where(self.is_equality, np.abs(self.value), np.maximum(self.value, 0.0))
        is_off = over + np.where(over > 0.0, self.doubt, 0.0) > 0.0
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
        """Search for a tiny step that reduces what the active constraints are violated by.

        Variables at their bounds may move inwards, which the least change that came before does not
        try. With multipliers of all rows, those that contradict each other among them.
        """
        from scipy.optimize import linprog

        given, m = self.given, len(self.index)
        if m == 0 or m > FEASIBILITY.most_examined_rows:
            return None
        over = np.where(self.is_equality, np.abs(self.value), np.maximum(self.value, 0.0))
        size = np.maximum(self.size, TINY)
        scale = float(np.max(over / size))
        if not (np.isfinite(scale) and scale > 0.0):
            return None
        rows = sp.csr_array(self.rows)
        share = sp.csr_array(sp.diags_array(1.0 / size) @ abs(rows))
        largest = np.asarray(share.max(axis=0).toarray()).ravel()
        used = np.flatnonzero(largest > 0.0)
        unit = (np.abs(self.found.point[used]) + 1.0 / largest[used]) * scale
        scaled = sp.diags_array(1.0 / size / scale) @ rows[:, used] @ sp.diags_array(unit)
        right = -self.value / size / scale
        lower = (given.lower - self.found.point - self.change)[used] / unit
        upper = (given.upper - self.found.point - self.change)[used] / unit
        lower = np.minimum(np.maximum(lower, -FEASIBILITY.farthest_nudge), 0.0)
        upper = np.maximum(np.minimum(upper, FEASIBILITY.farthest_nudge), 0.0)
        short, over_there = sp.eye_array(m), sp.diags_array(self.is_equality.astype(np.float64))
        both = sp.csr_array(sp.hstack([scaled, -scaled, over_there, -short]))
        n = len(used)
        if not (np.isfinite(both.data).all() and np.isfinite(right).all()):
            return None
        zeros = np.zeros(n)
        moves = np.column_stack([np.tile(zeros, 2), np.concatenate([upper, -lower])])
        misses = np.column_stack([np.zeros(2 * m), np.full(2 * m, np.inf)])
        found = linprog(
            np.concatenate([np.full(2 * n, 1.0), np.full(2 * m, FEASIBILITY.nudge_penalty)]),
            A_ub=both[~self.is_equality],
            b_ub=right[~self.is_equality],
            A_eq=both[self.is_equality],
            b_eq=right[self.is_equality],
            bounds=np.vstack([moves, misses]),
            method="highs-ds",
            options={
                "primal_feasibility_tolerance": 1e-10,
                "time_limit": FEASIBILITY.search_seconds,
            },
        )
        if found.x is None:
            return None
        step = np.zeros(len(self.change))
        step[used] = unit * np.clip(found.x[:n] - found.x[n : 2 * n], lower, upper)
        multipliers = np.zeros(len(given.right))
        multipliers[self.index[~self.is_equality]] = -found.ineqlin.marginals
        multipliers[self.index[self.is_equality]] = -found.eqlin.marginals
        return step, multipliers

    def grown(self, correction: Vector) -> Vector:
        """Enlarge every entry of the change by its correction."""
        return np.where(self.change < 0.0, self.change - correction, self.change + correction)

    # --- rows that hold up to a residual ---------------------------------------------------------

    def correction(self, must: Mask, is_left: Mask) -> Vector | None:
        """Bound every entry of a correction that makes all constraints hold; None if unknown."""
        chosen = must | (self.is_equality & ~is_left)
        for _ in range(4):
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
        room = np.minimum(x - given.lower + change, given.upper - x - change)
        missed = (np.abs(self.value) + self.doubt)[chosen]
        movable = (largest > 0.0) & (
            room > FEASIBILITY.movable_distance * float(np.max(missed / size)) * unit
        )
        scaled = sp.csr_array(rows @ sp.diags_array(np.where(movable, unit, 0.0)))
        scaled.eliminate_zeros()
        norms = np.sqrt(np.asarray((scaled * scaled).sum(axis=1)).ravel())
        if not np.isfinite(norms).all():
            return None
        norms = np.where(norms > 0.0, norms, 1.0)
        scaled, residual = sp.csr_array(sp.diags_array(1.0 / norms) @ scaled), missed / norms
        longest = np.zeros(len(x))
        for own in connected_rows(scaled):
            columns = np.unique(scaled[own].indices)
            least = 1.0
            if len(own) > 1 or not len(columns):
                found = self.smallest_singular_value(scaled[own][:, columns], index[own], columns)
                if found is None:
                    return None
                least = found
            longest[columns] = float(np.linalg.norm(residual[own])) / (0.5 * least)
        correction = unit * longest
        return correction if (correction <= np.where(movable, room, 0.0)).all() else None

    def smallest_singular_value(
        self, scaled: sp.csr_array, own: Index, columns: Index
    ) -> float | None:
        """Bound the nonzero singular values of some constraint rows from below; None if unknown.

        Parameters
        ----------
        scaled : CSR array of shape (k, m)
            The rows, scaled, in the columns of variables that can be moved.
        own : array of int of shape (k,)
            Their numbers among the active rows.
        columns : array of int of shape (m,)
        """
        if len(own) > FEASIBILITY.most_examined_rows:
            own_settings = FEASIBILITY.independence, FEASIBILITY.most_dense_rows
            return proven_independence(scaled, *own_settings)
        singular = np.linalg.svd(as_dense(scaled), compute_uv=False)
        independent = (
            int(np.sum(singular > FEASIBILITY.significant * singular[0])) if len(singular) else 0
        )
        if independent < len(own) and not self.is_exact(own, columns, independent):
            return None
        return float(singular[independent - 1]) if independent else 1.0

    def is_exact(self, own: Index, columns: Index, independent: int) -> bool:
        """Return whether some rows, right-hand sides included, have a given rank exactly."""
        rows, right = as_dense(self.rows[own]), self.given.right[self.index][own]
        is_moved = np.zeros(rows.shape[1], dtype=bool)
        is_moved[columns] = True
        ranks = set()
        for prime in PRIMES:
            whole = residues(rows, prime)
            rest = residues(right, prime)
            for values in (self.found.point, self.change):
                for j in np.flatnonzero(~is_moved & (values != 0.0)):
                    rest = (rest - whole[:, j] * residues(values[j : j + 1], prime)) % prime
            ranks.add(rank(np.column_stack([whole[:, is_moved], rest]), prime))
        return max(ranks) == independent

    def is_contradiction(self, is_left: Mask, miss: Vector) -> bool:
        """Return whether the missed rows take part in a proven contradiction."""
        used = np.flatnonzero(miss)
        if not np.isfinite(miss).all() or not np.isin(np.flatnonzero(is_left), used).all():
            return False
        return is_contradiction(self.given, self.index[used], self.rows[used], miss[used])


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
