"""From a quadratic program to the engine's, and back with every multiplier."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.backends.ipm.factor import Factor
from qpsvm.backends.ipm.program import FactorProgram
from qpsvm.exceptions import UnsupportedProgramError
from qpsvm.qp._arrays import Index, Vector, as_dense
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.quadratic import Quadratic
from qpsvm.qp.solution import QPSolution, Status

SMALL = 1000
"""A P of so many variables is factored in less than a second."""

ROUNDING = float(np.finfo(np.float64).eps)

MAX_ROWS = 32
"""So many rows of G and A are few."""


@dataclass(frozen=True, eq=False)
class Translation:
    """A program as the engine takes it.

    Attributes
    ----------
    program : QuadraticProgram
        Without infinite rows.
    reduced : FactorProgram
        In ``(x, slack)``, without the variables that their bounds fix.
    kept : array of int
        The variables of ``(x, slack)`` that are left.
    fixed : array
        ``(x, slack)`` with the values of those that are not.
    scales : array
        What the rows of A and G were divided by.
    """

    program: QuadraticProgram
    reduced: FactorProgram
    kept: Index
    fixed: Vector
    scales: Vector

    @classmethod
    def of(cls, program: QuadraticProgram) -> Translation:
        """Translate.

        Raises
        ------
        UnsupportedProgramError
            P is no ``F F' + diag``, or there are many rows.
        """
        p, m = program.n_equalities, program.n_inequalities
        if p + m > MAX_ROWS:
            raise UnsupportedProgramError(
                f"Backend 'ipm' takes a box and at most {MAX_ROWS} other rows, the program has "
                f"{p + m}; use 'cvxopt', or the dual form."
            )
        P = _factored(program.P)
        rows = np.vstack([as_dense(program.A), as_dense(program.G)])
        scales = np.max(np.abs(rows), axis=1, initial=0.0)
        scales[scales == 0.0] = 1.0
        slack = np.vstack([np.zeros((p, m)), np.eye(m)])
        A = np.hstack([rows / scales[:, None], slack]) if m else rows / scales[:, None]
        b = np.concatenate([program.b, program.h]) / scales
        q = _with_slack(program.q, m, 0.0)
        lower, upper = _with_slack(program.lb, m, 0.0), _with_slack(program.ub, m, np.inf)
        selection = P.selection
        F = Factor(P.samples, selection.signs, selection.index, m)
        d = _with_slack(P.diag, m, 0.0)
        free = upper > lower
        fixed = np.where(free, 0.0, lower)
        offset = np.zeros(F.rank)
        kept = np.flatnonzero(free)
        if len(kept) < len(fixed):
            offset, b = F.transposed(fixed), b - A @ fixed
            F, A = F.restricted(kept), A[:, kept]
            d, q, lower, upper = d[kept], q[kept], lower[kept], upper[kept]
        reduced = FactorProgram(F, d, q, A, b, lower, upper, offset)
        return cls(program, reduced, kept, fixed, scales)

    def solution(self, x: Vector, y: Vector) -> QPSolution:
        """The point with every multiplier: at a bound it is what is left of the gradient."""
        program = self.program
        n, p, m = program.n_variables, program.n_equalities, program.n_inequalities
        whole = self.fixed.copy()
        whole[self.kept] = np.clip(x, self.reduced.lower, self.reduced.upper)
        point, multipliers = whole[:n], y / self.scales
        z = np.maximum(multipliers[p:], 0.0)
        r = program.P.matvec(point) + program.q
        r += np.concatenate([multipliers[:p], z]) @ np.vstack(
            [as_dense(program.A), as_dense(program.G)]
        )
        lower = np.where(np.isfinite(program.lb), np.maximum(r, 0.0), 0.0)
        upper = np.where(np.isfinite(program.ub), np.maximum(-r, 0.0), 0.0)
        return QPSolution(
            Status.UNKNOWN, x=point, y=multipliers[:p], z=z, z_lower=lower, z_upper=upper
        )


def _factored(P: Quadratic) -> LowRankQuadratic:
    """``F F' + diag(d)``: as it comes, or of a small P by its eigenvectors."""
    if isinstance(P, LowRankQuadratic):
        return P
    if P.size > SMALL:
        raise UnsupportedProgramError(
            "Backend 'ipm' takes programs with P = F F' + diag(d), the duals of linear machines, "
            f"and others up to {SMALL} variables; this P is a {type(P).__name__} of {P.size}. Use "
            "the dual form and a linear kernel, or another backend."
        )
    values, vectors = np.linalg.eigh(P.to_dense())
    used = values > ROUNDING * P.size * max(float(np.max(np.abs(values))), 0.0)
    used[-1] = True  # of a linear program: a column of zeros is simpler than none
    return LowRankQuadratic(vectors[:, used] * np.sqrt(np.maximum(values[used], 0.0)))


def _with_slack(vector: Vector, m: int, value: float) -> Vector:
    return np.concatenate([vector, np.full(m, value)]) if m else vector
