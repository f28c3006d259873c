"""Dualisation of programs with many rows and a diagonal Hessian.

The primal of a linear machine is

    minimise 1/2 x'diag(p)x + q'x   subject to   M x <= r (or = r),   l <= x <= u

with weights, whose curvature is above zero, and slack variables, each in a single row. The minimum
over x of the Lagrangian ``1/2 x'diag(p)x + q'x + a'(Mx - r)`` falls apart into columns::

    p > 0, in several rows    -1/2 (q + M_j'a)^2 / p     a column of F
    p > 0, in row i alone     -1/2 (q + g a_i)^2 / p     an entry of diag(d)
    p = 0, in row i alone     l (q + g a_i)              and a bound on a_i
    p = 0, in several rows    l (q + M_j'a)              and a row M_j'a >= -q (= -q if x is free)

(``u`` and ``<=`` for a variable that only has an upper bound, 0 for l where there is none.) The
multipliers a solve a program with ``P = F F' + diag(d)``, a box and few rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from qpsvm.exceptions import UnsupportedProgramError
from qpsvm.numerics.arrays import Index, Vector, as_dense
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution
from qpsvm.solvers.interior_point.factor_settings import FACTORS
from qpsvm.solvers.interior_point.program import FactorProgram
from qpsvm.solvers.interior_point.settings import DEFAULTS, InteriorPointSettings
from qpsvm.solvers.slack_rows import SlackRows


@dataclass(frozen=True, eq=False)
class Columns:
    """The variables of a program by kind: weights, slacks with and without curvature, others.

    Attributes
    ----------
    weights, curved, slack, rest : arrays of int
        In the order of the table above.
    """

    weights: Index
    curved: Index
    slack: Index
    rest: Index

    @classmethod
    def of(cls, M: sp.csc_array, p: Vector, lb: Vector, ub: Vector) -> Columns:
        """Sort the columns of a CSC matrix.

        Raises
        ------
        UnsupportedProgramError
            A variable with curvature and bounds, or with two bounds.
        """
        alone, is_curved = np.diff(M.indptr) == 1, p > 0.0
        bounds = np.isfinite(lb).astype(int) + np.isfinite(ub)
        bad = np.flatnonzero(bounds > np.where(is_curved, 0, 1))
        if len(bad):
            raise UnsupportedProgramError(
                f"Backend 'ipm' does not take a primal program in which x[{bad[0]}] has the bounds "
                f"{lb[bad[0]]:.6g} and {ub[bad[0]]:.6g} ({len(bad)} such variables); make the "
                "bounds rows of G, use the dual form, or another backend."
            )
        return cls(
            np.flatnonzero(is_curved & ~alone),
            np.flatnonzero(is_curved & alone),
            np.flatnonzero(~is_curved & alone),
            np.flatnonzero(~is_curved & ~alone),
        )


@dataclass(frozen=True, eq=False)
class Dualised:
    """A program and its dual ``P = F F' + diag(d)``, with the map of solutions back.

    Attributes
    ----------
    program : QuadraticProgram
    M : CSC array of shape (m, n)
        The rows of G and A.
    right : array of shape (m,)
    p : array of shape (n,)
        The diagonal of P.
    columns : Columns
    """

    program: QuadraticProgram
    M: sp.csc_array
    right: Vector
    p: Vector
    columns: Columns

    @classmethod
    def of(cls, program: QuadraticProgram) -> Dualised:
        """Sort the program's columns.

        Raises
        ------
        UnsupportedProgramError
            P is not diagonal, or as ``Columns.of``.
        """
        P = sp.coo_array(program.P.to_sparse())
        if (P.row != P.col).any():
            raise UnsupportedProgramError(
                "Backend 'ipm' takes programs of many rows only with a diagonal P, the primals of "
                "linear machines; use the dual form, or another backend."
            )
        M = sp.csc_array(sp.vstack([sp.csc_array(program.G), sp.csc_array(program.A)]))
        M.eliminate_zeros()
        p = program.P.diagonal()
        columns = Columns.of(M, p, program.lb, program.ub)
        return cls(program, M, np.concatenate([program.h, program.b]), p, columns)

    @property
    def _at(self) -> Vector:
        """The finite bound of every variable without curvature, 0 elsewhere."""
        lb, ub = self.program.lb, self.program.ub
        at = np.where(np.isfinite(lb), lb, np.where(np.isfinite(ub), ub, 0.0))
        return np.where(self.p > 0.0, 0.0, at)

    @cached_property
    def _factor(self) -> LowRankQuadratic:
        """F of the dual program: its weights are those of the program times ``-sqrt(p)``."""
        weights = self.columns.weights
        if not len(weights):
            return LowRankQuadratic(np.zeros((len(self.right), 1)))
        F = sp.csr_array(self.M[:, weights] @ sp.diags_array(1.0 / np.sqrt(self.p[weights])))
        is_dense = F.nnz > FACTORS.dense_share * F.shape[0] * F.shape[1]
        return LowRankQuadratic(F.toarray() if is_dense else F)

    @cached_property
    def _offset(self) -> Vector:
        weights = self.columns.weights
        return self.program.q[weights] / np.sqrt(self.p[weights]) if len(weights) else np.zeros(1)

    @cached_property
    def _rows(self) -> SlackRows:
        """The rows of the dual program, one for every remaining primal variable."""
        signs, q = self._signs, self.program.q[self.columns.rest]
        rows, free = as_dense(self.M[:, self.columns.rest]).T, signs == 0.0
        G, h = -signs[~free, None] * rows[~free], (signs * q)[~free]
        return SlackRows.of(rows[free], -q[free], G, h)

    def structured(self, settings: InteriorPointSettings = DEFAULTS) -> FactorProgram:
        """The dual program, whose variables are the multipliers."""
        program, M, p, c = self.program, self.M, self.p, self.columns
        m, lb, ub = len(self.right), program.lb, program.ub
        at = self._at
        constant = -float(at @ program.q)
        linear = self.right - M @ at
        d = np.zeros(m)
        (i, g), q, curvature = self._entries(c.curved), program.q[c.curved], p[c.curved]
        np.add.at(d, i, g * g / curvature)
        np.add.at(linear, i, q * g / curvature)
        constant += 0.5 * float(np.sum(q * q / curvature))
        lower = np.full(m, -np.inf)
        lower[: program.n_inequalities] = 0.0
        upper = np.full(m, np.inf)
        # the reduced cost q + g a_i of a slack variable is at least 0 at a lower bound, at most 0
        # at an upper one, and 0 without any
        i, g = self._entries(c.slack)
        limit, has_lower = -program.q[c.slack] / g, np.isfinite(lb[c.slack])
        free = ~has_lower & np.isinf(ub[c.slack])
        below, above = free | (has_lower == (g > 0.0)), free | (has_lower == (g < 0.0))
        np.maximum.at(lower, i[below], limit[below])
        np.minimum.at(upper, i[above], limit[above])
        P = self._factor.select(None, None, d)
        return FactorProgram.of(
            P, linear, self._rows, lower, upper, self._offset, constant, settings
        )

    @property
    def _signs(self) -> Vector:
        """Signs of the remaining variables: 1 with a lower bound, -1 with an upper, 0 if free."""
        rest = self.columns.rest
        lb, ub = self.program.lb[rest], self.program.ub[rest]
        return np.isfinite(lb).astype(np.float64) - np.isfinite(ub)

    def _entries(self, columns: Index) -> tuple[Index, Vector]:
        """Row numbers and values of columns that have one entry each."""
        first = self.M.indptr[columns]
        return self.M.indices[first], self.M.data[first]

    def __call__(self, solution: QPSolution) -> QPSolution:
        """The solution of the program from that of its dual."""
        program, M, p, c = self.program, self.M, self.p, self.columns
        m, a = program.n_inequalities, np.asarray(solution.x)[: len(self.right)]
        y, z = self._rows.multipliers(np.asarray(solution.y))
        x = self._at
        if len(c.weights):
            x[c.weights] = -(self._factor.weights(a) + self._offset) / np.sqrt(p[c.weights])
        signs, of_rest = self._signs, np.zeros(len(c.rest))
        of_rest[signs == 0.0] = -y
        of_rest[signs != 0.0] = z
        x[c.rest] += np.where(signs < 0.0, -of_rest, of_rest)
        reduced = program.q + M.T @ a
        x[c.curved] = -reduced[c.curved] / p[c.curved]
        self._take_up(x, M @ x - self.right)
        gradient = p * x + reduced
        at_lower, at_upper = np.isfinite(program.lb), np.isfinite(program.ub)
        return solution.replace(
            x=x,
            y=a[m:],
            z=np.maximum(a[:m], 0.0),
            z_lower=np.where(at_lower, np.maximum(gradient, 0.0), 0.0),
            z_upper=np.where(at_upper, np.maximum(-gradient, 0.0), 0.0),
        )

    def _take_up(self, x: Vector, excess: Vector) -> None:
        """Move slack variables off their bounds by the amount that their rows require."""
        m = self.program.n_inequalities
        excess[:m] = np.maximum(excess[:m], 0.0)
        lb, ub = self.program.lb, self.program.ub
        j, (i, g) = self.columns.slack, self._entries(self.columns.slack)
        step = -excess[i] / g
        can = np.flatnonzero(((step > 0.0) & np.isinf(ub[j])) | ((step < 0.0) & np.isinf(lb[j])))
        can = can[np.unique(i[can], return_index=True)[1]]  # of several in a row, the first
        x[j[can]] += step[can]
