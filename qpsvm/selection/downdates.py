"""Machines without one sample, found from the tableau of the full machine."""

from __future__ import annotations

import numpy as np

from qpsvm.numerics.arrays import Dense, Index, Vector
from qpsvm.selection.dependence import independent
from qpsvm.selection.following import followed
from qpsvm.selection.settings import LEAVE_ONE_OUT
from qpsvm.selection.staircase import Staircase
from qpsvm.selection.tableau import Tableau
from qpsvm.selection.trials import Machines, by_trials, of_steps, optimal


def downdates(tableau: Tableau, samples: Index) -> Machines:
    """Find the optimal machine without each of some samples; not all of them may be found.

    Parameters
    ----------
    tableau : Tableau
    samples : array of int of shape (m,)
    """
    found = by_trials(tableau, samples)
    left, ways = np.setdiff1d(samples, found.samples), {}
    for i in left.tolist():
        steps = followed(tableau, i)
        if steps is not None:
            ways[i] = steps
    if not ways:
        return found
    of_ways = np.array(list(ways.values()), dtype=np.int8)
    return Machines.joined([found, of_steps(tableau, of_ways, np.array(list(ways)))])


def full_tableau(
    K: Dense, stair: Staircase, beta: Vector, *, has_intercept: bool
) -> Tableau | None:
    """The tableau of the optimal machine, from coefficients that are nearly its own."""
    share = LEAVE_ONE_OUT.end_of_step
    for _ in range(LEAVE_ONE_OUT.rounds):
        beta = independent(K, beta, stair, share, intercept=has_intercept)
        steps = stair.steps(beta, share)
        tableau = Tableau.of(K, stair, steps, has_intercept=has_intercept)
        if tableau is None:
            return None
        better = optimal(tableau)
        if better is None:
            return None
        better_steps, beta = better
        if (better_steps == steps).all():
            return tableau
    return None
