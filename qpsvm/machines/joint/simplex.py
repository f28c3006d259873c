"""Projection of dual variables onto the rows' feasible sets."""

from __future__ import annotations

import numpy as np

from qpsvm.numerics.arrays import Dense
from qpsvm.numerics.precision import EPS


def nearest_rows(V: Dense, upper: Dense) -> Dense:
    """Project V onto ``sum_m T_im = 0`` and ``T_im <= upper_im``, row by row.

    It is ``T = min(V - theta, upper)`` with one theta per row: ``upper - T`` is the projection of
    ``upper - V`` on a simplex of size ``sum_m upper_im``. Entries leave their bound in the order of
    ``V - upper``; with the first r of them free, theta is the sum of their V and of the bounds of
    the others, over r; the right r is the largest whose last entry is indeed free.

    Parameters
    ----------
    V : array of shape (n, k)
    upper : array of shape (n, k)
        Not negative, with a positive sum in every row.

    Returns
    -------
    array of shape (n, k)
        Rows that satisfy both conditions up to rounding stay as they are. Rows with NaN or
        infinite entries have NaN.

    Notes
    -----
    Source: Crammer and Singer, *JMLR* 2 (2001), section 5; Duchi et al., "Efficient projections
    onto the l1-ball for learning in high dimensions", ICML 2008, section 2.

    Examples
    --------
    >>> nearest_rows(np.array([[3.0, -1.0, 0.5]]), np.array([[2.0, 0.0, 0.0]]))
    array([[ 2.  , -1.75, -0.25]])
    """
    with np.errstate(over="ignore", invalid="ignore"):
        # the first projection rounds in units of V, which may be far larger than a feasible row
        return _projected(_projected(V, upper), upper)


def _projected(V: Dense, upper: Dense) -> Dense:
    """Project every row of V onto ``{v: sum v = 0, v <= upper}``, up to rounding in units of V."""
    sums, sizes = np.sum(V, axis=1), np.sum(np.abs(V), axis=1)
    holds = np.isfinite(sizes) & (np.abs(sums) <= V.shape[1] * EPS * sizes)
    holds &= np.all(upper >= V, axis=1)
    order = np.argsort(V - upper, axis=1)
    values, bounds = np.take_along_axis(V, order, 1), np.take_along_axis(upper, order, 1)
    held = np.sum(bounds, axis=1, keepdims=True) - np.cumsum(bounds, axis=1)
    theta = (np.cumsum(values, axis=1) + held) / np.arange(1, V.shape[1] + 1)
    free = np.count_nonzero(values - bounds < theta, axis=1)
    chosen = np.take_along_axis(theta, np.maximum(free - 1, 0)[:, None], 1)
    return np.where(holds[:, None], V, np.minimum(V - chosen, upper))
