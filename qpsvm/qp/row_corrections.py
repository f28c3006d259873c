"""Bounds on corrections of variables that make linear rows hold."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import qr

from qpsvm.numerics.arrays import Dense, Index, Matrix, Vector
from qpsvm.numerics.compensated import TINY_PRODUCT
from qpsvm.numerics.independence import proven_independence
from qpsvm.numerics.precision import EPS
from qpsvm.numerics.rows import scaled_columns, scaled_rows
from qpsvm.qp.feasibility_settings import FEASIBILITY


class BasicCorrection(NamedTuple):
    """Bounds on the entries of ``d`` with ``(R d)_k = m_k`` for as many rows as are independent.

    Attributes
    ----------
    columns : array of int of shape (r,)
        The variables that are moved: a basis of the rows, r their proven rank.
    size : array of shape (r,)
        Largest ``|d_j|`` of these variables, for every m within the bounds given.
    """

    columns: Index
    size: Vector


def basic_correction(
    rows: Dense, missed: Vector, unit: Vector, room: Vector
) -> BasicCorrection | None:
    """Bound a correction in variables with much room; None if the basis is too ill-conditioned.

    Parameters
    ----------
    rows : array of shape (k, m)
    missed : array of shape (k,)
        Bounds on what the rows are missed by.
    unit : array of shape (m,)
        Positive scale of every variable.
    room : array of shape (m,)
        How far every variable may move; those with more room are preferred.

    Notes
    -----
    With an approximate inverse X of a basis B and ``e = ||I - X B|| < 1``, B is invertible and
    ``|B^-1 m| <= |X| |m| + e / (1 - e) max |X| |m|``; Rump, "Verification methods", *Acta Numerica*
    19 (2010), section 10. Rounding of X B, and of the scaling of rows, is added to e.

    Examples
    --------
    >>> found = basic_correction(np.array([[1.0, 4.0]]), np.array([1.0]), np.ones(2), np.ones(2))
    >>> found.columns, found.size.round(3)
    (array([1]), array([0.25]))
    """
    if len(rows) == 1:  # most rows share no variable with others
        return _correction_of_one(rows[0], float(missed[0]), unit, room)
    scaled = rows * unit
    norms = np.sqrt(np.sum(scaled * scaled, axis=1))
    if not np.isfinite(norms).all():
        return None
    norms = np.where(norms > 0.0, norms, 1.0)
    scaled, missed = scaled / norms[:, None], missed / norms
    columns = _basis(scaled, room / unit)
    r = len(columns)
    if r == 0:
        return BasicCorrection(columns, np.zeros(0))
    chosen = qr(scaled[:, columns].T, mode="r", pivoting=True)[1][:r]
    B = scaled[np.ix_(chosen, columns)]
    has_lost_digits = (np.abs(B[rows[np.ix_(chosen, columns)] != 0.0]) < TINY_PRODUCT).any()
    X = None if has_lost_digits else _inverse(B)
    if X is None:
        return None
    size_of_X = np.abs(X)
    off = np.abs(np.eye(r) - X @ B) + (r + 8.0) * EPS * (size_of_X @ np.abs(B))
    e = float(np.max(np.sum(off, axis=1)))
    if not e < 0.5:
        return None
    size = size_of_X @ missed[chosen] * (1.0 + (r + 8.0) * EPS)
    size = size + e / (1.0 - e) * 1.01 * float(np.max(size))
    return BasicCorrection(columns, size * unit[columns] * (1.0 + 4.0 * EPS))


def _inverse(B: Dense) -> Dense | None:
    try:
        return np.asarray(np.linalg.inv(B))
    except np.linalg.LinAlgError:
        return None


def _correction_of_one(row: Vector, missed: float, unit: Vector, room: Vector) -> BasicCorrection:
    """``|d_j| = m / |R_j|`` in the variable that uses the smallest share of its room."""
    size = np.abs(row)
    reach = size * np.minimum(room, unit)
    j = int(np.argmax(reach)) if len(row) else 0
    if not len(row) or not reach[j] > 0.0:
        return BasicCorrection(np.zeros(0, dtype=np.intp), np.zeros(0))
    return BasicCorrection(np.array([j]), np.array([missed / size[j] * (1.0 + 4.0 * EPS)]))


def own_variables(entries: tuple[Index, Index, Vector], missed: Vector, room: Vector) -> Index:
    """Find for every row a variable with much room that no other row contains; -1 without one.

    Such a row is corrected by this variable, whatever the other rows need.

    Parameters
    ----------
    entries : tuple of arrays
        Rows, columns and values of a matrix of shape (k, n).
    missed : array of shape (k,)
    room : array of shape (n,)

    Returns
    -------
    array of int of shape (k,)

    Examples
    --------
    >>> entries = np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([1.0, 2.0, 1.0])
    >>> own_variables(entries, np.full(2, 1e-20), np.ones(3)).tolist()
    [1, -1]
    """
    found = np.full(len(missed), -1, dtype=np.intp)
    place, columns, values = entries
    alone = np.bincount(columns, minlength=len(room))[columns] == 1
    reach = np.abs(values) * room[columns]
    alone &= reach > FEASIBILITY.movable_distance * missed[place]
    order = np.flatnonzero(alone)[np.argsort(reach[alone], kind="stable")]
    found[place[order]] = columns[order]  # of several the one with the most room
    return found


def independent_correction(rows: Matrix, missed: Vector, unit: Vector) -> Vector | None:
    """Bound the shortest correction of rows that are independent by a margin; None if not proven.

    Parameters
    ----------
    rows : array or CSR array of shape (k, m)
    missed : array of shape (k,)
    unit : array of shape (m,)
    """
    scaled = sp.csr_array(scaled_columns(rows, unit))
    norms = np.sqrt(np.asarray((scaled * scaled).sum(axis=1)).ravel())
    norms = np.where(norms > 0.0, norms, 1.0)
    scaled = scaled_rows(1.0 / norms, scaled)
    least = proven_independence(scaled, FEASIBILITY.independence, FEASIBILITY.most_dense_rows)
    if least is None:
        return None
    return np.asarray(unit * (float(np.linalg.norm(missed / norms)) / (0.5 * least)))


def _basis(rows: Dense, room: Vector) -> Index:
    """Choose independent columns, variables far from their bounds first."""
    is_used = (room > 0.0) & (rows != 0.0).any(axis=0)
    level = np.full(len(room), np.inf)
    level[is_used] = -np.frexp(np.minimum(room[is_used], 1.0))[1] // FEASIBILITY.room_level
    found: list[int] = []
    rest = rows
    for each in np.unique(level[is_used]):
        own = np.flatnonzero(level == each)
        _, R, order = qr(rest[:, own], mode="economic", pivoting=True)
        sizes = np.abs(np.diagonal(R))
        rank = int(np.count_nonzero(sizes > FEASIBILITY.significant))
        found += own[order[:rank]].tolist()
        if len(found) >= len(rows):
            break
        Q = np.linalg.qr(rows[:, found])[0] if found else np.zeros((len(rows), 0))
        rest = rows - Q @ (Q.T @ rows)
    return np.array(found[: len(rows)], dtype=np.intp)
