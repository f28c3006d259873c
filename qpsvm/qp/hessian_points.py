"""Points of a quadratic program, in coordinates that can make their gradient exactly zero.

Dual multipliers belong to a point w: the reduced costs are ``Pw + q + A'y + G'z``. In a variable
without bounds the reduced cost has to be zero, and not only up to rounding: along a direction that
P does not see, with a slope of 1e-17 instead of zero, the objective falls for ever. So ``Pw`` has
to be linear in numbers whose coefficients are stored exactly. Of a stored P these are the entries
of w. The entries of ``F F' + D`` are rounded products, and the matrix of them has another null
space. There u takes the place of ``F'w``; any u will do, for

    1/2 |F'x|^2  >=  u'F'x - 1/2 |u|^2,    with a difference of  1/2 |F'x - u|^2
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import scipy.sparse as sp

from qpsvm.display import short_repr
from qpsvm.numerics.arrays import Index, Matrix, Vector, is_sparse
from qpsvm.numerics.balls import SUM_ROUNDING
from qpsvm.numerics.compensated import precise_product, row_residuals
from qpsvm.numerics.precision import EPS
from qpsvm.numerics.rows import terms_per_row
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.qp.quadratic import Quadratic, RepeatedQuadratic

MOVABLE_SIZE = 3000
"""Up to so many variables all entries of w may move to make stationarity hold; of more, where P is
neither sparse nor a factor, only those of the variables in question. Its square is the largest
number of coefficients of a factor."""


@short_repr
@dataclass(frozen=True, eq=False)
class HessianPoint(ABC):
    """Base class of points w of a quadratic program, at which gradients ``Pw + q`` are evaluated.

    Attributes
    ----------
    w : array of shape (n,)
    coordinates : array of shape (k,)
        Numbers that may change, on which the gradient depends linearly.
    """

    w: Vector
    coordinates: Vector

    @abstractmethod
    def columns(self, rows: Index) -> Matrix:
        """The derivatives of some entries of ``Pw`` by the coordinates, shape (m, k)."""

    def rest(self, rows: Index) -> tuple[Vector, Vector]:
        """Part of some entries of ``Pw`` that no coordinate changes, and its rounding."""
        nothing = np.zeros(len(rows))
        return nothing, nothing

    @abstractmethod
    def moved(self, coordinates: Vector) -> Self:
        """The point with other coordinates."""

    @abstractmethod
    def product(self) -> tuple[Vector, Vector]:
        """``Pw``, and a bound on its rounding, shape (n,)."""

    @abstractmethod
    def half_square(self, x: Vector) -> float:
        """``1/2 (x - w)'P(x - w)``, at least 0."""

    @abstractmethod
    def product_change(self, change: Vector) -> Vector:
        """Bound the change of ``Pw`` when w changes by at most given amounts, shape (n,)."""

    @abstractmethod
    def half_square_change(self, x: Vector, of_x: Vector, change: Vector) -> float:
        """Bound the increase of ``1/2 (x - w)'P(x - w)`` when x and w change by so much."""


@short_repr
@dataclass(frozen=True, eq=False)
class PlainPoint(HessianPoint):
    """A point for a Hessian with stored entries, whose gradient is linear in the entries of w.

    Attributes
    ----------
    P : Quadratic
    movable : array of int of shape (k,)
        The entries that may change.
    """

    P: Quadratic
    movable: Index

    def columns(self, rows: Index) -> Matrix:
        return self._block(rows, self.movable)

    def rest(self, rows: Index) -> tuple[Vector, Vector]:
        still = self.w.copy()
        still[self.movable] = 0.0
        used = np.flatnonzero(still)
        if not len(used):
            return super().rest(rows)
        if len(rows) * len(used) > MOVABLE_SIZE * MOVABLE_SIZE:
            value, error = self.P.product_with_error(still)
            return value[rows], error[rows]
        block = self._block(rows, used)
        sizes = np.asarray(abs(block) @ np.abs(still[used]))
        return np.asarray(block @ still[used]), (len(used) + 2.0) * EPS * sizes

    def _block(self, rows: Index, columns: Index) -> Matrix:
        if self.P.prefers_sparse:
            return sp.csr_array(self.P.to_sparse())[rows][:, columns]
        return self.P.block(rows, columns)

    def moved(self, coordinates: Vector) -> Self:
        w = self.w.copy()
        w[self.movable] = coordinates
        return replace(self, w=w, coordinates=coordinates)

    def product(self) -> tuple[Vector, Vector]:
        return self.P.product_with_error(self.w)

    def half_square(self, x: Vector) -> float:
        step = x - self.w
        if not step.any():
            return 0.0
        return max(0.5 * float(step @ self.P.matvec(step)), 0.0)

    def product_change(self, change: Vector) -> Vector:
        return self.P.term_sizes(self._of_w(change))

    def half_square_change(self, x: Vector, of_x: Vector, change: Vector) -> float:
        step = of_x + self._of_w(change) if change.any() else of_x
        slope = float(np.abs(self.P.matvec(x - self.w)) @ step)
        return slope + 0.5 * float(step @ self.P.term_sizes(step))

    def _of_w(self, change: Vector) -> Vector:
        of_w = np.zeros(len(self.w))
        of_w[self.movable] = change
        return of_w


