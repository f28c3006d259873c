"""Machines without one sample, found from the tableau of the full machine."""

from __future__ import annotations

import numpy as np

from qpsvm.numerics.arrays import Index
from qpsvm.selection.following import followed
from qpsvm.selection.tableau import Tableau
from qpsvm.selection.trials import Machines, by_trials, of_steps


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
    steps = np.array(list(ways.values()), dtype=np.int8)
    return Machines.joined([found, of_steps(tableau, steps, np.array(list(ways)))])
