"""Conditions: the requirements on the samples that distinguish one SVM family from another.

All families but two minimise the same function of a machine ``f(x) = w'phi(x) + b``::

    kappa/2 |w|^2  [+ 1/2 b^2]  +  price_b b  +  price_t t  +  sum_k loss_k(v_k)
    v = p - R f - e t

Row k of R says which samples condition k looks at and with which sign: ``s_i`` for a classifier,
``+1`` and ``-1`` for the two sides of a regression's tube, both at once for a ranked pair. ``p`` is
what the row must reach; t, where there is one, is the half-width of a margin or tube that the
program chooses itself. The losses are those of ``losses``.

The dual follows by conjugacy, one variable a_k per condition::

    minimize    1/2 a'(R K R' / kappa + diag(d)) a - p'a
    subject to  (R 1)'a = price_b,   e 1'a <= price_t,   lower <= a <= upper

with K replaced by K + 1, and the equality gone, where the intercept is penalised.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from qpsvm.display import short_repr
from qpsvm.exceptions import InvalidParameterError
from qpsvm.machines.intercept import InterceptKind
from qpsvm.machines.price_factors import PriceFactors
from qpsvm.numerics.arrays import Index, Mask, Sparse, Vector, freeze, restore_frozen
from qpsvm.numerics.conversion import index_width, is_frozen, plain_sparse
from qpsvm.numerics.precision import EPS

ZERO: Vector = freeze(np.zeros(1))
UNBOUNDED: Vector = freeze(np.full(1, np.inf))
"""For families where every condition has the same bound: vectors of length 1 are repeated."""


def one_each(signs: Vector) -> Any:
    """The matrix R of conditions on one sample each, in order, for ``Conditions``."""
    return _OneEach(signs)


class _OneEach(NamedTuple):
    """``diag(signs)``, built when it is first read: sparse matrices take longer than small fits.

    Parameters
    ----------
    signs : array of shape (n,)
    """

    signs: Vector

    def matrix(self) -> Sparse:
        """``diag(signs)`` as a CSR array."""
        n = len(self.signs)
        ends = np.arange(n + 1, dtype=index_width(n, (n, n)))
        return sp.csr_array((self.signs, ends[:-1], ends), shape=(n, n))


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
    """The conditions of one training problem.

    Attributes
    ----------
    rows : CSR array of shape (N, n_samples)
        R. That of ``one_each`` is built when it is first read.
    required : array of shape (N,)
        p.
    lower, upper, curvature : arrays of shape (N,)
        The losses: the box of the dual variables, and d.
    intercept : "free", "penalized" or "none"
    intercept_price : float
        price_b.
    width_sign : {-1, 0, 1}
        e: -1 where a margin is to be as wide as possible, +1 where a tube is to be as narrow, 0
        where there is no such variable.
    width_price : float
        price_t.
    norm_weight : float
        kappa.
    unit : float
        In which violations are measured: the size of decision values that matters.
    relative_to_spread : bool
        unit is a multiple of the squared size of the samples in feature space, because nothing in
        the program sets another scale: dual variables have a given sum, and nothing is required.
    minus_self_similarity : bool
        Decision values are ``f(x) - k(x, x)``.
    price_factors : PriceFactors, optional
        What lower and upper were computed from. Without it nothing is claimed that needs them to be
        exact. No part of what ``equals`` compares.
    """

    rows: Sparse
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
    price_factors: PriceFactors | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        given: object = vars(self)["rows"]
        if isinstance(given, _OneEach):
            size = len(given.signs)
            vars(self)["selection"] = freeze(np.array(given.signs)), None
            del vars(self)["rows"]
        else:
            size = self.rows.shape[0]
            rows = plain_sparse(self.rows, sp.csr_array, take_over=True)
            object.__setattr__(self, "rows", freeze(rows))
        for name in ("required", "lower", "upper", "curvature"):
            vector = np.broadcast_to(np.asarray(getattr(self, name), dtype=np.float64), size)
            if not is_frozen(vector):
                vector = freeze(vector.copy())
            object.__setattr__(self, name, vector)
        d = self.curvature
        boxes_are_fine = (self.lower <= 0.0).all() and (self.upper >= 0.0).all()
        if not boxes_are_fine or not ((d == 0.0).all() or (d > 0.0).all()):
            raise InvalidParameterError(
                "Conditions need lower <= 0 <= upper, and a curvature that is zero for all rows or "
                "above zero for all: otherwise a violation of zero would cost."
            )

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """Build the matrix of conditions on one sample each when it is first read."""
            if name != "rows" or "selection" not in vars(self):
                raise AttributeError(f"'Conditions' object has no attribute {name!r}")
            rows = _OneEach(self.selection[0]).matrix()
            object.__setattr__(self, "rows", freeze(plain_sparse(rows, sp.csr_array)))
            return self.rows

    def __setstate__(self, state: dict[str, object]) -> None:
        restore_frozen(self, state)

    @property
    def n_samples(self) -> int:
        """Number of samples, the columns of R."""
        selection = self.selection
        if selection is not None and selection[1] is None:
            return len(selection[0])
        return int(self.rows.shape[1])

    def __len__(self) -> int:
        return len(self.required)

    def equals(self, other: object) -> bool:
        """Return whether two sets of conditions are equal, bit for bit."""
        if other is self or not isinstance(other, Conditions):
            return other is self
        for member in fields(self):
            if not member.compare:
                continue
            mine, theirs = getattr(self, member.name), getattr(other, member.name)
            if mine is theirs:
                continue
            if sp.issparse(mine):
                if mine.shape != theirs.shape or (mine - theirs).count_nonzero():
                    return False
            elif not np.array_equal(mine, theirs):
                return False
        return True

    # --- products with R ------------------------------------------------------------------------

    def row_sums(self, values: Vector) -> Vector:
        """Compute ``R v``, the sum over the samples of every condition, shape (N,).

        ``v`` has a value for every sample.
        """
        if self.selection is None:
            return np.asarray(self.rows @ values)
        signs, index = self.selection
        if values.shape != (self.n_samples,):
            raise self._wrong_length(values)
        return signs * (values if index is None else values[index])

    def sample_sums(self, alpha: Vector) -> Vector:
        """Compute ``R'a``, the sum over the conditions of every sample, shape (n_samples,).

        ``a`` has a value for every condition.
        """
        if self.selection is None:
            return np.asarray(self.rows.T @ alpha)
        if alpha.shape != (len(self),):
            raise self._wrong_length(alpha)
        return self._gathered(self.selection[0] * alpha)

    def row_sizes(self, values: Vector) -> Vector:
        """Compute ``|R| v`` for v >= 0, the sums of absolute terms of ``R v``, shape (N,)."""
        if self.selection is None:
            return np.asarray(abs(self.rows) @ values)
        signs, index = self.selection
        if values.shape != (self.n_samples,):
            raise self._wrong_length(values)
        return np.abs(signs) * (values if index is None else values[index])

    def sample_sizes(self, alpha: Vector) -> Vector:
        """Compute ``|R|'a`` for a >= 0, the sizes of the sums ``R'a``, shape (n_samples,)."""
        if self.selection is None:
            return np.asarray(abs(self.rows).T @ alpha)
        if alpha.shape != (len(self),):
            raise self._wrong_length(alpha)
        return self._gathered(np.abs(self.selection[0]) * alpha)

    def _wrong_length(self, vector: Vector) -> ValueError:
        """Build the error for a vector whose length is not the number of rows or columns of R.

        NumPy would repeat a single entry.
        """
        return ValueError(f"R of shape {self.rows.shape} and a vector of shape {vector.shape}")

    def _gathered(self, terms: Vector) -> Vector:
        """Add up the terms of conditions on the same sample, in the order of the conditions."""
        index = None if self.selection is None else self.selection[1]
        if index is None:
            return terms
        return np.bincount(index, terms, self.n_samples).astype(np.float64, copy=False)

    @cached_property
    def signs(self) -> Vector:
        """``R 1``, the coefficient of b in every condition, shape (N,)."""
        if self.selection is not None:
            return self.selection[0]
        return np.asarray(freeze(np.asarray(self.rows.sum(axis=1)).ravel()))

    @cached_property
    def selection(self) -> tuple[Vector, Index | None] | None:
        """(sign, sample) of every row with one entry; sample is None for the identity."""
        R = self.rows
        if not (np.diff(R.indptr) == 1).all():
            return None
        index = R.indices.astype(np.intp)
        same = R.shape[0] == R.shape[1] and np.array_equal(index, np.arange(R.shape[1]))
        return R.data, None if same else index

    @property
    def samples(self) -> Index:
        """The sample of every row (of a pair, the first one), shape (N,)."""
        return np.asarray(self.rows.indices[self.rows.indptr[:-1]], dtype=np.intp)

    def at_samples(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Look up, for every condition, the value of its sample, shape (N,)."""
        if self.selection is not None and self.selection[1] is None:
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
