"""Kernel values computed in place of products."""

from __future__ import annotations

import numpy as np

from qpsvm.exceptions import InvalidParameterError
from qpsvm.native.checks import require_apart, require_at_least, require_vector
from qpsvm.native.library import run
from qpsvm.numerics.arrays import Dense, Vector

EXP_ULPS = 1.5
"""Bound on the error of the core's exponential in units of the last place, for the float64 exponent
that it is given (``tiles.c``). Of a million exponents the worst has 1.02."""


def exponent_tile(tile: Dense, rows: Vector, columns: Vector, gamma: float) -> None:
    """Replace inner products by values of the RBF kernel, in place::

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
    >>> tile = np.array([[1.0, 0.0]])
    >>> exponent_tile(tile, np.ones(1), np.ones(2), gamma=0.5)
    >>> tile.round(3).tolist()
    [[1.0, 0.368]]
    """
    if not isinstance(tile, np.ndarray) or tile.dtype != np.float64 or tile.ndim != 2:
        seen = getattr(tile, "dtype", type(tile).__name__)
        raise InvalidParameterError(
            f"tile is {seen} of shape {getattr(tile, 'shape', '()')}: pass a float64 array with two axes"
        )
    m, n = tile.shape
    across, along = tile.strides
    is_row_wise = along == 8 and across >= 8 * n and across % 8 == 0
    if tile.size and not (tile.flags.aligned and (is_row_wise or tile.flags.c_contiguous)):
        raise InvalidParameterError(
            f"tile has the strides {tile.strides}: every row must lie in one piece"
        )
    if not tile.flags.writeable:
        raise InvalidParameterError("tile is read-only: pass a copy, which is written to")
    require_vector(rows, "rows", m)
    require_vector(columns, "columns", n)
    gamma = require_at_least(gamma, "gamma", 0.0)
    require_apart({"tile": tile}, {"rows": rows, "columns": columns})
    run("exponent_tile", m, n, across // 8 if is_row_wise else n, gamma, rows, columns, tile)
