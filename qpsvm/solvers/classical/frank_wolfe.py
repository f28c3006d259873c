"""Frank-Wolfe: linear programs instead of projections.

    v = argmin { g'v : v feasible },     x <- x + t (v - x),     t = min(1, g'(x - v) / kappa)

with the gradient ``g = P x + q`` and the curvature ``kappa = (v - x)'P(v - x)``: an exact line
search. ``g'(x - v)`` bounds the distance from the optimum, so that the method is its own
certificate. Over a box with one row the linear program is a fractional knapsack: with
``t_i = a_i v_i`` every variable begins where ``t_i`` is smallest, and those of the least cost
``g_i / a_i`` grow first, until ``sum t_i = b`` (Dantzig, 1957).

The gap falls like ``1 / k``: each vertex is added for good, and nothing ever leaves entirely.

Sources: Frank and Wolfe, "An algorithm for quadratic programming", *Naval Research Logistics
Quarterly* 3 (1956); Jaggi, "Revisiting Frank-Wolfe", ICML 2013, algorithm 2.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from qpsvm.exceptions import UnsupportedProgramError
from qpsvm.numerics.arrays import Vector
from qpsvm.solvers.classical.program import ClassicalSettings, DualProgram


def vertices(program: DualProgram, x: Vector, settings: ClassicalSettings) -> Iterator[Vector]:
    """Yield the Frank-Wolfe iterates, until the duality gap is zero.

    Raises
    ------
    UnsupportedProgramError
        The box is not bounded.
    """
    del settings
    if not (np.isfinite(program.lower).all() and np.isfinite(program.upper).all()):
        raise UnsupportedProgramError(
            "'classical:frank-wolfe' needs a box that is bounded, and some variable of this "
            "program has no bound: use 'classical:smo' or 'classical:dual-ascent'. (The hinge has "
            "bounds, the squared hinge and the hard margin have none.)"
        )
    g = program.gradient(x)
    while True:
        d = vertex(program, g) - x
        gap = -float(g @ d)
        if not gap > 0.0:
            return
        Pd = program.P.matvec(d)
        kappa = float(d @ Pd)
        t = min(1.0, gap / kappa) if kappa > 0.0 else 1.0
        x = x + t * d
        g = g + t * Pd
        yield x


def vertex(program: DualProgram, g: Vector) -> Vector:
    """A minimiser of ``g'v`` over box and row, shape (n,)."""
    lower, upper, a = program.lower, program.upper, program.a
    v = np.where(a == 0.0, np.where(g > 0.0, lower, upper), np.where(a > 0.0, lower, upper))
    used = np.flatnonzero(a)
    order = used[np.argsort(g[used] / a[used], kind="stable")]
    room = np.abs(a[order]) * (upper - lower)[order]
    before = np.cumsum(room) - room
    share = np.clip(program.b - float(a @ v) - before, 0.0, room)
    v[order] += share / a[order]
    return program.clip(v)
