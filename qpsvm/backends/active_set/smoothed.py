"""Newton's method on the smoothed program: from a rough guess to a good one in a few steps.

The program with a proximal term, ``minimise 1/2 x'Px + q'x + s/2 |x - c|^2``, has the dual ::

    D(v, y) = -1/2 v'Pv - b'y + sum_i min { x_i r_i + s/2 (x_i - c_i)^2 : lower <= x_i <= upper }
    r = Pv + q + A'y,     attained at x(r) = clip(c - r / s)

(``qp.proximal_newton``). Read in v it is the smoothed primal: v are the coefficients of a decision
function, and with c amid the bounds a loss with a kink becomes one that bends over a band of
margins, ``s (upper - lower)`` wide. There is nothing in D that could block a step, v need not be
feasible, and a guess may come from anywhere. To give every variable to the bound that the sign of
r says, without a band, goes wildly too far: errors of many samples in one direction add up.

A Newton step ends at the point z that has the variables outside the band at their bounds and solves
the equations inside. Both z and v are kept, with ``P z`` and ``P v``: from one z to the next few
variables change, and only their columns are needed, however short the step from v towards z is.

Sources: Chapelle, "Training a support vector machine in the primal", *Neural Computation* 19
(2007); Li, Sun and Toh, *SIAM J. Optim.* 28 (2018).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from qpsvm.backends.active_set.columns import KernelColumns
from qpsvm.qp._arrays import Vector
from qpsvm.qp.box_program import BoxProgram, Point
from qpsvm.qp.line_search import step_length
from qpsvm.qp.proximal_newton import Equations

STEPS = 15
"""Of one smoothed program, at most: what is left then, others have to do."""

SETTLED = 0.02
"""Share of the variables in the band that may yet change: whole steps hardly move anything."""

MOST_FREE = 6000
"""Variables in the band; with more the band is halved."""

HALVINGS = 20

WIDEST = 1e4
"""Bounds further apart than this many times what moves a margin by one are as good as none."""


@dataclass(frozen=True, eq=False)
class Smooth:
    """Where the search is.

    Attributes
    ----------
    v, Pv : arrays of shape (n,)
        The coefficients, and the gradient they make.
    z, Pz : arrays of shape (n,)
        The last point that a Newton step aimed at.
    y : array of shape (p,)
    """

    v: Vector
    Pv: Vector
    z: Vector
    Pz: Vector
    y: Vector


Watch = Callable[[], bool]
"""Called once a step; False ends the search."""


def widths(program: BoxProgram) -> Vector:
    """How far the bounds are apart, where that is more than enough what would be enough."""
    largest = float(np.max(np.abs(program.q))) or 1.0
    enough = WIDEST * largest / program.unit
    return np.minimum(program.upper - program.lower, enough)


def _centre(program: BoxProgram) -> Vector:
    """Amid the bounds; with one bound there, without any at zero: their losses have one side."""
    lower, upper = program.lower, program.upper
    lower = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper, 0.0))
    return np.where(np.isfinite(upper), 0.5 * (lower + upper), lower)


def smoothed_newton(
    program: BoxProgram, columns: KernelColumns, at: Smooth, band: float, watch: Watch
) -> Smooth:
    """The maximum of D for a band of that many margins to either side, about.

    Parameters
    ----------
    program : BoxProgram
        Its P is ``columns``.
    columns : KernelColumns
    at : Smooth
    band : float
        In the unit of r.
    watch : callable
    """
    width = widths(program)
    sigma = 2.0 * band / float(np.median(width))
    centre = _centre(program)
    for step in range(STEPS):
        r = program.gradient(at.Pv, at.y)
        for _ in range(HALVINGS):
            target = centre - r / sigma
            free = np.flatnonzero((target > program.lower) & (target < program.upper))
            if len(free) <= MOST_FREE and columns.keep(free):
                break
            sigma *= 0.5
        else:
            return at
        z = program.clip(target)
        change = z - at.z
        change[free] = 0.0
        z = at.z + change
        Pz = at.Pz + columns.product(change)
        try:
            equations = Equations(program, free, sigma)
        except np.linalg.LinAlgError:
            return at
        right = sigma * (centre - z)[free] - (Pz + program.q + at.y @ program.A)[free]
        inside = np.zeros(program.size)
        inside[free], dy = equations.solve(right, program.b - program.A @ z)
        z, Pz = z + inside, Pz + columns.product(inside)
        d, Pd = z - at.v, Pz - at.Pv
        dr = Pd + dy @ program.A
        fixed, falling = float(at.v @ Pd + program.b @ dy), float(d @ Pd)
        t = step_length(program, centre, sigma, r, dr, fixed=fixed, falling=falling)
        if t is None:
            return at
        t = min(t, 1.0)
        v, Pv = (z, Pz) if t == 1.0 else (at.v + t * d, at.Pv + t * Pd)
        at = Smooth(v, Pv, z, Pz, at.y + t * dy)
        is_settled = t == 1.0 and np.count_nonzero(change) <= SETTLED * len(free)
        if not watch() or (is_settled and step > 0):
            break
    return at


def feasible_point(program: BoxProgram, at: Smooth) -> Point:
    """The point of the box that it says, without a word about the rows."""
    x = program.clip(at.z)
    return Point(x, at.Pz + program.P.product(x - at.z), at.y)
