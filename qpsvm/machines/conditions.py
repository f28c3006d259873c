"""Conditions: the requirements on the samples that distinguish one SVM family from another.

All families but two minimise the same function of a machine ``f(x) = w'phi(x) + b``::

    kappa/2 |w|^2  [+ 1/2 b^2]  +  price_b b  +  price_t t  +  sum_k loss_k(v_k)
    v = p - R f - e t

Row k of R says which samples condition k looks at and with which sign: ``s_i`` for a classifier,
``+1`` and ``-1`` for the two sides of a regression's tube, both at once for a ranked pair. ``p`` is
what the row must reach; t, where there is one, is the half-width of a margin or tube that the
program chooses itself. The dual follows by conjugacy, one variable a_k per condition::

    minimize    1/2 a'(R K R' / kappa + diag(d)) a - p'a
    subject to  (R 1)'a = price_b,   e 1'a <= price_t,   lower <= a <= upper

with K replaced by K + 1, and the equality gone, where the intercept is penalised.

All losses are one formula, the support function of an interval: a condition that is violated by v
costs ::

    loss(v) = max { a v - d/2 a^2  :  lower <= a <= upper }

and the maximising a is its dual variable. The interval and d decide which loss it is:

==========================  ===========  ==========  =========  =========================
loss                        lower        upper       d          loss(v)
==========================  ===========  ==========  =========  =========================
hinge                       0            C           0          ``C max(0, v)``
squared hinge               0            infinity    1/(2C)     ``C max(0, v)^2``
hard margin                 0            infinity    0          0, infinite for v > 0
pinball                     -C (1-tau)   C tau       0          ``C tau v``, ``-C (1-tau) v``
squared                     -infinity    infinity    1/C        ``C/2 v^2``
==========================  ===========  ==========  =========  =========================

Sources: Rockafellar, *Convex Analysis* (1970), section 12; Boyd and Vandenberghe, *Convex
Optimization*, section 3.3 (the loss is the conjugate of ``d/2 a^2`` restricted to the interval).
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from qpsvm.display import short_repr
from qpsvm.exceptions import InvalidParameterError
from qpsvm.machines.upper_bounds import ExactUpperBounds
from qpsvm.numerics.arguments import require_choice
from qpsvm.numerics.arrays import Dense, Index, Mask, Sparse, Vector, freeze, restore_frozen
from qpsvm.numerics.conversion import is_sealed, plain_sparse, sealed
from qpsvm.numerics.precision import EPS, TINY
from qpsvm.qp.box_gap import box_gap_terms
from qpsvm.qp.sample_quadratic import Selection


def alpha_unit(alpha: Dense, box: Vector) -> Vector:
    """Unit of each alpha: the smaller of its box and the largest alpha, in magnitude.

    With a generous C no alpha comes near it, and a share of C would say nothing.
    """
    largest = float(np.fmax.reduce(np.abs(alpha), axis=None, initial=TINY))  # passes over NaN
    return np.minimum(box, largest)


def slopes(v: Vector, lower: Vector, upper: Vector, d: Vector) -> Vector:
    """The slope of every loss at v (at a kink, the larger one), shape (n,)."""
    with np.errstate(all="ignore"):
        flat = np.where(v >= 0.0, upper, lower)
        if not d.any():
            return flat
        return np.where(d > 0.0, np.clip(v / np.where(d > 0.0, d, 1.0), lower, upper), flat)


def steepest(v: Vector, error: Vector, lower: Vector, upper: Vector, d: Vector) -> Vector:
    """The largest magnitude of every loss's slope within an error of v, shape (n,)."""
    ends = (np.abs(slopes(end, lower, upper, d)) for end in (v + error, v - error))
    return np.asarray(np.maximum(*ends))


def losses(v: Vector, lower: Vector, upper: Vector, d: Vector) -> Vector:
    """Compute the loss of every condition; vectors of other shapes are broadcast."""
    with np.errstate(all="ignore"):
        if not d.any() and np.isfinite(lower).all() and np.isfinite(upper).all():
            return np.maximum(lower * v, upper * v)
        a = np.where(v == 0.0, 0.0, slopes(v, lower, upper, d))  # infinity times zero is zero here
        return np.where(d > 0.0, a * v - 0.5 * d * a * a, a * v)  # a may be infinite without d


