"""Kernel values computed in place of products."""

from __future__ import annotations

import numpy as np

from qpsvm.exceptions import InvalidParameterError
from qpsvm.native.checks import (
    Dense,
    Vector,
    require_apart,
    require_at_least,
    require_row_wise,
    require_vector,
)
from qpsvm.native.library import run

EXP_ULPS = 1.5
"""Proven bound on the error of ``exp`` in the compiled core, in units in the last place
(``tiles.c``). Of a million exponents the worst has 1.02."""


def exponent_tile(tile: Dense, rows: Vector, columns: Vector, gamma: float) -> None:
    """Replace inner products by values of the RBF kernel, in place.

    For squared norms of both sides::

        tile_ij <- exp(-gamma max(0, rows_i + columns_j - 2 tile_ij))

    Parameters
    ----------
    tile : array of shape (m, n)
        Inner products; each row lies in one piece. A tile of a larger array may be passed as it
        is, and should fit into a core's cache.
    rows, columns : arrays of shapes (m,) and (n,)
        Squared norms.
    gamma : float
        At least 0.

    Raises
    ------
    InvalidParameterError
        An array of another type, shape or layout than these, arrays that overlap, a negative gamma.

    Notes
    -----
    The exponential is within ``EXP_ULPS`` of the exact one. NaN stays NaN.

    Examples
    --------
    >>> import numpy as np
    >>> tile = np.array([[1.0, 0.0]])
    >>> exponent_tile(tile, np.ones(1), np.ones(2), gamma=0.5)
    >>> tile.round(3).tolist()
    [[1.0, 0.368]]
    """
    stride = require_row_wise(tile, "tile")
    m, n = tile.shape
    if not tile.flags.writeable:
        raise InvalidParameterError("tile is read-only: pass a copy, which is written to")
    require_vector(rows, "rows", m)
    require_vector(columns, "columns", n)
    gamma = require_at_least(gamma, "gamma", 0.0)
    require_apart({"tile": tile}, {"rows": rows, "columns": columns})
    run("exponent_tile", m, n, stride, gamma, rows, columns, tile)


def products_by_row(X: Dense, Z: Dense, out: Dense | None = None) -> Dense:
    """``X Z``, each row of it with the same bits whatever the other rows of X are.

    A library's matrix product adds up in an order that depends on the shapes, so that one sample
    and the same sample among others differ in their last digits.

    Parameters
    ----------
    X, Z : arrays of shapes (m, d) and (d, n)
        Each row lies in one piece.
    out : array of shape (m, n), optional
        Where the product is written.

    Returns
    -------
    array of shape (m, n)

    Raises
    ------
    InvalidParameterError
        An array of another type, shape or layout than these, arrays that overlap.

    Examples
    --------
    >>> products_by_row(np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]]))
    array([[11.]])
    """
    left, right = require_row_wise(X, "X"), require_row_wise(Z, "Z")
    (m, d), n = X.shape, Z.shape[1]
    if len(Z) != d:
        raise InvalidParameterError(
            f"X has the shape {X.shape} and Z {Z.shape}: Z must have {d} rows"
        )
    if out is None:
        out = np.empty((m, n))
    stride = require_row_wise(out, "out")
    if out.shape != (m, n) or not out.flags.writeable:
        raise InvalidParameterError(
            f"out has the shape {out.shape}: pass an array of shape {(m, n)} that can be written to"
        )
    require_apart({"out": out}, {"X": X, "Z": Z})
    run("products_by_row", m, n, d, X, left, Z, right, out, stride)
    return out
