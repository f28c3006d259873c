"""Proofs that linear constraints have an exact solution beside a point of doubles.

Rows that hold up to 2^-68 of their terms are satisfied by a real point beside, if they are
independent: a correction is bounded (``correcting``).
Rows that depend on each other up to rounding prove nothing: ``x_1 + x_2 = 1`` and
``x_1 + (1 + u) x_2 = 1 + 100 u`` have one solution, (-99, 100), and (1, 0) misses the second one by
rounding. Two questions about exact numbers decide what is said:

- rows that depend on each other exactly, right-hand sides included, count once (``exact_rank``);
- rows that are missed contradict each other if a Farkas proof holds in rational numbers.

Where neither can be shown, nothing is known of these rows.

A contradiction is proven by Farkas' lemma in rational numbers.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from qpsvm.numerics.arrays import Index, Mask, Matrix, Vector, as_dense
from qpsvm.numerics.compensated import without_tiny_rows
from qpsvm.numerics.independence import null_space
from qpsvm.numerics.precision import TINY
from qpsvm.qp.active_rows import ActiveRows
from qpsvm.qp.correcting import correction
from qpsvm.qp.feasibility_settings import FEASIBILITY
from qpsvm.qp.nearest_point import NearestPoint
from qpsvm.qp.nudging import MissedRows, interior_step, nudge
from qpsvm.qp.restrictions import MatrixRows, Restrictions


def is_contradiction(given: Restrictions, index: Index, rows: Matrix, miss: Vector) -> bool:
    """Return whether multipliers near the given ones prove that rows contradict each other.

    By Farkas' lemma, in rational numbers.

    Parameters
    ----------
    given : Restrictions
    index : array of int of shape (k,)
        The rows in question.
    rows : array or sparse matrix of shape (k, n)
    miss : array of shape (k,)
        Multipliers from which those of the proof are made.
    """
    rows = sp.csr_array(rows)
    miss = miss / np.max(np.abs(miss), initial=TINY)
    as_they_are = [Fraction(v) for v in miss.tolist()]
    return _is_farkas(given, index, rows, as_they_are) or _is_farkas(
        given, index, rows, _cancelling(given, rows, miss)
    )


def _cancelling(given: Restrictions, rows: sp.csr_array, miss: Vector) -> list[Fraction]:
    """Find rational multipliers near the given ones with ``v'R = 0`` in unbounded variables."""
    if rows.shape[0] > FEASIBILITY.most_cancelling_rows:
        return []
    sums, terms = rows.T @ miss, abs(rows).T @ np.abs(miss)
    ends = np.where(sums > 0.0, given.lower, given.upper)
    cancels = (terms > 0.0) & (np.isinf(ends) | (np.abs(sums) <= FEASIBILITY.cancelled * terms))
    matrix = as_dense(rows[:, np.flatnonzero(cancels)]).T
    basis = null_space([[Fraction(v) for v in row] for row in matrix.tolist()], rows.shape[0])
    if not basis:
        return []
    B = np.array([[float(v) for v in vector] for vector in basis])
    share = np.linalg.lstsq(B.T, miss, rcond=None)[0]
    weights = [Fraction(float(s)) for s in share]
    return [
        sum((w * vector[k] for w, vector in zip(weights, basis, strict=True)), Fraction(0))
        for k in range(rows.shape[0])
    ]


def _is_farkas(
    given: Restrictions, index: Index, rows: sp.csr_array, multipliers: list[Fraction]
) -> bool:
    """Return whether multipliers v prove ``v'R x > v'r`` for all x within bounds, exactly."""
    sums: dict[int, Fraction] = {}
    least = Fraction(0)
    if not multipliers:
        return False
    for k, v in enumerate(multipliers):
        if v == 0 or (v < 0 and not given.is_equality[index[k]]):
            return False  # of a row without a multiplier nothing is known
        least -= v * Fraction(float(given.right[index[k]]))
        for place in range(rows.indptr[k], rows.indptr[k + 1]):
            j = int(rows.indices[place])
            sums[j] = sums.get(j, Fraction(0)) + v * Fraction(float(rows.data[place]))
    for j, c in sums.items():
        if c == 0:
            continue
        end = float(given.lower[j] if c > 0 else given.upper[j])
        if not math.isfinite(end):
            return False
        least += c * Fraction(end)
    return least > 0


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
    active, best = ActiveRows(given, found), found
    if found.blocked is None:
        left = found.left[active.index]
        miss = _by_length(active, np.where(left > 0.0, active.value, 0.0))
        best = _result(active, found, left, miss, prices=prices)
        if _is_proven(best):
            return best
        nudged = _nudge(active)
        if nudged is not None:
            step, miss = nudged
            moved = ActiveRows(given, _moved(active, found, step))
            left = np.where(moved.over > FEASIBILITY.holds * moved.size, moved.over, 0.0)
            miss = _by_size(moved, miss[moved.index])
            best = _result(moved, found, left, miss, prices=prices)
            if _is_proven(best):
                return best
    inwards = _inwards(active)
    if inwards is None:
        return best
    # as far as doubles can say, the point itself moves: its rows are missed by rounding again
    step = active.change + inwards
    point = np.clip(found.point + step, given.lower, given.upper)
    beside = replace(found, point=point, change=(found.point - point) + step, blocked=None)
    moved = ActiveRows(given, beside)
    nothing = np.zeros(len(moved.index))
    last = _result(moved, beside, nothing, nothing, prices=prices)
    return last if _is_proven(last) else best