def gap_terms(v: Vector, a: Vector, lower: Vector, upper: Vector, d: Vector) -> Vector:
    """``loss(v) + d/2 a^2 - a v`` of every condition: its share of the duality gap at (w, a).

    Zero where the dual variable a is the slope of the loss at v. Convex in v, so that the largest
    within an error of v is at one of its ends. NaN is passed on.
    """
    return np.maximum(box_gap_terms(a, -v, lower, upper, d), 0.0)


InterceptKind: TypeAlias = Literal["free", "penalized", "none"]
"""``"free"``: b is not in the objective. ``"penalized"``: 1/2 b^2 is (what LIBLINEAR solves).
``"none"``: b = 0."""

ZERO: Vector = sealed([0.0])
UNBOUNDED: Vector = sealed([np.inf])
"""For families where every condition has the same bound: vectors of length 1 are repeated."""


def require_intercept_kind(kind: str) -> None:
    """Raise InvalidParameterError unless kind is "free", "penalized" or "none"."""
    require_choice(
        kind, ("free", "penalized", "none"), "intercept", " (penalized: 1/2 b^2 in the objective)"
    )


def squared_spread(diagonal: Vector, products: Vector) -> float:
    """``max_i |phi(x_i) - mean|^2``, or 1 if that is zero: the spread of the samples, squared.

    ``diagonal`` has their squared sizes, ``products`` those with the mean.
    """
    size = float(np.max(diagonal - 2.0 * products)) + float(np.mean(products))
    rounding = 8.0 * EPS * float(np.max(np.abs(diagonal), initial=0.0))
    return size if size > rounding else 1.0


