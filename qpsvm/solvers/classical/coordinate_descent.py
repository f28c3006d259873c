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

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from qpsvm.exceptions import UnsupportedProgramError
from qpsvm.numerics.arrays import Vector, is_sparse
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.solvers.classical.program import Columns, DualProgram
from qpsvm.solvers.classical.settings import ClassicalSettings


def coordinates(program: DualProgram, x: Vector, settings: ClassicalSettings) -> Iterator[Vector]:
    """Minimise over one variable after the other, and yield x after each.

    The same array is yielded every time, and changed in place. The iterates end after a pass over
    all variables that changes none of them.

    Raises
    ------
    UnsupportedProgramError
        The program has an equality row.
    """
    if program.a is not None:
        raise UnsupportedProgramError(
            "'classical:coordinate-descent' moves one variable at a time, and the equality row of "
            "this program allows none to move alone: use 'classical:smo', or a penalised "
            "intercept (intercept='penalized')."
        )
    x, draw = x.copy(), np.random.default_rng(settings.seed)
    slope = _slope(program, x, settings)
    curvature, lower, upper = (
        v.tolist() for v in (program.diagonal, program.lower, program.upper)
    )  # numbers of Python are faster one by one
    while True:
        moved = False
        for i in draw.permutation(program.size).tolist():
            g, old = slope.at(i, x[i]), float(x[i])
            if curvature[i] > 0.0:
                new = min(max(old - g / curvature[i], lower[i]), upper[i])
            else:  # the objective is linear in x_i
                new = old if g == 0.0 else lower[i] if g > 0.0 else upper[i]
            if new != old:
                moved = True
                x[i] = new
                slope.move(i, new - old)
            yield x
        if not moved:
            return


# --- the gradient ----------------------------------------------------------------------------


class _Slope(ABC):
    """One entry of the gradient at a time, and its change with one entry of x."""

    @abstractmethod
    def at(self, i: int, x_i: float) -> float:
        """``g_i``."""

    @abstractmethod
    def move(self, i: int, step: float) -> None:
        """Update the gradient for ``x_i <- x_i + step``."""


def _slope(program: DualProgram, x: Vector, settings: ClassicalSettings) -> _Slope:
    P = program.P
    if not isinstance(P, LowRankQuadratic):
        return _Kept(program, x, settings)
    return _SparseRows(P, program.q, x) if is_sparse(P.factor) else _DenseRows(P, program.q, x)


class _DenseRows(_Slope):
    def __init__(self, P: LowRankQuadratic, q: Vector, x: Vector) -> None:
        self.rows = list(np.asarray(P.factor))
        self.w = P.weights(x)
        self.d, self.q = P.diag.tolist(), q.tolist()

    def at(self, i: int, x_i: float) -> float:
        return float(self.rows[i] @ self.w + self.d[i] * x_i + self.q[i])

    def move(self, i: int, step: float) -> None:
        self.w += step * self.rows[i]


class _SparseRows(_Slope):
    def __init__(self, P: LowRankQuadratic, q: Vector, x: Vector) -> None:
        F = sp.csr_array(P.factor)
        cuts = F.indptr[1:-1]
        self.columns, self.values = np.split(F.indices, cuts), np.split(F.data, cuts)
        self.w = P.weights(x)
        self.d, self.q = P.diag.tolist(), q.tolist()

    def at(self, i: int, x_i: float) -> float:
        product = self.values[i] @ self.w[self.columns[i]]
        return float(product + self.d[i] * x_i + self.q[i])

    def move(self, i: int, step: float) -> None:
        self.w[self.columns[i]] += step * self.values[i]


class _Kept(_Slope):
    def __init__(self, program: DualProgram, x: Vector, settings: ClassicalSettings) -> None:
        self.columns = Columns(program.P, settings.kept_bytes)
        self.g = program.gradient(x)

    def at(self, i: int, x_i: float) -> float:
        del x_i  # it is in the gradient
        return float(self.g[i])

    def move(self, i: int, step: float) -> None:
        self.g += step * self.columns[i]
