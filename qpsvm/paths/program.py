"""The dual program as a function of one parameter in which its data are affine.

::

    minimize    1/2 a'Pa - p(s)'a
    subject to  A a = r(s),   lower(s) <= a <= upper(s),   p, r, lower, upper affine in s

Then the optimal a(s) is piecewise linear. s is C, epsilon or nu itself, or ``1/nu`` for a box
``1/(nu n)``.

Sources: Hastie, Rosset, Tibshirani and Zhu, "The entire regularization path for the support vector
machine", *JMLR* 5 (2004), for C; Wang, Yeung and Lochovsky, "Two-dimensional solution path for
support vector regression", ICML 2006, for epsilon; Loosli, Gasso and Canu, "Regularization paths
for nu-SVM and nu-SVR", ISNN 2007, for nu; Best, "An algorithm for the solution of the parametric
quadratic programming problem" (1996), for the general program.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from qpsvm.display import short_repr
from qpsvm.machines.conditions import Conditions
from qpsvm.numerics.arrays import Dense, Vector
from qpsvm.paths.training import Training
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.qp.quadratic import Quadratic
from qpsvm.solvers.box.curvature import symmetric_product

ROUNDING = 1e-12
"""Relative difference of two values of the parameter, and relative deviation of data from a
straight line in it, that is only rounding."""


class Affine(NamedTuple):
    """A vector that is affine in s: ``value + s slope``, both of shape (n,)."""

    value: Vector
    slope: Vector

    def at(self, s: float) -> Vector:
        """The vector at s, shape (n,)."""
        return np.asarray(self.value + s * self.slope)

    def pair(self, s: float) -> Dense:
        """The vector at s and its slope, as columns, shape (n, 2)."""
        return np.column_stack([self.at(s), self.slope])


@short_repr
@dataclass(frozen=True, eq=False)
class ParametricProgram:
    """The dual program of a training problem with data that are affine in s.

    Attributes
    ----------
    P : Quadratic
        Of shape (N, N), the same for all s.
    required, lower, upper : Affine
        Of length N.
    right : Affine
        Of length m.
    rows : array of shape (m, N)
        A: signs of a free intercept, then the width's row.
    has_width : bool
        Whether the last row is an inequality ``e 1'a <= price_t`` with multiplier t >= 0.
    unit : float
        In which multipliers of bounds are measured: decision values that matter.
    change : callable
        From s to the parameter, and back.
    """

    P: Quadratic
    required: Affine
    lower: Affine
    upper: Affine
    right: Affine
    rows: Dense
    has_width: bool
    unit: float
    change: Callable[[float], float]

    def __len__(self) -> int:
        return len(self.required.value)

    @property
    def is_scaled_box(self) -> bool:
        """Return whether the bounds are multiples of s, and nothing else depends on it."""
        still = self.lower.value, self.upper.value, self.required.slope, *self.right
        contains_zero = (self.lower.slope <= 0.0).all() and (self.upper.slope >= 0.0).all()
        return bool(contains_zero) and not (self.has_width or any(part.any() for part in still))

    def products(self, V: Dense) -> Dense:
        """``P V`` for V of shape (N, k), in double precision; of a kernel with its whole matrix."""
        if not isinstance(self.P, KernelQuadratic):
            return self.P.products(V)
        K, gather = self.P.gram.dense, self.P.selection.gather
        products = (self.P.from_product(v, symmetric_product(K, gather(v))) for v in V.T)
        return np.column_stack(list(products))


def parametric_program(training: Training, low: float, high: float) -> ParametricProgram | None:
    """Build the parametric program of a range of parameters, or return None if it has none.

    Whether the data are affine is measured at three values: the ends of the range and between.

    Parameters
    ----------
    training : Training
    low, high : float
        Ends of the range, ``low < high``.
    """

    def same(s: float) -> float:
        return s

    def inverse(s: float) -> float:
        return 1.0 / s

    for change in (same, inverse) if training.over == "nu" else (same,):
        first, last = sorted((change(low), change(high)))
        middle = 0.5 * (first + last)
        found = [
            training.formulation_at(change(s)).conditions(training.data, training.gram[0])
            for s in (first, last, middle)
        ]
        kinds = {(c.norm_weight, c.intercept, c.width_sign) for c in found}
        if any(c.curvature.any() for c in found) or len(kinds) > 1:
            continue
        parts = [_affine(vectors, first, last) for vectors in zip(*map(_data, found), strict=True)]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            continue
        c, model = found[0], training.problem(change(middle)).model
        rows = [c.signs] * (c.intercept == "free")
        rows += [np.full(len(c), c.width_sign)] * bool(c.width_sign)
        A, has_width = np.array(rows).reshape(len(rows), len(c)), bool(c.width_sign)
        required, lower, upper, right = known
        hessian, unit = model.dual_hessian(), model.unit
        return ParametricProgram(hessian, required, lower, upper, right, A, has_width, unit, change)
    return None


def _data(c: Conditions) -> tuple[Vector, Vector, Vector, Vector]:
    right = [c.intercept_price] * (c.intercept == "free") + [c.width_price] * bool(c.width_sign)
    return c.required, c.lower, c.upper, np.array(right)


def _affine(vectors: tuple[Vector, ...], first: float, last: float) -> Affine | None:
    """The affine vector through its values at both ends; None if the middle is elsewhere."""
    begin, end, middle = vectors
    if not all(np.isfinite(vector).all() for vector in vectors):
        return None
    rounding = ROUNDING * np.maximum(np.abs(begin), np.abs(end))
    if (np.abs(0.5 * (begin + end) - middle) > rounding).any():
        return None
    slope = (end - begin) / (last - first)
    if (np.abs(begin - first * slope) <= rounding).all():  # C_i = C x weight, to the bit
        return Affine(np.zeros(len(begin)), end / last)
    return Affine(begin - first * slope, slope)
