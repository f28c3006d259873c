"""Rewrite a quadratic program with ``P = F F' + diag(d)`` and box bounds, and map solutions back.

There are two ways: as it is, a program over a box with few other rows; and by its dual, a program
with many rows and a diagonal Hessian. The primal of a linear machine is

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
from functools import cached_property, partial

import numpy as np
import scipy.sparse as sp

from qpsvm.exceptions import UnsupportedProgramError
from qpsvm.numerics.arguments import an
from qpsvm.numerics.arrays import Index, Vector, as_dense
from qpsvm.numerics.interrupts import interruptible
from qpsvm.numerics.precision import EPS
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.qp.program import QuadraticProgram, row_gradient
from qpsvm.qp.quadratic import Quadratic
from qpsvm.qp.solution import QPSolution
from qpsvm.qp.transforms import SlackRows
from qpsvm.solvers.box.settings import BOX, MAX_ROWS
from qpsvm.solvers.linear.program import FactorProgram
from qpsvm.solvers.linear.settings import DEFAULTS, LinearSettings


def translation(program: QuadraticProgram) -> PrimalForm | Dualised:
    """Choose the direct or the dual translation of a program without infinite rows.

    Raises
    ------
    UnsupportedProgramError
        Neither does.
    """
    has_few_rows = program.n_equalities + program.n_inequalities <= MAX_ROWS
    if has_few_rows and isinstance(program.P, LowRankQuadratic):
        return PrimalForm(program)
    try:
        return Dualised.of(program)  # a primal: its free variables are none in the dual
    except UnsupportedProgramError:
        if not has_few_rows:
            raise
    return PrimalForm(program)


def structure_of(program: QuadraticProgram) -> str:
    """Describe the structure of P that the solver exploits; empty if there is none."""
    P = program.P
    has_few_rows = program.n_equalities + program.n_inequalities <= MAX_ROWS
    if program.is_linear:
        return ""
    if has_few_rows and isinstance(P, LowRankQuadratic):
        return f"P = F F' + diag(d) with {P.rank} columns in F, and 'ipm' factors no larger matrix"
    if not has_few_rows and P.prefers_sparse:
        try:
            rest = Dualised.of(program).rest
        except UnsupportedProgramError:
            return ""
        if len(rest) <= MAX_ROWS:
            return "P is diagonal, and 'ipm' solves the dual, which is the smaller program"
    return ""


@dataclass(frozen=True, eq=False)
class PrimalForm:
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

    def structured(self, settings: LinearSettings = DEFAULTS) -> FactorProgram:
        """The same program, its Hessian as ``F F' + diag(d)``.

        Raises
        ------
        UnsupportedProgramError
            The Hessian is none, and too large to make it one.
        """
        p, P = self.program, _factored(self.program.P)
        return FactorProgram.of(P, p.q, self._rows, p.lb, p.ub, np.zeros(P.rank), settings=settings)

    def __call__(self, solution: QPSolution) -> QPSolution:
        """The solution of the program; multipliers of bounds are the remaining gradient."""
        p, x = self.program, np.asarray(solution.x)[: self.program.n_variables]
        y, z = self._rows.multipliers(np.asarray(solution.y))
        gradient = p.P.matvec(x) + p.q + row_gradient(p, z, y)
        return _with_bound_multipliers(p, solution.replace(x=x, y=y, z=z), gradient)


def _with_bound_multipliers(
    program: QuadraticProgram, solution: QPSolution, gradient: Vector
) -> QPSolution:
    lower, upper = np.isfinite(program.lb), np.isfinite(program.ub)
    return solution.replace(
        z_lower=np.where(lower, np.maximum(gradient, 0.0), 0.0),
        z_upper=np.where(upper, np.maximum(-gradient, 0.0), 0.0),
    )


def _factored(P: Quadratic) -> LowRankQuadratic:
    """``P = F F' + diag(d)`` as stored, or by the eigenvectors of a small P."""
    if isinstance(P, LowRankQuadratic):
        return P
    if P.size > BOX.small:
        raise UnsupportedProgramError(
            "Backend 'ipm' takes programs with P = F F' + diag(d), the duals of linear machines, "
            f"and others up to {BOX.small} variables; this P is {an(P)} of "
            f"{P.size}. Use the dual form and a linear kernel, or another backend."
        )
    values, vectors = interruptible(partial(np.linalg.eigh, P.to_dense()))
    used = values > EPS * P.size * max(float(np.max(np.abs(values))), 0.0)
    used[-1] = True  # of a linear program: a column of zeros is simpler than none
    return LowRankQuadratic(vectors[:, used] * np.sqrt(np.maximum(values[used], 0.0)))


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
    weights, curved, slack, rest : arrays of int
        The variables by kind, in the order of the table above.
    """

    program: QuadraticProgram
    M: sp.csc_array
    right: Vector
    p: Vector
    weights: Index
    curved: Index
    slack: Index
    rest: Index

    @classmethod
    def of(cls, program: QuadraticProgram) -> Dualised:
        """Sort the program's columns.

        Raises
        ------
        UnsupportedProgramError
            P is not diagonal, or a variable has curvature and bounds, or two bounds.
        """
        P = sp.coo_array(program.P.to_sparse())
        if (P.row != P.col).any():
            raise UnsupportedProgramError(
                "Backend 'ipm' takes programs of many rows only with a diagonal P, the primals of "
                "linear machines; use the dual form, or another backend."
            )
        M = sp.csc_array(sp.vstack([sp.csc_array(program.G), sp.csc_array(program.A)]))
        M.eliminate_zeros()
        p, lb, ub = program.P.diagonal(), program.lb, program.ub
        is_alone, is_curved = np.diff(M.indptr) == 1, p > 0.0
        bounds = np.isfinite(lb).astype(int) + np.isfinite(ub)
        bad = np.flatnonzero(bounds > np.where(is_curved, 0, 1))
        if len(bad):
            raise UnsupportedProgramError(
                f"Backend 'ipm' does not take a primal program in which x[{bad[0]}] has the bounds "
                f"{lb[bad[0]]:.6g} and {ub[bad[0]]:.6g} ({len(bad)} such variables); make the "
                "bounds rows of G, use the dual form, or another backend."
            )
        return cls(
            program,
            M,
            right=np.concatenate([program.h, program.b]),
            p=p,
            weights=np.flatnonzero(is_curved & ~is_alone),
            curved=np.flatnonzero(is_curved & is_alone),
            slack=np.flatnonzero(~is_curved & is_alone),
            rest=np.flatnonzero(~is_curved & ~is_alone),
        )

    @property
    def _at(self) -> Vector:
        """The finite bound of every variable without curvature, 0 elsewhere."""
        lb, ub = self.program.lb, self.program.ub
        at = np.where(np.isfinite(lb), lb, np.where(np.isfinite(ub), ub, 0.0))
        return np.where(self.p > 0.0, 0.0, at)

    @cached_property
    def _factor(self) -> tuple[LowRankQuadratic, Vector]:
        """F and the offset of the dual program: the weights times ``-sqrt(p)``."""
        own = self.weights
        if not len(own):
            return LowRankQuadratic(np.zeros((len(self.right), 1))), np.zeros(1)
        roots = np.sqrt(self.p[own])
        F = sp.csr_array(self.M[:, own] @ sp.diags_array(1.0 / roots))
        is_dense = F.nnz > 0.3 * F.shape[0] * F.shape[1]  # products are then faster
        return LowRankQuadratic(F.toarray() if is_dense else F), self.program.q[own] / roots

    @cached_property
    def _rows(self) -> SlackRows:
        """The rows of the dual program, one for every remaining primal variable."""
        signs, q = self._signs, self.program.q[self.rest]
        rows, free = as_dense(self.M[:, self.rest]).T, signs == 0.0
        G, h = -signs[~free, None] * rows[~free], (signs * q)[~free]
        return SlackRows.of(rows[free], -q[free], G, h)

    @property
    def _signs(self) -> Vector:
        """Signs of the remaining variables: 1 with a lower bound, -1 with an upper, 0 if free."""
        lb, ub = self.program.lb[self.rest], self.program.ub[self.rest]
        return np.isfinite(lb).astype(np.float64) - np.isfinite(ub)

    def _entries(self, columns: Index) -> tuple[Index, Vector]:
        """Row numbers and values of columns that have one entry each."""
        first = self.M.indptr[columns]
        return self.M.indices[first], self.M.data[first]

    def structured(self, settings: LinearSettings = DEFAULTS) -> FactorProgram:
        """The dual program, whose variables are the multipliers."""
        program, m, at = self.program, len(self.right), self._at
        constant = -float(at @ program.q)
        linear = self.right - self.M @ at
        d = np.zeros(m)
        i, g = self._entries(self.curved)
        q, curvature = program.q[self.curved], self.p[self.curved]
        np.add.at(d, i, g * g / curvature)
        np.add.at(linear, i, q * g / curvature)
        constant += 0.5 * float(np.sum(q * q / curvature))
        lower = np.full(m, -np.inf)
        lower[: program.n_inequalities] = 0.0
        upper = np.full(m, np.inf)
        # the reduced cost q + g a_i of a slack variable is at least 0 at a lower bound, at most 0
        # at an upper one, and 0 without any
        (i, g), own = self._entries(self.slack), self.slack
        limit, has_lower = -program.q[own] / g, np.isfinite(program.lb[own])
        free = ~has_lower & np.isinf(program.ub[own])
        below, above = free | (has_lower == (g > 0.0)), free | (has_lower == (g < 0.0))
        np.maximum.at(lower, i[below], limit[below])
        np.minimum.at(upper, i[above], limit[above])
        F, offset = self._factor
        P = F.select(None, None, d)
        return FactorProgram.of(P, linear, self._rows, lower, upper, offset, constant, settings)

    def __call__(self, solution: QPSolution) -> QPSolution:
        """The solution of the program from that of its dual."""
        program, M, p, m = self.program, self.M, self.p, self.program.n_inequalities
        a = np.asarray(solution.x)[: len(self.right)]
        y, z = self._rows.multipliers(np.asarray(solution.y))
        x, (F, offset) = self._at, self._factor
        if len(self.weights):
            x[self.weights] = -(F.weights(a) + offset) / np.sqrt(p[self.weights])
        signs, of_rest = self._signs, np.zeros(len(self.rest))
        of_rest[signs == 0.0] = -y
        of_rest[signs != 0.0] = z
        x[self.rest] += np.where(signs < 0.0, -of_rest, of_rest)
        reduced = program.q + M.T @ a
        x[self.curved] = -reduced[self.curved] / p[self.curved]
        self._take_up(x, M @ x - self.right)
        found = solution.replace(x=x, y=a[m:], z=np.maximum(a[:m], 0.0))
        return _with_bound_multipliers(program, found, p * x + reduced)

    def _take_up(self, x: Vector, excess: Vector) -> None:
        """Move slack variables off their bounds by the amount that their rows require."""
        m = self.program.n_inequalities
        excess[:m] = np.maximum(excess[:m], 0.0)
        j, (i, g) = self.slack, self._entries(self.slack)
        step = -excess[i] / g
        rises = (step > 0.0) & np.isinf(self.program.ub[j])
        can = np.flatnonzero(rises | ((step < 0.0) & np.isinf(self.program.lb[j])))
        can = can[np.unique(i[can], return_index=True)[1]]  # of several in a row, the first
        x[j[can]] += step[can]