@short_repr
@dataclass(frozen=True, eq=False)
class Conditions:
    """Per-sample losses: support functions of intervals, with their offsets.

    Attributes
    ----------
    R : Selection or CSR array of shape (N, n_samples)
        A selection where every condition is about one sample.
    required : array of shape (N,)
        p.
    lower, upper, curvature : arrays of shape (N,)
        The losses: the box of the dual variables, and d.
    intercept : "free", "penalized" or "none"
    intercept_price : float
        price_b, the linear cost of the intercept.
    width_sign : {-1, 0, 1}
        e: -1 where a margin is to be as wide as possible, +1 where a tube is to be as narrow, 0
        where there is no such variable.
    width_price : float
        price_t, the linear cost of the width.
    norm_weight : float
        kappa.
    unit : float
        Scale of margin violations.
    relative_to_spread : bool
        unit is a multiple of the squared size of the samples in feature space, because nothing in
        the program sets another scale: dual variables have a given sum, and nothing is required.
    minus_self_similarity : bool
        Decision values are ``f(x) - k(x, x)``.
    exact_upper : ExactUpperBounds, optional
        What lower and upper were computed from. Without it nothing is claimed that needs them to be
        exact. No part of what ``equals`` compares.
    """

    R: Selection | Sparse
    required: Vector
    lower: Vector
    upper: Vector
    curvature: Vector
    intercept: InterceptKind = "free"
    intercept_price: float = 0.0
    width_sign: float = 0.0
    width_price: float = 0.0
    norm_weight: float = 1.0
    unit: float = 1.0
    relative_to_spread: bool = False
    minus_self_similarity: bool = False
    exact_upper: ExactUpperBounds | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.R, Selection):
            own = freeze(plain_sparse(self.R, sp.csr_array, take_over=True))
            object.__setattr__(self, "R", own)
        for name in ("required", "lower", "upper", "curvature"):
            vector = np.broadcast_to(
                np.asarray(getattr(self, name), dtype=np.float64), self.R.shape[0]
            )
            object.__setattr__(self, name, vector if is_sealed(vector) else sealed(vector))
        d = self.curvature
        boxes_are_fine = (self.lower <= 0.0).all() and (self.upper >= 0.0).all()
        if not boxes_are_fine or not ((d == 0.0).all() or (d > 0.0).all()):
            raise InvalidParameterError(
                "Conditions need lower <= 0 <= upper, and a curvature that is zero for all rows or "
                "above zero for all: otherwise a violation of zero would cost."
            )

    __setstate__ = restore_frozen

    @property
    def n_samples(self) -> int:
        """Number of samples, the columns of R."""
        return int(self.R.shape[1])

    def __len__(self) -> int:
        return len(self.required)

    def equals(self, other: object) -> bool:
        """Return whether two sets of conditions are equal, bit for bit."""
        if other is self or not isinstance(other, Conditions):
            return other is self
        for member in fields(self):
            if not member.compare:
                continue
            name = "rows" if member.name == "R" else member.name
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine is theirs:
                continue
            if sp.issparse(mine):
                if mine.shape != theirs.shape or (mine - theirs).count_nonzero():
                    return False
            elif not np.array_equal(mine, theirs):
                return False
        return True

    def alpha_unit(self, alpha: Vector) -> Vector:
        """Unit of every alpha, shape (N,): the smaller of its box and the largest alpha."""
        return alpha_unit(alpha, np.maximum(np.abs(self.lower), np.abs(self.upper)))

    # --- products with R ------------------------------------------------------------------------

    def row_sums(self, values: Vector) -> Vector:
        """Compute ``R v``, the sum over the samples of every condition, shape (N,).

        ``v`` has a value for every sample.
        """
        R = self.selection
        if R is not None and values.shape == (R.n_samples,):
            return R.spread(values)
        return np.asarray(self.rows @ values)  # which refuses other shapes

    def sample_sums(self, alpha: Vector) -> Vector:
        """Compute ``R'a``, the sum over the conditions of every sample, shape (n_samples,).

        ``a`` has a value for every condition.
        """
        return np.asarray(self.rows.T @ alpha)

    def row_sizes(self, values: Vector) -> Vector:
        """Compute ``|R| v`` for v >= 0, the sums of absolute terms of ``R v``, shape (N,)."""
        return np.asarray(self._sizes @ values)

    def sample_sizes(self, alpha: Vector) -> Vector:
        """Compute ``|R|'a`` for a >= 0, the sizes of the sums ``R'a``, shape (n_samples,)."""
        return np.asarray(self._sizes.T @ alpha)

    @cached_property
    def _sizes(self) -> Sparse:
        return abs(self.rows)

    @cached_property
    def rows(self) -> Sparse:
        """Coefficients of samples in every condition, as a CSR array of shape (N, n_samples)."""
        return freeze(self.R.matrix) if isinstance(self.R, Selection) else self.R

    @cached_property
    def signs(self) -> Vector:
        """``R 1``, the coefficient of b in every condition, shape (N,)."""
        if self.selection is not None:
            return self.selection.signs
        return np.asarray(freeze(np.asarray(self.rows.sum(axis=1)).ravel()))

    @cached_property
    def selection(self) -> Selection | None:
        """Sample and sign of every condition; None if a condition involves several samples."""
        R = self.R
        if isinstance(R, Selection):
            return R
        if not (np.diff(R.indptr) == 1).all():
            return None
        same = R.shape[0] == R.shape[1] and np.array_equal(R.indices, np.arange(R.shape[1]))
        return Selection(R.shape[1], R.data, None if same else R.indices)

    @property
    def samples(self) -> Index:
        """The sample of every row (of a pair, the first one), shape (N,)."""
        return np.asarray(self.rows.indices[self.rows.indptr[:-1]], dtype=np.intp)

    def at_samples(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Look up, for every condition, the value of its sample, shape (N,)."""
        if self.selection is not None and self.selection.index is None:
            return values
        return np.asarray(values[self.samples])

    @cached_property
    def is_hard(self) -> Mask:
        """Mask of the conditions that allow no slack, shape (N,)."""
        has_no_end = np.isinf(self.upper) | np.isinf(self.lower)
        return np.asarray((self.curvature == 0.0) & has_no_end)

    @cached_property
    def all_hard(self) -> bool:
        """Return whether no condition allows slack: a hard margin."""
        return bool(self.is_hard.all())

    @property
    def is_cone(self) -> bool:
        """Return whether every non-negative multiple of a feasible dual point is feasible."""
        bounds = np.concatenate([self.lower, self.upper])
        return bool((np.isinf(bounds) | (bounds == 0.0)).all()) and not (
            self.intercept_price or self.width_sign
        )
