"""A machine without one sample, by following the coefficient of the sample to zero.

From one change of a step to the next every value is linear in the coefficient: one system of
equations for every change, where trials solve one for many changes but may not come to an end.

Source: Cauwenberghs and Poggio, "Incremental and decremental support vector machine learning",
NIPS 2000.
"""

from __future__ import annotations

import numpy as np

from qpsvm.numerics.arrays import Index, Vector
from qpsvm.selection.settings import LEAVE_ONE_OUT
from qpsvm.selection.staircase import AT_A, Point
from qpsvm.selection.tableau import Tableau


def followed(tableau: Tableau, i: int) -> Index | None:
    """Find the steps of the machine without sample i, shape (n,); None if not found."""
    at, way = Point(tableau.f, tableau.beta, tableau.steps), -float(np.sign(tableau.beta[i]))
    rates = _rates(tableau, i, at.steps)
    for _ in range(LEAVE_ONE_OUT.events):
        if rates is None:
            return None
        event = at.until_event(tableau.staircase, rates, way, i, tableau.unit)
        if event.length >= abs(at.beta[i]):
            return at.steps
        at = at.moved(rates, way * event.length).with_step(event.sample, event.step)
        rates = _rates(tableau, i, at.steps)
        if rates is None and abs(event.step) == 1:
            exchanged = _exchanged(tableau, at, event.sample, i)
            if exchanged is None:
                return None
            at = exchanged
            rates = _rates(tableau, i, at.steps)
    return None


def _rates(
    tableau: Tableau, i: int, steps: Index, kept: int | None = None
) -> tuple[Vector, Vector] | None:
    """Derivatives of all decision values f and coefficients beta by beta_i, others' steps fixed.

    Of the sample ``kept`` the coefficient is kept instead.

    None where it is not determined.
    """
    free = tableau.is_free
    S = (np.abs(steps) == 1) != free
    S[i] = free[i]  # its beta follows, and is what is given now
    if kept is not None:
        S[kept] = free[kept]
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
    out = u[used] @ tableau.T.T[used]
    if not np.isfinite(out).all():
        return None
    return np.where(free, u, out), np.where(free, out, u)


def _exchanged(tableau: Tableau, at: Point, entering: int, i: int) -> Point | None:
    """Exchange a sample that reached the end of its step for one that enters.

    The samples on vertical steps, the entering one among them, depend on each other: there is a
    direction of coefficients in which no decision value changes.
    """
    rates = _rates(tableau, entering, at.steps, kept=i)
    if rates is None:
        return None
    lowest = 0.0 if at.steps[entering] == AT_A else tableau.staircase.lowest[entering]
    inwards = 1.0 if at.beta[entering] <= lowest else -1.0
    along = (0.0 * rates[0], rates[1])
    event = at.until_event(tableau.staircase, along, inwards, i, tableau.unit)
    if not np.isfinite(event.length):
        return None
    return at.moved(rates, inwards * event.length).with_step(event.sample, event.step)
