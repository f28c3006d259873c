"""Translation of quadratic programs to the engine's structure, and of solutions back.

There are two ways: as it is, a program over a box with few other rows; and by its dual, a program
with many rows and a diagonal Hessian (``dualise``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from qpsvm.exceptions import UnsupportedProgramError
from qpsvm.numerics.arguments import an
from qpsvm.numerics.interrupts import interruptible
from qpsvm.numerics.precision import EPS
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.qp.program import QuadraticProgram, row_gradient
from qpsvm.qp.quadratic import Quadratic
from qpsvm.qp.solution import QPSolution
from qpsvm.solvers.interior_point.dualise import Dualised
from qpsvm.solvers.interior_point.presolve import presolve
from qpsvm.solvers.interior_point.program import FactorProgram
from qpsvm.solvers.interior_point.settings import DEFAULTS, InteriorPointSettings
from qpsvm.solvers.slack_rows import SlackRows


@dataclass(frozen=True, eq=False)
class Direct:
    """A program in the structure ``P = F F' + diag(d)``, with the map of solutions back.

    Attributes
    ----------
    program : QuadraticProgram
    """

    program: QuadraticProgram

    @cached_property
    def _rows(self) -> SlackRows:
        p = self.program
        return SlackRows.of(p.A, p.b, p.G, p.h)

    def structured(self, settings: InteriorPointSettings = DEFAULTS) -> FactorProgram:
        """The same program, its Hessian as ``F F' + diag(d)``.

        Raises
        ------
        UnsupportedProgramError
            The Hessian is none, and too large to make it one.
        """
        p, P = self.program, _factored(self.program.P, settings.largest_factored_hessian)
        return FactorProgram.of(P, p.q, self._rows, p.lb, p.ub, np.zeros(P.rank), settings=settings)

    def __call__(self, solution: QPSolution) -> QPSolution:
        """The solution of the program; multipliers of bounds are the remaining gradient."""
        p, x = self.program, np.asarray(solution.x)[: self.program.n_variables]
        y, z = self._rows.multipliers(np.asarray(solution.y))
        r = p.P.matvec(x) + p.q + row_gradient(p, z, y)
        lower = np.where(np.isfinite(p.lb), np.maximum(r, 0.0), 0.0)
        upper = np.where(np.isfinite(p.ub), np.maximum(-r, 0.0), 0.0)
        return solution.replace(x=x, y=y, z=z, z_lower=lower, z_upper=upper)


def translation(
    program: QuadraticProgram, settings: InteriorPointSettings = DEFAULTS
) -> Direct | Dualised:
    """Choose the direct or the dual translation of a program without infinite rows.

    Raises
    ------
    UnsupportedProgramError
        Neither does.
    """
    few_rows = program.n_equalities + program.n_inequalities <= settings.few_rows
    if few_rows and isinstance(program.P, LowRankQuadratic):
        return Direct(program)
    try:
        return Dualised.of(program)  # a primal: its free variables are none in the dual
    except UnsupportedProgramError:
        if not few_rows:
            raise
    return Direct(program)


def structured(
    program: QuadraticProgram, settings: InteriorPointSettings = DEFAULTS
) -> tuple[FactorProgram, Callable[[QPSolution], QPSolution]]:
    """Translate a program without infinite rows and presolve it.

    Raises
    ------
    UnsupportedProgramError
        It has not the engine's structure.
    """
    way = translation(program, settings)
    presolved, restore = presolve(way.structured(settings))
    return presolved, lambda solution: way(restore(solution))


def structure_of(program: QuadraticProgram) -> str:
    """Describe the structure of P that the engine exploits; empty if there is none."""
    P, most = program.P, DEFAULTS.few_rows
    few_rows = program.n_equalities + program.n_inequalities <= most
    if program.is_linear:
        return ""
    if few_rows and isinstance(P, LowRankQuadratic):
        return f"P = F F' + diag(d) with {P.rank} columns in F, and 'ipm' factors no larger matrix"
    if not few_rows and P.prefers_sparse:
        try:
            columns = Dualised.of(program).columns
        except UnsupportedProgramError:
            return ""
        if len(columns.rest) <= most:
            return "P is diagonal, and 'ipm' solves the dual, which is the smaller program"
    return ""


def _factored(P: Quadratic, largest: int) -> LowRankQuadratic:
    """``P = F F' + diag(d)`` as stored, or by the eigenvectors of a small P."""
    if isinstance(P, LowRankQuadratic):
        return P
    if P.size > largest:
        raise UnsupportedProgramError(
            "Backend 'ipm' takes programs with P = F F' + diag(d), the duals of linear machines, "
            f"and others up to {largest} variables; this P is {an(P)} of "
            f"{P.size}. Use the dual form and a linear kernel, or another backend."
        )
    values, vectors = interruptible(partial(np.linalg.eigh, P.to_dense()))
    used = values > EPS * P.size * max(float(np.max(np.abs(values))), 0.0)
    used[-1] = True  # of a linear program: a column of zeros is simpler than none
    return LowRankQuadratic(vectors[:, used] * np.sqrt(np.maximum(values[used], 0.0)))
