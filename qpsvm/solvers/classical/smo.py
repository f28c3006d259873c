"""Sequential minimal optimisation: two variables at a time, solved by hand.

With the row ``a'x = b`` no variable can move alone; the smallest move is one of two,

    x_i <- x_i + t / a_i,     x_j <- x_j - t / a_j

Along it the objective is ``t (G_i - G_j) + 1/2 t^2 kappa`` with ``G_k = g_k / a_k`` and
``kappa = P_ii / a_i^2 + P_jj / a_j^2 - 2 P_ij / (a_i a_j)``, so that (Platt's equations 16 to 18)

    t = (G_j - G_i) / kappa,  clipped to the box

The pair is that of the second-order rule: i violates optimality most, and j promises the largest
decrease ``(G_j - G_i)^2 / kappa``. ``g`` is the error cache; a step changes it by two columns.

Sources: Platt, "Fast training of support vector machines using sequential minimal optimization",
in *Advances in Kernel Methods* (1998), section 12.2; the choice of the pair: Fan, Chen and Lin,
"Working set selection using second order information", *JMLR* 6 (2005), algorithm 2.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from qpsvm.exceptions import UnsupportedProgramError
from qpsvm.numerics.arrays import Vector
from qpsvm.numerics.precision import TINY
from qpsvm.solvers.classical.program import ClassicalSettings, DualProgram


def pairs(program: DualProgram, x: Vector, settings: ClassicalSettings) -> Iterator[Vector]:
    """Yield the feasible iterates of sequential minimal optimisation (SMO).

    All are one array, which changes in place; they end at the optimum.

    Raises
    ------
    UnsupportedProgramError
        No equality row, or one with zeros.
    """
    if not program.a.all():
        raise UnsupportedProgramError(
            "'classical:smo' moves two variables along an equality row, and this program has none "
            "over all of its variables: use 'classical:coordinate-descent', or a free intercept."
        )
    a, column = program.a, program.columns(settings.kept_bytes)
    own = program.diagonal / (a * a)
    x = x.copy()
    g = program.gradient(x)
    norms = np.sqrt(program.diagonal)  # |P_ij| <= norms_i norms_j
    constant, largest = float(np.max(np.abs(program.q))), float(np.max(norms))
    terms = float(norms @ np.abs(x))
    rises = np.where(a > 0.0, x < program.upper, x > program.lower)  # a_k x_k can grow
    falls = np.where(a > 0.0, x > program.lower, x < program.upper)
    while True:
        G = g / a
        i = int(np.argmin(np.where(rises, G, np.inf)))
        promise = np.where(falls, G, -np.inf) - G[i]
        if not float(np.max(promise)) > settings.rounding * (constant + largest * terms):
            return  # no pair violates optimality
        kappa = own + own[i] - 2.0 * column(i) / (a * a[i])
        kappa = np.maximum(kappa, settings.least_curvature * (own + own[i]) + TINY)
        j = int(np.argmax(np.where(promise > 0.0, promise * promise / kappa, -1.0)))
        room = min(_room(program, x, i, a[i]), _room(program, x, j, -a[j]))
        t = min(promise[j] / kappa[j], room)
        before = x[i], x[j]
        x[i], x[j] = _moved(program, x, i, t / a[i]), _moved(program, x, j, -t / a[j])
        if (x[i], x[j]) == before:
            return  # the step is below rounding
        g += (x[i] - before[0]) * column(i) + (x[j] - before[1]) * column(j)
        for k, old in zip((i, j), before, strict=True):
            terms += norms[k] * (abs(x[k]) - abs(old))
            up, down = x[k] < program.upper[k], x[k] > program.lower[k]
            rises[k], falls[k] = (up, down) if a[k] > 0.0 else (down, up)
        yield x


def _room(program: DualProgram, x: Vector, k: int, direction: float) -> float:
    """Largest t for which ``x_k + t / direction`` is in the box."""
    end = program.upper[k] if direction > 0.0 else program.lower[k]
    return float((end - x[k]) * direction)


def _moved(program: DualProgram, x: Vector, k: int, step: float) -> float:
    return float(min(max(x[k] + step, program.lower[k]), program.upper[k]))
