"""The nearest point that satisfies linear rows and bounds, as a point and a real change.

A solver's answer satisfies ``R x <= r`` (some rows with ``=``) and ``lower <= x <= upper`` only to
its tolerance, and most rows are satisfied by no point of doubles at all. A bound on the optimum
needs a real point that satisfies them. It is kept as a point and a change, ``x + d``: clip x to its
bounds, then add to d the smallest change (in a metric) that makes the missed rows hold, again and
again. Residuals of x are rounded once (``row_residuals``), those of d are far smaller, so that what
is missed at last is 1e-20 of a row's terms. ``row_proofs`` proves the rest.

The change is the smallest one relative to each entry, ``min sum (d_j / |x_j|)^2``; where entries
that are zero have to move, one relative to what the rows would notice. With ``t_j = d_j / reach_j``
and rows divided by their length it is the shortest solution of a system of equations, by a singular
value decomposition where the rows are few, and by sparse equations with a small regularisation and
iterative refinement where they are many.

Rows that contradict each other by the rounding of their own numbers (repeated ones, say) are
satisfied by no point; what is left of them is reported.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from qpsvm.numerics.arrays import Index, Mask, Matrix, Vector, as_dense
from qpsvm.numerics.compensated import row_residuals, without_tiny_rows
from qpsvm.numerics.precision import EPS, TINY
from qpsvm.numerics.rows import (
    largest_in_columns,
    largest_in_rows,
    scaled_columns,
    scaled_rows,
)
from qpsvm.qp.restrictions import NearestPoint, Restrictions

ROUNDS = 40
"""Changes in one metric: each makes the missed rows hold, and may miss others by that."""

ROUNDING = 16.0 * EPS
"""An entry counts as zero that a change leaves with this share of what it was."""

HOLDS = 2.0**-68
"""Share of a row's terms up to which it holds, but for a correction that is proven: far below the
rounding of the terms, 2^-53."""

CONTRADICTION = 64.0 * EPS
"""Share of its terms by which a row may be missed that takes part in a proven contradiction; the
miss enters the bound."""

INSIGNIFICANT = 1e-13
"""Singular values below this share of the largest count as zero: rows that repeat others."""


def nearest_feasible(given: Restrictions, x: Vector) -> NearestPoint:
    """A point near x that satisfies rows and bounds; see the module's docstring.

    Parameters
    ----------
    given : Restrictions
    x : array of shape (n,)
        Finite.

    Returns
    -------
    NearestPoint

    Examples
    --------
    >>> box = np.zeros(2), np.full(2, 9.0)
    >>> at_most_one = Restrictions(np.array([[1e10, 1.0]]), np.ones(1), np.zeros(1, bool), *box)
    >>> nearest_feasible(at_most_one, np.array([0.0, 1.5])).point
    array([0., 1.])
    """
    with np.errstate(all="ignore"):  # what overflows is no point
        rows, right, exponents = without_tiny_rows(given.rows, given.right)
        scaled = replace(given, rows=rows, right=right)
        start = np.clip(x, given.lower, given.upper)
        if not len(right):
            return NearestPoint(start, np.zeros(len(start)), np.zeros(0))
        best = _approach(scaled, start, np.abs(start))
        if best.blocked is not None or best.worst > ROUNDING:
            found = _approach(scaled, start, unit_of(rows, row_sizes(scaled, start), start)[0])
            is_better = found.blocked is None and found.worst < best.worst
            best = found if best.blocked is not None or is_better else best
        if best.blocked is not None:
            best = replace(best, point=start, change=np.zeros(len(start)))
        return replace(best, left=np.ldexp(best.left, -exponents))


def _approach(given: Restrictions, x: Vector, reach: Vector) -> NearestPoint:
    """Move x by successive least changes in one metric."""
    binds, terms = given.binds, given.terms(x)
    start = np.where(binds, given.rows @ x - np.where(binds, given.right, 0.0), -np.inf)
    margin = (len(x) + 2.0) * EPS * terms
    exact, is_known = np.zeros(len(start)), np.zeros(len(start), dtype=bool)
    lower, upper = given.lower - x, given.upper - x
    active: Mask = given.is_equality.copy()

    def missed(change: Vector) -> tuple[Index, Vector, Mask]:
        """Measure the active rows and all others that may be violated."""
        index = np.flatnonzero(active | (~(start + given.rows @ change < -margin) & binds))
        new = index[~is_known[index]]
        exact[new] = row_residuals(given.rows[new], x, given.right[new]).value
        is_known[new] = True
        value = exact[index]
        if change.any():
            value = row_residuals(given.rows[index], change, -value).value
        over = np.where(given.is_equality[index], np.abs(value), value)
        return index, value, ~(over <= HOLDS * terms[index])  # NaN is missed

    change, stalled, least, first = np.zeros(len(x)), 0, np.inf, 0.0
    index, value, is_missed = missed(change)
    for _ in range(ROUNDS):
        if not is_missed.any():
            break
        worst = float(np.max(np.abs(value[is_missed]) / np.maximum(terms[index[is_missed]], TINY)))
        first = first or worst
        stalled, least = (stalled + 1, least) if worst > 0.5 * least else (0, worst)
        # in a row that do not halve the worst miss
        if stalled > 4 or not worst <= max(1.0, first):
            break
        active[index[is_missed]] = True
        # rows with room stay as they are
        wanted = np.where(is_missed, -value, 0.0)[active[index]]
        step = least_change(given.rows[np.flatnonzero(active)], reach, wanted)
        if step is None:
            break
        moved, before = change + step, change
        beyond = (moved < lower) | (moved > upper)
        change, reach = np.clip(moved, lower, upper), np.where(beyond, 0.0, reach)
        index, value, is_missed = missed(change)
        if np.array_equal(change, before) and not beyond.any():
            break
    left = np.zeros(len(start))
    left[index[is_missed]] = np.abs(value[is_missed])
    return _found(given, x, change, left, terms)


def _found(
    given: Restrictions, x: Vector, change: Vector, left: Vector, terms: Vector
) -> NearestPoint:
    """The real point ``x + change`` as a point of doubles plus a change."""
    moved = x + change
    # what cancels altogether is zero: rounding would leave a number that nothing is relative to
    vanished = np.abs(moved) <= ROUNDING * np.abs(x)
    point = np.clip(np.where(vanished, 0.0, moved), given.lower, given.upper)
    ratio = np.where(left == 0.0, 0.0, left / np.maximum(terms, TINY))
    ratio = np.where(np.isnan(ratio), np.inf, ratio)
    worst = int(np.argmax(ratio))
    blocked = None if ratio[worst] <= CONTRADICTION else worst
    return NearestPoint(point, (x - point) + change, left, blocked, float(ratio[worst]))


# --- sizes -----------------------------------------------------------------------------------


def row_sizes(given: Restrictions, x: Vector) -> Vector:
    """Sizes of the terms of rows, no smaller than a rounding of what their variables are elsewhere.

    Where all terms of a row are zero, its variables may still have to move by the rounding of other
    rows. Sizes scale the search for a correction, and prove nothing.
    """
    terms = given.terms(x)
    rows = abs(given.rows)
    entries = rows.copy()
    if sp.issparse(rows):
        entries = sp.csr_array(rows)
        entries.data = np.where(entries.data > 0.0, 1.0 / entries.data, 0.0)
    else:
        entries = np.where(rows > 0.0, 1.0 / np.where(rows > 0.0, rows, 1.0), 0.0)
    reach = largest_in_columns(scaled_rows(terms, entries))  # hidden by the rounding of one row
    reach = np.where(np.isfinite(reach), reach, 0.0)
    sizes = np.maximum(terms, EPS * largest_in_rows(scaled_columns(given.rows, reach)))
    return np.where(sizes > 0.0, sizes, 1.0)


def unit_of(rows: Matrix, sizes: Vector, x: Vector) -> tuple[Vector, Mask]:
    """Positive scale of each variable, and which variables occur in these rows.

    The scale is ``|x_j|`` plus the largest change of ``x_j`` that is within every row's size.
    """
    largest = largest_in_columns(scaled_rows(1.0 / sizes, rows))
    used = largest > 0.0
    return np.abs(x) + 1.0 / np.where(used, largest, 1.0), used


# --- the least change ------------------------------------------------------------------------


def least_change(rows: Matrix, reach: Vector, wanted: Vector) -> Vector | None:
    """The d with ``R d = wanted`` and the smallest ``sum (d_j / reach_j)^2``; None without any."""
    movable = np.flatnonzero(reach > 0.0)
    if len(wanted) == 0 or len(movable) == 0:
        return None
    scaled = scaled_columns(rows[:, movable], reach[movable])
    norms = np.sqrt(np.asarray((scaled * scaled).sum(axis=1)).ravel())
    used = np.flatnonzero(norms > 0.0)
    if not len(used) or not np.isfinite(norms).all():
        return None
    unit_rows = scaled_rows(1.0 / norms[used], scaled[used])
    try:
        short = _smallest_solution(unit_rows, wanted[used] / norms[used])
    except (np.linalg.LinAlgError, RuntimeError, ValueError, MemoryError):
        return None
    change = np.zeros(len(reach))
    change[movable] = reach[movable] * short
    return change if np.isfinite(short).all() else None


def _smallest_solution(rows: Matrix, right: Vector) -> Vector:
    """The shortest least-squares solution t of ``B t = right``."""
    m, n = rows.shape
    if m <= 600:  # rows of which singular values take a second
        dense = as_dense(rows)
        if n > 4 * m:  # the same answer from the small side
            Q, L = np.linalg.qr(dense.T)
            return np.asarray(Q @ np.linalg.lstsq(L.T, right, rcond=INSIGNIFICANT)[0])
        return np.asarray(np.linalg.lstsq(dense, right, rcond=INSIGNIFICANT)[0])
    from scipy.sparse.linalg import splu

    B = sp.csc_array(rows)
    # repeated rows make the equations singular
    corner = -1e-12 * sp.eye_array(m)
    factor = splu(sp.block_array([[sp.eye_array(n), B.T], [B, corner]], format="csc"))
    t, left, size = np.zeros(n), right, np.inf
    for _ in range(ROUNDS):
        t = t + factor.solve(np.concatenate([np.zeros(n), left]))[:n]
        left = right - B @ t
        size, before = float(np.linalg.norm(left)), size
        if not size < 0.5 * before:
            break
    return np.asarray(t)
