"""Programs with ``P = F F' + diag(d)``, a box and few rows.

    minimise 1/2 |w|^2 + 1/2 x'diag(d)x + q'x + constant
    subject to w = F'x + offset,   Ax = b,   lower <= x <= upper

Variables whose values are known are in the offset, in b and in the constant. An inequality row has
a slack variable of its own, behind the others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from qpsvm.numerics.arrays import Dense, Index, Mask, Vector
from qpsvm.qp.box_gap import box_gap_terms, negligible_objective
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.transforms import SlackRows
from qpsvm.solvers.linear.factor import Factor
from qpsvm.solvers.linear.settings import DEFAULTS, LinearSettings


@dataclass(frozen=True, eq=False)
class FactorProgram:
    """``min 1/2 |w|^2 + 1/2 x'diag(d)x + q'x``, ``w = F'x + offset``, ``Ax = b``, x in a box.

    Attributes
    ----------
    F : Factor
    d, q, lower, upper : arrays of shape (n,)
    A : array of shape (p, n)
    b : array of shape (p,)
    offset : array of shape (r,)
    constant : float
    """

    F: Factor
    d: Vector
    q: Vector
    A: Dense
    b: Vector
    lower: Vector
    upper: Vector
    offset: Vector
    constant: float = 0.0

    @classmethod
    def of(
        cls,
        P: LowRankQuadratic,
        q: Vector,
        rows: SlackRows,
        lower: Vector,
        upper: Vector,
        offset: Vector,
        constant: float = 0.0,
        settings: LinearSettings = DEFAULTS,
    ) -> FactorProgram:
        """The program of a Hessian ``F F' + diag(d)`` and rows with slack variables."""
        G, h = rows.matrix[rows.n_equalities :, : len(q)], rows.right[rows.n_equalities :]
        with np.errstate(invalid="ignore"):
            least = np.where(G > 0.0, G * lower, np.where(G < 0.0, G * upper, 0.0)).sum(axis=1)
        most = np.maximum(h - least, 0.0)  # the slack that the box allows
        # and some room: a row that holds with equality everywhere needs it
        room = np.where(np.isfinite(most), most + 1e-3 * np.maximum(most, 1.0), np.inf)
        return cls(
            F=Factor.of(P, rows.n_slack, settings),
            d=rows.extended(P.diag),
            q=rows.extended(q),
            A=rows.matrix,
            b=rows.right,
            lower=rows.extended(lower),
            upper=rows.extended(upper, room),
            offset=offset,
            constant=constant,
        )

    @property
    def size(self) -> int:
        """Number of variables n."""
        return len(self.q)

    @property
    def settings(self) -> LinearSettings:
        """The settings of the solver."""
        return self.F.settings

    # --- other programs ---------------------------------------------------------------------------

    def restricted(self, kept: Index, x: Vector) -> FactorProgram:
        """The program of some variables, in increasing order, the others fixed at x.

        The samples are copied if no more than ``settings.copied_share`` of them are left.
        """
        rest = x.copy()
        rest[kept] = 0.0
        return replace(
            self,
            F=self.F.restricted(kept, copied_below=self.settings.copied_share),
            d=self.d[kept],
            q=self.q[kept],
            A=self.A[:, kept],
            lower=self.lower[kept],
            upper=self.upper[kept],
            b=self.b - self.A @ rest,
            offset=self.offset + self.F.transposed(rest),
            constant=self.constant + float(rest @ (self.q + 0.5 * self.d * rest)),
        )

    def quadratic(self) -> QuadraticProgram:
        """The program as a QuadraticProgram, up to a constant."""
        F = self.F
        P = LowRankQuadratic.own(F.samples, F.selection, self.d, F.constant)
        q = self.costs
        return QuadraticProgram(P, q, A=self.A, b=self.b, lb=self.lower, ub=self.upper)

    @property
    def costs(self) -> Vector:
        """The linear costs of x, those of the offset included."""
        if not self.offset.any():
            return self.q
        return self.q + self.F.times(self.offset, np.empty(self.size))

    # --- scales -----------------------------------------------------------------------------------

    @cached_property
    def unit(self) -> float:
        """The mean of the diagonal of ``F F' + diag(d)``."""
        return (float(np.sum(self.F.diagonal()) + np.sum(self.d)) / self.size) or 1.0

    # --- bounds -----------------------------------------------------------------------------------

    def is_free(self, x: Vector) -> Mask:
        """Return which variables are strictly between their bounds."""
        return np.asarray((x > self.lower) & (x < self.upper))

    def have_same_sides(self, one: Vector, other: Vector) -> bool:
        """Return whether every variable is at the same bound in both points, or at none."""
        lower = (one <= self.lower) == (other <= self.lower)
        return bool((lower & ((one >= self.upper) == (other >= self.upper))).all())

    # --- objective and gap ------------------------------------------------------------------------

    def gradient(self, w: Vector, y: Vector) -> Vector:
        """``F w + q + A'y``, the gradient of the Lagrangian without the curvature d."""
        out = self.F.times(w, np.empty(self.size))
        out += self.q
        for value, row in zip(y, self.A, strict=True):
            out += value * row
        return out

    def gap(self, at: Point) -> tuple[float, float]:
        """The objective of a point and its relative duality gap; the weights are those of its x.

        What x misses of the rows counts times y.
        """
        x, w = at.x, at.w
        objective = 0.5 * float(w @ w) + float(x @ (self.q + 0.5 * self.d * x)) + self.constant
        gap = float(np.sum(self.missed(x, at.g)))
        gap += float(np.abs(at.y) @ np.abs(self.A @ x - self.b))
        return objective, gap / max(abs(objective), self.floor(x))

    def missed(self, x: Vector, g: Vector) -> Vector:
        """Return how far ``1/2 d_i x_i^2 + g_i x_i`` is above its minimum over the box.

        With ``g = gradient(w, y)`` that is what a dual variable contributes to the duality gap of x
        and (w, y): the gap is the sum where ``w = F'x + offset`` and ``A x = b``.
        """
        return box_gap_terms(x, g, self.lower, self.upper, self.d, is_measure=True)

    def floor(self, x: Vector) -> float:
        """The objective below which values count as zero."""
        return negligible_objective(self.q, self.unit, x)


@dataclass(frozen=True, eq=False)
class Point:
    """Variables, multipliers of the rows, weights, and the gradient at these.

    Attributes
    ----------
    x, y, w : arrays of shape (n,), (p,) and (r,)
        In the box; the weights need not be those of x.
    g : array of shape (n,)
        ``gradient(w, y)`` of the program.
    """

    x: Vector
    y: Vector
    w: Vector
    g: Vector

    @classmethod
    def of(cls, program: FactorProgram, x: Vector, y: Vector, w: Vector | None = None) -> Point:
        """The point of variables and multipliers, with weights of its own if they are given."""
        if w is None:
            w = program.F.transposed(x) + program.offset
        return cls(x, y, w, program.gradient(w, y))