@short_repr
@dataclass(frozen=True, eq=False)
class FactoredPoint(HessianPoint):
    """A point for a Hessian ``F F' + diag(d)``, whose gradient is linear in ``F'w`` and w.

    Attributes
    ----------
    F : array or sparse matrix of shape (n, r)
    d : array of shape (n,)
    curved : array of int
        Where d is not zero.
    """

    F: Matrix
    d: Vector
    curved: Index

    @classmethod
    def at(cls, P: LowRankQuadratic, w: Vector, times: int = 1) -> FactoredPoint:
        """Build the point w for a factored Hessian, or for copies of it on the diagonal."""
        F, d = P.factor, np.tile(P.diag, times)
        if times > 1:
            F = sp.block_diag([sp.csr_array(F)] * times, format="csr")
        curved = np.flatnonzero(d)
        return cls(w, np.concatenate([F.T @ w, w[curved]]), F, d, curved)

    @property
    def u(self) -> Vector:
        """The coordinates that stand for ``F'w``, shape (r,)."""
        return self.coordinates[: self.F.shape[1]]

    def columns(self, rows: Index) -> Matrix:
        own = self.F[rows]
        if not len(self.curved):
            return own
        diagonal = sp.csr_array(sp.diags_array(self.d))[rows][:, self.curved]
        return sp.csr_array(sp.hstack([sp.csr_array(own), diagonal]))

    def moved(self, coordinates: Vector) -> Self:
        w = self.w.copy()
        w[self.curved] = coordinates[self.F.shape[1] :]
        return replace(self, w=w, coordinates=coordinates)

    def product(self) -> tuple[Vector, Vector]:
        own = self.d * self.w
        if is_sparse(self.F):
            value = self.F @ self.u
            error = EPS * terms_per_row(self.F) * (abs(self.F) @ np.abs(self.u))
        else:
            high, low, error = precise_product(self.F, self.u)
            value = high + low
        return value + own, error + EPS * (np.abs(value) + np.abs(own))

    def _miss(self, x: Vector) -> Vector:
        """Upper bounds of ``|F'x - u|``, shape (r,)."""
        if is_sparse(self.F):
            return np.abs(row_residuals(sp.csr_array(self.F.T), x, self.u).value)
        high, low, error = precise_product(self.F.T, x)
        return np.abs((high - self.u) + low) * (1.0 + 2.0 * EPS) + error

    def half_square(self, x: Vector) -> float:
        miss, step = self._miss(x), (x - self.w)[self.curved]
        squares = float(miss @ miss) + float((self.d[self.curved] * step) @ step)
        return 0.5 * SUM_ROUNDING * squares

    def product_change(self, change: Vector) -> Vector:
        of_u, of_w = np.split(change, [self.F.shape[1]])
        found = np.asarray(abs(self.F) @ of_u)
        found[self.curved] += self.d[self.curved] * of_w
        return found

    def half_square_change(self, x: Vector, of_x: Vector, change: Vector) -> float:
        of_u, of_w = np.split(change, [self.F.shape[1]])
        of_miss = np.asarray(abs(self.F.T) @ of_x) + of_u
        step, of_step = np.abs(x - self.w)[self.curved], of_x[self.curved] + of_w
        slopes = self._miss(x) @ of_miss + (self.d[self.curved] * step) @ of_step
        squares = of_miss @ of_miss + (self.d[self.curved] * of_step) @ of_step
        return float(slopes + 0.5 * squares)


def point_at(P: Quadratic, w: Vector, rows: Index) -> HessianPoint:
    """Choose coordinates for a point w that can make some entries of its gradient exactly zero.

    Those of a Hessian that is stored as a factor; of another one the entries of w with curvature.
    None where their coefficients are too many.
    """
    part, times = (P.part, P.times) if isinstance(P, RepeatedQuadratic) else (P, 1)
    curved = P.diagonal() > 0.0
    if isinstance(part, LowRankQuadratic):
        if len(rows) * times * (part.rank + 1) <= MOVABLE_SIZE * MOVABLE_SIZE:
            return FactoredPoint.at(part, w, times)
        curved[:] = False
    if not P.prefers_sparse and P.size > MOVABLE_SIZE:
        curved &= np.isin(np.arange(P.size), rows) & (len(rows) <= MOVABLE_SIZE)
    movable = np.flatnonzero(curved)
    return PlainPoint(w, w[movable], P, movable)
