"""Box programs with few equality rows, the duals of support vector machines.

    minimise 1/2 x'Px + q'x   subject to   Ax = b,   lower <= x <= upper

An inequality row ``Gx <= h`` is one with a slack variable s of its own, ``Gx + s = h``, ``s >= 0``.

``r = Px + q + A'y`` is the gradient of the Lagrangian. At an optimum it vanishes between the
bounds and pushes outwards at them, which is to say that the *natural residual* vanishes::

    x - clip(x - r / k, lower, upper),     k the largest curvature

Source: Facchinei and Pang, *Finite-Dimensional Variational Inequalities*, section 1.5.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from qpsvm.numerics.arrays import Dense, Index, Mask, Vector
from qpsvm.numerics.duplicates import clip_scaled
from qpsvm.solvers.box.curvature import Curvature
from qpsvm.solvers.box.settings import BOX
from qpsvm.solvers.negligible import negligible_objective
from qpsvm.solvers.work_budget import Point


@dataclass(frozen=True, eq=False)
class BoxProgram:
    """``min 1/2 x'Px + q'x`` subject to ``Ax = b`` and ``lower <= x <= upper``.

    Attributes
    ----------
    P : Curvature
    q, lower, upper : arrays of shape (n,)
    A : array of shape (p, n)
        No entry larger than 1.
    b : array of shape (p,)
    diagonal : array of shape (n,)
        That of P.
    unit : float
        k, the largest diagonal entry of P, the median one in a working set; 1 where P is zero.
    """

    P: Curvature
    q: Vector
    A: Dense
    b: Vector
    lower: Vector
    upper: Vector
    diagonal: Vector
    unit: float

    @property
    def size(self) -> int:
        """Number of variables n."""
        return len(self.q)

    @cached_property
    def mean_curvature(self) -> float:
        """The mean of the diagonal of P; 1 where P is zero."""
        return float(np.sum(self.diagonal)) / self.size or 1.0

    def gradient(self, Px: Vector, y: Vector) -> Vector:
        """``r = Px + q + A'y``."""
        return np.asarray(Px + self.q + y @ self.A)

    def clip(self, x: Vector) -> Vector:
        """The nearest point of the box."""
        return np.minimum(np.maximum(x, self.lower), self.upper)

    def clip_scaled(self, x: Vector) -> Vector:
        """``clip``, with entries within a rounding error of a bound moved onto it."""
        return clip_scaled(x, self.lower, self.upper)

    def is_free(self, x: Vector) -> Mask:
        """Return whether each variable is strictly between its bounds."""
        return (x > self.lower) & (x < self.upper)

    def natural_residual(self, x: Vector, r: Vector) -> Vector:
        """The natural residual ``k |x - clip(x - r / k)|``, in the unit of the gradient r."""
        lowest, highest = self.unit * (x - self.upper), self.unit * (x - self.lower)
        return np.abs(np.minimum(np.maximum(r, lowest), highest))

    def rows_hold(self, x: Vector) -> bool:
        """Return whether ``Ax = b`` holds up to rounding; False for NaN."""
        return bool((self._missed(x) == 0.0).all())

    def residual(self, point: Point) -> float:
        """The largest natural residual or row residual, in the unit of the gradient."""
        natural = self.natural_residual(point.x, self.gradient(point.Px, point.y))
        missed = self.unit * self._missed(point.x)
        return float(np.max(np.concatenate([natural, missed])))

    def objective(self, point: Point) -> float:
        """``1/2 x'Px + q'x``."""
        return float(point.x @ (0.5 * point.Px + self.q))

    def objective_terms(self, point: Point) -> float:
        """The sum of the absolute terms of the objective."""
        return float(np.abs(point.x) @ (0.5 * np.abs(point.Px) + np.abs(self.q)))

    def relative_gap(self, point: Point) -> float:
        """The duality gap, relative to the objective; infinite where rows are missed."""
        gap = self.gap(point)
        return gap if gap == np.inf else gap / self.objective_scale(point)

    def gap(self, point: Point) -> float:
        """The duality gap; infinite where rows are missed."""
        r, x = self.gradient(point.Px, point.y), point.x
        room = _finite(np.where(r > 0.0, x - self.lower, self.upper - x), x)
        terms = np.abs(self.A) @ np.abs(x) + np.abs(self.b)
        missing = np.abs(self.A @ x - self.b)
        if (missing > BOX.missed_row * terms).any():
            return np.inf
        missed = float(np.abs(point.y) @ missing)
        return float(np.abs(r) @ room) + missed

    def objective_scale(self, point: Point) -> float:
        """Scale of the relative gap: the objective, or the value that counts as zero if larger."""
        negligible = negligible_objective(self.q, self.mean_curvature, point.x)
        return max(abs(self.objective(point)), negligible)

    def scale(self, point: Point) -> float:
        """Scale of relative residuals: the largest entry of q, or of ``P x`` if q is zero."""
        return float(np.max(np.abs(self.q))) or float(np.max(np.abs(point.Px)))

    def is_optimal(self, point: Point, eps: float) -> bool:
        """Return whether relative gap and residuals are at most eps, the drift of ``P x`` included.

        The gap alone may be small where single samples are far from what they should be. Nor is it
        enough that only rounding is left: with x of 1e5 that is more than what was asked for.
        """
        if not self.is_near(point, eps):
            return False
        widths, scale = _finite(self.upper - self.lower, point.x), self.objective_scale(point)
        drifted = point.drift * float(np.sum(widths)) / scale
        return self.gap(point) / scale + drifted <= eps

    def is_near(self, point: Point, eps: float) -> bool:
        """Return whether the relative residuals are at most eps."""
        return self.residual(point) + point.drift <= eps * self.scale(point)

    def tolerances(self, point: Point) -> Vector:
        """Estimated rounding error of every entry of the gradient.

        A curvature and an x that are large need not have met.
        """
        others = np.abs(self.q) + np.abs(point.y) @ np.abs(self.A)
        return np.asarray(np.maximum(self.rounding(point.x), BOX.gradient_rounding * others))

    def rounding(self, d: Vector) -> Vector:
        """Estimated rounding error of every entry of ``P d``.

        ``|P_ij d_j| <= sqrt(P_ii) sqrt(P_jj) |d_j|``, and errors in many terms add up to the norm
        of these.
        """
        size = np.sqrt(self.diagonal)
        return BOX.gradient_rounding * float(np.linalg.norm(size * d)) * size

    def gap_rounding_bound(self, point: Point) -> float:
        """Bound on the change of the relative gap by rounding of the gradient."""
        tolerances, x = self.tolerances(point), point.x
        is_open = np.abs(self.gradient(point.Px, point.y)) <= tolerances
        room = _finite(np.maximum(x - self.lower, self.upper - x), x)
        return float(tolerances[is_open] @ room[is_open]) / self.objective_scale(point)

    def is_settled(self, point: Point) -> bool:
        """Return whether residuals are below their rounding errors; false for NaN."""
        natural = self.natural_residual(point.x, self.gradient(point.Px, point.y))
        return bool((natural <= self.tolerances(point)).all()) and self.rows_hold(point.x)

    def at_bounds(self, point: Point) -> Vector:
        """Move entries within rounding of their active bound onto it."""
        x, r = point.x, self.gradient(point.Px, point.y)
        near = self.tolerances(point) / self.unit
        x = np.where((x - self.lower <= near) & (r > 0.0), self.lower, x)
        return np.where((self.upper - x <= near) & (r < 0.0), self.upper, x)

    def _missed(self, x: Vector) -> Vector:
        """``|Ax - b|``; zero where that is only rounding."""
        missed = np.abs(self.A @ x - self.b)
        missed[missed <= BOX.sum_rounding * (np.abs(self.A) @ np.abs(x) + np.abs(self.b))] = 0.0
        return missed

    def of_variables(
        self, variables: Index, P: Curvature, bounds: tuple[Vector, Vector], curved: Vector
    ) -> BoxProgram:
        """The program of some variables with another Hessian and other bounds.

        Parameters
        ----------
        variables : array of int of shape (m,)
        P : Curvature
        bounds : pair of arrays of shape (m,)
        curved : array of shape (k,)
            What the diagonal of P has more than before, for the first k variables.
        """
        diagonal = self.diagonal[variables]
        diagonal[: len(curved)] += curved
        q, A = self.q[variables], self.A[:, variables]
        unit = float(np.max(diagonal)) or 1.0
        return BoxProgram(P, q, A, self.b, *bounds, diagonal, unit)

    def restricted(self, index: Index, point: Point) -> BoxProgram:
        """The program in ``x[index]`` alone, the other variables fixed."""
        P, A, own = self.P.restricted(index), self.A[:, index], point.x[index]
        q, b = self.q, self.b
        if len(index) < self.size:
            q = (point.Px + self.q)[index] - P.matrix @ own
            b = b - self.A @ point.x + A @ own
        lower, upper = self.lower[index], self.upper[index]
        diagonal = self.diagonal[index]
        # the typical curvature: one sample far out must not decide how near proximal points are
        unit = float(np.median(diagonal[diagonal > 0.0])) if diagonal.any() else self.unit
        return BoxProgram(P, q, A, b, lower, upper, diagonal, unit)


def _finite(room: Vector, x: Vector) -> Vector:
    """Distances to bounds, with ``1 + |x|`` in place of infinite ones."""
    return np.where(np.isinf(room), 1.0 + np.abs(x), room)
