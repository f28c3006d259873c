"""Dual programs of the textbooks: a box and at most one equality row.

    minimise f(x) = 1/2 x'Px + q'x   subject to   a'x = b,   lower <= x <= upper

For a soft margin x is alpha, P is ``H = ss' o K``, q is -1, a are the labels s, and b is 0.
``g = Px + q`` is the gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from qpsvm.exceptions import UnsupportedProgramError
from qpsvm.numerics.arrays import Vector, as_dense
from qpsvm.numerics.precision import TINY
from qpsvm.qp.box_gap import best_multiplier
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.quadratic import DenseQuadratic
from qpsvm.qp.sample_gram import KEPT_BYTES
from qpsvm.qp.solution import QPSolution, Status
from qpsvm.solvers.box.curvature import HessianCurvature
from qpsvm.solvers.box.program import BoxProgram, row_multipliers
from qpsvm.solvers.budget import Point


@dataclass(frozen=True)
class ClassicalSettings:
    """Settings of the textbooks' dual methods; none changes what a certificate proves.

    Attributes
    ----------
    rate : float
        Step size eta of dual ascent; 0 for ``1 / L``, with L an estimate of the largest eigenvalue
        of P.
    rho : float
        Penalty of ADMM; 0 for the mean diagonal entry of P.
    seed : int
        Of the order in which coordinate descent visits the variables.
    first_check : int
        The step after which the gap is measured for the first time.
    check_growth : float
        Ratio of the steps of two further measurements: a measurement takes longer than a step.
    """

    rate: float = 0.0
    rho: float = 0.0
    seed: int = 0
    first_check: int = 1
    check_growth: float = 1.25


DEFAULTS = ClassicalSettings()


class DualProgram:
    """``min 1/2 x'Px + q'x`` subject to ``a'x = b`` and ``lower <= x <= upper``.

    Parameters
    ----------
    program : QuadraticProgram
        Its only rows are one equality, or none.
    method : str
        Name of the method, for errors.

    Attributes
    ----------
    P : Quadratic
    q, lower, upper, diagonal : arrays of shape (n,)
        The diagonal is that of P.
    a : array of shape (n,)
        The equality row; zeros without one.
    b : float
    box : BoxProgram
        All of this, for projections and gaps; its unit is 1.

    Raises
    ------
    UnsupportedProgramError
        Other rows.
    """

    def __init__(self, program: QuadraticProgram, method: str) -> None:
        if program.n_inequalities or program.n_equalities > 1:
            raise UnsupportedProgramError(
                f"{method!r} takes bounds and at most one equality row; this program has "
                f"{program.n_equalities} equalities and {program.n_inequalities} inequalities "
                f"over {program.n_variables} variables. The dual of a soft margin is of that kind "
                "(form='dual'); for others use 'cvxopt' or 'osqp'."
            )
        P = program.P
        if isinstance(P, KernelQuadratic) and 8 * P.size**2 <= KEPT_BYTES:
            P = DenseQuadratic(P.to_dense())  # evaluated once, and not with every product
        self.program, self.P, self.q = program, P, program.q
        self.lower, self.upper, self.diagonal = program.lb, program.ub, P.diagonal()
        self.has_row = program.n_equalities == 1
        A, b = as_dense(program.A), program.b
        self.a = A[0] if self.has_row else np.zeros(P.size)
        self.b = float(b[0]) if self.has_row else 0.0
        box = self.lower, self.upper, self.diagonal
        self.box = BoxProgram(HessianCurvature(P, 0), self.q, A, b, *box, unit=1.0)

    def gradient(self, x: Vector) -> Vector:
        """``g = P x + q``."""
        return self.P.matvec(x) + self.q

    def clip(self, x: Vector) -> Vector:
        """The nearest point of the box."""
        return np.minimum(np.maximum(x, self.lower), self.upper)

    def columns(self) -> Callable[[int], Vector]:
        """Columns of P, each computed once and kept as long as there is room for it."""
        P, rows = self.P, np.arange(self.P.size)

        @lru_cache(max(2, KEPT_BYTES // (8 * P.size)))
        def column(i: int) -> Vector:
            if not isinstance(P, LowRankQuadratic):
                return np.ascontiguousarray(P.block(rows, np.array([i]))[:, 0])
            found = np.asarray(P.factor @ as_dense(P.factor[[i]])[0])
            found[i] = self.diagonal[i]
            return found

        return column

    # --- the projection --------------------------------------------------------------------------

    def project(self, v: Vector) -> Vector:
        """The nearest point that satisfies bounds and row."""
        none = np.zeros(len(v))
        # |x - v|^2 / 2 has the gradient zero at v, and the Hessian I
        y = row_multipliers(replace(self.box, q=none), v, none, np.zeros(len(self.box.b)))
        return self.clip(v - y @ self.box.A)

    # --- the gap ---------------------------------------------------------------------------------

    def multiplier(self, x: Vector, g: Vector) -> float:
        """The multiplier y of the row with the smallest duality gap; the intercept of a machine.

        Infinite bounds count as ``1 + |x|`` away.
        """
        far = 1.0 + np.abs(x)
        lower = np.where(np.isinf(self.lower), x - far, self.lower)
        upper = np.where(np.isinf(self.upper), x + far, self.upper)
        return best_multiplier(self.a, self.b, g, lower, upper)

    def relative_gap(self, x: Vector, g: Vector, y: float) -> float:
        """The duality gap, relative to the objective.

        Infinite where x is not feasible, and where the objective overflows. A point far out must
        not make its own gap small: no other scale counts.
        """
        gap = self.box.gap(Point(x, g - self.q, np.full(len(self.box.b), y)))
        value = 0.5 * float(x @ (g + self.q))
        relative = gap / max(abs(value), TINY)
        return relative if np.isfinite(value) and np.isfinite(relative) else np.inf

    def solution(self, x: Vector) -> QPSolution:
        """The point as a QPSolution, with the best multipliers for it and status UNKNOWN."""
        g = self.gradient(x)
        y = self.multiplier(x, g)
        r = g + y * self.a
        return QPSolution(
            Status.UNKNOWN,
            x=x,
            z=np.zeros(0),
            y=np.full(int(self.has_row), y),
            z_lower=np.where(np.isinf(self.lower), 0.0, np.maximum(r, 0.0)),
            z_upper=np.where(np.isinf(self.upper), 0.0, np.maximum(-r, 0.0)),
        )
