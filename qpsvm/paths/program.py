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
from qpsvm.paths.settings import DEFAULTS
from qpsvm.paths.training import Training
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.qp.quadratic import Quadratic


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
    rows : array of shape (m, N)
        A: signs of a free intercept, then the width's row.
    right : Affine
        Of length m.
    has_width : bool
        Whether the last row is an inequality ``e 1'a <= price_t`` with multiplier t >= 0.
    unit : float
        In which multipliers of bounds are measured: decision values that matter.
    to_parameter, from_parameter : callable
        From s to the parameter, and from the parameter to s.
    """

    P: Quadratic
    required: Affine
    lower: Affine
    upper: Affine
    rows: Dense
    right: Affine
    has_width: bool
    unit: float
    to_parameter: Callable[[float], float]
    from_parameter: Callable[[float], float]

    def __len__(self) -> int:
        return len(self.required.value)

    def can_keep(self, limit_bytes: int) -> bool:
        """Return whether P is over a kernel matrix of at most so many bytes."""
        return isinstance(self.P, KernelQuadratic) and 8 * self.P.gram.size**2 <= limit_bytes

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
        K, sums = self.P.gram.dense, np.column_stack([self.P.selection.gather(v) for v in V.T])
        used = np.flatnonzero(sums.any(axis=1))
        few = DEFAULTS.copied_rows_share * len(used) <= len(K)
        products = K[used].T @ sums[used] if few else K @ sums  # K is symmetric
        pairs = zip(V.T, products.T, strict=True)
        return np.column_stack([self.P.from_product(v, product) for v, product in pairs])

    @property
    def n_rows(self) -> int:
        """Number of rows of A."""
        return len(self.rows)


def parametric_program(training: Training, low: float, high: float) -> ParametricProgram | None:
    """Build the parametric program of a range of parameters, or return None if it has none.

    Whether the data are affine is measured at three values: the ends of the range and between.

    Parameters
    ----------
    training : Training
    low, high : float
        Ends of the range, ``low < high``.
    """
    attempts: list[Callable[[float], float]] = [_same]
    if training.over == "nu":
        attempts.append(_inverse)
    for change in attempts:  # each is its own inverse
        first, last = sorted((change(low), change(high)))
        middle = 0.5 * (first + last)
        K = training.gram[0]
        found = [
            training.formulation_at(change(s)).conditions(training.data, K)
            for s in (first, last, middle)
        ]
        if all(not c.curvature.any() for c in found) and _equal_elsewhere(found):
            parts = [_affine([_vectors(c)[k] for c in found], first, last) for k in range(4)]
            if all(part is not None for part in parts):
                required, lower, upper, right = (part for part in parts if part is not None)
                c, model = found[0], training.model(change(middle))
                return ParametricProgram(
                    model.dual_hessian(),
                    required,
                    lower,
                    upper,
                    _rows(c),
                    right,
                    bool(c.width_sign),
                    model.unit,
                    change,
                    change,
                )
    return None


def _same(s: float) -> float:
    return s


def _inverse(s: float) -> float:
    return 1.0 / s


def _vectors(c: Conditions) -> tuple[Vector, Vector, Vector, Vector]:
    prices = [c.intercept_price] * (c.intercept == "free") + [c.width_price] * bool(c.width_sign)
    return c.required, c.lower, c.upper, np.array(prices)


def _rows(c: Conditions) -> Dense:
    rows = [c.signs] * (c.intercept == "free")
    if c.width_sign:
        rows.append(np.full(len(c), c.width_sign))
    return np.array(rows).reshape(len(rows), len(c))


def _equal_elsewhere(found: list[Conditions]) -> bool:
    return len({(c.norm_weight, c.intercept, c.width_sign) for c in found}) == 1


def _affine(vectors: list[Vector], first: float, last: float) -> Affine | None:
    """The affine vector through its values at both ends; None if the middle is elsewhere."""
    begin, end, middle = vectors
    if not all(np.isfinite(vector).all() for vector in vectors):
        return None
    size = np.maximum(np.abs(begin), np.abs(end))
    if (np.abs(0.5 * (begin + end) - middle) > DEFAULTS.affine * size).any():
        return None
    slope = (end - begin) / (last - first)
    if (
        np.abs(begin - first * slope) <= DEFAULTS.affine * size
    ).all():  # C_i = C x weight, to the bit
        return Affine(np.zeros(len(begin)), end / last)
    return Affine(begin - first * slope, slope)
