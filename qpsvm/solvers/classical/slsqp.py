"""Sequential least squares (SLSQP): a program for a nonlinear solver, with exact derivatives.

    minimise f(x) = 1/2 x'Px + q'x,     gradient  P x + q
    subject to  A x - b = 0,            Jacobian  A
                h - G x >= 0,           Jacobian -G,        lb <= x <= ub

SLSQP is told the derivatives, for without them it would take n differences of f per iteration. It
still learns P only by quasi-Newton updates, and solves one dense least-squares problem per
iteration.

Source: Kraft, "A software package for sequential quadratic programming" (1988); here by
``scipy.optimize.minimize``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from qpsvm.numerics.arrays import Dense, Vector, as_dense
from qpsvm.qp.program import QuadraticProgram

Visit = Callable[[Vector], object]
"""Called with each iterate; it ends the search by raising an exception of its own."""


def options(n: int, max_iterations: int | None, own: Mapping[str, object]) -> dict[str, object]:
    """The settings of SLSQP for n variables; ``own`` wins."""
    return {
        # not a KKT tolerance but the change of the objective at which SLSQP gives up; anything
        # above roundoff stops it far from the optimum
        "ftol": 1e-16,
        "maxiter": max_iterations or max(1000, 10 * n),
        "disp": False,
        **own,
    }


def minimised(
    program: QuadraticProgram, x: Vector, visit: Visit, settings: dict[str, object]
) -> Any:
    """Run SLSQP from x; return SciPy's result.

    Parameters
    ----------
    program : QuadraticProgram
    x : array of shape (n,)
        Within the bounds.
    visit : callable
    settings : dict
        SciPy's options, see ``options``.
    """
    from scipy.optimize import Bounds, minimize

    objective = Objective(program)
    return minimize(
        objective.value,
        x,
        jac=objective.gradient,
        method="SLSQP",
        bounds=Bounds(program.lb, program.ub),
        constraints=constraints(program),
        callback=visit,
        options=settings,
    )


class Objective:
    """``f`` and its gradient, with ``P x`` computed once per point."""

    def __init__(self, program: QuadraticProgram) -> None:
        self.program = program
        self._at: Vector | None = None
        self._product = program.q

    def _Px(self, x: Vector) -> Vector:
        if self._at is None or not np.array_equal(x, self._at):
            self._at, self._product = x.copy(), self.program.P.matvec(x)
        return self._product

    def value(self, x: Vector) -> float:
        """``1/2 x'Px + q'x``."""
        return float(x @ (0.5 * self._Px(x) + self.program.q))

    def gradient(self, x: Vector) -> Vector:
        """``P x + q``."""
        return self._Px(x) + self.program.q


def constraints(
    program: QuadraticProgram,
) -> list[Mapping[str, str | Callable[[Vector], Dense]]]:
    """Return the rows of a quadratic program as SciPy's constraint functions for SLSQP."""
    rows: list[Mapping[str, str | Callable[[Vector], Dense]]] = []
    if program.n_equalities:
        A = as_dense(program.A)
        rows.append({"type": "eq", "fun": lambda x: A @ x - program.b, "jac": lambda _: A})
    if program.n_inequalities:
        G = as_dense(program.G)
        minus_G = -G
        rows.append({"type": "ineq", "fun": lambda x: program.h - G @ x, "jac": lambda _: minus_G})
    return rows
