"""Translation of quadratic programs to the engine's structure, and of solutions back.

There are two ways: as it is, a program over a box with few other rows; and by its dual, a program
with many rows and a diagonal Hessian (``dualise``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.exceptions import UnsupportedProgramError
from qpsvm.numerics.arrays import Vector, as_dense
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.quadratic import Quadratic
from qpsvm.qp.solution import QPSolution, Status
from qpsvm.solvers.interior_point.dualise import Dualised
from qpsvm.solvers.interior_point.settings import DEFAULTS, InteriorPointSettings
from qpsvm.solvers.interior_point.structured import StructuredProgram

ROUNDING = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Direct:
    """A program that has the engine's structure.

    Attributes
    ----------
    program : QuadraticProgram
    settings : InteriorPointSettings
    """

    program: QuadraticProgram
    settings: InteriorPointSettings

    def structured(self) -> StructuredProgram:
        """The same program, its Hessian as ``F F' + diag(d)``.

        Raises
        ------
        UnsupportedProgramError
            The Hessian is none, and too large to make it one.
        """
        program, P = self.program, _factored(self.program.P, self.settings.largest_factored_hessian)
        return StructuredProgram(
            P,
            program.q,
            A=as_dense(program.A),
            b=program.b,
            G=as_dense(program.G),
            h=program.h,
            lower=program.lb,
            upper=program.ub,
            offset=np.zeros(P.rank),
        )

    def solution(self, x: Vector, y: Vector, z: Vector, w: Vector) -> QPSolution:
        """The QPSolution of a point; multipliers of bounds are the remaining gradient."""
        del w
        program = self.program
        r = program.P.matvec(x) + program.q + y @ as_dense(program.A) + z @ as_dense(program.G)
        lower = np.where(np.isfinite(program.lb), np.maximum(r, 0.0), 0.0)
        upper = np.where(np.isfinite(program.ub), np.maximum(-r, 0.0), 0.0)
        return QPSolution(Status.UNKNOWN, x=x, y=y, z=z, z_lower=lower, z_upper=upper)


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
        return Direct(program, settings)
    try:
        return Dualised.of(program)  # a primal: its free variables are none in the dual
    except UnsupportedProgramError:
        if not few_rows:
            raise
    return Direct(program, settings)


def structure_of(program: QuadraticProgram) -> str:
    """The structure that the engine exploits, in words; empty where there is none."""
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
            f"and others up to {largest} variables; this P is a {type(P).__name__} of "
            f"{P.size}. Use the dual form and a linear kernel, or another backend."
        )
    values, vectors = np.linalg.eigh(P.to_dense())
    used = values > ROUNDING * P.size * max(float(np.max(np.abs(values))), 0.0)
    used[-1] = True  # of a linear program: a column of zeros is simpler than none
    return LowRankQuadratic(vectors[:, used] * np.sqrt(np.maximum(values[used], 0.0)))
