"""The nearest point that satisfies linear rows and bounds, as a point and a real change.

A solver's answer satisfies ``R x <= r`` (some rows with ``=``) and ``lower <= x <= upper`` only to
its tolerance, and most rows are satisfied by no point of doubles at all. A bound on the optimum
needs a real point that satisfies them. It is kept as a point and a change, ``x + d``: clip x to its
bounds, then add to d the smallest change (in a metric) that makes the missed rows hold, again and
again. Residuals of x are rounded once (``row_residuals``), those of d are far smaller, so that what
is missed at last is 1e-20 of a row's terms.

The change is the smallest one relative to each entry, ``min sum (d_j / |x_j|)^2``; where entries
that are zero have to move, one relative to what the rows would notice. Where neither arrives, a
linear program says which variables end at a bound.

Rows that contradict each other by the rounding of their own numbers (repeated ones, say) are
satisfied by no point; what is left of them is reported.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from qpsvm.numerics.arrays import Index, Mask, Matrix, Vector
from qpsvm.numerics.compensated import row_residuals, without_tiny_rows
from qpsvm.numerics.precision import EPS, TINY
from qpsvm.qp.feasibility_settings import FEASIBILITY
from qpsvm.qp.least_change import least_change, nearest_vertex
from qpsvm.qp.nearest_point import NearestPoint, unnoticed
from qpsvm.qp.restrictions import MatrixRows, Restrictions


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
    given = restrictions
    every = np.arange(given.rows.shape[0])
    with np.errstate(all="ignore"):  # what overflows is no point
        rows, right, exponents = without_tiny_rows(given.rows.take(every), given.right)
        if not exponents.any():
            return _nearest(given, x)
        found = _nearest(replace(given, rows=MatrixRows.of(rows), right=right), x)
        return replace(found, left=np.ldexp(found.left, -exponents))


def _nearest(restrictions: Restrictions, x: Vector) -> NearestPoint:
    start = np.clip(x, restrictions.lower, restrictions.upper)
    nothing = np.zeros(restrictions.rows.shape[0])
    best = NearestPoint(start, np.zeros(len(start)), nothing, 0 if len(nothing) else None)
    if len(nothing) == 0:
        return best
    noticed = _noticed_by(restrictions)
    for metric, is_linear in ((np.abs, False), (noticed, False), (np.abs, True), (noticed, True)):
        begin = nearest_vertex(restrictions, start, metric(start)) if is_linear else start
        if begin is None:
            continue
        found = _Approach(restrictions, metric, begin).run()
        if best.blocked is not None or (found.blocked is None and found.worst < best.worst):
            best = found
        if best.blocked is None and best.worst <= FEASIBILITY.rounding:
            break
    if best.blocked is not None:
        return replace(best, point=start, change=np.zeros(len(start)))
    return best


def _noticed_by(restrictions: Restrictions) -> Callable[[Vector], Vector]:
    """Scale of x_j: its size plus the smallest change equal to the terms of one of its rows."""

    def metric(x: Vector) -> Vector:
        R = restrictions.rows
        index = np.arange(R.shape[0])
        sizes = R.estimate(x)[1] + np.where(
            np.isfinite(restrictions.right), np.abs(restrictions.right), 0.0
        )
        matrix = abs(R.take(index))
        smallest = float(np.min(sizes, where=sizes > 0.0, initial=1.0))
        per_row = 1.0 / np.maximum(sizes, smallest)
        if sp.issparse(matrix):
            share = sp.csr_array(sp.diags_array(per_row) @ matrix)
            largest = np.asarray(share.max(axis=0).toarray()).ravel()
        else:
            share = np.where(matrix > 0.0, per_row[:, None] * matrix, 0.0)
            largest = np.max(share, axis=0, initial=0.0)
        unit = np.where(largest > 0.0, 1.0 / np.where(largest > 0.0, largest, 1.0), 0.0)
        return np.asarray(np.abs(x) + unit)

    return metric


@dataclass(frozen=True, eq=False)
class _Missed:
    """Rows near or beyond their right-hand side: indices, exact residuals, sizes."""

    index: Index
    value: Vector
    size: Vector
    is_missed: Mask

    @property
    def ratios(self) -> Vector:
        """Violations of missed rows, relative to their terms; infinite for NaN."""
        ratios = np.where(self.is_missed, np.abs(self.value) / np.maximum(self.size, TINY), 0.0)
        return np.where(np.isnan(self.value), np.inf, ratios)

    @property
    def worst(self) -> float:
        """The largest of the ratios."""
        return float(np.max(self.ratios, initial=0.0))


class _Approach:
    """Successive least changes of one point, in one metric."""

    def __init__(self, given: Restrictions, metric: Callable[[Vector], Vector], x: Vector) -> None:
        self.given, self.x = given, x
        self.reach: Vector = np.asarray(metric(x))
        value, size = given.rows.estimate(x)
        self.binds = ~np.isposinf(given.right)
        self.value = np.where(self.binds, value - np.where(self.binds, given.right, 0.0), -np.inf)
        self.size = size + np.where(self.binds, np.abs(given.right), 0.0)
        self.exact = np.zeros(len(value))
        self.is_exact = np.zeros(len(value), dtype=bool)

    def run(self) -> NearestPoint:
        change, stalled, least, first = np.zeros(len(self.x)), 0, np.inf, 0.0
        active: Mask = self.given.is_equality.copy()
        reach = self.reach
        for _ in range(FEASIBILITY.rounds):
            missed = self.missed(change, active)
            if not missed.is_missed.any():
                return self.found(change, missed)
            worst = missed.worst
            first = first or worst
            stalled, least = (stalled + 1, least) if worst > 0.5 * least else (0, worst)
            if stalled > FEASIBILITY.patience or not worst <= max(1.0, first):
                break
            active[missed.index[missed.is_missed]] = True
            step = self.step(missed, active, reach)
            if step is None:
                break
            lower, upper = self.given.lower - self.x, self.given.upper - self.x
            moved = change + step
            beyond = (moved < lower) | (moved > upper)
            change, before = np.clip(moved, lower, upper), change
            reach = np.where(beyond, 0.0, reach)
            if np.array_equal(change, before) and not beyond.any():
                break
        return self.found(change, self.missed(change, active))

    def missed(self, change: Vector, active: Mask) -> _Missed:
        """Measure the active constraints and all others that may be violated."""
        given = self.given
        there = self.value + given.rows.estimate(change)[0]
        margin = (given.rows.shape[1] + 2.0) * EPS * self.size
        near = ~(there < -margin) & self.binds  # NaN is near
        index = np.flatnonzero(active | near)
        exact = self.residuals_at_start(index)
        value = exact
        if change.any():
            value = row_residuals(given.rows.take(index), change, -exact).value
        over = np.where(given.is_equality[index], np.abs(value), value)
        return _Missed(
            index, value, self.size[index], ~(over <= FEASIBILITY.holds * self.size[index])
        )

    def residuals_at_start(self, index: Index) -> Vector:
        """Compute ``R x - r`` of some rows at the starting point, each rounded once."""
        new = index[~self.is_exact[index]]
        if len(new):
            given = self.given
            self.exact[new] = row_residuals(given.rows.take(new), self.x, given.right[new]).value
            self.is_exact[new] = True
        return self.exact[index]

    def step(self, missed: _Missed, active: Mask, reach: Vector) -> Vector | None:
        """The smallest change that makes the active rows hold; rows with room stay as they are."""
        wanted = np.where(missed.is_missed, -missed.value, 0.0)
        rows = self.given.rows.take(np.flatnonzero(active))
        return least_change(rows, reach, wanted[active[missed.index]])

    def found(self, change: Vector, missed: _Missed) -> NearestPoint:
        """The exact point as a point of doubles plus a change."""
        moved = self.x + change
        left = np.zeros(len(self.given.right))
        left[missed.index[missed.is_missed]] = np.abs(missed.value[missed.is_missed])
        rows = self.given.rows.take(np.flatnonzero(self.binds))
        negligible = FEASIBILITY.rounding * unnoticed(rows, self.size[self.binds])
        # what cancels altogether is zero: rounding would leave a number that nothing is relative to
        noise = negligible
        if left.any():
            contradicted = 16.0 * unnoticed(rows, left[self.binds])
            noise = np.maximum(noise, np.where(np.isnan(contradicted), 0.0, contradicted))
        vanished = np.abs(moved) <= np.maximum(FEASIBILITY.rounding * np.abs(self.x), noise)
        vanished = self.unnoticed_by_all(rows, moved, vanished)
        point = np.clip(np.where(vanished, 0.0, moved), self.given.lower, self.given.upper)
        allowed = FEASIBILITY.contradiction * self.size
        blocked = None
        if not (left <= allowed).all():  # NaN is not
            ratio = np.where(left <= allowed, 0.0, left / np.maximum(self.size, TINY))
            blocked = int(np.argmax(np.where(np.isnan(ratio), np.inf, ratio)))
        worst = float(np.max(left / np.maximum(self.size, TINY), initial=0.0))
        return NearestPoint(point, (self.x - point) + change, left, blocked, worst)

    def unnoticed_by_all(self, rows: Matrix, moved: Vector, vanished: Mask) -> Mask:
        """Entries that can be set to zero within the rounding of every row."""
        sizes = abs(rows)
        right = np.abs(self.given.right[self.binds])
        for _ in range(FEASIBILITY.rounds):
            kept = sizes @ np.abs(np.where(vanished, 0.0, moved)) + right
            lost = sizes @ np.abs(np.where(vanished, moved, 0.0))
            notices = (lost > FEASIBILITY.rounding * kept) & (kept > 0.0)
            if not notices.any():
                break
            touched = np.asarray(sizes[np.flatnonzero(notices)].sum(axis=0)).ravel() > 0.0
            vanished = vanished & ~touched
        return vanished
