"""Products and linear systems of a tableau for many machines that differ in few samples.

The samples of machine k are the columns of its entries (row k, column) of a sparse matrix; entries
are in the order of their rows.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from qpsvm.numerics.arrays import Dense, Index, Mask, Vector
from qpsvm.selection.settings import LEAVE_ONE_OUT
from qpsvm.selection.tableau import Tableau


def spread(tableau: Tableau, row: Index, column: Index, change: Vector, m: int) -> Dense:
    """Changes of dependent values ``U T'`` for changes U of fixed values, shape (m, n)."""
    used = change != 0.0
    starts = np.searchsorted(row[used], np.arange(m + 1))
    shape = (m, len(tableau.f))
    return np.asarray(csr_array((change[used], column[used], starts), shape=shape) @ tableau.T.T)


def solved(tableau: Tableau, row: Index, column: Index, right: Dense) -> Dense:
    """Solve ``T_SS U = R`` for the samples S of each row.

    Parameters
    ----------
    tableau : Tableau
    row, column : arrays of int of shape (k,)
    right : array of shape (k, p)

    Returns
    -------
    array of shape (k, p)
        Not a number for samples that depend on each other.
    """
    found = np.full(right.shape, np.nan)
    starts = np.flatnonzero(np.diff(row, prepend=-1))
    sizes = np.diff(starts, append=len(row))
    # blocks of similar size together, filled up to the same size
    widths = 2 ** np.ceil(np.log2(np.maximum(sizes, 1))).astype(np.int64)
    for width in np.unique(widths).tolist():
        chosen = widths == width
        places = np.arange(width)
        is_inside = places < sizes[chosen, None]
        entries = starts[chosen, None] + np.where(is_inside, places, 0)
        solution = None
        if width <= LEAVE_ONE_OUT.small_block:
            solution = _of_similar_size(tableau, column[entries], is_inside, right[entries])
        if solution is not None:
            found[entries[is_inside]] = solution[is_inside]
            continue
        for start, size in zip(starts[chosen], sizes[chosen], strict=True):
            own = slice(start, start + size)
            one = tableau.solved(column[own], right[own])
            found[own] = np.nan if one is None else one
    return found


def _of_similar_size(tableau: Tableau, index: Index, is_inside: Mask, right: Dense) -> Dense | None:
    """Solve several linear systems of similar size at once, padded to the largest.

    Parameters
    ----------
    tableau : Tableau
    index : array of int of shape (g, w)
    is_inside : bool array of shape (g, w)
    right : array of shape (g, w, p)

    Returns
    -------
    array of shape (g, w, p), or None
        Not a number where samples depend on each other; None if some do exactly.
    """
    width = index.shape[1]
    scale = np.where(is_inside, tableau.scale[index], 0.0)
    blocks = tableau.T[index[:, :, None], index[:, None, :]]
    blocks *= scale[:, :, None]
    blocks *= scale[:, None, :]
    norms = np.max(np.sum(np.abs(blocks), axis=1), axis=1)
    diagonal = np.arange(width)
    blocks[:, diagonal, diagonal] += ~is_inside
    identity = np.where(is_inside[:, None, :], np.eye(width), 0.0)
    try:
        solution = np.linalg.solve(blocks, np.dstack([identity, scale[:, :, None] * right]))
    except np.linalg.LinAlgError:
        return None
    norms *= np.max(np.sum(np.abs(solution[:, :, :width]), axis=1), axis=1)
    solution = scale[:, :, None] * solution[:, :, width:]
    solution[~(norms < 1.0 / LEAVE_ONE_OUT.dependent)] = np.nan
    return np.asarray(solution)
