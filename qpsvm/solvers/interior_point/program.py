"""Programs with ``P = F F' + diag(d)``, a box and few rows.

    minimise 1/2 |w|^2 + 1/2 x'diag(d)x + q'x + constant
    subject to w = F'x + offset,   Ax = b,   lower <= x <= upper

Variables whose values are known are in the offset, in b and in the constant. An inequality row has
a slack variable of its own, behind the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from qpsvm.numerics.arrays import Dense, Index, Vector
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.qp.program import QuadraticProgram
from qpsvm.solvers.interior_point.factor import Factor
from qpsvm.solvers.interior_point.factor_settings import chunks
from qpsvm.solvers.interior_point.settings import DEFAULTS, InteriorPointSettings
from qpsvm.solvers.negligible import negligible_objective
from qpsvm.solvers.slack_rows import SlackRows


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

    @property
    def size(self) -> int:
        """Number of variables n."""
        return len(self.q)

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
        return cls(
            F=Factor.of(P, rows.n_slack, settings),
            d=rows.extended(P.diag),
            q=rows.extended(q),
            A=rows.matrix,
            b=rows.right,
            lower=rows.extended(lower),
            upper=rows.extended(upper, _most_slack(G, h, lower, upper, settings.slack_room)),
            offset=offset,
            constant=constant,
        )

    def restricted(
        self, kept: Index, x: Vector, *, copied_below: float | None = None
    ) -> FactorProgram:
        """The program of some variables, in increasing order, the others fixed at x.

        The samples are copied if no more than a share of ``copied_below`` is left of them
        (``settings.copied_share`` by default).
        """
        rest = x.copy()
        rest[kept] = 0.0
        copied_below = self.F.settings.copied_share if copied_below is None else copied_below
        return FactorProgram(
            F=self.F.restricted(kept, copied_below=copied_below),
            d=self.d[kept],
            q=self.q[kept],
            A=self.A[:, kept],
            b=self.b - self.A @ rest,
            lower=self.lower[kept],
            upper=self.upper[kept],
            offset=self.offset + self.F.transposed(rest),
            constant=self.constant + float(rest @ (self.q + 0.5 * self.d * rest)),
        )

    def sampled(self, kept: Index) -> FactorProgram:
        """A random sample of the variables, reweighted to stand for all."""
        share = len(kept) / self.size
        return FactorProgram(
            F=self.F.restricted(kept, copied_below=self.F.settings.copied_share),
            d=self.d[kept] * share,
            q=self.q[kept],
            A=self.A[:, kept],
            b=self.b,
            lower=self.lower[kept] / share,
            upper=self.upper[kept] / share,
            offset=self.offset,
            constant=self.constant,
        )

    def quadratic(self) -> QuadraticProgram:
        """The program as a QuadraticProgram, up to a constant."""
        F, q = self.F, self.q
        if self.offset.any():
            q = q + F.times(self.offset, np.empty(self.size))
        P = LowRankQuadratic.own(F.samples, F.selection, self.d, F.constant)
        return QuadraticProgram(P, q, A=self.A, b=self.b, lb=self.lower, ub=self.upper)

    @cached_property
    def unit(self) -> float:
        """The mean of the diagonal of ``F F' + diag(d)``."""
        return (float(np.sum(self.F.diagonal()) + np.sum(self.d)) / self.size) or 1.0

    def gradient(self, w: Vector, y: Vector, out: Vector) -> Vector:
        """``F w + q + A'y``, the gradient of the Lagrangian without the curvature d."""
        self.F.times(w, out)
        out += self.q
        for value, row in zip(y, self.A, strict=True):
            out += value * row
        return out

    def gap(self, x: Vector, y: Vector, w: Vector, g: Vector) -> tuple[float, float]:
        """The objective of x and its relative duality gap to the dual point (w, y).

        Parameters
        ----------
        x, y, w, g : arrays of shape (n,), (p,), (r,) and (n,)
            ``gradient(w, y)`` is g; what x misses of the rows counts at the price of y.
        """
        weights = self.F.transposed(x) + self.offset
        objective = 0.5 * float(weights @ weights) + float(x @ (self.q + 0.5 * self.d * x))
        objective += self.constant
        dual = self.dual(x, y, w, g)
        missed = float(np.abs(y) @ np.abs(self.A @ x - self.b))
        return objective, (abs(objective - dual) + missed) / max(abs(objective), self.floor(x))

    def dual(self, x: Vector, y: Vector, w: Vector, g: Vector) -> float:
        """The dual objective of (w, y), ``g = gradient(w, y)``; x as in ``box_minimum``."""
        of_weights = float(w @ (self.offset - 0.5 * w)) - float(y @ self.b) + self.constant
        return of_weights + sum(self.box_minimum(i, g[i], x[i]) for i in chunks(self.size))

    def missed(self, x: Vector, g: Vector) -> Vector:
        """Return what each dual variable contributes to the duality gap of x and (w, y).

        ``gradient(w, y)`` is g. The gap is their sum where ``w = F'x + offset`` and ``A x = b``.
        Infinite boxes as in ``box_minimum``.
        """
        d, h = self.d, g + self.d * x
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.where(h > 0.0, self.lower - x, self.upper - x)
            if d.any():
                step = np.where(d > 0.0, np.clip(-h / d, self.lower - x, self.upper - x), step)
            step = np.where(np.isfinite(step), step, -np.sign(h) * (1.0 + np.abs(x)))
            step[h == 0.0] = 0.0
            return np.asarray(-step * (h + 0.5 * d * step))

    def floor(self, x: Vector) -> float:
        """The objective below which values count as zero."""
        return negligible_objective(self.q, self.unit, x)

    def box_minimum(self, i: slice, h: Vector, x: Vector) -> float:
        """``min 1/2 x'diag(d)x + h'x`` over a part of the box.

        Where that falls without end h has to vanish: it is followed for as far again as x is from
        zero, so that the value tells how far h is from that.
        """
        d, lower, upper = self.d[i], self.lower[i], self.upper[i]
        with np.errstate(divide="ignore", invalid="ignore"):
            best = np.where(h > 0.0, lower, upper)
            best[h == 0.0] = 0.0
            if d.any():
                best = np.where(d > 0.0, np.clip(-h / d, lower, upper), best)
            best = np.where(np.isfinite(best), best, x - np.sign(h) * (1.0 + np.abs(x)))
            return float(best @ (0.5 * d * best + h))


def _most_slack(G: Dense, h: Vector, lower: Vector, upper: Vector, room: float) -> Vector:
    """Upper bounds on the slack of every row: ``h - min Gx`` over the box, and some room."""
    with np.errstate(invalid="ignore"):
        least = np.where(G > 0.0, G * lower, np.where(G < 0.0, G * upper, 0.0)).sum(axis=1)
    most = np.maximum(h - least, 0.0)
    return np.asarray(np.where(np.isfinite(most), most + room * np.maximum(most, 1.0), np.inf))
