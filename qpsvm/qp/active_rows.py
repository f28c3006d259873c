"""The constraints that are active at one point, with their exact residuals."""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from qpsvm.numerics.arrays import Index, Mask, Matrix, Vector
from qpsvm.numerics.compensated import RowResiduals, row_residuals
from qpsvm.numerics.precision import EPS, exact_sum
from qpsvm.numerics.rows import (
    largest_in_columns,
    largest_in_rows,
    scaled_columns,
    scaled_rows,
)
from qpsvm.qp.feasibility_settings import FEASIBILITY
from qpsvm.qp.nearest_point import NearestPoint, unnoticed
from qpsvm.qp.restrictions import Restrictions


class ActiveRows:
    """Equalities, and inequalities that hold with little room, at the real point ``x + change``.

    Parameters
    ----------
    given : Restrictions
        All constraints.
    found : NearestPoint
        The point. Entries of its change that would leave the bounds are dropped.

    Attributes
    ----------
    point, change : arrays of shape (n,)
    index : array of int of shape (k,)
        The active rows among all.
    rows : array or sparse matrix of shape (k, n)
    is_equality : bool array of shape (k,)
    size : array of shape (k,)
        Sizes of their terms.
    value, error : arrays of shape (k,)
        Residuals ``R (x + change) - r``, and bounds on their errors.
    over : array of shape (k,)
        Violations.
    far : array of int
        The other rows that bind.
    far_room : array of the same shape
        By how much their left-hand sides may grow.
    """

    def __init__(self, given: Restrictions, found: NearestPoint) -> None:
        self.given, self.point = given, found.point
        self.change = _inside(given, found.point, found.change)
        value, terms = given.rows.estimate(self.point)
        binds = ~np.isposinf(given.right)
        every = given.rows.take(np.arange(given.rows.shape[0]))
        self._sizes = sizes_of_rows(every, terms + np.where(binds, np.abs(given.right), 0.0))
        moved, moved_terms = given.rows.estimate(self.change)
        there = value - np.where(binds, given.right, 0.0) + moved
        has_room = there < -FEASIBILITY.near_rows * (self._sizes + moved_terms)  # NaN has none
        near = binds & (given.is_equality | ~has_room)
        self.index: Index = np.flatnonzero(near)
        self.far: Index = np.flatnonzero(binds & ~near)
        self.far_room: Vector = -there[self.far] * 0.5
        self.is_equality: Mask = given.is_equality[self.index]
        self.size: Vector = self._sizes[self.index]
        self.rows = given.rows.take(self.index)
        residuals = self.residuals(self.index)
        self.value, self.error = residuals.value, residuals.error
        self.over: Vector = np.where(
            self.is_equality, np.abs(self.value), np.maximum(self.value, 0.0)
        )

    def residuals(self, index: Index) -> RowResiduals:
        """Residuals of chosen rows, each one sum, with bounds on their errors."""
        rows = self.given.rows.take(index)
        both = sp.hstack([rows, rows]) if sp.issparse(rows) else np.hstack([rows, rows])
        values = np.concatenate([self.point, self.change])
        return row_residuals(both, values, self.given.right[index])

    def sizes(self, index: Index) -> Vector:
        """Sizes of the terms of some of all rows."""
        return np.asarray(self._sizes[index])

    def room(self) -> Vector:
        """Distance of ``x + change`` from the nearer bound of every variable, rounded down."""
        x, given = self.point, self.given
        below, above = x - given.lower, given.upper - x
        room = np.minimum(below + self.change, above - self.change)
        # where the change cancels the distance, each of the two roundings may be all there is
        for j in np.flatnonzero(np.abs(self.change) > 0.25 * np.minimum(below, above)).tolist():
            value, step = float(x[j]), float(self.change[j])
            under = exact_sum([value, step, -float(given.lower[j])])
            room[j] = min(under, exact_sum([float(given.upper[j]), -value, -step]))
        return np.asarray(np.maximum(room, 0.0) * (1.0 - 2.0 * EPS))

    def unit(self, rows: Matrix, size: Vector) -> tuple[Vector, Mask]:
        """Positive scale of each variable, and which variables occur in these rows.

        The scale is ``|x_j|`` plus the largest change of ``x_j`` that is within every row's size.
        """
        largest = largest_in_columns(scaled_rows(1.0 / size, rows))
        used = largest > 0.0
        return np.abs(self.point) + 1.0 / np.where(used, largest, 1.0), used

    def grown(self, correction: Vector) -> Vector:
        """Enlarge every entry of the change by its correction, rounded outwards."""
        size = np.abs(self.change) + correction
        size = np.where(correction > 0.0, np.nextafter(size, np.inf), size)
        return np.where(self.change < 0.0, -size, size)


def sizes_of_rows(rows: Matrix, sizes: Vector) -> Vector:
    """Sizes of constraint rows, no smaller than a rounding of what their variables are elsewhere.

    Where all terms of a row are zero, its variables may still have to move by the rounding of other
    rows. Sizes scale the search for a correction, and prove nothing.

    Parameters
    ----------
    rows : array or CSR array of shape (m, n)
    sizes : array of shape (m,)
        Sum of the absolute values of each row's terms.
    """
    reach = unnoticed(rows, sizes)
    largest = largest_in_rows(scaled_columns(rows, np.where(np.isfinite(reach), reach, 0.0)))
    found = np.maximum(sizes, EPS * largest)
    return np.where(found > 0.0, found, 1.0)


def _inside(given: Restrictions, x: Vector, change: Vector) -> Vector:
    """Zero the entries of a change that would leave the bounds."""
    change = change.copy()
    # an entry that is smaller than half of its distance from the bounds cannot leave them
    may_leave = np.abs(change) > 0.5 * np.minimum(x - given.lower, given.upper - x)
    for j in np.flatnonzero(may_leave).tolist():
        value, step = float(x[j]), float(change[j])
        below, above = float(given.lower[j]), float(given.upper[j])
        under = math.isfinite(below) and exact_sum([value, step, -below]) < 0.0
        over = math.isfinite(above) and exact_sum([value, step, -above]) > 0.0
        if under or over:
            change[j] = 0.0
    return change
