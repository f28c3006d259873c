"""Bounds on a correction of a point's variables that makes all of its active rows hold.

Rows that hold up to 2^-68 of their terms are satisfied by a real point beside, if they are
independent. Rows with a variable of their own are, whatever the others need; the others are
examined one connected part at a time, in a basis of their columns (``row_corrections``). Of a part
whose rows depend on each other, the rank has to be the same in exact arithmetic, with the
right-hand sides as one more column.
"""

from __future__ import annotations

import numpy as np

from qpsvm.numerics.arrays import Dense, Index, Mask, Vector, as_dense
from qpsvm.numerics.independence import connected_rows, primes_for, rank, residues
from qpsvm.numerics.precision import EPS, TINY
from qpsvm.numerics.rows import entries_of, scaled_columns
from qpsvm.qp.active_rows import ActiveRows
from qpsvm.qp.feasibility_settings import FEASIBILITY
from qpsvm.qp.row_corrections import basic_correction, independent_correction, own_variables


def correction(active: ActiveRows, must: Mask, is_left: Mask) -> Vector | None:
    """Bound every entry of a correction that makes all constraints hold; None if unknown.

    Parameters
    ----------
    active : ActiveRows
    must : bool array of shape (k,)
        The active rows that do not hold yet.
    is_left : bool array of shape (k,)
        Rows that contradict others, and are left as they are.

    Returns
    -------
    array of shape (n,), or None

    Examples
    --------
    >>> from qpsvm.qp.nearest_point import NearestPoint
    >>> from qpsvm.qp.restrictions import MatrixRows, Restrictions
    >>> one, free = np.ones(1), np.full(2, np.inf)
    >>> given = Restrictions(MatrixRows(np.array([[1.0, 4.0]])), one, one > 0.0, -free, free)
    >>> beside = NearestPoint(np.array([1.0, 1e-24]), np.zeros(2), np.zeros(1))
    >>> found = correction(ActiveRows(given, beside), one > 0.0, one < 0.0)
    >>> bool(found.max() <= 4.1e-24)
    True
    """
    chosen = must | (active.is_equality & ~is_left)
    for _ in range(FEASIBILITY.rounds):
        found = _of_chosen(active, chosen)
        if found is None:
            return None
        outwards = 1.0 + (len(found) + 8.0) * EPS
        moved = np.asarray(abs(active.rows) @ found) * outwards
        room = np.where(active.is_equality, np.inf, -active.value - active.error)
        short = ~chosen & ~is_left & ~(moved <= room)  # NaN is short
        if not short.any():
            far = np.asarray(abs(active.given.rows.take(active.far)) @ found)
            return found if (far <= active.far_room).all() else None
        chosen = chosen | short
    return None


def _of_chosen(active: ActiveRows, chosen: Mask) -> Vector | None:
    """Bound a correction of some active rows, in variables far from their bounds if possible."""
    index = np.flatnonzero(chosen)
    rows, size = active.rows[index], np.maximum(active.size[chosen], TINY)
    unit, used = active.unit(rows, size)
    room = active.room()
    missed = (np.abs(active.value) + active.error)[chosen]
    far = FEASIBILITY.movable_distance * float(np.max(missed / size)) * unit
    for least in (far, 0.0 * far):
        movable = np.where(used & (room > least), room, 0.0)
        found = _within(active, index, missed, unit, movable)
        if found is not None:
            return found
    return None


def _within(
    active: ActiveRows, index: Index, missed: Vector, unit: Vector, room: Vector
) -> Vector | None:
    """Bound every entry of a correction, none of which is larger than its room.

    Parameters
    ----------
    active : ActiveRows
    index : array of int of shape (c,)
        The chosen rows among the active ones.
    missed : array of shape (c,)
    unit, room : arrays of shape (n,)
        Scale of each variable, and how far it may move; zero for those that stay.
    """
    movable = scaled_columns(active.rows[index], (room > 0.0).astype(np.float64))
    entries = entries_of(movable)
    if not np.isfinite(entries[2]).all() or not np.isfinite(missed).all():
        return None
    own = own_variables(entries, missed, room)
    rest, alone = np.flatnonzero(own < 0), np.flatnonzero(own >= 0)
    found = np.zeros(len(unit))
    for part in connected_rows(movable[rest]):
        rows = rest[part]
        columns = np.unique(entries_of(movable[rows])[1])
        block = movable[rows][:, columns]
        if len(rows) > FEASIBILITY.most_examined_rows:
            moved = independent_correction(block, missed[rows], unit[columns])
        else:
            scale, free = unit[columns], room[columns]
            moved = _of_few(
                active, index[rows], as_dense(block), columns, missed[rows], scale, free
            )
        if moved is None:
            return None
        found[columns] = moved
    terms = missed[alone] + abs(movable[alone]) @ found + movable.shape[1] * TINY
    of_own = np.abs(np.asarray(movable[alone, own[alone]]).ravel())
    found[own[alone]] = terms / of_own * (1.0 + (movable.shape[1] + 8.0) * EPS)
    return found if (found <= room).all() else None


def _of_few(
    active: ActiveRows,
    index: Index,
    block: Dense,
    columns: Index,
    missed: Vector,
    unit: Vector,
    room: Vector,
) -> Vector | None:
    """Bound a correction of connected rows, shape (m,); None if they may depend inexactly."""
    found = basic_correction(block, missed, unit, room)
    if found is None:
        return None
    rank = len(found.columns)
    if rank < len(index) and not _is_exact(active, index, columns[found.columns], rank):
        return None
    moved = np.zeros(len(columns))
    moved[found.columns] = found.size
    return moved


def _is_exact(active: ActiveRows, index: Index, columns: Index, independent: int) -> bool:
    """Return whether some rows, right-hand sides included, have a given rank exactly."""
    rows = active.rows[index]
    used = np.unique(entries_of(rows)[1])
    dense, right = as_dense(rows[:, used]), active.given.right[active.index][index]
    is_moved = np.isin(used, columns)
    fixed = used[~is_moved]
    ranks = set()
    for prime in primes_for(dense, right):
        whole = residues(dense, prime)
        rest = residues(right, prime)
        for values in (active.point[fixed], active.change[fixed]):
            terms = whole[:, ~is_moved] * residues(values, prime) % prime
            rest = (rest - terms.sum(axis=1)) % prime
        ranks.add(rank(np.column_stack([whole[:, is_moved], rest]), prime))
    return max(ranks) == independent
