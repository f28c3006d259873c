"""Left-out bounds from machines after one step of iterative refinement.

The term of the gap of a sample on a vertical step grows with the distance of its decision value
from the kink, in proportion to C. With coefficients rounded to 16 digits that distance is rounding,
1e-13 for coefficients around 100, and the radius is the root of the gap. One step of iterative
refinement with compensated products gives coefficients in two parts, a number and a correction
below its last digit, whose decision values are at the kinks.
"""

from __future__ import annotations

import numpy as np

from qpsvm.numerics.arrays import Dense, Vector
from qpsvm.selection.blocks import solved, spread
from qpsvm.selection.bounds import Correction, LeftOutBounds
from qpsvm.selection.tableau import Tableau
from qpsvm.selection.trials import Machines


def machine_bounds(K: Dense, tableau: Tableau, machines: Machines) -> LeftOutBounds:
    """Bound left-out values from machines as they are.

    Parameters
    ----------
    K : array of shape (n, n)
    tableau : Tableau
    machines : Machines
    """
    return _bounds(K, tableau, machines, None)


def refined_bounds(K: Dense, tableau: Tableau, machines: Machines) -> LeftOutBounds:
    """Bound left-out values from machines after a step of refinement.

    Parameters
    ----------
    K : array of shape (n, n)
    tableau : Tableau
    machines : Machines
    """
    return _bounds(K, tableau, machines, lambda of_beta: corrections(tableau, machines, of_beta))


def _bounds(
    K: Dense,
    tableau: Tableau,
    machines: Machines,
    correction: Correction | None,
) -> LeftOutBounds:
    return LeftOutBounds.of(
        K,
        tableau.staircase,
        machines.samples,
        machines.beta,
        machines.rates,
        machines.b,
        balanced=tableau.has_intercept,
        correction=correction,
    )


def corrections(tableau: Tableau, machines: Machines, of_beta: Dense) -> tuple[Dense, Vector]:
    """Newton corrections of coefficients that put samples on the margin exactly onto it.

    Parameters
    ----------
    tableau : Tableau
    machines : Machines
    of_beta : array of shape (m, n)
        ``K beta``.

    Returns
    -------
    array of shape (m, n)
        Of coefficients on flat steps zero.
    array of shape (m,)
        Changes of the intercepts.
    """
    free, steps, m = tableau.is_free, machines.steps, len(machines.samples)
    is_vertical = np.abs(steps) == 1
    is_vertical[np.arange(m), machines.samples] = False
    kinks = tableau.staircase.values()[steps + 2, np.arange(len(free))]
    wanted = np.where(is_vertical, kinks - of_beta - machines.b[:, None], 0.0)
    S = is_vertical != free
    given = np.where(S, 0.0, wanted)
    changes = given @ tableau.T.T
    row, column = np.nonzero(S)
    right = wanted[row, column] - changes[row, column]
    u = solved(tableau, row, column, right[:, None])[:, 0]
    changes += spread(tableau, row, column, u, m)
    changes[row, column] = given[row, column] = u
    return np.where(is_vertical, changes, 0.0), given @ tableau.of_b
