"""Dual coordinate descent: one variable at a time, for duals without an equality row.

A machine whose intercept is penalised, or that has none, has only a box for alpha. One variable is
then solved for alone (Hsieh et al., equation 9)::

    x_i <- clip(x_i - g_i / P_ii, lower_i, upper_i)

For a linear machine ``P = F F' + D``: with the weights ``w = F'x`` kept up to date, the gradient
``g_i = F_i'w + d_i x_i + q_i`` takes one row of the samples, and so does ``w <- w + F_i dx_i``. The
order of the variables is drawn anew for every pass. For a kernel, the whole gradient is kept.

Source: Hsieh, Chang, Lin, Keerthi and Sundararajan, "A dual coordinate descent method for
large-scale linear SVM", ICML 2008, algorithm 1 and section 3.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from qpsvm.exceptions import UnsupportedProgramError
from qpsvm.numerics.arrays import Vector, is_sparse
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.solvers.classical.program import ClassicalSettings, DualProgram

Gradient: TypeAlias = tuple[Callable[[int, float], float], Callable[[int, float], None]]
"""Two functions: the entry ``g_i`` of the gradient at ``x_i``, and its update for a step of it."""


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
    has_factor = isinstance(program.P, LowRankQuadratic)
    gradient, update = _of_weights(program, x) if has_factor else _kept(program, x, settings)
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


def _of_weights(program: DualProgram, x: Vector) -> Gradient:
    """Compute ``g_i = F_i'w + d_i x_i + q_i`` from the weights ``w = F'x``, which are updated."""
    P: Any = program.P
    if is_sparse(P.factor):
        F = sp.csr_array(P.factor)
        columns: Any = np.split(F.indices, F.indptr[1:-1])
        values = np.split(F.data, F.indptr[1:-1])
    else:
        columns, values = [slice(None)] * P.size, list(np.asarray(P.factor))
    w = P.weights(x)
    d: list[float] = P.diag.tolist()
    q: list[float] = program.q.tolist()

    def gradient(i: int, x_i: float) -> float:
        return float(values[i] @ w[columns[i]]) + d[i] * x_i + q[i]

    def update(i: int, step: float) -> None:
        w[columns[i]] += step * values[i]

    return gradient, update


def _kept(program: DualProgram, x: Vector, settings: ClassicalSettings) -> Gradient:
    """Read ``g_i`` from the whole gradient, which is updated by a column of P."""
    g, column = program.gradient(x), program.columns(settings.kept_bytes)

    def update(i: int, step: float) -> None:
        np.add(g, step * column(i), out=g)

    return lambda i, _: float(g[i]), update