def _is_proven(point: NearestPoint) -> bool:
    return point.blocked is None and not point.left.any()


def _moved(active: ActiveRows, found: NearestPoint, step: Vector) -> NearestPoint:
    """Take one more step from the point, and add up the changes."""
    return replace(found, change=active.change + step)


def _result(
    active: ActiveRows, found: NearestPoint, left: Vector, miss: Vector, *, prices: bool
) -> NearestPoint:
    """Create the point with its proof, or with the name of a row that is not proven.

    Parameters
    ----------
    active : ActiveRows
    found : NearestPoint
    left : array of shape (k,)
        What rows that contradict each other are missed by; zero for others.
    miss : array of shape (k,)
        Multipliers that may prove the contradiction.
    prices : bool
    """
    over, is_left = active.over, left > 0.0
    if is_left.any() and not prices and not _is_contradicted(active, is_left, miss):
        return replace(found, blocked=_worst(active, is_left))
    whole = np.zeros(len(found.left))
    whole[active.index] = left
    is_off = ~(np.where(active.is_equality, over, active.value) + active.error <= 0.0)  # NaN is off
    must = is_off & ~is_left
    if not must.any():
        return replace(found, change=active.change, left=whole)
    size = correction(active, must, is_left)
    if size is None and prices:
        whole[active.index] = np.maximum(left, over + active.error)
        return replace(found, change=active.change, left=whole)
    if size is None:
        return replace(found, blocked=_worst(active, must))
    if is_left.any():
        whole[active.index[is_left]] += np.asarray(abs(active.rows[np.flatnonzero(is_left)]) @ size)
    return replace(found, change=active.grown(size), left=whole)


def _worst(active: ActiveRows, among: Mask) -> int:
    return int(active.index[np.argmax(among * active.over / active.size)])


def _by_size(active: ActiveRows, multipliers: Vector) -> Vector:
    """Unscale row multipliers and zero those at rounding level."""
    largest = float(np.max(np.abs(multipliers), initial=0.0))
    used = np.abs(multipliers) > FEASIBILITY.cancelled * largest
    return np.where(used, multipliers / np.maximum(active.size, TINY), 0.0)


def _by_length(active: ActiveRows, miss: Vector) -> Vector:
    """Turn residuals of a least-squares correction into row multipliers."""
    squares = np.asarray((active.rows * active.rows).sum(axis=1)).ravel()
    return np.asarray(miss / np.where(squares > 0.0, squares, 1.0))


def _nudge(active: ActiveRows) -> tuple[Vector, Vector] | None:
    """Search for a small step that reduces violations; return it and row multipliers."""
    given = active.given
    lower = given.lower - active.point - active.change
    upper = given.upper - active.point - active.change
    missed = MissedRows(active.rows, active.value, active.size, active.is_equality)
    found = nudge(missed, np.abs(active.point), lower, upper)
    if found is None:
        return None
    multipliers = np.zeros(len(given.right))
    multipliers[active.index] = found[1]
    return found[0], multipliers


def _inwards(active: ActiveRows) -> Vector | None:
    """Search for a small step towards a point with room in all inequalities."""
    given = active.given
    binds = np.flatnonzero(~np.isposinf(given.right))
    rows, size = sp.csr_array(given.rows.take(binds)), active.sizes(binds)
    residuals = active.residuals(binds)
    missed = MissedRows(rows, residuals.value, size, given.is_equality[binds])
    if not missed.worst <= FEASIBILITY.farthest_miss:
        return None
    lower = given.lower - active.point - active.change
    upper = given.upper - active.point - active.change
    return interior_step(missed, residuals.error, active.unit(rows, size)[0], lower, upper)


def _is_contradicted(active: ActiveRows, is_left: Mask, miss: Vector) -> bool:
    """Return whether the missed rows take part in a proven contradiction."""
    used = np.flatnonzero(miss)
    if not np.isfinite(miss).all() or not np.isin(np.flatnonzero(is_left), used).all():
        return False
    return is_contradiction(active.given, active.index[used], active.rows[used], miss[used])
