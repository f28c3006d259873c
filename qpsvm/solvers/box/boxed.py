"""Quadratic programs whose only constraints are a box and a few rows, and the way back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.numerics.arrays import Vector
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution
from qpsvm.qp.transforms import Inverse, drop_infinite_rows
from qpsvm.solvers.box.curvature import FactorCurvature, HessianCurvature
from qpsvm.solvers.box.program import BoxProgram
from qpsvm.solvers.box.settings import BOX
from qpsvm.solvers.slack_rows import SlackRows
from qpsvm.solvers.work_budget import Point


@dataclass(frozen=True, eq=False)
class Boxed:
    """A quadratic program as a box program with slack variables, and the map back.

    Attributes
    ----------
    box : BoxProgram
        In ``(x, s)``: one slack variable for every finite inequality.
    rows : SlackRows
    restore : Inverse
        The way back from the program without infinite rows.
    """

    box: BoxProgram
    rows: SlackRows
    restore: Inverse

    @staticmethod
    def suits(program: QuadraticProgram) -> bool:
        """Return whether the rows are few and the Hessian is not a sparse matrix."""
        rows = program.n_equalities + program.n_inequalities
        return rows <= BOX.max_rows and not program.P.prefers_sparse

    @classmethod
    def of(cls, program: QuadraticProgram, memory_limit: int) -> Boxed:
        """Add slack variables for inequalities and scale rows to a largest entry of 1."""
        p, restore = drop_infinite_rows(program)
        rows, P = SlackRows.of(p.A, p.b, p.G, p.h), p.P
        diagonal = rows.extended(P.diagonal())
        curvature = HessianCurvature(P, rows.n_slack)
        if (
            isinstance(P, LowRankQuadratic)
            and P.rank <= BOX.max_columns
            and 16 * P.size * P.rank <= memory_limit
        ):
            curvature = FactorCurvature(P, rows.n_slack)
        box = BoxProgram(
            curvature,
            rows.extended(p.q),
            rows.matrix,
            rows.right,
            rows.extended(p.lb),
            rows.extended(p.ub, np.inf),
            diagonal,
            float(np.max(diagonal, initial=0.0)) or 1.0,
        )
        return cls(box, rows, restore)

    def start(self, solution: QPSolution) -> Vector:
        """The point ``(x, s)`` of the box program with ``s = h - Gx``, clipped to the box."""
        x = np.asarray(solution.x)
        return self.box.clip(self.rows.extended(x, self.rows.slack(x)))

    def solution(self, point: Point, like: QPSolution) -> QPSolution:
        """The QPSolution of a point; multipliers of bounds are the remaining gradient."""
        box = self.box
        own = slice(box.size - self.rows.n_slack)
        r, x = box.gradient(point.Px, point.y)[own], point.x[own]
        y, z = self.rows.multipliers(point.y)
        found = like.replace(
            x=x,
            z=z,
            y=y,
            z_lower=np.where(x <= box.lower[own], np.maximum(r, 0.0), 0.0),
            z_upper=np.where(x >= box.upper[own], np.maximum(-r, 0.0), 0.0),
        )
        return self.restore(found)
