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
from qpsvm.numerics.duplicates import WORTH, Merged
from qpsvm.numerics.precision import EPS
from qpsvm.qp.box_gap import box_gap_terms
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.qp.program import QuadraticProgram
from qpsvm.solvers.common import SlackRows, negligible_objective
from qpsvm.solvers.interior_point.factor import Factor
from qpsvm.solvers.interior_point.settings import DEFAULTS, InteriorPointSettings, chunks


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
        settings: InteriorPointSettings = DEFAULTS,
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
    def settings(self) -> InteriorPointSettings:
        """The settings of the solver."""
        return self.F.settings

    # --- other programs ---------------------------------------------------------------------------

    def restricted(
        self, kept: Index, x: Vector, *, copied_below: float | None = None
    ) -> FactorProgram:
        """The program of some variables, in increasing order, the others fixed at x.

        The samples are copied if no more than a share of ``copied_below`` is left of them
        (``settings.copied_share`` by default).
        """
        rest = x.copy()
        rest[kept] = 0.0
        part = self.sampled(kept, 1.0, copied_below)
        return replace(
            part,
            b=self.b - self.A @ rest,
            offset=self.offset + self.F.transposed(rest),
            constant=self.constant + float(rest @ (self.q + 0.5 * self.d * rest)),
        )

    def sampled(
        self, kept: Index, share: float, copied_below: float | None = None
    ) -> FactorProgram:
        """The program of some variables, each of which stands for several: 1 / ``share``."""
        below = self.settings.copied_share if copied_below is None else copied_below
        return replace(
            self,
            F=self.F.restricted(kept, copied_below=below),
            d=self.d[kept] * share,
            q=self.q[kept],
            A=self.A[:, kept],
            lower=self.lower[kept] / share,
            upper=self.upper[kept] / share,
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

    @cached_property
    def gradient_scale(self) -> float:
        """Unit of gradients: the largest entry of q, as in ``qp/kkt.py``."""
        largest = float(np.max(np.abs(self.q), initial=0.0))
        return max(largest, min(self.unit, 1.0)) or 1.0

    @cached_property
    def bounds(self) -> tuple[Mask, Mask]:
        """Masks of the variables with a lower and with an upper bound."""
        return np.isfinite(self.lower), np.isfinite(self.upper)

    @cached_property
    def n_bounds(self) -> int:
        """Number of finite bounds."""
        return int(sum(np.sum(which) for which in self.bounds))

    @cached_property
    def column_sizes(self) -> Vector:
        """The length of every column of F, 1 for a column of zeros."""
        sizes = self.F.column_sizes
        return np.where(sizes > 0.0, sizes, 1.0)

    @cached_property
    def least_curvature(self) -> float:
        """The least eigenvalue of ``F F'`` that counts: a proximal term is a small share of it."""
        return min(self.unit, float(np.min(self.column_sizes**2)) / self.size) or 1.0

    # --- objective and gap ------------------------------------------------------------------------

    def gradient(self, w: Vector, y: Vector) -> Vector:
        """``F w + q + A'y``, the gradient of the Lagrangian without the curvature d."""
        out = self.F.times(w, np.empty(self.size))
        out += self.q
        for value, row in zip(y, self.A, strict=True):
            out += value * row
        return out

    def gap(self, x: Vector, y: Vector, g: Vector) -> tuple[float, float]:
        """The objective of x and its relative duality gap to y and the weights of x.

        Parameters
        ----------
        x, y, g : arrays of shape (n,), (p,) and (n,)
            ``gradient(F'x + offset, y)`` is g; what x misses of the rows counts times y.
        """
        weights = self.F.transposed(x) + self.offset
        objective = 0.5 * float(weights @ weights) + float(x @ (self.q + 0.5 * self.d * x))
        objective += self.constant
        gap = sum(float(np.sum(self.missed(x, g, i))) for i in chunks(self.size))
        gap += float(np.abs(y) @ np.abs(self.A @ x - self.b))
        return objective, gap / max(abs(objective), self.floor(x))

    def dual(self, x: Vector, y: Vector, w: Vector, g: Vector) -> float:
        """The dual objective of (w, y), ``g = gradient(w, y)``; x as in ``missed``."""
        value = float(w @ (self.offset - 0.5 * w)) - float(y @ self.b) + self.constant
        for i in chunks(self.size):
            value += float(x[i] @ (g[i] + 0.5 * self.d[i] * x[i]) - np.sum(self.missed(x, g, i)))
        return value

    def missed(self, x: Vector, g: Vector, i: slice = slice(None)) -> Vector:
        """Return how far ``1/2 d_i x_i^2 + g_i x_i`` is above its minimum over the box.

        With ``g = gradient(w, y)`` that is what a dual variable contributes to the duality gap of x
        and (w, y): the gap is the sum where ``w = F'x + offset`` and ``A x = b``.
        """
        box = self.lower[i], self.upper[i]
        return box_gap_terms(x[i], g[i], *box, self.d[i], is_measure=True)

    def floor(self, x: Vector) -> float:
        """The objective below which values count as zero."""
        return negligible_objective(self.q, self.unit, x)


# --- presolve -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Presolved:
    """The maps of points to a presolved program, and back.

    Attributes
    ----------
    given : FactorProgram
    base : array of shape (n,)
        What is known at once; zero for the others.
    left : array of int
        The others.
    merged : Merged or None
        Of these.
    """

    given: FactorProgram
    base: Vector
    left: Index
    merged: Merged | None

    def whole(self, x: Vector) -> Vector:
        """Map a point of the presolved program back."""
        whole = self.base.copy()
        whole[self.left] = x if self.merged is None else self.merged.undone(x)
        return np.clip(whole, self.given.lower, self.given.upper)

    def smaller(self, x: Vector) -> Vector:
        """Map a point of the given program to the presolved one."""
        return x[self.left] if self.merged is None else self.merged.sums(x[self.left])


def presolve(program: FactorProgram) -> tuple[FactorProgram, Presolved]:
    """Fix determined variables and merge identical ones; the program itself where there are none.

    * Variables that their bounds fix, or that are in no row of A and have a row of zeros in F, get
      their values at once.
    * Variables with equal rows of F, equal q and equal columns of A are one variable: only their
      sum matters. It is shared out in proportion to the room that each has.

    Rows and weights stay as they are, and so do their multipliers. (Columns of F need no scaling:
    Cholesky's factorisation rounds alike whatever it is.)
    """
    p = program
    base, is_known = _known(p)
    left, R = np.flatnonzero(~is_known), p.F.selection
    samples = R.samples(left) if R.index is not None or len(left) < R.size else None
    others = [R.signs[left], p.q[left], *p.A[:, left]]
    merged = Merged.of(p.F.samples, samples, others, (p.lower[left], p.upper[left]), p.d[left])
    way = Presolved(p, base, left, merged)
    if merged is None and len(left) == p.size:
        return p, way
    kept = left if merged is None else left[merged.kept]
    smaller = p.restricted(kept, base, copied_below=WORTH)
    if merged is not None:
        smaller = replace(smaller, d=merged.diag, lower=merged.lower, upper=merged.upper)
    return smaller, way


def _known(p: FactorProgram) -> tuple[Vector, Mask]:
    """Values of variables that their bounds or costs alone determine, and a mask of them."""
    with np.errstate(invalid="ignore"):
        size = np.maximum(np.abs(p.lower), np.abs(p.upper))
        fixed = p.upper - p.lower <= 4.0 * EPS * size  # two roundings each: one value
    fixed &= np.isfinite(p.lower) & np.isfinite(p.upper)
    values = np.where(fixed, p.lower, 0.0)
    alone = (p.F.diagonal() + p.d == p.d) & ~p.A.any(axis=0) & ~fixed
    if alone.any():
        i = np.flatnonzero(alone)
        q, d = p.q[i], p.d[i]
        with np.errstate(divide="ignore", invalid="ignore"):
            best = np.where(d > 0.0, -q / d, np.where(q > 0.0, -np.inf, np.inf))
        best[q == 0.0] = 0.0
        values[i] = np.clip(best, p.lower[i], p.upper[i])
        alone[i] = np.isfinite(values[i])  # else there is no optimum, which the search will find
        values[i] = np.where(alone[i], values[i], 0.0)
    return values, fixed | alone
