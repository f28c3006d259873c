"""A machine without one sample, by following the coefficient of the sample to zero.

From one change of a step to the next every value is linear in the coefficient: one system of
equations for every change, where trials solve one for many changes but may not come to an end.

Source: Cauwenberghs and Poggio, "Incremental and decremental support vector machine learning",
NIPS 2000.
"""

from __future__ import annotations

import numpy as np

from qpsvm.numerics.arrays import Index, Mask, Vector
from qpsvm.selection.settings import NUMBERS
from qpsvm.selection.staircase import AT_A, Point
from qpsvm.selection.tableau import Tableau


def followed(tableau: Tableau, i: int) -> Index | None:
    """The steps of the machine without sample i, shape (n,); None if they are not found."""
    at, S = Point(tableau.f, tableau.beta, tableau.steps), np.zeros(len(tableau.f), dtype=bool)
    way = -float(np.sign(at.beta[i]))
    for _ in range(NUMBERS.events):
        rates = _rates(tableau, i, S)
        if rates is None:
            return None
        event = at.until_event(tableau.staircase, rates, way, i, tableau.unit)
        if event.length >= abs(at.beta[i]):
            return at.steps
        at = at.moved(rates, way * event.length).with_step(event.sample, event.step)
        S = (np.abs(at.steps) == 1) != tableau.is_free
        if abs(event.step) == 1 and _rates(tableau, i, S) is None:
            exchanged = _exchanged(tableau, at, event.sample, i)
            if exchanged is None:
                return None
            at = exchanged
            S = (np.abs(at.steps) == 1) != tableau.is_free
    return None


def _rates(tableau: Tableau, i: int, S: Mask) -> tuple[Vector, Vector] | None:
    """Change of every f and beta as beta_i grows and the others keep their steps.

    None where it is not determined.
    """
    free, S = tableau.is_free, S.copy()
    S[i] = free[i]  # its beta follows, and is what is given now
    index, u = np.flatnonzero(S), np.zeros(len(S))
    right = (index == i).astype(np.float64)
    if not free[i]:
        u[i], right = 1.0, -tableau.T[index, i]
    if len(index):
        found = tableau.solved(index, right[:, None])
        if found is None:
            return None
        u[index] = found[:, 0]
    used = np.flatnonzero(u)
    out = tableau.T[:, used] @ u[used]
    if not np.isfinite(out).all():
        return None
    return np.where(free, u, out), np.where(free, out, u)


def _exchanged(tableau: Tableau, at: Point, entering: int, i: int) -> Point | None:
    """The point where another sample is at the end of its step in place of one that enters.

    The samples on vertical steps, the entering one among them, depend on each other: there is a
    direction of coefficients in which no decision value changes.
    """
    free, before = tableau.is_free, np.abs(at.steps) == 1
    before[entering] = False
    S = before != free
    S[i] = free[i]  # keeps its coefficient
    rates = _rates(tableau, entering, S)
    if rates is None:
        return None
    lowest = 0.0 if at.steps[entering] == AT_A else tableau.staircase.lowest[entering]
    inwards = 1.0 if at.beta[entering] <= lowest else -1.0
    along = (0.0 * rates[0], rates[1])
    event = at.until_event(tableau.staircase, along, inwards, i, tableau.unit)
    if not np.isfinite(event.length):
        return None
    return at.moved(rates, inwards * event.length).with_step(event.sample, event.step)
