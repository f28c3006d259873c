"""Rows of constraints that contradict each other, found by the multipliers of the proof."""

from __future__ import annotations

import numpy as np

from qpsvm.constraints.rows import LinearConstraints
from qpsvm.numerics.arguments import VectorLike
from qpsvm.numerics.arrays import (
    as_vector,
)

NEGLIGIBLE = 1e-6
"""Share of a contradiction, relative to the largest, that a solver's noise may have: evidence is
exact to 1e-9, interior-point solvers leave a few digits more on rows that play no part."""


def conflicting(
    combined: LinearConstraints,
    multipliers_ineq: VectorLike,
    multipliers_eq: VectorLike,
    rtol: float = NEGLIGIBLE,
) -> list[str]:
    r"""Names of the rows that contradict each other, the largest share first.

    Multipliers :math:`z \ge 0` and y prove by :math:`G^\top z + A^\top y = 0`, :math:`h^\top z +
    b^\top y < 0` that no (w, b) satisfies all rows (Farkas' lemma; Boyd and Vandenberghe, *Convex
    Optimization*, section 5.8.3). The share of a row is :math:`\lvert z_i \rvert (\lVert G_i
    \rVert_1 + \lvert h_i \rvert)`, whatever the units it is written in.

    Parameters
    ----------
    combined : LinearConstraints
        All rows, as ``combine`` stacks them.
    multipliers_ineq, multipliers_eq : arrays of shapes (m,) and (k,)
        Negative entries of the first count as zero.
    rtol : float
        Shares up to rtol times the largest of these rows are left out.

    Returns
    -------
    list of str
        Names of rows, as ``LinearConstraints.names`` has them.

    Raises
    ------
    InvalidProgramError
        Not one multiplier per row.

    Examples
    --------
    >>> rows = LinearConstraints(G=[[1.0], [-1.0], [0.5]], h=[1.0, -2.0, 9.0])
    >>> conflicting(rows, [1.0, 1.0, 0.0], [])  # w <= 1 and w >= 2
    ['G[1]', 'G[0]']
    """
    z = np.maximum(as_vector(multipliers_ineq, "multipliers_ineq", len(combined.h)), 0.0)
    y = np.abs(as_vector(multipliers_eq, "multipliers_eq", len(combined.b)))
    shares = np.concatenate(
        [
            z * (abs(combined.G).sum(axis=1) + np.abs(combined.h)),
            y * (abs(combined.A).sum(axis=1) + np.abs(combined.b)),
        ]
    )
    cutoff = rtol * float(np.max(shares, initial=0.0))
    order = np.argsort(-shares, kind="stable")
    return [combined.names[i] for i in order if shares[i] > cutoff]
