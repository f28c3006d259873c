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

from qpsvm.exceptions import UnsupportedProgramError
from qpsvm.numerics.arrays import Vector, as_dense
from qpsvm.qp.program import QuadraticProgram

LARGEST = 1500
"""Variables up to which SLSQP is of use: its iterations take n^3 operations."""


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


class _Enough(Exception):  # noqa: N818 - a signal, not an error
    """Raised inside SciPy to stop SLSQP."""


def minimised(
    program: QuadraticProgram,
    x: Vector,
    visit: Callable[[Vector], object],
    settings: dict[str, object],
) -> Any:
    """Run SLSQP from x; return SciPy's result, or None where ``visit`` ended it.

    Parameters
    ----------
    program : QuadraticProgram
    x : array of shape (n,)
        Within the bounds.
    visit : callable
        Called with each iterate; it ends the search by returning True.
    settings : dict
        SciPy's options, see ``options``.
    """
    from scipy.optimize import Bounds, minimize

    def value_and_gradient(x: Vector) -> tuple[float, Vector]:
        Px = program.P.matvec(x)
        return float(x @ (0.5 * Px + program.q)), Px + program.q

    def watch(x: Vector) -> None:
        if visit(x) is True:
            raise _Enough

    rows: list[Mapping[str, object]] = []
    if program.n_equalities:
        A = as_dense(program.A)
        rows.append({"type": "eq", "fun": lambda x: A @ x - program.b, "jac": lambda _: A})
    if program.n_inequalities:
        G = -as_dense(program.G)
        rows.append({"type": "ineq", "fun": lambda x: program.h + G @ x, "jac": lambda _: G})
    try:
        return minimize(
            value_and_gradient,
            x,
            jac=True,
            method="SLSQP",
            bounds=Bounds(program.lb, program.ub),
            constraints=rows,
            callback=watch,
            options=settings,
        )
    except _Enough:
        return None


def visit_iterates(program: QuadraticProgram, x: Vector, visit: Callable[[Vector], bool]) -> None:
    """Run SLSQP until ``visit`` returns True or SLSQP ends.

    Raises
    ------
    UnsupportedProgramError
        The program is too large.
    """
    n = len(x)
    if n > LARGEST:
        raise UnsupportedProgramError(
            f"SLSQP takes at most {LARGEST} variables, the program has {n}; use 'classical:smo' or "
            "'cvxopt'."
        )
    result = minimised(program, x, visit, options(n, 10 * n + 1000, {}))
    if result is not None:
        visit(result.x)  # where SLSQP ends is not always the last point of its callback
