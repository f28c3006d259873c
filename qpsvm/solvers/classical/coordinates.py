"""Sequential minimal optimisation (SMO), and dual coordinate descent: one or two variables a step.

With the row ``a'x = b`` no variable can move alone; the smallest move is one of two,

    x_i <- x_i + t / a_i,     x_j <- x_j - t / a_j

Along it the objective is ``t (G_i - G_j) + 1/2 t^2 kappa`` with ``G_k = g_k / a_k`` and
``kappa = P_ii / a_i^2 + P_jj / a_j^2 - 2 P_ij / (a_i a_j)``, so that (Platt's equations 16 to 18)

    t = (G_j - G_i) / kappa,  clipped to the box

The pair is that of the second-order rule: i violates optimality most, and j promises the largest
decrease ``(G_j - G_i)^2 / kappa``. ``g`` is the error cache; a step changes it by two columns.

A machine whose intercept is penalised, or that has none, has only a box for alpha. One variable is
then solved for alone (Hsieh et al., equation 9)::

    x_i <- clip(x_i - g_i / P_ii, lower_i, upper_i)

For a linear machine ``P = F F' + D``: with the weights ``w = F'x`` kept up to date, the gradient
``g_i = F_i'w + d_i x_i + q_i`` takes one row of the samples, and so does ``w <- w + F_i dx_i``. The
order of the variables is drawn anew for every pass. For a kernel, the whole gradient is kept.

Sources: Platt, "Fast training of support vector machines using sequential minimal optimization",
in *Advances in Kernel Methods* (1998), section 12.2; the choice of the pair: Fan, Chen and Lin,
"Working set selection using second order information", *JMLR* 6 (2005), algorithm 2; Hsieh, Chang,
Lin, Keerthi and Sundararajan, "A dual coordinate descent method for large-scale linear SVM", ICML
2008, algorithm 1 and section 3.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.exceptions import UnsupportedProgramError
from qpsvm.numerics.arrays import Vector, is_sparse
from qpsvm.numerics.precision import EPS, TINY
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.solvers.classical.program import ClassicalSettings, DualProgram


def pairs(program: DualProgram, x: Vector, settings: ClassicalSettings) -> Iterator[Vector]:
    """Yield the feasible iterates of sequential minimal optimisation (SMO).

    All are one array, which changes in place; they end at the optimum.

    Raises
    ------
    UnsupportedProgramError
        No equality row, or one with zeros.
    """
    del settings
    if not program.a.all():
        raise UnsupportedProgramError(
            "'classical:smo' moves two variables along an equality row, and this program has none "
            "over all of its variables: use 'classical:coordinate-descent', or a free intercept."
        )
    a, lower, upper, column = program.a, program.lower, program.upper, program.columns()
    own = program.diagonal / (a * a)
    x = x.copy()
    g = program.gradient(x)
    norms = np.sqrt(program.diagonal)  # |P_ij| <= norms_i norms_j
    constant, largest = float(np.max(np.abs(program.q))), float(np.max(norms))
    terms = float(norms @ np.abs(x))
    rises = np.where(a > 0.0, x < upper, x > lower)  # a_k x_k can grow
    falls = np.where(a > 0.0, x > lower, x < upper)
    while True:
        G = g / a
        i = int(np.argmin(np.where(rises, G, np.inf)))
        promise = np.where(falls, G, -np.inf) - G[i]
        # pairs with no more than rounding would be moved to and fro for ever
        if not float(np.max(promise)) > 4.0 * EPS * (constant + largest * terms):
            return
        kappa = own + own[i] - 2.0 * column(i) / (a * a[i])
        kappa = np.maximum(kappa, 1e-12 * (own + own[i]) + TINY)  # equal samples have none
        j = int(np.argmax(np.where(promise > 0.0, promise * promise / kappa, -1.0)))
        t = promise[j] / kappa[j]
        for k, direction in ((i, a[i]), (j, -a[j])):  # as far as both stay in the box
            t = min(t, ((upper[k] if direction > 0.0 else lower[k]) - x[k]) * direction)
        before, is_still = (x[i], x[j]), True
        for k, old, step in zip((i, j), before, (t / a[i], -t / a[j]), strict=True):
            x[k] = min(max(old + step, lower[k]), upper[k])
            is_still = is_still and x[k] == old
            g += (x[k] - old) * column(k)
            terms += norms[k] * (abs(x[k]) - abs(old))
            up, down = x[k] < upper[k], x[k] > lower[k]
            rises[k], falls[k] = (up, down) if a[k] > 0.0 else (down, up)
        if is_still:
            return  # the step is below rounding
        yield x


def coordinates(program: DualProgram, x: Vector, settings: ClassicalSettings) -> Iterator[Vector]:
    """Minimise over one variable after the other, and yield x after each.

    The same array is yielded every time, and changed in place. The iterates end after a pass over
    all variables that changes none of them.

    Raises
    ------
    UnsupportedProgramError
        The program has an equality row.
    """
    if program.has_row:
        raise UnsupportedProgramError(
            "'classical:coordinate-descent' moves one variable at a time, and the equality row of "
            "this program allows none to move alone: use 'classical:smo', or a penalised "
            "intercept (intercept='penalized')."
        )
    x, draw = x.copy(), np.random.default_rng(settings.seed)
    gradient, update = _gradient_of(program, x)
    curvature, lower, upper = (
        v.tolist() for v in (program.diagonal, program.lower, program.upper)
    )  # numbers of Python are faster one by one
    while True:
        moved = False
        for i in draw.permutation(len(x)).tolist():
            old = float(x[i])
            g = gradient(i, old)
            if curvature[i] > 0.0:
                new = min(max(old - g / curvature[i], lower[i]), upper[i])
            else:  # the objective is linear in x_i
                new = old if g == 0.0 else lower[i] if g > 0.0 else upper[i]
            if new != old:
                moved = True
                x[i] = new
                update(i, new - old)
            yield x
        if not moved:
            return


def _gradient_of(
    program: DualProgram, x: Vector
) -> tuple[Callable[[int, float], float], Callable[[int, float], None]]:
    """Two functions: the entry ``g_i`` of the gradient at ``x_i``, and its update for a step."""
    P: Any = program.P
    if not isinstance(P, LowRankQuadratic):
        whole, column = program.gradient(x), program.columns()

        def add(i: int, step: float) -> None:
            np.add(whole, step * column(i), out=whole)

        return lambda i, _: float(whole[i]), add
    columns: Any = [slice(None)] * P.size
    values: Any = P.factor
    if is_sparse(P.factor):
        F = sp.csr_array(P.factor)
        columns, values = (np.split(part, F.indptr[1:-1]) for part in (F.indices, F.data))
    w, d, q = P.weights(x), P.diag.tolist(), program.q.tolist()

    def update(i: int, step: float) -> None:
        w[columns[i]] += step * values[i]

    return lambda i, x_i: float(values[i] @ w[columns[i]]) + d[i] * x_i + q[i], update
