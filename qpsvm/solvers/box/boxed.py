"""Quadratic programs whose only constraints are a box and a few rows, and the way back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.numerics.arrays import Index, Vector, as_dense
from qpsvm.numerics.rows import take_rows
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution
from qpsvm.solvers.box.curvature import FactorCurvature, HessianCurvature
from qpsvm.solvers.box.program import FEW_COLUMNS, MAX_ROWS, BoxProgram
from qpsvm.solvers.point import Point


@dataclass(frozen=True, eq=False)
class Boxed:
    """A quadratic program as a box program with slack variables, and the map back.

    Attributes
    ----------
    box : BoxProgram
        In ``(x, s)``: one slack variable for every finite inequality.
    inequalities : array of int
        The rows of G that are not infinite.
    scales : array of shape (p,)
        What the rows ``[A; G]`` were divided by.
    n_inequalities : int
        Rows of G.
    """

    box: BoxProgram
    inequalities: Index
    scales: Vector
    n_inequalities: int

    @staticmethod
    def suits(program: QuadraticProgram) -> bool:
        """Return whether the rows are few and the Hessian is not a sparse matrix."""
        rows = program.n_equalities + program.n_inequalities
        return rows <= MAX_ROWS and not program.P.prefers_sparse

    @classmethod
    def of(cls, program: QuadraticProgram, memory_limit: int) -> Boxed:
        """Add slack variables for inequalities and scale rows to a largest entry of 1."""
        P, p = program.P, program.n_equalities
        inequalities = np.flatnonzero(np.isfinite(program.h))
        m = len(inequalities)
        own = np.vstack([as_dense(program.A), as_dense(take_rows(program.G, inequalities))])
        scales = np.max(np.abs(own), axis=1, initial=0.0)
        scales[scales == 0.0] = 1.0
        slack = np.vstack([np.zeros((p, m)), np.eye(m)])
        diagonal = np.concatenate([P.diagonal(), np.zeros(m)])
        largest = float(np.max(diagonal, initial=0.0))
        curvature = HessianCurvature(P, m)
        if (
            isinstance(P, LowRankQuadratic)
            and P.rank <= FEW_COLUMNS
            and 16 * P.size * P.rank <= memory_limit
        ):
            curvature = FactorCurvature(P, m)
        return cls(
            BoxProgram(
                curvature,
                np.concatenate([program.q, np.zeros(m)]),
                np.hstack([own / scales[:, None], slack]),
                np.concatenate([program.b, program.h[inequalities]]) / scales,
                np.concatenate([program.lb, np.zeros(m)]),
                np.concatenate([program.ub, np.full(m, np.inf)]),
                diagonal,
                largest if largest > 0.0 else 1.0,
            ),
            inequalities,
            scales,
            program.n_inequalities,
        )

    def start(self, solution: QPSolution) -> Vector:
        """The point ``(x, s)`` of the box program with ``s = h - Gx``, clipped to the box."""
        box, n = self.box, len(self.box.q) - len(self.inequalities)
        x = np.asarray(solution.x)
        own = slice(len(box.b) - len(self.inequalities), None)
        room = box.b[own] - box.A[own, :n] @ x
        return box.clip(np.concatenate([x, room]))

    def solution(self, point: Point, like: QPSolution) -> QPSolution:
        """The QPSolution of a point; multipliers of bounds are the remaining gradient."""
        box, rows = self.box, self.inequalities
        n, p = len(box.q) - len(rows), len(box.b) - len(rows)
        r = box.gradient(point.Px, point.y)[:n]
        x, lower, upper = point.x[:n], box.lower[:n], box.upper[:n]
        y = point.y / self.scales
        z = np.zeros(self.n_inequalities)
        z[rows] = np.maximum(y[p:], 0.0)
        return like.replace(
            x=x,
            z=z,
            y=y[:p],
            z_lower=np.where(x <= lower, np.maximum(r, 0.0), 0.0),
            z_upper=np.where(x >= upper, np.maximum(-r, 0.0), 0.0),
        )
